#!/usr/bin/env bash
# Prints the path of the golangci-lint of .golangci-lint-version, built into .tools/bin if it is nowhere yet.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(<.golangci-lint-version)
installed=$PWD/.tools/bin/golangci-lint

for candidate in "$installed" "$(go env GOPATH)/bin/golangci-lint" "$(command -v golangci-lint || true)"; do
  if [[ -x $candidate ]] && "$candidate" version 2>/dev/null | grep -qF "version ${version#v} "; then
    echo "$candidate"
    exit
  fi
done

echo "building golangci-lint $version; this takes a few minutes once" >&2
GOBIN=$PWD/.tools/bin go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$version" >&2
echo "$installed"
