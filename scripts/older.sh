#!/usr/bin/env bash
# Builds an older commit of this repository beside it, and prints the folder: bin/world-redis is its service, and project
# is an empty project that has its client.
set -euo pipefail
commit=$(git rev-parse --verify --quiet "${1:?usage: older.sh COMMIT}^{commit}") || { echo "older.sh: there is no commit $1" >&2; exit 1; }
cd "$(dirname "$0")/.."
folder=$PWD/.cache/older/$commit

if ! [[ -e $folder/built ]]; then
  echo "building ${commit:0:9}" >&2
  rm -rf "$folder"
  mkdir -p "$folder/source" "$folder/project"
  git archive "$commit" | tar -x -C "$folder/source"
  (cd "$folder/source" && CGO_ENABLED=0 go build -trimpath -o "$folder/bin/" ./cmd/world-redis)
  cd "$folder/source/client"
  npm ci --no-audit --no-fund --loglevel=error >&2
  npm run --silent build >&2
  npm pack --ignore-scripts --silent --pack-destination "$folder" >&2
  cd "$folder/project"
  echo '{"name":"project","private":true,"overrides":{"cbor-extract":"2.2.2"}}' >package.json
  npm install --no-audit --no-fund --loglevel=error "$folder"/*.tgz >&2
  rm -r "$folder/source"
  touch "$folder/built"
fi
echo "$folder"
