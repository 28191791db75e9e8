#!/usr/bin/env bash
# Plays with the window at random for a long time, to see that nothing ends it: without a display, in one process.
#
#   scripts/soak.sh [EVENTS]      default 1000000
#
# PIPELOOM_PRESET chooses the build: dev (the default), asan or tsan.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly events=${1:-1000000}
readonly preset=${PIPELOOM_PRESET:-dev}

cmake --preset "$preset"
cmake --build --preset "$preset" --target test_gui_window
PIPELOOM_RANDOM_EVENTS=$events "build/$preset/tests/gui/window/test_gui_window" "random input never ends the program"
