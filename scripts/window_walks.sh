#!/usr/bin/env bash
# Takes the pictures of every walk of the window in both themes at 1280x720, 1920x1080 and 3840x2160 with scale 2, for people to look at.
#   window_walks.sh PIPELOOM_GUI FOLDER [WALK...]     without WALKs: all of tests/gui/scripts
set -euo pipefail
gui=$(realpath "$1")
out=$(realpath -m "$2")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
walks=("${@:3}")
((${#walks[@]})) || walks=(tests/gui/scripts/*.script)
failed=0
for walk in "${walks[@]}"; do
  name=${walk##*/}
  if python3 -B tests/gui/window/walk.py "$gui" "$walk" --root . --out "$out/${name%.script}" --every-size; then
    printf '%s: %d pictures\n' "$name" "$(find "$out/${name%.script}" -name '*.png' | wc -l)"
  else
    failed=1
  fi
done
exit "$failed"
