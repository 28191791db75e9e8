#!/usr/bin/env bash
# Builds Pipeloom if needed and runs it, from any directory.
#
#   scripts/run.sh ARGS...   is `pipeloom ARGS...`
#   scripts/run.sh gui       opens the window
#   scripts/run.sh           simulates configs/showcase.json: table and chart here, report, figure and trace in ./out
#
# It builds what its arguments need: the window for `gui`, the GPU back end for `run --backend cuda`.
# PIPELOOM_OUT names another output directory; PIPELOOM_SKIP_DEPS=1 leaves the system's packages alone.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root
readonly build=$root/build/release
readonly log=$build/run.log
readonly pipeloom=$build/cli/pipeloom
# shellcheck source=scripts/build_progress.sh
source "$root/scripts/build_progress.sh"

asks_for_gpus() { [[ ${1:-} == run && " $* " =~ \ --backend[\ =]cuda\  ]]; }

# Looks for nvcc and NCCL only where GPUs are asked for. Where they are missing, the program says so.
configure() {
  if asks_for_gpus "$@"; then
    cmake -S "$root" --preset release -DPIPELOOM_CUDA=AUTO
  else
    [[ -f $build/build.ninja ]] || cmake -S "$root" --preset release
  fi
}

# targets_for ARGS...: the targets that these arguments start
targets_for() {
  echo pipeloom
  [[ ${1:-} != gui ]] || echo pipeloom-gui
  # grep reads to the end: a pipe that breaks would count as a failure.
  if asks_for_gpus "$@" && cmake --build "$build" --target help | grep '^pipeloom-cuda:' >/dev/null; then echo pipeloom-cuda; fi
}

build_targets() {
  local targets
  mapfile -t targets < <(targets_for "$@")
  cmake --build "$build" --target "${targets[@]}"
}

build_program() {
  "$root/scripts/install-deps.sh" build
  mkdir -p "$build"
  [[ -x $pipeloom ]] || echo "Building pipeloom; this takes some minutes the first time." >&2
  if ! { configure "$@" && build_targets "$@"; } 2>&1 | tee "$log" | build_progress; then
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

build_program "$@"
if (($# > 0)); then
  exec "$pipeloom" "$@"
fi
showcase
