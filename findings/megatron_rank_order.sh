#!/usr/bin/env bash
# megatron-core 0.19.2 (torch 2.15.0, CPU), recorded on 30 November 2026: which sizes its order of ranks tp-cp-ep-pp-dp takes, the one of
# --use-tp-pp-dp-mapping, which puts the ranks of a pipeline next to those of a layer.
#
# 1. A dense model with context parallelism is refused, though it has no experts: the mesh of experts is made all the same, with etp = tp and ep = 1,
#    and has other pipelines than the mesh with tp x cp. The default order takes it.
# 2. Of experts only ep x etp = tp x cp is taken; an ep that spans data ranks is refused.
#
# Output: the lines in `expected` below. Fails if one of them changes. Some 2 minutes, 5 GB in a temporary folder.
set -euo pipefail

folder=$(mktemp -d)
readonly folder
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
pip=("$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-compile)
"${pip[@]}" torch==2.15.0 numpy packaging
# The wheel for Python 3.11 says that it wants 3.12.
"${pip[@]}" --no-deps --ignore-requires-python megatron-core==0.19.2

cat >"$folder/run.py" <<'PYTHON'
import logging
import warnings

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)

import torch
from megatron.core import parallel_state
from torch.testing._internal.distributed.fake_pg import FakeStore


def taken(order, tensor, context, expert, expert_tensor):
    """"taken", or the class of the refusal, of 16 ranks in pipelines of 2."""
    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=16)
    try:
        parallel_state.initialize_model_parallel(
            tensor_model_parallel_size=tensor, pipeline_model_parallel_size=2, context_parallel_size=context, expert_model_parallel_size=expert,
            expert_tensor_parallel_size=expert_tensor, order=order, create_gloo_process_groups=False)
        return "taken"
    except AssertionError as refusal:
        return f"AssertionError: {str(refusal)[:58]}.."
    finally:
        parallel_state.destroy_model_parallel()
        torch.distributed.destroy_process_group()


for order in ("tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp"):
    for tensor, context, expert, expert_tensor in [(2, 1, 1, None), (2, 2, 1, None), (1, 2, 1, None), (2, 1, 2, 1), (2, 1, 4, 1), (2, 2, 4, 1)]:
        print(f"{order} tp {tensor} cp {context} ep {expert} etp {expert_tensor}: {taken(order, tensor, context, expert, expert_tensor)}")
PYTHON

expected() {
  cat <<'LINES'
tp-cp-ep-dp-pp tp 2 cp 1 ep 1 etp None: taken
tp-cp-ep-dp-pp tp 2 cp 2 ep 1 etp None: taken
tp-cp-ep-dp-pp tp 1 cp 2 ep 1 etp None: taken
tp-cp-ep-dp-pp tp 2 cp 1 ep 2 etp 1: taken
tp-cp-ep-dp-pp tp 2 cp 1 ep 4 etp 1: taken
tp-cp-ep-dp-pp tp 2 cp 2 ep 4 etp 1: taken
tp-cp-ep-pp-dp tp 2 cp 1 ep 1 etp None: taken
tp-cp-ep-pp-dp tp 2 cp 2 ep 1 etp None: AssertionError: When not using pp-last rank ordering, the data parallel si..
tp-cp-ep-pp-dp tp 1 cp 2 ep 1 etp None: AssertionError: When not using pp-last rank ordering, the data parallel si..
tp-cp-ep-pp-dp tp 2 cp 1 ep 2 etp 1: taken
tp-cp-ep-pp-dp tp 2 cp 1 ep 4 etp 1: AssertionError: When not using pp-last rank ordering, the data parallel si..
tp-cp-ep-pp-dp tp 2 cp 2 ep 4 etp 1: taken
LINES
}

"$folder/venv/bin/python" "$folder/run.py" 2>"$folder/log" >"$folder/lines" || {
  cat "$folder/log" >&2
  exit 1
}
cat "$folder/lines"
diff <(expected) "$folder/lines"
