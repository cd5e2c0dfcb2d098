#!/usr/bin/env bash
# Looks up what this project depends on in the databases of known vulnerabilities: Go's, by govulncheck, and npm's. Exit code 1 when
# something that users run has one. A database that cannot be reached is said, and is no failure; GOVULNDB names another one of Go.
set -uo pipefail
cd "$(dirname "$0")/.."
version=v1.9.0
govulncheck=$PWD/.tools/bin/govulncheck
bad=0

unchecked() { printf 'not checked: %s, because %s cannot be reached (%s)\n' "$1" "$2" "$3"; }

go_modules() {
  local out status
  if ! go version -m "$govulncheck" 2>/dev/null | grep -qP "\tgolang.org/x/vuln\t$version\b"; then
    if ! out=$(GOBIN=$PWD/.tools/bin go install "golang.org/x/vuln/cmd/govulncheck@$version" 2>&1); then
      unchecked 'Go modules' "govulncheck $version" "$(tail -n 1 <<<"$out")"
      return
    fi
  fi
  out=$("$govulncheck" ${GOVULNDB:+-db "$GOVULNDB"} ./... 2>&1) && status=0 || status=$?
  case $status in
    0) echo 'Go modules: no known vulnerability in what is called' ;;
    3) printf '%s\nGo modules: vulnerable\n' "$out"; bad=1 ;;
    *)
      if grep -q 'fetching vulnerabilities' <<<"$out"; then
        unchecked 'Go modules' "Go's database of vulnerabilities" "$(sed -n 's/.*fetching vulnerabilities: \(Get "[^"]*": \)\?//p' <<<"$out")"
      else
        printf '%s\nGo modules: govulncheck failed\n' "$out"
        bad=1
      fi ;;
  esac
}

# npm_packages FOLDER fails|told [NAME]: what becomes of a vulnerability there.
npm_packages() {
  local out answer name=${3:-$1}
  out=$(cd "$1" && npm audit --omit=dev --json --offline=false 2>/dev/null) && answer=0 || answer=$?
  if grep -q '"auditReportVersion"' <<<"$out"; then
    if [[ $answer == 0 ]]; then
      echo "npm packages of $name: no known vulnerability"
    else
      (cd "$1" && npm audit --omit=dev --offline=false)
      echo "npm packages of $name: vulnerable"
      [[ $2 != fails ]] || bad=1
    fi
  elif grep -qE '"message": ".*(advisories|audits)' <<<"$out"; then
    unchecked "npm packages of $name" "npm's database of vulnerabilities" "$(grep -m 1 -oP '"message": "\K.*?(?= - | to |",?$)' <<<"$out")"
  else
    printf '%s\nnpm packages of %s: npm audit failed\n' "$out" "$1"
    bad=1
  fi
}

# What the client's file holds is a development dependency in its package.json, as it is no package to install.
bundled_packages() {
  bundled=$(mktemp -d)
  trap 'rm -r "$bundled"' EXIT
  node --input-type=module -e "
    import { readFileSync, writeFileSync } from 'node:fs';
    import { BUNDLED } from '$PWD/client/scripts/bundled.mjs';
    const { devDependencies } = JSON.parse(readFileSync('client/package.json', 'utf8'));
    const dependencies = Object.fromEntries(BUNDLED.map((name) => [name, devDependencies[name]]));
    writeFileSync('$bundled/package.json', JSON.stringify({ name: 'bundled', private: true, dependencies }));" &&
    (cd "$bundled" && npm install --package-lock-only --omit=optional --loglevel=error >/dev/null)
  npm_packages "$bundled" fails 'the client'
}

go_modules
bundled_packages
# Nobody installs these but to try or to test: they are told.
for folder in examples/*/ e2e/apps/*/ bench/apps/*/; do
  [[ ! -f $folder/package-lock.json ]] || npm_packages "${folder%/}" told
done
exit "$bad"
