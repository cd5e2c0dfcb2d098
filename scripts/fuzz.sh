#!/usr/bin/env bash
# Runs every fuzz target of the Go tests, and those of the client's decoders, for a time each, and says how many inputs
# that were. A target that fails does not keep the others from their turn; the exit code is then 1.
#   fuzz.sh TIME [WORKERS]
set -uo pipefail
cd "$(dirname "$0")/.."
time=${1:?usage: fuzz.sh TIME [WORKERS]} workers=${2:-}
output=$(mktemp)
trap 'rm -f "$output"' EXIT
total=0 failed=()

# Runs a command and adds its inputs up: the last "execs: N" that it prints.
count() {
  local name=$1 execs
  shift
  "$@" </dev/null 2>&1 | tee "$output"
  [[ ${PIPESTATUS[0]} == 0 ]] || failed+=("$name")
  execs=$(grep -o 'execs: [0-9]*' "$output" | tail -1 | tr -dc 0-9)
  total=$((total + ${execs:-0}))
}

while read -r package target; do
  printf '\n%s %s\n' "$package" "$target"
  count "$target" go test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 5s ${workers:+-parallel "$workers"}
done < <(grep -ro --include='*_test.go' --exclude-dir=node_modules '^func Fuzz[A-Za-z]*' . | sort | sed 's|/[^/]*:func | |')

printf '\nclient\n'
count client node client/scripts/fuzz.mjs --time "$time"

printf '\n%d inputs\n' "$total"
if ((${#failed[@]} > 0)); then
  printf 'failed: %s\n' "${failed[*]}"
  exit 1
fi
