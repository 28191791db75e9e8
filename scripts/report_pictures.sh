#!/usr/bin/env bash
# Takes the pictures of reports in docs/ with the program itself and headless Chromium.
#   report_pictures.sh PIPELOOM     writes docs/images/report.png and docs/images/zero-bubble-memory.png
# It is not compared in CI: a browser renders fonts differently from machine to machine. tests/study/page/chromium_test.py looks at pages there.
set -euo pipefail
pipeloom=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$pipeloom" report configs/seed/1f1b.json configs/seed/interleaved-1f1b.json configs/seed/zb-h1.json \
  --set costs.per=rank -o "$folder/report.html" -q
# take NAME HEIGHT: the top of the page $folder/NAME.html.
take() {
  chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$folder/profile" \
    --blink-settings=preferredColorScheme=1 --virtual-time-budget=3000 --window-size="1240,$2" \
    --screenshot="$folder/$1.png" "file://$folder/$1.html" >"$folder/log" 2>&1 || {
    cat "$folder/log" >&2
    exit 1
  }
  mv "$folder/$1.png" "docs/images/$1.png"
}
take report 1175

"$pipeloom" sweep configs/sweeps/zero-bubble-memory.json -o "$folder/zero-bubble-memory.jsonl" -q
(cd "$folder" && "$pipeloom" report zero-bubble-memory.jsonl -o zero-bubble-memory.html -q \
  --metric window_bubble_ratio --metric peak_activation_bytes)
take zero-bubble-memory 985
