#!/usr/bin/env bash
# Builds the core as WebAssembly with the page around it, and holds it against the native program: every file of configs/ byte for byte, changed
# links, and a walk over the page where there is a Chromium.
#
#   scripts/test_wasm.sh [PIPELOOM]     PIPELOOM: the native program, default build/release/cli/pipeloom
#
#   PIPELOOM_CHROMIUM   the browser, found by its usual names if left out
#   PIPELOOM_PICTURES   a folder for screenshots of the walk; none if left out
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly pipeloom=${1:-build/release/cli/pipeloom}
readonly site=build/wasm/site

find_chromium() {
  local name
  for name in ${PIPELOOM_CHROMIUM:+"$PIPELOOM_CHROMIUM"} chromium chromium-browser google-chrome; do
    if command -v "$name"; then return; fi
  done
}

scripts/install-deps.sh wasm
cmake --preset wasm >/dev/null
cmake --build --preset wasm
node tests/web/equal_test.mjs "$pipeloom" "$site" .
node --expose-gc tests/web/links_test.mjs "$site"
chromium=$(find_chromium)
if [[ -n $chromium ]]; then
  # Node 20 has WebSocket with this flag alone, and later releases take it too.
  node --experimental-websocket tests/web/playground_test.mjs "$site" "$chromium" ${PIPELOOM_PICTURES:+"$PIPELOOM_PICTURES"}
else
  echo "left out: the walk over the page, since there is no Chromium"
fi
