#!/usr/bin/env bash
# What scripts/build_progress.sh says of the lines that ninja prints.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=scripts/build_progress.sh
source "$root/scripts/build_progress.sh"

expect() {
  [[ $1 == "$2" ]] || { printf 'found:\n%s\nexpected:\n%s\n' "$1" "$2" >&2; exit 1; }
}

steps() {
  for ((i = 1; i <= $1; ++i)); do echo "[$i/$1] Building CXX object sim/CMakeFiles/pipeloom_sim.dir/op$i.cpp.o"; done
}

# Of 20 steps every second one is a tenth.
expect "$(steps 20 | build_progress 2>&1 | head -n 2)" "build: 10 %, step 2 of 20, about 0:00 left
build: 20 %, step 4 of 20, about 0:00 left"
# Nothing to build, or next to nothing.
expect "$(printf '[0/2] Re-checking globbed directories...\nninja: no work to do.\n' | build_progress 2>&1)" ""
expect "$(steps 2 | build_progress 2>&1)" ""
