"""pipeloom.torch with a real torch: every schedule, plans, and broken lists, on gloo ranks of this machine.

    bridge.py trains | broken | options | sharded | newer

trains   all schedules that can be written for PyTorch in the shapes of training_files.py, and PLANS plans: load_schedule, two steps, and
         loss and all gradients against the unsplit model; check_gradients has to agree
broken   variants of good lists (broken.py): what load_schedule says of each, on every rank, against what PyTorch does with it
options  options of a step: what they make is compared with this package's lowering and trains right, or is refused before it starts
sharded  two ranks of a pipeline, each stage sharded by FSDP over two replicas: loss, gradients, and what is refused with FSDP only
newer    a release that nobody knows (the torch at hand under another number): its own lists are compared, refused where they differ

Prints what is not as it should be and a table; exits with 1 if anything is not.
"""
import collections
import os
import sys
import tempfile
import warnings

import pipeloom as pl
import pipeloom.torch as pt
import run_files
import torch
import torch.distributed as dist
from broken import variants
from torch.distributed.pipelining import PipelineStage, schedules

PLANS = 20
SHAPES = [(ranks, microbatches, chunks) for ranks in (2, 4) for microbatches in (4, 8) for chunks in (None, 2, 3)]
ADD_SEND_RECV = schedules._add_send_recv
BASES = [("1f1b", 2, 4, None), ("zb-h1", 4, 4, None), ("interleaved-1f1b", 2, 4, 2), ("zbv", 2, 4, None), ("dualpipe-v", 2, 4, None)]


def join(rank, world, store):
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)


def load(source, microbatches, chunks=None, **options):
    modules = {}

    def build(stage, stages):
        modules[stage] = run_files.layer(stage)
        return PipelineStage(modules[stage], stage, stages, torch.device("cpu"), group=dist.group.WORLD)

    try:
        return pt.load_schedule(source, build, microbatches, run_files.loss_of, chunks=chunks, **options), modules
    except (pt.ScheduleError, pt.InputError) as error:
        raise run_files.Refused(str(error).splitlines()[0]) from error


def train(source, microbatches, chunks, world, options):
    def job(rank, store):
        join(rank, world, store)
        schedule, modules = load(source, microbatches, chunks, **options)
        stages = schedule.pipeloom.stages
        x, target = run_files.batch(microbatches)
        loss, gradients = run_files.expected(stages, microbatches)
        worst = 0.0
        for _ in range(2):
            for module in modules.values():
                module.zero_grad()
            worst = max(worst, abs(pt.step(schedule, x, target, broadcast=True).item() - loss))
            for stage, module in modules.items():
                for got, want in zip(module.parameters(), gradients[stage]):
                    worst = max(worst, ((got.grad - want).abs().max() / want.abs().max()).item())
        whole = torch.nn.Sequential(*[run_files.layer(stage) for stage in range(stages)])
        check = pt.check_gradients(schedule, whole, tolerance=run_files.TOLERANCE)
        return worst if check else max(worst, 1.0)
    return run_files.outcome_of(world, job)


def finds_what_is_wrong():
    """check_gradients where one gradient of stage 1 is half as large again; the difference that it says less one half is returned."""
    def job(rank, store):
        join(rank, 2, store)
        schedule, modules = load("zbv", 4)
        if 1 in modules:
            modules[1][0].bias.register_hook(lambda gradient: gradient * 1.5)
        x, target = run_files.batch(4)
        check = pt.check_gradients(schedule, torch.nn.Sequential(*[run_files.layer(stage) for stage in range(4)]), x, target)
        assert not check and check.worst_parameter == "1.0.bias" and check.loss_difference < run_files.TOLERANCE
        return abs(check.worst - 0.5)
    return run_files.outcome_of(2, job)


def cases():
    """(name, source, microbatches, chunks, ranks), equal lists once."""
    seen = set()
    for name in [row.name for row in pl.schedules()] + ["gpipe-v"]:
        for ranks, microbatches, chunks in SHAPES:
            config = {"schedule": name, "ranks": ranks, "microbatches": microbatches, **({"chunks": chunks} if chunks else {})}
            try:
                text = pl.convert(config, to="torch-compute")
                listed = pt.parse(text)
                pt.check_actions(listed, ranks, listed.microbatches)
            except (pt.ScheduleError, pt.InputError, pl.Error):
                continue
            if text not in seen:
                seen.add(text)
                # With several updates of the weights in one list it has more microbatches than its name was given.
                source = name if listed.microbatches == microbatches else text
                yield name, source, listed.microbatches, chunks, ranks


def plans():
    """Candidates of plans with unequal costs: orders of their own, on 2 and 4 ranks."""
    found = []
    for seed in range(1, 100):
        ranks, microbatches = (2, 4)[seed % 2], (4, 6, 8)[seed % 3]
        costs = {"forward": 1, "backward": [2 + (seed + s) % 3 for s in range(ranks)], "transfer": {"latency": 0.1}}
        config = {"schedule": "1f1b", "ranks": ranks, "microbatches": microbatches, "costs": {**costs, "per": "rank"}}
        answer = pl.plan(config, target="torch-2.15", budget=0.3, seed=seed, jobs=1)
        for candidate in answer.candidates[:2]:
            if candidate.orders not in [one.orders for _, one, *_ in found]:
                found.append((f"plan {len(found)} ({candidate.name})", candidate, microbatches, None, ranks))
            if len(found) == PLANS:
                return found
    return found


def trains():
    counts, failed = collections.defaultdict(collections.Counter), 0
    for name, source, microbatches, chunks, ranks in [*cases(), *plans()]:
        said = train(source, microbatches, chunks, ranks, {})
        counts["plans" if name.startswith("plan") else name][said.split()[0]] += 1
        if not said.startswith("right"):
            failed += 1
            print(f"{name} p={ranks} m={microbatches} chunks={chunks}: {said}", flush=True)
    said = finds_what_is_wrong()
    if not said.startswith("right"):
        failed += 1
        print(f"a wrong gradient: {said}")
    for name, count in counts.items():
        print(f"{name:26}" + ", ".join(f"{kind} {n}" for kind, n in sorted(count.items())))
    print(f"trains: {sum(n for count in counts.values() for n in count.values())} schedules, {failed} not right")
    return failed


def verdict(text, world, microbatches):
    def job(rank, store):
        join(rank, world, store)
        load(text, microbatches)
        return 0.0
    return run_files.outcome_of(world, job)


def broken():
    table, misses, alarms = collections.Counter(), 0, 0
    folder = tempfile.mkdtemp(prefix="pipeloom-torch-")
    for name, ranks, microbatches, chunks in BASES:
        config = {"schedule": name, "ranks": ranks, "microbatches": microbatches, **({"chunks": chunks} if chunks else {})}
        for form, to in (("compute_only", "torch-compute"), ("compute_comms", "torch-comms")):
            text = pl.convert(config, to=to)
            stages = pt.parse(text).stages
            for kind, rows in variants([line.split(",") for line in text.splitlines() if line], form == "compute_comms"):
                changed = "".join(",".join(row) + "\n" for row in rows)
                path = os.path.join(folder, "variant.csv")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(changed)
                real = run_files.outcome_on(ranks, path, form, stages, microbatches).split(maxsplit=1)
                ours = verdict(changed, ranks, microbatches)
                accepted = ours.startswith("right")
                table[real[0], "accepts" if accepted else ours.split()[0]] += 1
                missed, alarm = accepted and real[0] != "right", not accepted and real[0] == "right"
                misses, alarms = misses + missed, alarms + (alarm or not ours.startswith(("right", "refuses")))
                if missed or alarm or not ours.startswith(("right", "refuses")):
                    what = "MISSED" if missed else "ALARM"
                    print(f"{what} {name} {form}, {kind}: PyTorch {' '.join(real)[:160]}; we: {ours[:240]}", flush=True)
    for (real, ours), count in sorted(table.items()):
        print(f"PyTorch {real:8} load_schedule {ours:8} {count}")
    print(f"broken: {sum(table.values())} variants, {misses} missed, {alarms} false alarms")
    return misses + alarms


def options():
    """(schedule, options, the beginning of what must be said)"""
    deferred = {"runtime_options": {"defer_pp_recv": True}}
    wanted = [(name, given, "right") for name in ("1f1b", "zbv", "interleaved-1f1b", "dualpipe-v") for given in (
        {"max_outstanding_sends": 1}, {"max_outstanding_sends": 2}, {"unshard_lookahead": "auto"}, {"defer_reduce_grad_wait": True},
        {"runtime_options": {"max_active_stages": 2}})]
    wanted += [("1f1b", deferred, "right"),
               ("zbv", deferred, "refuses with defer_pp_recv=True"),
               ("v-half", deferred, "refuses with defer_pp_recv=True"),
               ("zbv", {"max_sends": 2}, "refuses unknown option max_sends"),
               ("dualpipe-v", {"runtime_options": {"max_active_stages": 1}}, "refuses with max_active_stages=1")]
    failed = 0
    for name, given, expected in wanted:
        said = train(name, 8, None, 4, given)
        right = said.startswith(expected)
        failed += not right
        print(f"{'as it should be' if right else 'NOT'}: {name}, {given}: {said[:200]}", flush=True)
    return failed


def train_sharded(source, microbatches, options):
    """The largest relative difference to the unsplit model, on 2 x 2 ranks."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    def job(rank, store):
        join(rank, 4, store)
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("pipeline", "replica"))
        group = mesh["pipeline"].get_group()

        def build(stage, stages):
            module = run_files.layer(stage)
            fully_shard(module, mesh=mesh["replica"])
            return PipelineStage(module, stage, stages, torch.device("cpu"), group=group)

        try:
            schedule = pt.load_schedule(source, build, microbatches, run_files.loss_of, group=group, **options)
        except pt.ScheduleError as error:
            raise run_files.Refused(str(error)) from error
        x, target = run_files.batch(microbatches)
        pt.step(schedule, x, target)
        whole = torch.nn.Sequential(*[run_files.layer(stage) for stage in range(schedule.pipeloom.stages)])
        check = pt.check_gradients(schedule, whole)
        return max(check.worst, check.loss_difference)
    return run_files.outcome_of(4, job)


def sharded():
    every = {"max_outstanding_sends": 2, "unshard_lookahead": "auto", "defer_reduce_grad_wait": True}
    bare = pl.convert("zbv", to="torch-comms", ranks=2, microbatches=4).replace("0UNSHARD,", "", 1)
    failed = 0
    for name, source, given, expected in (
        *((name, name, given, "right") for name in ("1f1b", "zbv", "interleaved-zb", "dualpipe-v") for given in ({}, every)),
        ("zbv without an UNSHARD", bare, {}, "refuses a stage is sharded by FSDP"),
    ):
        said = train_sharded(source, 4, given)
        right = said.startswith(expected)
        failed += not right
        print(f"{'as it should be' if right else 'NOT'}: {name}, {given}: {said[:200]}", flush=True)
    return failed


def swapped(*lists, **arguments):
    """Another pass, as a coming release may have one: the last two actions of each rank exchanged."""
    return {rank: [*row[:-2], row[-1], row[-2]] for rank, row in ADD_SEND_RECV(*lists, **arguments).items()}


def newer():
    """The number of the torch at hand is changed, then one of its passes too."""
    from pipeloom.torch import _lowering

    failed = 0
    for name, ranks, microbatches in (("1f1b", 2, 4), ("zbv", 2, 4), ("dualpipe-v", 4, 8)):
        for options in ({}, {"max_outstanding_sends": 2, "unshard_lookahead": "auto", "defer_reduce_grad_wait": True}):
            for changed in (False, True):
                torch.__version__ = "2.99.0"
                schedules._add_send_recv = swapped if changed else ADD_SEND_RECV
                assert _lowering.release_of(torch.__version__) == (_lowering.RELEASES[-1], False)
                said = train(name, microbatches, None, ranks, options)
                right = said.startswith("refuses torch 2.99.0 lowers" if changed else "right")
                failed += not right
                passes = "changed" if changed else "its own"
                print(f"{'as it should be' if right else 'NOT'}: {name}, passes {passes}, {options}: {said[:200]}", flush=True)
    schedules._add_send_recv = ADD_SEND_RECV
    return failed


def main():
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    parts = {"trains": trains, "broken": broken, "options": options, "sharded": sharded, "newer": newer}
    sys.exit(1 if parts[sys.argv[1]]() else 0)


if __name__ == "__main__":
    main()
