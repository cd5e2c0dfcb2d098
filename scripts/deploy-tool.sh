#!/usr/bin/env bash
# Prints the path of a tool that checks or makes what is deployed, built into .tools/bin if it is not there yet.
#   deploy-tool.sh helm | goreleaser | actionlint
set -euo pipefail
cd "$(dirname "$0")/.."

case $1 in
  helm) package=helm.sh/helm/v3/cmd/helm version=v3.22.0 ;;
  goreleaser) package=github.com/goreleaser/goreleaser/v2 version=v2.15.1 ;;
  actionlint) package=github.com/rhysd/actionlint/cmd/actionlint version=v1.7.12 ;;
  *) echo "deploy-tool.sh knows no $1" >&2 && exit 2 ;;
esac
installed=$PWD/.tools/bin/$1-$version

if [[ ! -x $installed ]]; then
  echo "building $1 $version; this takes up to a few minutes once" >&2
  building=$(mktemp -d)
  trap 'rm -r "$building"' EXIT
  GOBIN=$building go install "$package@$version" >&2
  mkdir -p .tools/bin
  mv "$building/$1" "$installed"
fi
echo "$installed"
