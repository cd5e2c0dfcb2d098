#!/usr/bin/env bash
# Fails for a function that no program and no test reaches, or that only tests reach outside of the packages that are for tests.
# The linter finds unused names within a package only.
set -euo pipefail
cd "$(dirname "$0")/.."
deadcode=golang.org/x/tools/cmd/deadcode@v0.49.0
for_tests='^internal/([a-z]+test|luagolden)/|test/'

dead="$(go run "$deadcode" -test ./...)
$(go run "$deadcode" ./... | grep -vE "$for_tests" || true)"
dead="$(sort -u <<<"$dead" | sed '/^$/d')"
[[ -z $dead ]] && exit
echo "$dead" >&2
exit 1
