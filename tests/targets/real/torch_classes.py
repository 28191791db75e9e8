"""The orders that PyTorch's own schedule objects run."""
from unittest import mock

import torch
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining import schedules

import ranks

V_CLASSES = ("ZBVZeroBubble", "DualPipeV")
SINGLE_CLASSES = ("GPipe", "1F1B")
LOOPED_CLASSES = ("LoopedBFS", "Interleaved1F1B", "InterleavedZeroBubble")


def stages_of(name, degree, chunks, rank):
    """The stages of a rank as PyTorch's own classes want them: in a V for V_CLASSES, else in a loop."""
    placed_in_v = name in V_CLASSES and chunks == 2
    return (rank, 2 * degree - 1 - rank) if placed_in_v else tuple(rank + chunk * degree for chunk in range(chunks))


def built(name, degree, microbatches, chunks, rank):
    """The schedule object that a training script makes on `rank`, of empty stages. Raises what PyTorch raises. Needs a process group."""
    group = torch.distributed.group.WORLD
    stages = [PipelineStage(torch.nn.Identity(), index, degree * chunks, torch.device("cpu"), group=group)
              for index in stages_of(name, degree, chunks, rank)]
    kind = schedules.get_schedule_class(name)
    if issubclass(kind, schedules.PipelineScheduleSingle):
        if chunks != 1:
            raise ValueError(f"{name} takes one stage a rank")
        return kind(stages[0], microbatches, loss_fn=lambda output, target: output)
    return kind(stages, microbatches, loss_fn=lambda output, target: output)


def rows_of(schedule, degree, own=None):
    """{rank: ops}: of all ranks, or of `own`, where the schedule object holds their order, of its own rank where it has to be stepped."""
    if isinstance(schedule, schedules.PipelineScheduleMulti):
        wanted = range(degree) if own is None else [own]
        return {rank: [str(cell) for cell in schedule.pipeline_order[rank] if cell is not None] for rank in wanted}
    return {schedule._stage.group_rank: stepped(schedule)}


def stepped(schedule):
    stage, done = schedule._stage, []
    index = stage.stage_index

    def forward(microbatch, *arguments, **options):
        done.append(f"{index}F{microbatch}")

    def backward(microbatch, *arguments, **options):
        done.append(f"{index}B{microbatch}")

    def nothing(*arguments, **options):
        return []

    work = {"forward_one_chunk": forward, "backward_one_chunk": backward}
    quiet = dict.fromkeys(("get_fwd_recv_ops", "get_fwd_send_ops", "get_bwd_recv_ops", "get_bwd_send_ops", "perform_reduce_grad"), nothing)
    own = dict.fromkeys(("_initialize_stage", "_maybe_compute_loss", "_maybe_get_loss", "_update_losses"), nothing)
    with mock.patch.multiple(stage, **work, **quiet), mock.patch.multiple(schedule, **own), \
            mock.patch.multiple(schedules, _wait_and_release_fwd_send=nothing):
        count = schedule._n_microbatches
        schedule._step_microbatches([()] * count, [{}] * count, [None] * count, [])
    return done


def orders(name, degree, microbatches, chunks):
    """One row per rank. Raises what PyTorch raises."""
    rows = {}
    for rank in range(degree):
        if rank in rows:
            continue
        with ranks.as_rank(rank, degree):
            rows.update(rows_of(built(name, degree, microbatches, chunks, rank), degree))
    return [rows[rank] for rank in range(degree)]


def loaded(rows_file, degree, microbatches, stages_by_rank, rank):
    """The runtime of `rank` after PyTorch's runtime loaded a compute_only file. Needs a process group. Raises what PyTorch raises."""
    total = sum(len(stages) for stages in stages_by_rank)
    group = torch.distributed.group.WORLD
    stages = [PipelineStage(torch.nn.Identity(), index, total, torch.device("cpu"), group=group) for index in stages_by_rank[rank]]
    runtime = schedules._PipelineScheduleRuntime(stages, microbatches, loss_fn=lambda output, target: output)
    runtime._load_csv(rows_file, format="compute_only")
    return runtime
