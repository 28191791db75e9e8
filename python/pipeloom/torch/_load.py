"""Loads a schedule into PyTorch's runtime, alike on all ranks, and steps it."""
from __future__ import annotations

import inspect
import os
import tempfile
import warnings
from collections.abc import Mapping
from typing import Any, Callable, Optional

from ._actions import ComputeList, check_actions, parse
from .. import InputError, ScheduleError
from .. import validate as check_file
from ._lowering import LOWERING, expected_rows, first_difference, own_rows, release_of
from ._source import csv_text

#: Options of a step, with the first release that has them.
OPTIONS = dict.fromkeys(("max_outstanding_sends", "unshard_lookahead", "defer_reduce_grad_wait"), "2.15")

# Verdicts that hold on communicators that keep the order of messages, and where stages are sharded.
ORDER_ONLY = ("message-order",)
FSDP_ONLY = ("reduce-unused", "unshard-resident", "unshard-unused", "reshard-absent", "reshard-unused", "compute-sharded")


def load_schedule(
    source: Any,
    build_stage: Callable[..., Any],
    microbatches: int,
    loss_fn: Callable[..., Any],
    *,
    ranks: Optional[int] = None,
    chunks: Optional[int] = None,
    group: Any = None,
    validate: bool = True,
    runtime_options: Optional[dict[str, Any]] = None,
    **options: Any,
) -> Any:
    """A PyTorch runtime that has loaded `source`: a schedule's name, a configuration, a run, a plan, or a CSV of either form.

    A CSV is a path or its text.

    Every rank of `group` calls this. Rank 0 makes the list, checks it and hands it to the others; what fails on one rank is raised on
    all, before anything is sent. `build_stage(stage_index, num_stages)` is called for each stage of this rank, in order; what it returns
    is a PipelineStage of `group`. `loss_fn(output, target)` is a mean over its microbatch. `options` are max_outstanding_sends,
    unshard_lookahead and defer_reduce_grad_wait of the releases that have them; `runtime_options` go to the runtime as they are
    (scale_grads, max_active_stages, args_chunk_spec and so on). `validate=False` leaves out what is asked of `pipeloom validate`.

    Raises ScheduleError for a list that this torch would refuse, or that would hang or train wrong, and says which action and which
    release has it; InputError for arguments that cannot be used. A release that this package does not know is asked for its own list
    first, which must be equal to that of the newest known one, cell by cell.
    """
    import torch.distributed as dist

    if not dist.is_initialized():
        raise InputError("load_schedule needs a process group: call torch.distributed.init_process_group first")
    group = dist.group.WORLD if group is None else group
    size = dist.get_world_size(group)

    def decide() -> tuple[str, str]:
        _check_options(options)
        if ranks is not None and ranks != size:
            raise InputError(f"{ranks} ranks were asked for, the process group has {size}")
        text = csv_text(source, size, microbatches, chunks)
        listed = parse(text)
        check_actions(listed, size, microbatches, _kinds(), _release())
        if not validate:
            return text, ""
        return text, _validate(text, listed, {**(runtime_options or {}), **options}, dist.get_backend(group))

    text, with_fsdp = _from_first_rank(decide, group)
    schedule = parse(text)
    own = schedule.stages_of(dist.get_rank(group))

    def build() -> Any:
        stages = [build_stage(stage, schedule.stages) for stage in own]
        if with_fsdp and any(_has_fsdp(stage.submod) for stage in stages):
            raise ScheduleError(with_fsdp)
        return _runtime(stages, own, text, schedule.form, microbatches, loss_fn, {**(runtime_options or {}), **options})

    loaded = _together(build, group)
    loaded.pipeloom = schedule
    loaded.pipeloom_group = group
    return loaded


def _has_fsdp(module: Any) -> bool:
    from torch.distributed.fsdp import FSDPModule

    return any(isinstance(part, FSDPModule) for part in module.modules())


def _from_first_rank(decide: Callable[[], Any], group: Any) -> Any:
    """Returns the result of `decide` on rank 0, or raises its error, on every rank."""
    import torch.distributed as dist

    said: list[Any] = [None, None]
    if dist.get_rank(group) == 0:
        try:
            said[0] = decide()
        except Exception as error:  # of any class: the other ranks wait to be told
            said[1] = _portable(error)
    dist.broadcast_object_list(said, src=dist.get_global_rank(group, 0), group=group)
    if said[1] is not None:
        raise said[1]
    return said[0]


def _together(build: Callable[[], Any], group: Any) -> Any:
    """The result of `build` on this rank; the first failing rank's error on all of them."""
    import torch.distributed as dist

    result, failure = None, None
    try:
        result = build()
    except Exception as error:
        failure = _portable(error)
    failures: list[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(failures, failure, group=group)
    for one in failures:
        if one is not None:
            raise one
    return result


def _portable(error: Exception) -> Exception:
    """The error if it survives the way to other processes, else one with its text."""
    import pickle

    try:
        pickle.loads(pickle.dumps(error))
        return error
    except Exception:
        return ScheduleError(f"{type(error).__name__}: {error}")


def _kinds() -> frozenset[str]:
    """The kinds that the torch at hand has; asked of it, since releases backport."""
    from torch.distributed.pipelining.schedules import _ComputationType

    return frozenset(kind.value for kind in _ComputationType)


def _release() -> str:
    import torch

    return f"torch {torch.__version__}"


def _runtime_class() -> Any:
    from torch.distributed.pipelining import schedules

    found = getattr(schedules, "_PipelineScheduleRuntime", None)
    if found is None:
        raise ScheduleError(f"{_release()} has no runtime for schedule files; releases from 2.5 on have one")
    return found


def has_option(runtime: Any, name: str) -> bool:
    """True if the runtime takes an option: as a parameter, or as a keyword that its constructor picks out by name."""
    for ancestor in runtime.__mro__:
        constructor = ancestor.__dict__.get("__init__")
        if not inspect.isfunction(constructor):
            continue
        if name in inspect.signature(constructor).parameters or name in constructor.__code__.co_consts:
            return True
    return False


def _check_options(options: dict[str, Any]) -> None:
    runtime = _runtime_class()
    for name in options:
        if name not in OPTIONS:
            raise InputError(f"unknown option {name}; there are {', '.join(OPTIONS)}, and runtime_options for what else PyTorch takes")
        if not has_option(runtime, name):
            raise InputError(f"option {name}: {_release()} does not have it, torch {OPTIONS[name]} and later do; leave it out")


def _validate(text: str, listed: ComputeList, options: Mapping[str, Any], backend: str) -> str:
    """Raises for what `pipeloom validate` or this release refuses; returns what is illegal if a stage is sharded by FSDP, or "".

    A release that is not known, and options that change the lowering, are asked for the release's own list.
    """
    import torch

    target, known = release_of(torch.__version__)
    with _csv_file(text) as path:
        with_fsdp = _refusal(check_file(path, target=target), backend)
        if listed.form == "compute_only" and (options or not known):
            _check_lowering(path, listed, target, known, options)
    return with_fsdp


def _refusal(verdict: Any, backend: str) -> str:
    """Raises for what no run survives; returns what is wrong only if a stage is sharded by FSDP, or ""."""
    said = verdict.get("torch") or {}
    found = [*verdict.get("diagnostics", []), *said.get("assertions", [])]
    lines = [one["message"] for one in found if one["code"] not in (*ORDER_ONLY, *FSDP_ONLY)]
    order = [one["message"] for one in found if one["code"] in ORDER_ONLY]
    if said.get("hangs"):
        hang = "its messages never meet, ranks wait for each other; `pipeloom validate` on the file shows where and what to move"
        (order if said.get("runs_posted") else lines).append(hang)
    if order and backend != "gloo":
        lines += order
    if not said.get("loads", True):
        lines.append(f"PyTorch refuses it: {said.get('exception', 'an error')}: {said.get('message', '')}")
    if lines:
        raise ScheduleError("; ".join(lines))
    if order:
        warnings.warn(f"on a communicator that keeps order (NCCL) this list hangs, gloo runs it: {order[0]}", stacklevel=2)
    sharded = [one["message"] for one in found if one["code"] in FSDP_ONLY]
    return f"a stage is sharded by FSDP: {'; '.join(sharded)}" if sharded else ""


def _check_lowering(path: str, listed: ComputeList, target: str, known: bool, options: Mapping[str, Any]) -> None:
    expected = expected_rows(path, target, options)
    if known and not any(name in LOWERING for name in options):
        return
    different = first_difference(own_rows(path, listed, listed.microbatches, options), expected)
    if different is not None:
        raise ScheduleError(
            f"{_release()} lowers this list in another way than torch {target}, the nearest release that was looked at: {different}; "
            "it may be right: validate=False loads it unseen"
        )


class _csv_file:
    """A file with that text for as long as it is used: PyTorch and the command line read files only."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __enter__(self) -> str:
        handle, self.path = tempfile.mkstemp(prefix="pipeloom-", suffix=".csv")
        with os.fdopen(handle, "w", newline="", encoding="utf-8") as file:
            file.write(self.text)
        return self.path

    def __exit__(self, *_: Any) -> None:
        os.unlink(self.path)


def _runtime(
    stages: list[Any], own: list[int], text: str, form: str, microbatches: int, loss_fn: Any, options: dict[str, Any]
) -> Any:
    built = [stage.stage_index for stage in stages]
    if built != own:
        raise ScheduleError(f"build_stage made stages {built}, this rank holds {own}")
    schedule = _runtime_class()(stages, microbatches, loss_fn=loss_fn, **options)
    with _csv_file(text) as path:
        schedule._load_csv(path, format=form)
    return schedule


def is_schedule(what: Any) -> bool:
    """True if it is a schedule or runtime of torch.distributed.pipelining: one that holds stages, or a single one."""
    return hasattr(what, "_step_microbatches") and (hasattr(what, "_stages") or hasattr(what, "_stage"))


def stages_of(schedule: Any) -> list[Any]:
    """The stages that this rank runs under a schedule of any class. Raises InputError for what is no schedule."""
    if not is_schedule(schedule):
        raise InputError(f"{type(schedule).__name__} is no schedule of torch.distributed.pipelining")
    many = getattr(schedule, "_stages", None)
    return [schedule._stage] if many is None else list(many)


def stage_count(schedule: Any) -> int:
    """Stages of the whole pipeline."""
    return int(stages_of(schedule)[0].num_stages)


def home_of(schedule: Any, stage: int) -> int:
    """The rank of the pipeline's group that runs a stage."""
    known: Optional[ComputeList] = getattr(schedule, "pipeloom", None)
    return known.rank_of(stage) if known is not None else int(stages_of(schedule)[0].stage_index_to_group_rank[stage])


def group_of(schedule: Any) -> Any:
    """The process group of a runtime's pipeline."""
    return getattr(schedule, "pipeloom_group", None) or stages_of(schedule)[0].group


def step(schedule: Any, x: Any = None, target: Any = None, *, broadcast: bool = False, **arguments: Any) -> Any:
    """One training step. The first stage gets `x` (a tensor or a tuple), the last one `target`; ranks without them ignore both.

    `arguments` go to the runtime's own step (`losses` may be among them, a list that gets the loss of every microbatch).

    Returns the mean loss on the rank of the last stage and None elsewhere, or with `broadcast` the loss on every rank.
    """
    import torch

    first = any(stage.is_first for stage in stages_of(schedule))
    last = any(stage.is_last for stage in stages_of(schedule))
    inputs = x if isinstance(x, tuple) else (x,)
    losses: list[Any] = arguments.pop("losses", [])
    schedule.pipeloom_batch = (x, target)
    if last:
        arguments = {**arguments, "target": target, "losses": losses}
    schedule.step(*(inputs if first and x is not None else ()), **arguments)
    loss = torch.stack([one.detach() for one in losses]).mean() if last and losses else None
    return _loss_everywhere(schedule, loss) if broadcast else loss


def _loss_everywhere(schedule: Any, loss: Any) -> Any:
    import torch.distributed as dist

    group = group_of(schedule)
    said = [None if loss is None else loss.cpu()]
    dist.broadcast_object_list(said, src=dist.get_global_rank(group, home_of(schedule, stage_count(schedule) - 1)), group=group)
    return said[0]
