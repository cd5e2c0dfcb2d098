#!/usr/bin/env bash
# Prints the section of a version in CHANGELOG.md, without its heading: `release-notes.sh 1.2.3`.
set -euo pipefail
cd "$(dirname "$0")/.."

notes=$(awk -v heading="## [$1]" 'index($0, "## [") == 1 { on = index($0, heading) == 1; next } on' CHANGELOG.md)
if [[ -z ${notes//[[:space:]]/} ]]; then
  echo "CHANGELOG.md has no section \"## [$1]\"" >&2
  exit 1
fi
echo "$notes"
