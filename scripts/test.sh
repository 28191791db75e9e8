#!/usr/bin/env bash
# Builds and runs every test, from any directory. The output of a test is shown when it fails; the last lines are the
# summary of ctest. Arguments go to ctest: scripts/test.sh -R sim
#
# PIPELOOM_TEST_PRESET=dev compiles each source by itself, as a developer's build does.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root
readonly preset=${PIPELOOM_TEST_PRESET:-test}
readonly build=$root/build/$preset
readonly log=$build/test.log
# shellcheck source=scripts/build_progress.sh
source "$root/scripts/build_progress.sh"

"$root/scripts/install-deps.sh" test
mkdir -p "$build"
[[ -f $build/build.ninja ]] || echo "Building the tests; this takes some minutes the first time." >&2
if ! { { [[ -f $build/build.ninja ]] || cmake -S "$root" --preset "$preset"; } && cmake --build "$build"; } 2>&1 | tee "$log" | build_progress; then
  cat "$log" >&2
  echo "test.sh: the build failed; its output is above and in $log" >&2
  exit 1
fi
cd "$root"
exec ctest --preset "$preset" "$@"
