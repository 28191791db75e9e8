#!/usr/bin/env bash
# Tests our files with a real PyTorch: trains with every schedule that can be written for it and compares loss and gradients with
# the unsplit model, compares the lists that releases make themselves with ours, cell by cell, and reads back the traces of its profiler. Then
# all of it through the Python package: schedules, plans, broken lists, and steps predicted from a record of another schedule.
#
#   scripts/test_torch.sh [FOLDER]        default build/torch
#
# Not part of the test suite: it downloads about 5 GB into a virtual environment of its own in FOLDER and takes some twenty minutes. Of the
# older releases only the wheels are fetched and only their schedule passes are run. PIPELOOM_PRESET chooses the build: dev (the default).
# The package is built from this tree, or is the wheel that PIPELOOM_WHEEL names.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=$(realpath -m "${1:-build/torch}")
readonly folder
readonly preset=${PIPELOOM_PRESET:-dev}
readonly release=2.15.0
readonly older="2.14.1 2.13.0 2.10.0"
readonly tools=$PWD/tests/torch/real
readonly pipeloom=$PWD/build/$preset/cli/pipeloom

cmake --preset "$preset" >/dev/null
cmake --build --preset "$preset" --target pipeloom

mkdir -p "$folder"
free_gb=$(df --output=avail -BG "$folder" | tail -1 | tr -dc 0-9)
if [ ! -x "$folder/venv/bin/python" ] && [ "$free_gb" -lt 12 ]; then
  echo "test_torch.sh: $folder has $free_gb GB free; torch takes 5 GB, its older releases 2 GB and the unpacking as much" >&2
  exit 3
fi
python=$folder/venv/bin/python
if ! "$python" -c "import torch; assert torch.__version__.startswith('$release')" 2>/dev/null; then
  python3 -m venv "$folder/venv"
  "$folder/venv/bin/pip" install --quiet --no-cache-dir "torch==$release" numpy
fi
"$python" -m pip install --quiet --no-deps --force-reinstall "${PIPELOOM_WHEEL:-$PWD}"
for version in $older; do
  [ -d "$folder/passes-$version" ] && continue
  "$folder/venv/bin/pip" download --quiet --no-deps --no-cache-dir --dest "$folder/wheels" "torch==$version"
  "$python" - "$folder" "$version" <<'UNPACK'
import glob, os, shutil, sys, zipfile
folder, version = sys.argv[1:]
wheel, = glob.glob(f"{folder}/wheels/torch-{version}-*.whl")
inside = "torch/distributed/pipelining/"
with zipfile.ZipFile(wheel) as files:
    files.extractall(f"{folder}/unpacked", [name for name in files.namelist() if name.startswith(inside)])
shutil.move(f"{folder}/unpacked/{inside}", f"{folder}/passes-{version}")
os.remove(wheel)
UNPACK
done

failed=0
echo "own lists, cell by cell"
"$python" "$tools/own_lists.py" > "$folder/lists-$release.txt"
"$python" "$tools/compare_lists.py" "$pipeloom" "$folder/lists-$release.txt" 2.15 || failed=1
for version in $older; do
  PIPELOOM_TORCH_PASSES=$folder/passes-$version "$python" "$tools/own_lists.py" > "$folder/lists-$version.txt"
  "$python" "$tools/compare_lists.py" "$pipeloom" "$folder/lists-$version.txt" "${version%.*}" || failed=1
done

echo "training steps of torch $release"
"$python" "$tools/training_files.py" "$pipeloom" "$folder/files" 2.15 > "$folder/cases"
"$python" "$tools/run_files.py" "$folder/cases" > "$folder/outcomes"
cut -d' ' -f1 "$folder/outcomes" | sort | uniq -c
if grep -v '^right ' "$folder/outcomes"; then failed=1; fi

echo "traces of torch $release"
for schedule in 1f1b zb-h1 interleaved-1f1b; do
  chunks=1
  if [ "$schedule" = interleaved-1f1b ]; then chunks=2; fi
  rm -rf "$folder/trace-$schedule"
  "$pipeloom" convert <(echo "{\"schedule\": \"$schedule\", \"ranks\": 2, \"microbatches\": 4, \"chunks\": $chunks}") "$folder/trace.csv" \
    --to torch-compute --force -q
  "$python" "$tools/record_trace.py" "$pipeloom" "$folder/trace.csv" $((2 * chunks)) 4 "$folder/trace-$schedule" || failed=1
done

echo "recordings of torch $release against the clock of the same run"
PYTHONWARNINGS=ignore "$python" "$tools/record_truth.py" "$folder/recordings" > "$folder/recordings.log" 2>&1 || { cat "$folder/recordings.log"; failed=1; }
"$python" "$tools/check_truth.py" "$pipeloom" "$folder/recordings" || failed=1

echo "pipeloom.torch with torch $release"
for part in trains broken options sharded newer; do
  "$python" "$tools/bridge.py" "$part" || failed=1
done
"$python" "$tools/loop_closed.py" "$folder/loop" || failed=1
exit $failed
