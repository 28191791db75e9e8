"""Prints the lists that the torch on the path makes itself, for a grid of shapes.

    own_lists.py [SHAPES]

SHAPES names shapes, separated by commas, as in the headings; all of the grid if left out. The form is that of tests/golden/torch_lowered: parts
that begin with `== <Schedule>_pp<P>_v<V>_mb<M>.<kind>`, one line per rank, cells separated by commas, an empty cell is blank. Kinds: `compute`;
`comms`, lowered; `defer`, lowered with receives deferred; of shapes of up to MOST_RANKS ranks those of OPTIONS; all of them from releases that can.
A list that is refused is the line `refused`. Nothing is run and no process group is made.
"""
import importlib
import importlib.util
import os
import sys
import types


def import_schedules():
    """The schedules of this torch; those in PIPELOOM_TORCH_PASSES, a folder of another release's `pipelining` package, if that is set: its
    passes are plain Python, while the whole release would want its own CUDA libraries."""
    folder = os.environ.get("PIPELOOM_TORCH_PASSES")
    name = "torch.distributed.pipelining"
    if folder:
        import torch.distributed  # the package that is stood in for has its parent loaded

        for loaded in [key for key in sys.modules if key == name or key.startswith(name + ".")]:
            del sys.modules[loaded]
        spec = importlib.util.spec_from_file_location(
            name, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder])
        package = importlib.util.module_from_spec(spec)
        sys.modules[name] = package
        spec.loader.exec_module(package)
    return importlib.import_module(name + ".schedules")


schedules = import_schedules()
V_SHAPED = ("ZBVZeroBubble", "DualPipeV")
MOST_RANKS = 5
OPTIONS = {
    "active1": {"max_active_stages": 1},
    "active2": {"max_active_stages": 2},
    "sends1": {"max_outstanding_sends": 1},
    "sends2": {"max_outstanding_sends": 2},
    "sends2_defer": {"max_outstanding_sends": 2, "defer_pp_recv": True},
    "ahead_auto": {"unshard_lookahead": "auto"},
    "ahead_one": {"unshard_lookahead": 1},
    "late": {"defer_reduce_grad_wait": True},
    "all": {"max_active_stages": 2, "max_outstanding_sends": 3, "unshard_lookahead": 1, "defer_reduce_grad_wait": True},
}


def grid():
    """(class, ranks, stages per rank, microbatches)"""
    for ranks in range(1, 12):
        for chunks in (1, 2, 3, 5):
            for microbatches in {3, ranks, 2 * ranks, 2 * ranks + 1}:
                for name in ("LoopedBFS", "Interleaved1F1B", "InterleavedZeroBubble"):
                    yield name, ranks, chunks, microbatches
        for microbatches in {3, 5, 2 * ranks, 2 * ranks + 1}:
            for name in V_SHAPED:
                yield name, ranks, 2, microbatches


def stub(ranks, stages):
    """As much of a stage as the constructors look at."""
    return types.SimpleNamespace(
        num_stages=stages, group_size=ranks, group_rank=0, submod=None, is_first=False, is_last=False, has_backward=True)


def lists_of(name, ranks, chunks, microbatches):
    stages = [stub(ranks, ranks * chunks) for _ in range(chunks)]
    made = getattr(schedules, f"Schedule{name}")(stages, microbatches)
    compute = {rank: list(row) for rank, row in made.pipeline_order.items()}
    yield "compute", compute
    kinds = {"comms": {}, "defer": {"defer_pp_recv": True}, **(OPTIONS if ranks <= MOST_RANKS else {})}
    for kind, options in kinds.items():
        if isinstance(options.get("unshard_lookahead"), int):  # of every rank
            options = {**options, "unshard_lookahead": (options["unshard_lookahead"],) * ranks}
        try:
            runtime = schedules._PipelineScheduleRuntime(stages, microbatches, **options)
        except TypeError:  # a release that cannot
            continue
        try:
            runtime._prepare_schedule_with_comms({rank: list(row) for rank, row in compute.items()})
            yield kind, runtime.pipeline_order_with_comms
        except ValueError:
            yield kind, None


def main():
    wanted = set(sys.argv[1].split(",")) if len(sys.argv) > 1 else None
    for name, ranks, chunks, microbatches in sorted(set(grid())):
        shape = f"{name}_pp{ranks}_v{chunks}_mb{microbatches}"
        if wanted is not None and shape not in wanted:
            continue
        try:
            for kind, rows in lists_of(name, ranks, chunks, microbatches):
                print(f"== {shape}.{kind}")
                if rows is None:
                    print("refused")
                    continue
                for rank in range(ranks):
                    print(",".join("" if cell is None else str(cell) for cell in rows[rank]))
        except ValueError as refusal:
            print(f"== {shape}.refused {refusal}".splitlines()[0])


if __name__ == "__main__":
    main()
