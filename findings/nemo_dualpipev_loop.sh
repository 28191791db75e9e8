#!/usr/bin/env bash
# nemo-automodel 0.7.0 (torch 2.15.0, CPU), recorded on 28 November 2026: where it places the stages of DualPipeV.
#
# torch's ScheduleDualPipeV runs a V: rank r has stages r and 2p - 1 - r. nemo-automodel deals stages out in a V for ZBVZeroBubble only and in
# a loop otherwise, so that under DualPipeV rank r builds stages r and p + r: other ones than its row of the schedule computes. Building
# stages and schedule object raises nothing.
#
# Output: the lines in `expected` below. Fails if one of them changes. Some 2 minutes, 5 GB in a temporary folder. Stages are built on torch's
# own fake process group, one process that is each rank in turn; nothing is trained.
set -euo pipefail

folder=$(mktemp -d)
readonly folder
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
pip=("$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-compile)
"${pip[@]}" torch==2.15.0 numpy pyyaml transformers==5.18.0
"${pip[@]}" --no-deps nemo-automodel==0.7.0

cat >"$folder/run.py" <<'PYTHON'
import re
import warnings

warnings.simplefilter("ignore")

import torch
import torch.distributed as dist
from nemo_automodel.components.distributed.pipelining.functional import build_pipeline_schedule, split_model_into_stages
from torch.distributed.device_mesh import init_device_mesh
from torch.testing._internal.distributed.fake_pg import FakeStore

RANKS = 4


class Decoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_tokens = torch.nn.Embedding(8, 4)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(2 * RANKS))
        self.norm = torch.nn.LayerNorm(4)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = Decoder()
        self.lm_head = torch.nn.Linear(4, 8)

    def forward(self, ids):
        return self.lm_head(self.model.norm(ids))


def stages_on(rank, schedule):
    """(stages that are built, stages that the rank's row computes)"""
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=RANKS)
    try:
        mesh = init_device_mesh("cpu", (RANKS,), mesh_dim_names=("pp",))
        stages, _ = split_model_into_stages(Model(), mesh, "pp", schedule, torch.device("cpu"), layers_per_stage=1,
                                            patch_inner_model=False, patch_causal_lm_model=False)
        made = build_pipeline_schedule(None, schedule, 1, 4 * RANKS, stages, loss_fn=lambda output, target: output)
        computed = {int(stage) for cell in made.pipeline_order[rank] if cell for stage in re.findall(r"(\d+)[FBIW]", str(cell))}
        return sorted(stage.stage_index for stage in stages), sorted(computed)
    finally:
        dist.destroy_process_group()


for schedule in ("ZBVZeroBubble", "DualPipeV"):
    for rank in range(RANKS):
        built, computed = stages_on(rank, schedule)
        print(f"{schedule}, rank {rank}: builds stages {built}, computes {computed}")
PYTHON

expected() {
  cat <<'LINES'
ZBVZeroBubble, rank 0: builds stages [0, 7], computes [0, 7]
ZBVZeroBubble, rank 1: builds stages [1, 6], computes [1, 6]
ZBVZeroBubble, rank 2: builds stages [2, 5], computes [2, 5]
ZBVZeroBubble, rank 3: builds stages [3, 4], computes [3, 4]
DualPipeV, rank 0: builds stages [0, 4], computes [0, 7]
DualPipeV, rank 1: builds stages [1, 5], computes [1, 6]
DualPipeV, rank 2: builds stages [2, 6], computes [2, 5]
DualPipeV, rank 3: builds stages [3, 7], computes [3, 4]
LINES
}

"$folder/venv/bin/python" "$folder/run.py" 2>"$folder/log" >"$folder/lines" || {
  cat "$folder/log" >&2
  exit 1
}
cat "$folder/lines"
diff <(expected) "$folder/lines"
