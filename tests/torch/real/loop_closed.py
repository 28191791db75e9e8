"""The loop closed in PyTorch: schedules predicted from a record of one, then run and measured; and a planned order.

    loop_closed.py [OUT]

Four gloo ranks whose ops sleep, SLEEP seconds of F, of I and of W per rank and microbatch whatever the number of its stages. A record of
zbv gives the costs; every schedule of SCHEDULES is predicted from it alone, then run. Exits with 1 if a step differs by more than MOST
from its prediction, or if the ranking is wrong where steps differ by more than TIE. OUT is a folder for the costs and timelines, a
temporary one if left out.
"""
import os
import sys
import tempfile
import time

import pipeloom as pl
import pipeloom.torch as pt
import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage

RANKS, MICROBATCHES, STEPS = 4, 8, 5
SLEEP = float(os.environ.get("PIPELOOM_TORCH_SLEEP", "0.1"))
MOST, TIE = 0.03, 0.01
RECORDED = "zbv"
SCHEDULES = ("gpipe", "1f1b", "interleaved-1f1b", "zb-h1", "v-half", "dualpipe-v")


class Sleep(torch.autograd.Function):
    """The value itself, and a gradient that takes its time."""

    @staticmethod
    def forward(context, value, seconds):
        context.seconds = seconds
        return value.clone()

    @staticmethod
    def backward(context, gradient):
        time.sleep(context.seconds)
        return gradient, None


class Slow(torch.nn.Module):
    """A stage with a weight on both sides of what sleeps, so that its first op has an input gradient too, as behind an embedding."""

    def __init__(self, seconds):
        super().__init__()
        self.seconds = seconds
        self.first = torch.nn.Parameter(torch.ones(1))
        self.second = torch.nn.Parameter(torch.ones(1))

    def forward(self, x):
        time.sleep(self.seconds)
        return Sleep.apply(x * self.first, self.seconds) * Sleep.apply(self.second, self.seconds)


def loss_of(output, target):
    return ((output - target) ** 2).mean()


def measured(source):
    """A recording of the source's steps, on every rank."""
    def build(stage, stages):
        return PipelineStage(Slow(SLEEP * RANKS / stages), stage, stages, torch.device("cpu"), group=dist.group.WORLD)

    schedule = pt.load_schedule(source, build, MICROBATCHES, loss_of)
    x, target = torch.randn(2 * MICROBATCHES, 3), torch.randn(2 * MICROBATCHES, 3)
    with pt.record(schedule) as recording:
        for _ in range(1 + STEPS):  # the first counts bytes
            pt.step(schedule, x, target)
    return recording


def planned(costs):
    """The best order of its own for the recorded costs; rank 0's, since a search depends on the time that it has."""
    config = {"schedule": "zbv", "ranks": RANKS, "microbatches": MICROBATCHES, "costs": {k: v for k, v in costs.items() if k != "measured"}}
    found = [pl.plan(config, target="torch-2.15", vary=["order"], budget=5, jobs=1).best if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(found)
    return found[0]


def ranked(rows):
    """Pairs whose order the prediction has wrong, of those that differ by more than a tie."""
    return [
        (one, other)
        for one, predicted, took in rows
        for other, predicted_other, took_other in rows
        if took * (1 + TIE) < took_other and predicted > predicted_other
    ]


def report(rows):
    failed = 0
    print(f"{'schedule':18}{'predicted':>12}{'measured':>12}{'off':>9}")
    for name, predicted, took in sorted(rows, key=lambda row: row[2]):
        off = took / predicted - 1
        failed += abs(off) > MOST
        print(f"{name:18}{predicted:9.0f} ms{took:9.0f} ms{off:+9.2%}")
    wrong = ranked(rows)
    for one, other in wrong:
        print(f"the prediction puts {other} before {one}, and it was slower")
    print("ranking right" if not wrong else "ranking wrong", f"(ties: steps less than {TIE:.0%} apart)")
    return failed + len(wrong)


def run(rank, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=RANKS)
    recording = measured(RECORDED)
    recording.save(f"{folder}/costs.json")
    recording.timeline(f"{folder}/{RECORDED}.jsonl")
    costs = recording.costs()
    plan = planned(costs)
    rows = [(RECORDED + " (recorded)", pt.predict(RECORDED, costs=costs)["makespan"], recording.makespan)]
    for source in (*SCHEDULES, plan):
        name = source if isinstance(source, str) else f"planned {plan.name}"
        rows.append((name, pt.predict(source, costs=costs)["makespan"], measured(source).makespan))
    failed = report(rows) if rank == 0 else 0
    dist.destroy_process_group()
    return failed


def main():
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="pipeloom-torch-")
    os.makedirs(folder, exist_ok=True)
    if os.path.exists(f"{folder}/store"):
        os.remove(f"{folder}/store")
    children = []
    for rank in range(RANKS):
        child = os.fork()
        if child == 0:
            try:
                failed = run(rank, folder)
                sys.stdout.flush()
                os._exit(1 if failed else 0)
            except BaseException as error:  # a rank that ends ends the run
                print(f"rank {rank}: {type(error).__name__}: {error}", file=sys.stderr)
                os._exit(1)
        children.append(child)
    sys.exit(1 if any([os.waitpid(child, 0)[1] for child in children]) else 0)


if __name__ == "__main__":
    main()
