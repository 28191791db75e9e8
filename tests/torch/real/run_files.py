"""Runs schedule files with the torch that can be imported: one training step over gloo on the CPU, in float64.

    run_files.py LIST

Each line of LIST is `form stages microbatches file`; each line printed is `outcome file detail`. A case is p processes forked from this one, so
that torch is imported once. Outcomes:

    right    two steps of loss and all gradients as the unsplit model has them
    wrong    a step ends with another loss or other gradients
    refuses  the file is not loaded
    raises   a step ends with an exception
    hangs    all ranks that are not done have slept for PIPELOOM_TORCH_LIMIT seconds (10)

How long a step takes does not count: a busy machine makes nothing hang.
"""
import csv
import os
import re
import shutil
import signal
import sys
import tempfile
import time

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime

WIDTH = 3
ROWS = 2  # of a microbatch
LIMIT = float(os.environ.get("PIPELOOM_TORCH_LIMIT", "10"))
TOLERANCE = 1e-9


def layer(stage):
    torch.manual_seed(1000 + stage)
    return torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh()).double()


def batch(microbatches):
    torch.manual_seed(7)
    return (torch.randn(ROWS * microbatches, WIDTH).double(), torch.randn(ROWS * microbatches, WIDTH).double())


def loss_of(output, target):
    return ((output - target) ** 2).mean()


def expected(stages, microbatches):
    """Loss, and the gradients by stage, of the unsplit model: means over equal microbatches are the mean over all."""
    model = torch.nn.Sequential(*[layer(s) for s in range(stages)])
    x, target = batch(microbatches)
    loss = loss_of(model(x), target)
    loss.backward()
    return loss.item(), [[q.grad.clone() for q in model[s].parameters()] for s in range(stages)]


def stages_of(path):
    """Per rank the stages of its row."""
    out = []
    with open(path, newline="") as file:
        for row in csv.reader(file):
            found = {int(n) for cell in row for n in re.findall(r"(\d+)[FBIW]\d", cell)}
            out.append(sorted(found))
    return out


class Refused(Exception):
    pass


def step_of_rank(rank, path, form, stages, microbatches, store, world):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    own = dict(enumerate(stages_of(path))).get(rank, [])
    modules = {s: layer(s) for s in own}
    parts = [PipelineStage(modules[s], s, stages, torch.device("cpu"), group=dist.group.WORLD) for s in own]
    try:
        schedule = _PipelineScheduleRuntime(parts, microbatches, loss_fn=loss_of)
        schedule._load_csv(path, format=form)
    except Exception as error:
        raise Refused(f"{type(error).__name__}: {error}".splitlines()[0]) from error
    x, target = batch(microbatches)
    loss, gradients = expected(stages, microbatches)
    worst = 0.0
    for _ in range(2):  # what a step leaves behind shows in the next
        for module in modules.values():
            module.zero_grad()
        losses = []
        arguments = (x,) if 0 in own else ()
        last = stages - 1 in own
        schedule.step(*arguments, **({"target": target, "losses": losses} if last else {}))
        if last:
            worst = max(worst, abs(torch.stack(losses).mean().item() - loss))
        for s in own:
            for got, want in zip(modules[s].parameters(), gradients[s]):
                grad = got.grad if got.grad is not None else torch.zeros_like(want)
                worst = max(worst, ((grad - want).abs().max() / want.abs().max()).item())
    return worst


def child(rank, pipe, job, store):
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    try:
        worst = job(rank, store)
        said = f"wrong {worst:.2g}" if not worst < TOLERANCE else f"right {worst:.2g}"
    except Refused as error:
        said = f"refuses {error}"
    except BaseException as error:  # whatever ends a rank is its outcome
        said = f"raises {type(error).__name__}: {error}".splitlines()[0]
    os.write(pipe, (said[:400] + "\n").encode())
    os._exit(0)


def is_at_work(pid):
    """Whether the rank runs, or would if the machine let it. Waiting for a message it sleeps."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()[0] in "RD"


def said_by(children, reader):
    """What the ranks wrote, a line each, until all have, one of them failed, or they stand still."""
    text, since = "", time.monotonic()
    while time.monotonic() - since < LIMIT:
        try:
            got = os.read(reader, 1 << 16).decode()
            if not got:
                break
            text += got
        except BlockingIOError:
            time.sleep(0.005)
        if any(line.startswith(("refuses", "raises")) for line in text.splitlines()):
            time.sleep(0.05)
            break
        if any(is_at_work(pid) for pid in children):
            since = time.monotonic()
    return text.splitlines()


def outcome(path, form, stages, microbatches):
    return outcome_on(len(stages_of(path)), path, form, stages, microbatches)


def outcome_on(world, path, form, stages, microbatches):
    """The same on so many ranks, whatever rows the file has."""
    return outcome_of(world, lambda rank, store: step_of_rank(rank, path, form, stages, microbatches, store, world))


def outcome_of(world, job):
    """What comes of `job(rank, store)`, which returns the largest relative error, on so many ranks."""
    folder = tempfile.mkdtemp(prefix="pipeloom-torch-")
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    children = []
    for rank in range(world):
        pid = os.fork()
        if pid == 0:
            child(rank, writer, job, folder + "/store")
        children.append(pid)
    os.close(writer)
    lines = said_by(children, reader)
    for pid in children:
        os.kill(pid, signal.SIGKILL)  # one that has ended is there until it is waited for
        os.waitpid(pid, 0)
    os.close(reader)
    shutil.rmtree(folder)
    order = ("refuses", "raises", "wrong", "right")
    for kind in order[:2]:
        for line in lines:
            if line.startswith(kind):
                return line
    if len(lines) < world:
        return "hangs " + " | ".join(lines)
    return sorted(lines, key=lambda line: order.index(line.split()[0]))[0]


def main():
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    with open(sys.argv[1]) as cases:
        for case in cases:
            form, stages, microbatches, path = case.split(maxsplit=3)
            kind, _, detail = outcome(path.strip(), form, int(stages), int(microbatches)).partition(" ")
            print(kind, path.strip(), detail, flush=True)


if __name__ == "__main__":
    main()
