#!/usr/bin/env bash
# areal 1.0.4 (torch 2.15.0, CPU), recorded on 28 November 2026: how many microbatches the Archon engine makes of a rank's batch.
#
# With a pipeline of p ranks the engine does not run the number that `mb_spec.n_mbs` says:
# 1. It makes at least one microbatch for each stage (p ranks times stages a rank), and refuses a batch with fewer sequences.
# 2. It rounds up to a multiple of p where the packing algorithm is `ffd`, the default; with exactly as many sequences as microbatches it
#    raises instead.
# 3. With the packing algorithm `kk` and exactly as many sequences as microbatches it makes the number that was said.
#
# The engine's own method is called with what it reads of an engine; packages that it imports and does not need here (servers, trackers,
# tokenizers) are replaced by empty ones. Output: the lines in `expected` below. Fails if one changes. Some 2 minutes, 5 GB in a temporary folder.
set -euo pipefail

folder=$(mktemp -d)
readonly folder
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
pip=("$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-compile)
"${pip[@]}" torch==2.15.0 numpy packaging psutil einops==0.8.2 colorlog==6.12.0 lark==1.3.1 omegaconf==2.4.0.dev2 hydra-core==1.4.0.dev1 \
  tenacity==9.2.1 safetensors==0.8.0 tokenizers==0.23.3 torchdata==0.11.0
"${pip[@]}" --no-deps areal==1.0.4
"${pip[@]}" --no-deps --ignore-requires-python megatron-core==0.19.2

cat >"$folder/run.py" <<'PYTHON'
import importlib.abc
import importlib.machinery
import logging
import sys
import types
import warnings

warnings.simplefilter("ignore")


class Anything(type):
    def __getattr__(cls, name):
        return attribute(name)


def attribute(name):
    """A class that can be subclassed, called and used as a decorator."""
    if name.startswith("__"):
        raise AttributeError(name)
    return Anything(name, (), {"__init__": lambda self, *args, **kwargs: None, "__call__": lambda self, *args, **kwargs: args[0] if args else None,
                               "__class_getitem__": classmethod(lambda cls, key: cls)})


class Empty(types.ModuleType):
    def __getattr__(self, name):
        return attribute(name)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    NAMES = ("PIL", "aiofiles", "aiohttp", "datasets", "flask", "google", "httpx", "numba", "openai", "orjson", "pydantic", "ray", "requests",
             "tensorboard", "transformers", "uvloop", "wandb", "werkzeug")

    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in self.NAMES else None

    def create_module(self, spec):
        return Empty(spec.name)

    def exec_module(self, module):
        module.__path__ = []


sys.meta_path.append(Finder())
import torch
from areal.api.cli_args import MicroBatchSpec
from areal.experimental.engine.archon_engine import ArchonEngine

logging.disable(logging.CRITICAL)


def made(ranks, stages_per_rank, said, sequences, packing):
    engine = types.SimpleNamespace(
        enable_tree_training=False, rank=0, logger=logging.getLogger("engine"), param_dtype=torch.bfloat16, pp_stages=[None] * stages_per_rank,
        parallel_dims=types.SimpleNamespace(pp_enabled=True, pp=ranks, seq_len_divisor=1), model_config=types.SimpleNamespace(hidden_size=64),
        config=types.SimpleNamespace(mb_spec=MicroBatchSpec(n_mbs=said, packing_algorithm=packing), pad_to_maximum=False))
    batch = {"input_ids": torch.ones(sequences, 8, dtype=torch.long), "attention_mask": torch.ones(sequences, 8, dtype=torch.bool)}
    try:
        return len(ArchonEngine._prepare_mb_list(engine, batch).mbs)
    except RuntimeError as refusal:
        return type(refusal).__name__


for case in [(4, 1, 8, 8, "ffd"), (4, 1, 7, 8, "ffd"), (4, 1, 7, 7, "ffd"), (4, 1, 7, 7, "kk"), (4, 2, 4, 8, "ffd"), (4, 2, 6, 16, "ffd"),
             (4, 2, 6, 6, "kk")]:
    ranks, stages, said, sequences, packing = case
    print(f"{ranks} ranks, {stages} stages each, n_mbs {said}, {sequences} sequences, {packing}: {made(*case)}")
PYTHON

expected() {
  cat <<'LINES'
4 ranks, 1 stages each, n_mbs 8, 8 sequences, ffd: 8
4 ranks, 1 stages each, n_mbs 7, 8 sequences, ffd: 8
4 ranks, 1 stages each, n_mbs 7, 7 sequences, ffd: RuntimeError
4 ranks, 1 stages each, n_mbs 7, 7 sequences, kk: 7
4 ranks, 2 stages each, n_mbs 4, 8 sequences, ffd: 8
4 ranks, 2 stages each, n_mbs 6, 16 sequences, ffd: 8
4 ranks, 2 stages each, n_mbs 6, 6 sequences, kk: RuntimeError
LINES
}

"$folder/venv/bin/python" "$folder/run.py" 2>"$folder/log" | grep "^[0-9]* ranks, " >"$folder/lines" || {
  cat "$folder/log" >&2
  exit 1
}
cat "$folder/lines"
diff <(expected) "$folder/lines"
