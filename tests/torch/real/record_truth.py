"""Records pipelines of a real PyTorch with torch.profiler, and beside each trace what time.perf_counter measured around the same passes.

    record_truth.py FOLDER [NAME...]

Every row of RUNS becomes FOLDER/NAME/ with rankN.json.gz and truth.json; given names record only these. Layers sleep or compute, one rank may be
slowed. check_truth.py reads the folders with pipeloom. Ranks are processes forked from this one, so that torch is imported once; where the system lets
them they take precedence over other programs. A barrier ends each step, as the norm of all gradients does in training. A recording whose passes took more than usual here and there, because the machine was busy with
others, is made again, TRIES times at most: what it would show is the machine.
"""
import dataclasses
import gzip
import json
import os
import shutil
import signal
import statistics
import sys
import time
from typing import Optional

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, schedules

STEPS = 3
WARMUP = 2
TRIES = 4
CALM = {"sleep": 1.015, "linear": 1.1, "transformer": 1.1, "short": 1.3}  # all passes together over what they take in the median
FORWARD, INPUT, WEIGHT = 0.010, 0.012, 0.008  # seconds that a sleeping layer takes in its passes
SLOW = 1.3
V = ("ZBVZeroBubble", "DualPipeV")


@dataclasses.dataclass(frozen=True)
class Recorded:
    name: str
    schedule: str  #: PyTorch's class, without "Schedule"
    ranks: int
    microbatches: int
    chunks: int = 1
    layers: str = "sleep"  #: sleep, linear, transformer; short: linear ones of 0.2 ms
    slow: Optional[int] = None  #: a rank whose passes take SLOW times as long
    ranges: bool = False  #: pipeloom.torch.ranges
    replicas: int = 1  #: data parallel


RUNS = [
    Recorded("1f1b_ranges", "1F1B", 4, 8, ranges=True),
    Recorded("1f1b_ranges_slow1", "1F1B", 4, 8, slow=1, ranges=True),
    Recorded("1f1b_nothing", "1F1B", 2, 4),
    Recorded("gpipe", "GPipe", 3, 6),
    Recorded("gpipe_slow1", "GPipe", 4, 8, slow=1),
    Recorded("gpipe_ranges", "GPipe", 2, 4, ranges=True),
    Recorded("single_slow1", "Interleaved1F1B", 4, 8, slow=1),
    Recorded("single_slow2", "Interleaved1F1B", 4, 8, slow=2),
    Recorded("interleaved", "Interleaved1F1B", 2, 4, chunks=2),
    Recorded("interleaved_slow0", "Interleaved1F1B", 2, 6, chunks=2, slow=0),
    Recorded("bfs", "LoopedBFS", 2, 4, chunks=2),
    Recorded("zero_bubble", "InterleavedZeroBubble", 2, 4, chunks=2),
    Recorded("zero_bubble4_slow2", "InterleavedZeroBubble", 4, 8, chunks=2, slow=2),
    Recorded("zbv", "ZBVZeroBubble", 2, 6, chunks=2),
    Recorded("zbv_slow1", "ZBVZeroBubble", 2, 6, chunks=2, slow=1),
    Recorded("zbv4", "ZBVZeroBubble", 4, 8, chunks=2),
    Recorded("dualpipe_v", "DualPipeV", 2, 4, chunks=2),
    Recorded("dualpipe_v3_slow1", "DualPipeV", 3, 6, chunks=2, slow=1),
    Recorded("dualpipe_v4", "DualPipeV", 4, 8, chunks=2),
    Recorded("linear", "Interleaved1F1B", 2, 4, chunks=2, layers="linear"),
    Recorded("linear_gpipe", "GPipe", 2, 4, layers="linear"),
    Recorded("linear_zbv", "ZBVZeroBubble", 2, 4, chunks=2, layers="linear"),
    Recorded("transformer", "Interleaved1F1B", 2, 4, layers="transformer"),
    Recorded("transformer_ranges", "1F1B", 2, 4, layers="transformer", ranges=True),
    Recorded("transformer_zero_bubble", "InterleavedZeroBubble", 2, 4, chunks=2, layers="transformer"),
    Recorded("transformer_dualpipe_v", "DualPipeV", 2, 4, chunks=2, layers="transformer"),
    Recorded("short", "Interleaved1F1B", 2, 6, layers="short"),
    Recorded("short_ranges", "1F1B", 2, 6, layers="short", ranges=True),
    Recorded("replicas", "Interleaved1F1B", 2, 4, chunks=2, replicas=2),
    Recorded("replicas_ranges_slow0", "1F1B", 2, 4, slow=0, ranges=True, replicas=2),
]


class Pause(torch.autograd.Function):
    """Hands its input on; sleeps in the forward and in the backward."""

    @staticmethod
    def forward(ctx, x, forward, backward):
        time.sleep(forward)
        ctx.backward_seconds = backward
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        time.sleep(ctx.backward_seconds)
        return gradient.clone(), None, None


class Sleeper(torch.nn.Module):
    """A layer whose forward, input gradient and weight gradient each sleep as long as they are told."""

    def __init__(self, factor):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))
        self.factor = factor

    def forward(self, x):
        weight = Pause.apply(self.weight, 0.0, WEIGHT * self.factor)
        return Pause.apply(x, FORWARD * self.factor, INPUT * self.factor) * weight


def module_of(kind, stage, factor):
    torch.manual_seed(stage)
    if kind == "sleep":
        return Sleeper(factor)
    if kind in INNER:
        return torch.nn.Sequential(torch.nn.Linear(WIDTHS[kind], INNER[kind]), torch.nn.GELU(), torch.nn.Linear(INNER[kind], WIDTHS[kind]))
    return torch.nn.TransformerEncoderLayer(WIDTHS[kind], 4, 512, batch_first=True, dropout=0.0)


WIDTHS = {"sleep": 16, "linear": 256, "transformer": 128, "short": 128}
INNER = {"linear": 1024, "short": 128}


def rows_of(kind):
    return (64, 32, WIDTHS[kind]) if kind == "transformer" else (64, WIDTHS[kind])


def stages_of(run, rank):
    if run.schedule in V:
        return [rank, 2 * run.ranks - 1 - rank]
    return [rank + chunk * run.ranks for chunk in range(run.chunks)]


class Truth:
    """time.perf_counter around the passes of stages: [step, stage, kind, microbatch, seconds]. The last stage's forward has the loss."""

    def __init__(self, stages, schedule):
        self.rows = []
        self.step = 0
        self._time_loss(schedule)
        for stage in stages:
            self._time(stage, "forward_one_chunk", lambda _: "F")
            self._time(stage, "backward_one_chunk", lambda given: "B" if given.get("full_backward", True) else "I")
            self._time(stage, "backward_weight_one_chunk", lambda _: "W")

    def _time(self, stage, name, kind_of):
        original = getattr(stage, name)

        def timed(microbatch, *args, **kwargs):
            start = time.perf_counter()
            result = original(microbatch, *args, **kwargs)
            self.rows.append([self.step, stage.stage_index, kind_of(kwargs), microbatch, time.perf_counter() - start])
            return result

        setattr(stage, name, timed)


    def _time_loss(self, schedule):
        original = schedule._maybe_compute_loss

        def timed(stage, *args, **kwargs):
            start = time.perf_counter()
            original(stage, *args, **kwargs)
            if stage.is_last:
                self.rows[-1][-1] += time.perf_counter() - start

        schedule._maybe_compute_loss = timed


def schedule_of(run, parts):
    make = getattr(schedules, "Schedule" + run.schedule)
    single = run.schedule in ("1F1B", "GPipe")
    return make(parts[0] if single else parts, run.microbatches, loss_fn=lambda output, target: ((output - target) ** 2).mean())


def record(run, process, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=process, world_size=run.ranks * run.replicas)
    replica, rank = divmod(process, run.ranks)
    groups = [dist.new_group(list(range(first, first + run.ranks))) for first in range(0, run.ranks * run.replicas, run.ranks)]
    own = stages_of(run, rank)
    factor = SLOW if rank == run.slow else 1.0
    parts = [PipelineStage(module_of(run.layers, stage, factor), stage, run.ranks * run.chunks, torch.device("cpu"), group=groups[replica]) for stage in own]
    schedule = schedule_of(run, parts)
    truth = Truth(parts, schedule)
    if run.ranges:
        import pipeloom.torch

        pipeloom.torch.ranges(schedule)
    torch.manual_seed(7)
    x = torch.randn(run.microbatches * rows_of(run.layers)[0], *rows_of(run.layers)[1:])
    last = run.ranks * run.chunks - 1
    arguments = (x,) if 0 in own else ()
    targets = {"target": torch.zeros_like(x)} if last in own else {}
    plan = torch.profiler.schedule(wait=0, warmup=WARMUP, active=STEPS, repeat=1)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], schedule=plan) as profiler:
        for truth.step in range(-WARMUP, STEPS):
            schedule.step(*arguments, **targets)
            if run.replicas > 1:
                for part in parts:
                    for parameter in part.submod.parameters():
                        dist.all_reduce(parameter.grad)
            dist.barrier()
            profiler.step()
    if replica == 0:
        export(profiler, truth, rank, folder)
    dist.barrier()
    dist.destroy_process_group()


def export(profiler, truth, rank, folder):
    path = f"{folder}/rank{rank}.json"
    profiler.export_chrome_trace(path)
    with open(path, "rb") as plain, gzip.open(path + ".gz", "wb", compresslevel=6) as packed:
        shutil.copyfileobj(plain, packed)
    os.remove(path)
    with open(f"{folder}/truth{rank}.json", "w", encoding="utf-8") as file:
        json.dump([row for row in truth.rows if row[0] >= 0], file)


def merge_truth(run, folder):
    """Median, least and most ms of each kind and stage; each pass by itself: [step, stage, kind, microbatch, ms]. Returns by how much passes together
    took longer than their medians."""
    times = {}
    passes = []
    for rank in range(run.ranks):
        path = f"{folder}/truth{rank}.json"
        with open(path, encoding="utf-8") as file:
            passes += [[*row[:4], round(row[4] * 1000, 6)] for row in json.load(file)]
        os.remove(path)
    for _, stage, kind, _, milliseconds in passes:
        times.setdefault(f"{stage}{kind}", []).append(milliseconds)
    os.remove(f"{folder}/store")
    found = {key: {"median": statistics.median(all_of), "min": min(all_of), "max": max(all_of)} for key, all_of in sorted(times.items())}
    with open(f"{folder}/truth.json", "w", encoding="utf-8") as file:
        json.dump({"run": dataclasses.asdict(run), "torch": torch.__version__, "slow_factor": SLOW, "op_ms": found, "passes_ms": passes}, file)
    return sum(row[4] for row in passes) / sum(found[f"{row[1]}{row[2]}"]["median"] for row in passes)


def record_run(run, folder):
    """Whether every process of it ended well. The last try is kept, calm or not."""
    for tries_left in reversed(range(TRIES)):
        longer = record_once(run, folder)
        if longer is None:
            return False
        if longer <= CALM[run.layers]:
            break
        print(f"{run.name}: passes took {longer - 1:.1%} longer than their medians{', once more' if tries_left else ''}", file=sys.stderr)
    return True


def record_once(run, folder):
    """merge_truth()'s answer; None if a process failed."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    children = []
    for process in range(run.ranks * run.replicas):
        child = os.fork()
        if child == 0:
            try:
                record(run, process, folder)
                os._exit(0)
            except BaseException as error:  # a rank that fails ends the run
                print(f"{run.name}, process {process}: {type(error).__name__}: {error}", file=sys.stderr)
                os._exit(1)
        children.append(child)
    return merge_truth(run, folder) if all_end_well(children) else None


def all_end_well(children):
    """Waits for them. When one fails the others end, which would wait for it."""
    left, failed = set(children), False
    while left:
        child, status = os.wait()
        left.discard(child)
        if status != 0 and not failed:
            failed = True
            for other in left:
                os.kill(other, signal.SIGTERM)
    return not failed


def take_precedence():
    """Before other programs of the machine, whose pauses would be in the recordings."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    except (AttributeError, PermissionError):
        print("record_truth.py: no precedence over other programs; on a busy machine recordings show their pauses", file=sys.stderr)


def main():
    take_precedence()
    folder, names = os.path.abspath(sys.argv[1]), sys.argv[2:]
    unknown = [name for name in names if name not in [run.name for run in RUNS]]
    if unknown:
        sys.exit(f"record_truth.py: no run {unknown[0]}; there are {', '.join(run.name for run in RUNS)}")
    recorded = [run.name for run in RUNS if (not names or run.name in names) and record_run(run, f"{folder}/{run.name}")]
    print(f"recorded {len(recorded)} of {len(names or RUNS)}")
    sys.exit(len(recorded) != len(names or RUNS))


if __name__ == "__main__":
    main()
