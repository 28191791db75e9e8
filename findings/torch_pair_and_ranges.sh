#!/usr/bin/env bash
# torch 2.15.0 (CPU, two gloo ranks), recorded on 28 November 2026:
#
# 1. A step of the last stage that overlaps the forward and the backward of ONE microbatch, (1F0;1B0)OVERLAP_F_B, where the backward needs the
#    forward's output, is taken: the parts run one after the other, and the gradients equal those of the unsplit model.
# 2. Schedule1F1B leaves no range of its work in a profile. ScheduleGPipe leaves "Forward 0", "Backward 0"; the runtime of the
#    multi-stage schedules leaves "PP:0F0".
# 3. Schedule1F1B refuses fewer microbatches than stages (ValueError); ScheduleGPipe takes them.
#
# Output: the lines in `expected` below. Fails if one of them changes. Some 3 minutes, 5 GB in a temporary folder.
set -euo pipefail

folder=$(mktemp -d)
readonly folder
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-compile torch==2.15.0 numpy

cat >"$folder/run.py" <<'PYTHON'
import copy
import os
import re
import sys
import warnings

import torch
import torch.distributed as dist
import torch.multiprocessing
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime

warnings.simplefilter("ignore")
FOLDER = os.path.dirname(os.path.abspath(__file__))
ROWS = ["0F0,0F1,0B0,0B1", "(1F0;1B0)OVERLAP_F_B,(1F1;1B1)OVERLAP_F_B"]


def whole_model():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(6, 6, dtype=torch.float64), torch.nn.Linear(6, 6, dtype=torch.float64))


def loss_of(output, target):
    return ((output - target) ** 2).mean()


def data():
    torch.manual_seed(2)
    return torch.randn(4, 6, dtype=torch.float64), torch.randn(4, 6, dtype=torch.float64)


def stage_of(rank):
    return PipelineStage(copy.deepcopy(whole_model()[rank]), rank, 2, torch.device("cpu"))


def step(schedule, rank):
    x, y = data()
    if rank == 0:
        schedule.step(x)
    else:
        schedule.step(target=y)


def pair(rank):
    stage = stage_of(rank)
    schedule = _PipelineScheduleRuntime([stage], 2, loss_fn=loss_of)
    schedule._load_csv(f"{FOLDER}/order.csv")
    step(schedule, rank)
    x, y = data()
    whole = whole_model()
    sum(loss_of(whole(part), target) / 2 for part, target in zip(x.chunk(2), y.chunk(2))).backward()
    right = all(torch.allclose(mine.grad, theirs.grad, rtol=1e-12, atol=0)
                for mine, theirs in zip(stage.submod.parameters(), whole[rank].parameters()))
    return f"pair of one microbatch: gradients {'right' if right else 'wrong'}"


def ranges(make, rank):
    schedule = make(rank)
    step(schedule, rank)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        step(schedule, rank)
    names = sorted({event.name for event in profile.events() if re.fullmatch(r"PP:\d+[FB]\d+|(Forward|Backward) \d+", event.name)})
    return ", ".join(names) or "none"


def runtime(rank):
    with open(f"{FOLDER}/plain{rank}.csv", "w", encoding="utf-8") as file:
        file.write("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n")
    schedule = _PipelineScheduleRuntime([stage_of(rank)], 2, loss_fn=loss_of)
    schedule._load_csv(f"{FOLDER}/plain{rank}.csv")
    return schedule


def few(make, rank):
    try:
        make(stage_of(rank), 1, loss_fn=loss_of)
    except ValueError as refusal:
        return type(refusal).__name__
    return "taken"


def work(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=2)
    lines = [pair(rank),
             f"ranges of Schedule1F1B: {ranges(lambda r: Schedule1F1B(stage_of(r), 2, loss_fn=loss_of), rank)}",
             f"ranges of ScheduleGPipe: {ranges(lambda r: ScheduleGPipe(stage_of(r), 2, loss_fn=loss_of), rank)}",
             f"ranges of the runtime: {ranges(runtime, rank)}",
             f"1 microbatch on 2 stages: Schedule1F1B {few(Schedule1F1B, rank)}, ScheduleGPipe {few(ScheduleGPipe, rank)}"]
    with open(f"{FOLDER}/lines{rank}", "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    with open(f"{FOLDER}/order.csv", "w", encoding="utf-8") as file:
        file.write("\n".join(ROWS) + "\n")
    torch.multiprocessing.spawn(work, args=(int(sys.argv[1]),), nprocs=2)
PYTHON

expected() {
  cat <<LINES
pair of one microbatch: gradients right
ranges of Schedule1F1B: none
ranges of ScheduleGPipe: Backward 0, Backward 1, Forward 0, Forward 1
ranges of the runtime: $1
1 microbatch on 2 stages: Schedule1F1B ValueError, ScheduleGPipe taken
LINES
}

"$folder/venv/bin/python" "$folder/run.py" $((20000 + RANDOM % 20000)) 2>"$folder/log" || {
  cat "$folder/log" >&2
  exit 1
}
cat "$folder/lines0"
diff <(expected "PP:0B0, PP:0B1, PP:0F0, PP:0F1") "$folder/lines0"
diff <(expected "PP:1B0, PP:1B1, PP:1F0, PP:1F1") "$folder/lines1"
