#!/usr/bin/env bash
# Takes the picture of a report in docs/reports.md with the program itself and headless Chromium.
#   report_pictures.sh PIPELOOM     writes docs/images/report.png
# It is not compared in CI: what a browser makes of a font differs from machine to machine. tests/study/page/chromium_test.py looks at pages there.
set -euo pipefail
pipeloom=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$pipeloom" report configs/seed/1f1b.json configs/seed/interleaved-1f1b.json configs/seed/zb-h1.json \
  --set costs.per=rank -o "$folder/report.html" -q
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$folder/profile" \
  --blink-settings=preferredColorScheme=1 --virtual-time-budget=3000 --window-size=1240,1175 \
  --screenshot="$folder/report.png" "file://$folder/report.html" >"$folder/log" 2>&1 || {
  cat "$folder/log" >&2
  exit 1
}
mv "$folder/report.png" docs/images/report.png
