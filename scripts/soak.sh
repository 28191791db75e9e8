#!/usr/bin/env bash
# Long tests: plays with the window at random, to see that nothing ends it (without a display, in one process), and
# ends sweeps in every bad way, to see that nothing is lost.
#
#   scripts/soak.sh [EVENTS [KILLS]]      default 1000000 1000
#
# PIPELOOM_PRESET chooses the build: dev (the default), asan or tsan.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly events=${1:-1000000}
readonly kills=${2:-1000}
readonly preset=${PIPELOOM_PRESET:-dev}

cmake --preset "$preset"
cmake --build --preset "$preset" --target test_gui_window pipeloom
PIPELOOM_RANDOM_EVENTS=$events "build/$preset/tests/gui/window/test_gui_window" "random input never ends the program"
python3 -B tests/study/sweep/kill.py --program "build/$preset/cli/pipeloom" --rounds "$kills"
