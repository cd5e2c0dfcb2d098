#!/usr/bin/env bash
# Makes sure that a program is there, and installs its Debian package where that is possible.
#   need.sh PROGRAM DEBIAN_PACKAGE WHAT_FOR
set -euo pipefail
program=$1 package=$2 reason=$3

# Debian keeps the programs of PostgreSQL's server outside of PATH.
there() { command -v "$program" >/dev/null || compgen -G "/usr/lib/postgresql/*/bin/$program" >/dev/null; }

there && exit
if [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
  echo "installing $package, $reason" >&2
  export DEBIAN_FRONTEND=noninteractive
  install() { apt-get install -y -qq --no-install-recommends $package >/dev/null; }
  install 2>/dev/null || { apt-get update -qq && install; } || true
  there && exit
fi
echo "$program is missing, $reason: install it (on Debian: apt-get install $package)" >&2
exit 1
