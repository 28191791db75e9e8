#!/usr/bin/env bash
# Tests plans with the frameworks that they are for: every block to paste of a grid goes through the argument checks, the
# constructors, the stage builders and the order generators of Megatron-core, PyTorch, torchtitan and AReaL, and the result is compared
# with the plan op by op. So does every row of a grid of whole layouts (`plan MODEL --gpus N`), with the models that the frameworks have
# themselves. Before that the frameworks' verdicts and orders are compared with those recorded in tests/golden/targets.
#
#   scripts/test_targets.sh [--record | --only TEXT] [FOLDER]        default build/targets
#
# --record writes tests/golden/targets anew instead of comparing. --only TEXT runs blocks alone, those of workloads whose name contains TEXT:
# "megatron", "model p8", "searched", "models hybrid", "llama3-70b h100 x64". Not part of the test suite: it downloads about 5 GB into a virtual
# environment of its own in FOLDER and takes some forty minutes; no GPU is needed, packages that only a training run needs are replaced
# (tests/targets/real/replaced.py). PIPELOOM_PRESET chooses the build: dev (the default). PIPELOOM_TARGETS_PYTHON names a Python that has
# the packages already. Exits with 1 if a block is refused, runs another order, or holds more than planned.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
record=
frameworks="torch megatron torchtitan areal"
plans=()
if [ "${1:-}" = --record ]; then
  record=1
  shift
elif [ "${1:-}" = --only ]; then
  frameworks=
  plans=(--only "${2:?text of names}")
  shift 2
fi
folder=$(realpath -m "${1:-build/targets}")
readonly folder record frameworks plans
readonly preset=${PIPELOOM_PRESET:-dev}
readonly tools=$PWD/tests/targets/real
readonly golden=$PWD/tests/golden/targets
readonly pipeloom=$PWD/build/$preset/cli/pipeloom

cmake --preset "$preset" >/dev/null
cmake --build --preset "$preset" --target pipeloom >/dev/null

mkdir -p "$folder"
python=${PIPELOOM_TARGETS_PYTHON:-$folder/venv/bin/python}
if [ -z "${PIPELOOM_TARGETS_PYTHON:-}" ] && [ ! -e "$folder/venv/complete" ]; then
  free_gb=$(df --output=avail -BG "$folder" | tail -1 | tr -dc 0-9)
  if [ "$free_gb" -lt 8 ]; then
    echo "test_targets.sh: $folder has $free_gb GB free; torch takes 5 GB" >&2
    exit 3
  fi
  rm -rf "$folder/venv"
  python3 -m venv "$folder/venv"
  pip=("$python" -m pip --quiet --disable-pip-version-check install --no-cache-dir --no-compile)
  "${pip[@]}" -r "$tools/requirements.txt"
  # Their own requirements ask for GPU kernels and servers; megatron-core's wheel for this Python says that it wants a newer one.
  "${pip[@]}" --no-deps --ignore-requires-python -r "$tools/frameworks.txt"
  touch "$folder/venv/complete"
fi

failed=0
for framework in $frameworks; do
  if [ -n "$record" ]; then
    "$python" -W ignore "$tools/record.py" "$framework" "$golden" >"$folder/$framework.log" 2>&1
  else
    "$python" -W ignore "$tools/record.py" "$framework" "$folder" >"$folder/$framework.log" 2>&1
    if cmp -s "$folder/$framework.json" "$golden/$framework.json"; then
      echo "$framework: as recorded in tests/golden/targets"
    else
      echo "$framework: $folder/$framework.json differs from tests/golden/targets" >&2
      failed=1
    fi
  fi
done

verdicts=$folder
if [ -n "$record" ]; then
  verdicts=$golden
fi
for kind in plans layouts; do
  "$python" -W ignore "$tools/$kind.py" "$pipeloom" "$folder/$kind" "${plans[@]}" --record "$verdicts/$kind.json" 2>"$folder/$kind.log" || failed=1
done
exit $failed
