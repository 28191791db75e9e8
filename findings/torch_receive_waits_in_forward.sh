#!/usr/bin/env bash
# torch 2.15.0 (CPU, two gloo ranks, ScheduleInterleaved1F1B), recorded on 28 November 2026:
#
# The runtime of the multi-stage schedules waits for a received tensor inside the range of the pass that wants it. With a first stage whose forward takes
# 200 ms, the profile of the second rank shows PP:1RECV_F0 for a moment, and PP:1F0 for some 200 ms, of which the stage's forward is next to nothing. gloo's own
# range of the receive begins in PP:1RECV_F0 and ends in PP:1F0: what is left of PP:1F0 from there on is the pass.
#
# Output: the lines in `expected` below. Fails if one of them changes. Some 3 minutes, 5 GB in a temporary folder.
set -euo pipefail

folder=$(mktemp -d)
readonly folder
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-compile torch==2.15.0 numpy

cat >"$folder/run.py" <<'PYTHON'
import json
import os
import time
import warnings

import torch
import torch.distributed as dist
import torch.multiprocessing
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import ScheduleInterleaved1F1B

warnings.simplefilter("ignore")
FOLDER = os.path.dirname(os.path.abspath(__file__))
SLOW = 0.2


class Layer(torch.nn.Module):
    def __init__(self, seconds):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)
        self.seconds = seconds

    def forward(self, x):
        time.sleep(self.seconds)
        return self.inner(x)


def work(rank):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{FOLDER}/store", rank=rank, world_size=2)
    stage = PipelineStage(Layer(SLOW if rank == 0 else 0.0), rank, 2, torch.device("cpu"))
    schedule = ScheduleInterleaved1F1B([stage], 2, loss_fn=lambda output, target: ((output - target) ** 2).mean())
    took = {}
    original = stage.forward_one_chunk

    def timed(microbatch, *args, **kwargs):
        start = time.perf_counter()
        result = original(microbatch, *args, **kwargs)
        took[microbatch] = 1000 * (time.perf_counter() - start)
        return result

    stage.forward_one_chunk = timed
    x = torch.ones(2, 4)

    def step():
        dist.barrier()
        schedule.step(x) if rank == 0 else schedule.step(target=x)

    step()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        step()
    if rank == 1:
        profiler.export_chrome_trace(f"{FOLDER}/trace.json")
        tell(took[0])
    dist.destroy_process_group()


def tell(forward_ms):
    with open(f"{FOLDER}/trace.json", encoding="utf-8") as file:
        events = [event for event in json.load(file)["traceEvents"] if event.get("ph") == "X"]
    receive, = [event for event in events if event["name"] == "PP:1RECV_F0"]
    forward, = [event for event in events if event["name"] == "PP:1F0"]

    def begins_in(event, within):
        return within["ts"] <= event["ts"] <= within["ts"] + within["dur"]

    gloo, = [event for event in events if event["name"] == "gloo:recv" and begins_in(event, receive)]
    end = gloo["ts"] + gloo["dur"]
    left_ms = (forward["ts"] + forward["dur"] - end) / 1000
    print("the forward of stage 1 takes less than 50 ms:", forward_ms < 50)
    print("PP:1RECV_F0 takes less than 50 ms:", receive["dur"] / 1000 < 50)
    print("PP:1F0 takes more than 150 ms:", forward["dur"] / 1000 > 150)
    print("gloo:recv begins in PP:1RECV_F0 and ends in PP:1F0:", forward["ts"] < end < forward["ts"] + forward["dur"])
    print("PP:1F0 from there on takes less than 50 ms:", left_ms < 50)


if __name__ == "__main__":
    torch.multiprocessing.start_processes(work, nprocs=2, start_method="fork")
PYTHON

cat >"$folder/expected" <<'EXPECTED'
the forward of stage 1 takes less than 50 ms: True
PP:1RECV_F0 takes less than 50 ms: True
PP:1F0 takes more than 150 ms: True
gloo:recv begins in PP:1RECV_F0 and ends in PP:1F0: True
PP:1F0 from there on takes less than 50 ms: True
EXPECTED

"$folder/venv/bin/python" "$folder/run.py" 2>"$folder/log" >"$folder/output" || {
  cat "$folder/log" >&2
  exit 1
}
diff "$folder/expected" "$folder/output"
cat "$folder/output"
