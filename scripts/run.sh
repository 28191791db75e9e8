#!/usr/bin/env bash
# Builds Pipeloom if needed and runs it, from any directory.
#
#   scripts/run.sh ARGS...   is `pipeloom ARGS...`
#   scripts/run.sh gui       opens the window
#   scripts/run.sh           simulates configs/showcase.json: table and chart here, report, figure and trace in ./out
#
# PIPELOOM_OUT names another output directory; PIPELOOM_SKIP_DEPS=1 leaves the system's packages alone.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root
readonly build=$root/build/release
readonly log=$build/run.log
readonly pipeloom=$build/cli/pipeloom
# shellcheck source=scripts/build_progress.sh
source "$root/scripts/build_progress.sh"

build_program() {
  "$root/scripts/install-deps.sh" build
  mkdir -p "$build"
  [[ -x $pipeloom ]] || echo "Building pipeloom; this takes some minutes the first time." >&2
  if ! { { [[ -f $build/build.ninja ]] || cmake -S "$root" --preset release; } &&
    cmake --build "$build" --target programs; } 2>&1 | tee "$log" | build_progress; then
    cat "$log" >&2
    echo "run.sh: the build failed; its output is above and in $log" >&2
    return 3
  fi
}

showcase() {
  local config=$root/configs/showcase.json
  local out=${PIPELOOM_OUT:-out}
  mkdir -p "$out"
  "$pipeloom" simulate "$config" --chart -o "$out/showcase.report.json" --force
  "$pipeloom" convert "$config" "$out/showcase.svg" --force
  "$pipeloom" convert "$config" "$out/showcase.trace.json" --force
  cat <<END

report  $out/showcase.report.json
figure  $out/showcase.svg
trace   $out/showcase.trace.json   (open it at ui.perfetto.dev)
END
}

build_program
if (($# > 0)); then
  exec "$pipeloom" "$@"
fi
showcase
