#!/usr/bin/env bash
# Fails unless the tag is the version that the client's package.json and the chart have: `release-version.sh v1.2.3`.
# The npm packages of the service take theirs from the client.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1#v}

client=$(node -p "require('./client/package.json').version")
chart=$(sed -n 's/^version: //p' deploy/helm/world-redis/Chart.yaml)
app=$(sed -n 's/^appVersion: //p' deploy/helm/world-redis/Chart.yaml)
if [[ $client != "$version" || $chart != "$version" || $app != "$version" ]]; then
  echo "the tag says $version, but client/package.json says $client, and Chart.yaml $chart with appVersion $app" >&2
  exit 1
fi
scripts/release-notes.sh "$version" >/dev/null
