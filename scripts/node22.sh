#!/usr/bin/env bash
# Prints the path of a Node.js 22 for the app in the folder $1, which has had its `npm ci`.
#
# The npm package "node" fetches the binary of the platform in an install script. Where npm does not
# run install scripts, this runs that one script by hand; it installs an ordinary npm package.
set -euo pipefail
package=${1:?usage: node22.sh APP_FOLDER}/node_modules/node
binary=$package/bin/node

if ! [[ -x $binary ]]; then
  (cd "$package" && node installArchSpecificPackage.js) >&2
  ln -sf ../node/bin/node "$package/../.bin/node" # for npm run and npx
fi
version=$("$binary" --version)
case $version in
  v22.*) ;;
  *) echo "node22.sh: $binary is $version, not v22" >&2; exit 1 ;;
esac
cd "$(dirname "$binary")"
echo "$PWD/node"
