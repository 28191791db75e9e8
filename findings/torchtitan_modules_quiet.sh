#!/usr/bin/env bash
# torchtitan 0.3.0 (torch 2.15.0, CPU), recorded on 28 November 2026: lists of modules for stages, and experts on replicas.
#
# 1. `module_fqns_per_model_part` is not held against the model. A list that leaves out a decoder layer is taken, and the model has one layer
#    less; a list that calls the head `output`, as torchtitan's Llama did in earlier releases, is taken, and no stage has a head. Nothing is said.
# 2. Experts are shared out over the ranks that share weights: with two replicas and expert parallelism of two the meshes are refused, by a
#    product of sizes that is 0, which names neither. Two shards instead of two replicas are taken.
#
# Output: the lines in `expected` below. Fails if one of them changes. Some 2 minutes, 5 GB in a temporary folder. The model is the release's own
# llama3_debugmodel without memory (6 layers); stages are built on torch's own fake process group; nothing is trained.
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
import copy
import logging
import warnings

warnings.simplefilter("ignore")
heard = []


class Listener(logging.Handler):
    def emit(self, record):
        if record.levelno >= logging.WARNING:
            heard.append(record.getMessage())


logging.basicConfig(handlers=[Listener()], force=True)

import torch
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore
from torchtitan.config import CompileConfig, ParallelismConfig, TrainingConfig
from torchtitan.distributed import ParallelDims
from torchtitan.distributed.pipeline_parallel import pipeline_llm
from torchtitan.models.llama3.config_registry import llama3_debugmodel

config = llama3_debugmodel().model_spec.model
with torch.device("meta"):
    model = config.build()
heard.clear()  # the configuration's own


def names_of(parts):
    """Modules with weights that the two ranks hold together; a decoder layer counts as one."""
    held = set()
    for rank in (0, 1):
        dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=2)
        try:
            parallelism = ParallelismConfig(pipeline_parallel_degree=2, pipeline_parallel_schedule="1F1B", data_parallel_shard_degree=1,
                                            module_fqns_per_model_part=parts)
            dims = ParallelDims.from_config(parallelism, 2)
            dims.build_mesh()
            _, modules, _, _ = pipeline_llm(
                copy.deepcopy(model), parallel_dims=dims, training=TrainingConfig(local_batch_size=4), parallelism=parallelism,
                compile_config=CompileConfig(), ac_config=None, dump_folder="", device=torch.device("meta"), model_config=config,
                parallelize_fn=lambda part, **options: part, loss_fn=None)
        finally:
            dist.destroy_process_group()
        for part in modules:
            for name, _ in part.named_parameters():
                pieces = name.split(".")
                held.add(".".join(pieces[:2]) if pieces[0] == "layers" else pieces[0])
    return held


def lists(skipped=(), head="lm_head"):
    layers = [[f"layers.{layer}" for layer in range(first, first + 3) if layer not in skipped] for first in (0, 3)]
    return [["tok_embeddings", *layers[0]], [*layers[1], "norm", head]]


def meshes(replicas, shards, experts):
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=4)
    try:
        ParallelDims.from_config(ParallelismConfig(pipeline_parallel_degree=2, data_parallel_replicate_degree=replicas,
                                                   data_parallel_shard_degree=shards, expert_parallel_degree=experts), 4).build_mesh()
    except ValueError as refusal:
        return str(refusal).split(", but")[0]
    finally:
        dist.destroy_process_group()
    return "taken"


whole = names_of(lists())
print(f"whole: {len(whole)} modules")
print("without layers.4:", "missing", *sorted(whole - names_of(lists(skipped=(4,)))))
print("the head as 'output':", "missing", *sorted(whole - names_of(lists(head="output"))))
print(f"warnings: {len(heard)}")
print("2 shards, ep 2:", meshes(1, 2, 2))
print("2 replicas, ep 2:", meshes(2, 1, 2))
PYTHON

expected() {
  cat <<'LINES'
whole: 9 modules
without layers.4: missing layers.4
the head as 'output': missing lm_head
warnings: 0
2 shards, ep 2: taken
2 replicas, ep 2: The product of mesh_sizes=(2, 2, 0, 2) is 0
LINES
}

"$folder/venv/bin/python" "$folder/run.py" 2>"$folder/log" >"$folder/lines" || {
  cat "$folder/log" >&2
  exit 1
}
cat "$folder/lines"
diff <(expected) "$folder/lines"
