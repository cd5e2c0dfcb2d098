#!/usr/bin/env bash
# Makes @world-redis/client known to the app in the folder $1, as a link to this repository's client.
#
# A "file:" dependency would do the same, but then `npm ci` of the app fails whenever the client has
# changed a dependency of its own, or has not been installed yet.
set -euo pipefail
scope=${1:?usage: link-client.sh APP_FOLDER}/node_modules/@world-redis
client=$(cd "$(dirname "$0")/../client" && pwd)
mkdir -p "$scope"
ln -sfn "$(realpath --relative-to="$scope" "$client" 2>/dev/null || echo "$client")" "$scope/client"
