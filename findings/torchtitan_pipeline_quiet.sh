#!/usr/bin/env bash
# torchtitan 0.3.0 (torch 2.15.0, CPU), recorded on 28 November 2026: what its pipeline does without a word.
#
# 1. A configuration that only sets a pipeline degree is refused: CUDA graphs are on by default, and a pipeline does not go with them.
# 2. Under DualPipeV rank 0 holds the last stage and so the loss, as under ZBVZeroBubble. The rank that logs the loss is chosen by the
#    schedule's name, and only ZBVZeroBubble is known: under DualPipeV the last rank logs, which has none.
# 3. A schedule of one stage a rank (1F1B) with lists of modules for two stages a rank is built without a complaint: the schedule object of
#    each rank has its first stage only, so that half of the model would not run.
#
# Output: the lines in `expected` below. Fails if one of them changes. Some 2 minutes, 5 GB in a temporary folder. Schedules are built on torch's
# own fake process group, one process that is each rank in turn; nothing is trained.
set -euo pipefail

folder=$(mktemp -d)
readonly folder
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
pip=("$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-compile)
"${pip[@]}" torch==2.15.0 numpy einops==0.8.2 spmd_types==0.2.3 tyro==1.0.17 safetensors==0.8.0 tokenizers==0.23.3 torchdata==0.11.0 \
  tensorboard pillow 'datasets>=3.6,<4.8'
"${pip[@]}" --no-deps torchtitan==0.3.0

cat >"$folder/run.py" <<'PYTHON'
import contextlib
import io
import logging
import types
import warnings

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

import torch
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore
from torchtitan.components.metrics import _get_metrics_rank
from torchtitan.config import CompileConfig, ParallelismConfig, TrainingConfig
from torchtitan.distributed import ParallelDims
from torchtitan.distributed.pipeline_parallel import pipeline_llm
from torchtitan.trainer import Trainer

RANKS = 4


def default_configuration():
    try:
        Trainer.Config(parallelism=ParallelismConfig(pipeline_parallel_degree=RANKS))
    except ValueError as refusal:
        return str(refusal).split(".")[0]
    return "taken"


def model_of(layers):
    model = torch.nn.Module()
    model.tok_embeddings, model.norm, model.lm_head = (torch.nn.Identity() for _ in range(3))
    model.layers = torch.nn.ModuleDict({str(layer): torch.nn.Identity() for layer in range(layers)})
    return model


def built(schedule, rank, parts=None):
    """(stages that the rank builds, stages of its schedule object, dims)"""
    parallelism = ParallelismConfig(pipeline_parallel_degree=RANKS, pipeline_parallel_schedule=schedule, data_parallel_shard_degree=1,
                                    module_fqns_per_model_part=parts)
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=RANKS)
    try:
        dims = ParallelDims.from_config(parallelism, RANKS)
        dims.build_mesh()
        made, modules, _, has_last = pipeline_llm(
            model_of(16), parallel_dims=dims, training=TrainingConfig(local_batch_size=16), parallelism=parallelism,
            compile_config=CompileConfig(), ac_config=None, dump_folder="", device=torch.device("cpu"),
            model_config=types.SimpleNamespace(layers=range(16)), parallelize_fn=lambda part, **options: part, loss_fn=None)
        stages = made._stages if hasattr(made, "_stages") else [made._stage]
        return len(modules), len(stages), has_last, dims
    finally:
        dist.destroy_process_group()


print(f"a pipeline and nothing else: {default_configuration()}")
for schedule in ("ZBVZeroBubble", "DualPipeV"):
    last = [rank for rank in range(RANKS) if built(schedule, rank)[2]]
    logs = _get_metrics_rank(parallel_dims=built(schedule, 0)[3], pp_schedule=schedule)
    print(f"{schedule}: the loss is on rank {last[0]}, rank {logs} logs")
parts = [[f"layers.{2 * stage}", f"layers.{2 * stage + 1}"] for stage in range(2 * RANKS)]
parts[0].insert(0, "tok_embeddings")
parts[-1] += ["norm", "lm_head"]
print("1F1B with lists for two stages a rank: builds {}, runs {}".format(*built("1F1B", 0, parts)[:2]))
PYTHON

expected() {
  cat <<'LINES'
a pipeline and nothing else: CUDA graphs do not support pipeline parallelism yet
ZBVZeroBubble: the loss is on rank 0, rank 0 logs
DualPipeV: the loss is on rank 0, rank 3 logs
1F1B with lists for two stages a rank: builds 2, runs 1
LINES
}

"$folder/venv/bin/python" "$folder/run.py" 2>"$folder/log" >"$folder/lines" || {
  cat "$folder/log" >&2
  exit 1
}
cat "$folder/lines"
diff <(expected) "$folder/lines"
