#!/usr/bin/env bash
# Publishes the tarballs that `make dist` made, with provenance: `npm-publish.sh DIST [OPTION OF npm publish…]`.
# What is published already is left out, so it can be run again after a failure.
set -euo pipefail
dist=$(realpath "$1")
shift

# The binaries first: `world-redis` has them as optional dependencies.
shopt -s nullglob
tarballs=("$dist"/world-redis-{linux,darwin,win32}-*.tgz "$dist"/world-redis-client-*.tgz "$dist"/world-redis-[0-9]*.tgz)
if [[ ${#tarballs[@]} != 7 ]]; then
  echo "$dist has ${#tarballs[@]} packages instead of 7: run make dist" >&2
  exit 1
fi
for tarball in "${tarballs[@]}"; do
  manifest=$(tar -xzOf "$tarball" package/package.json)
  id=$(node -p 'const { name, version } = JSON.parse(process.argv[1]); `${name}@${version}`' "$manifest")
  tag=latest
  if [[ ${id##*@} == *-* ]]; then tag=next; fi
  if [[ -n $(npm view "$id" version 2>/dev/null) ]]; then
    echo "$id is published already"
    continue
  fi
  npm publish "$tarball" --access public --tag "$tag" --provenance "$@"
done
