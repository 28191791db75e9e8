#!/usr/bin/env bash
# Takes the pictures of the window in README.md and docs/ with the program itself, without a display.
#   window_pictures.sh PIPELOOM_GUI     writes docs/images/window-*.png --force
# They are not compared in CI: rasterisers draw lines differently from machine to machine. The scripts run there all the same, as tests.
set -euo pipefail
gui=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

"$gui" --headless --size 1440x860 --script - <<'END'
set ranks 8
set microbatches 16
do compare-with zb-h1
wait idle
do select-largest-gap
wait idle
click item:panel/schedules/title
wait idle
screenshot docs/images/window-compare.png --force
END
"$gui" --headless --size 1440x860 --theme light --script - <<'END'
open tests/gui/fixtures/hang.csv
wait idle
wait idle
screenshot docs/images/window-hang.png --force
END
"$gui" --headless --size 1440x860 --script - <<'END'
open tests/gui/fixtures/sweep.jsonl
wait idle
do sweep-point 207
wait idle
move item:sweep/front/1
wait idle
screenshot docs/images/window-sweep.png --force
END
