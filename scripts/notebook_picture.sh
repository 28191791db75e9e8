#!/usr/bin/env bash
# Remakes docs/images/jupyterlab.png: a notebook of the Python package in JupyterLab, as headless Chromium shows it.
#
#   scripts/notebook_picture.sh           needs chromium, and the wheel of scripts/test_python.sh; JupyterLab comes from PyPI
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly folder=$PWD/build/python/notebook
readonly port=8893
mkdir -p "$folder/settings/@jupyterlab/apputils-extension"
[[ -x $folder/venv/bin/jupyter ]] || python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check jupyterlab nbconvert pillow numpy
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --force-reinstall build/python/dist/*.whl
export PATH=$folder/venv/bin:$PATH JUPYTERLAB_SETTINGS_DIR=$folder/settings
echo '{"fetchNews": "false"}' >"$folder/settings/@jupyterlab/apputils-extension/notification.jupyterlab-settings"

python - "$folder/schedules.ipynb" <<'NOTEBOOK'
import sys
import nbformat

comparison = '''import pipeloom as pl

costs = {"forward": 14.2, "backward_input": 14.6, "backward_weight": 9.6,
         "time_unit": "ms"}
a = pl.simulate("1f1b", ranks=8, microbatches=24, costs=costs)
b = pl.simulate("zbv", ranks=8, microbatches=24, costs={**costs, "per": "rank"})
pl.compare(a, b)'''
book = nbformat.v4.new_notebook()
book.cells = [nbformat.v4.new_code_cell(text) for text in (comparison, "b.view(height=520)")]
book.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
nbformat.write(book, sys.argv[1])
NOTEBOOK
jupyter nbconvert --log-level ERROR --to notebook --execute --inplace "$folder/schedules.ipynb"
jupyter trust "$folder/schedules.ipynb" >/dev/null
jupyter lab --no-browser --allow-root --port "$port" --IdentityProvider.token='' --notebook-dir "$folder" >"$folder/lab.log" 2>&1 &
server=$!
trap 'kill "$server"' EXIT
for _ in $(seq 60); do
  if python -c "import socket; socket.create_connection(('127.0.0.1', $port), 1)" 2>/dev/null; then break; fi
  sleep 0.5
done
chromium --headless=new --no-sandbox --disable-gpu --window-size=1400,1500 --virtual-time-budget=20000 \
  --screenshot="$folder/shot.png" "http://127.0.0.1:$port/doc/tree/schedules.ipynb?reset" >/dev/null 2>&1
python -c "
from PIL import Image
Image.open('$folder/shot.png').convert('RGB').quantize(128).save('docs/images/jupyterlab.png', optimize=True)"
