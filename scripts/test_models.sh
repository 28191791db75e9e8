#!/usr/bin/env bash
# pipeloom.torch.model against real libraries: every causal and image-text architecture of transformers, bytes that real runs on the CPU keep, FLOPs by the
# formulas of `pipeloom estimate`, and a model of 671e9 parameters within 8 s of CPU and 1 GB.
#
#   scripts/test_models.sh [FOLDER]        default build/models
#
# Not part of the test suite: it downloads about 5 GB into a virtual environment of its own in FOLDER and takes some twenty minutes on two cores.
# PIPELOOM_PRESET chooses the build (dev); PIPELOOM_WHEEL names a wheel to install in place of this tree; PIPELOOM_PYTHON a Python that has torch, transformers,
# timm, pytest and pipeloom already.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=$(realpath -m "${1:-build/models}")
readonly folder
readonly preset=${PIPELOOM_PRESET:-dev}
readonly tools=$PWD/tests/torch/real
readonly record=$PWD/tests/golden/models/counted_5.24.jsonl
readonly pipeloom=$PWD/build/$preset/cli/pipeloom

if [ ! -x "$pipeloom" ]; then
  cmake --preset "$preset" >/dev/null
  cmake --build --preset "$preset" --target pipeloom
fi
mkdir -p "$folder"
python=${PIPELOOM_PYTHON:-$folder/venv/bin/python}
if [ -z "${PIPELOOM_PYTHON:-}" ]; then
  if [ ! -x "$python" ]; then
    python3 -m venv "$folder/venv"
    "$python" -m pip install --quiet --no-cache-dir torch==2.15.0 transformers==5.24.0 timm==1.0.31 pillow numpy pytest
  fi
  "$python" -m pip install --quiet --no-deps --force-reinstall "${PIPELOOM_WHEEL:-$PWD}"
fi
export OMP_NUM_THREADS=1

failed=0
echo "modules whose numbers follow by hand"
"$python" -m pytest -q -p no:cacheprovider "$tools/test_count.py" || failed=1
echo "bytes that real runs keep"
"$python" "$tools/count_truth.py" kept || failed=1
echo "FLOPs by formula"
"$python" "$tools/count_truth.py" flops "$pipeloom" || failed=1
echo "671e9 parameters"
"$python" "$tools/count_truth.py" large || failed=1
echo "every architecture"
"$python" "$tools/count_models.py" "$folder/counted.jsonl"
"$python" "$tools/count_models.py" --table "$folder/counted.jsonl" || failed=1
"$python" "$tools/count_models.py" --compare "$folder/counted.jsonl" "$record" || failed=1
exit $failed
