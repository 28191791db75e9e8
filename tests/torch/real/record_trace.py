"""Records training steps with torch.profiler and has pipeloom read the trace: the ops of every rank come back in the order of the schedule file.

    record_trace.py PIPELOOM CSV STAGES MICROBATCHES FOLDER

CSV is a schedule in the form compute_only. A process per rank trains STEPS steps over gloo on the CPU; each writes FOLDER/rankN.json. Exits 1 if what is read
differs.
"""
import csv
import json
import os
import re
import subprocess
import sys

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime

from run_files import batch, layer, loss_of, stages_of

STEPS = 3


def record(rank, world, path, stages, microbatches, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=world)
    own = stages_of(path)[rank]
    parts = [PipelineStage(layer(s), s, stages, torch.device("cpu"), group=dist.group.WORLD) for s in own]
    schedule = _PipelineScheduleRuntime(parts, microbatches, loss_fn=loss_of)
    schedule._load_csv(path, format="compute_only")
    x, target = batch(microbatches)
    arguments = (x,) if 0 in own else ()
    targets = {"target": target, "losses": []} if stages - 1 in own else {}
    waited = torch.profiler.schedule(wait=0, warmup=1, active=STEPS, repeat=1)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], schedule=waited) as profiler:
        for _ in range(1 + STEPS):
            schedule.step(*arguments, **targets)
            profiler.step()
    profiler.export_chrome_trace(f"{folder}/rank{rank}.json")
    dist.destroy_process_group()


def expected_orders(path):
    """Per rank the names of its ops, a pair's one after the other."""
    with open(path, newline="", encoding="utf-8") as file:
        return [re.findall(r"\d+[FBIW]\d+", ",".join(row)) for row in csv.reader(file)]


def read_orders(pipeloom, folder, world):
    """The same of each step of the trace: [step][rank]."""
    text = subprocess.run([pipeloom, "convert", folder, "-", "--from", "kineto", "--to", "timeline", "-q"], check=True,
                          capture_output=True, text=True).stdout
    steps = {}
    for line in text.splitlines():
        row = json.loads(line)
        if "op" in row:
            steps.setdefault(row.get("step", 0), [[] for _ in range(world)])[row["rank"]].append((row["start"], row["op"]))
    return [[[op for _, op in sorted(rank, key=lambda one: one[0])] for rank in steps[step]] for step in sorted(steps)]


def main():
    pipeloom, path, stages, microbatches, folder = sys.argv[1:]
    orders = expected_orders(path)
    os.makedirs(folder, exist_ok=True)
    children = []
    for rank in range(len(orders)):
        child = os.fork()
        if child == 0:
            try:
                record(rank, len(orders), path, int(stages), int(microbatches), folder)
                os._exit(0)
            except BaseException as error:  # a rank that ends ends the run
                print(f"rank {rank}: {type(error).__name__}: {error}", file=sys.stderr)
                os._exit(1)
        children.append(child)
    failed = any(os.waitpid(child, 0)[1] != 0 for child in children)
    read = [] if failed else read_orders(pipeloom, folder, len(orders))
    right = len(read) == STEPS and all(step == orders for step in read)
    print("right" if right else "wrong", path)
    sys.exit(0 if right else 1)


if __name__ == "__main__":
    main()
