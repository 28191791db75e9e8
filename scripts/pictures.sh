#!/usr/bin/env bash
# Draws the pictures of README.md and docs/ with the program itself.
#   pictures.sh PIPELOOM           writes docs/images/
#   pictures.sh PIPELOOM --check   fails if a picture there is not the one that the program draws now
# Pixels (report_pictures.sh, window_pictures.sh) depend on the machine's fonts and drivers: they are not compared.
set -euo pipefail
pipeloom=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=docs/images
if [[ ${2:-} == --check ]]; then
  target=$(mktemp -d)
  trap 'rm -rf "$target"' EXIT
fi

draw() { "$pipeloom" convert "configs/$1.json" "$target/$2.svg" --force -q "${@:3}"; }
draw seed/dualpipe dualpipe
draw seed/zb-h1 zb-h1-memory --memory
draw seed/1f1b 1f1b
draw seed/interleaved-1f1b interleaved-1f1b

[[ $target == docs/images ]] || diff -r -x "*.png" "$target" docs/images
