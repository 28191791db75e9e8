"""Measures steps of a runtime: hooks on its stages, CUDA events where they run on GPUs, gathered from all ranks."""
from __future__ import annotations

import dataclasses
import json
import socket
import time
from collections.abc import Callable, Sequence
from typing import Any, Optional

from .. import InputError
from ._load import group_of, stages_of
from ._timed import Timed, costs_of, stage_ranks_of, step_time, timeline_text

PAIR = "OVERLAP_F_B"


def record(schedule: Any, *, memory: bool = True, skip: int = 0) -> "Recording":
    """Measures the steps inside `with record(schedule) as rec:`, on every rank of its group; all of them must enter and leave it.

    `schedule` is of any class of torch.distributed.pipelining, made by `load_schedule` or by hand. Raises InputError for what is none.

    The first `skip` steps are not counted. With `memory` the first one that is left counts what forwards keep for their backwards, which
    makes it slower: its times count only if it is the only step.
    """
    return Recording(schedule, memory=memory, skip=skip)


class Recording:
    """Times and memory of the ops of some steps. Times are in ms; every rank gets the same answers, and rank 0 writes files."""

    def __init__(self, schedule: Any, *, memory: bool = True, skip: int = 0) -> None:
        self._schedule = schedule
        self._group = group_of(schedule)
        self._memory = memory
        self._skip = skip
        self._hooks: Optional[_Hooks] = None
        self._rows: Optional[list[Timed]] = None
        self._bytes: dict[int, int] = {}
        self._static: dict[int, int] = {}

    def __enter__(self) -> "Recording":
        import torch.distributed as dist

        if self._hooks is not None:
            raise InputError("a recording measures one with block; make another one with record(schedule)")
        dist.barrier(group=self._group)
        self._hooks = _Hooks(self._schedule, _clock_of(self._schedule), self._skip if self._memory else None)
        return self

    def __exit__(self, failed: Any, *_: Any) -> None:
        assert self._hooks is not None
        self._hooks.remove()
        if failed is None:
            self._gather(self._hooks)

    def _gather(self, hooks: "_Hooks") -> None:
        """All ranks' rows on one clock: that of the machine where there is one, else each rank's since the barrier at the start."""
        import torch.distributed as dist

        mine = (socket.gethostname(), hooks.clock.origin, hooks.rows(dist.get_rank(self._group)), hooks.kept, hooks.static())
        parts: list[Any] = [None] * dist.get_world_size(self._group)
        dist.all_gather_object(parts, mine, group=self._group)
        one_clock = len({part[0] for part in parts}) == 1
        zero = min(part[1] for part in parts)
        rows = []
        for _, origin, timed, kept, static in parts:
            offset = (origin - zero) * 1000 if one_clock else 0.0
            rows += [dataclasses.replace(row, start=row.start + offset, end=row.end + offset) for row in timed]
            self._bytes.update(kept)
            self._static.update(static)
        counted = [row for row in rows if row.step >= self._skip]
        timed_only = [row for row in counted if row.step > self._skip] if self._memory else counted
        self._rows = timed_only or counted

    @property
    def rows(self) -> list[Timed]:
        """Every op of the counted steps, of all ranks. Raises InputError before the with block has ended."""
        if self._rows is None:
            raise InputError("nothing was recorded yet; a recording is there once its with block has ended")
        if not self._rows:
            raise InputError("no step was recorded; run pipeloom.torch.step inside the with block, more often than skip says")
        return self._rows

    @property
    def makespan(self) -> float:
        """First start to last end of a step, the median over the counted steps, in ms."""
        return step_time(self.rows)

    def costs(self, layers: Optional[Sequence[int]] = None) -> dict[str, Any]:
        """Costs for `predict`, `rank` and the simulator: medians by stage and kind, in ms.

        They are what `pipeloom calibrate` makes of `timeline()`, with `measured.memory` beside them. `layers` says how many layers each stage
        has; without it all stages count as equally many, which only matters where costs are dealt out to other stages. Raises InputError where
        the steps had no backward.
        """
        found = costs_of(self.rows, layers)
        if self._bytes:
            found.setdefault("measured", {})["memory"] = self._memory_costs()
        return found

    def _memory_costs(self) -> dict[str, Any]:
        """Per rank, as an activation of a rank's layers goes to other schedules as a whole."""
        placed = stage_ranks_of(self.rows)
        ranks = range(1 + max(placed))

        def by_rank(values: dict[int, int]) -> list[int]:
            return [sum(values.get(stage, 0) for stage, home in enumerate(placed) if home == rank) for rank in ranks]

        return {"per": "rank", "activation_bytes": by_rank(self._bytes), "static_bytes": by_rank(self._static)}

    def save(self, path: Any, layers: Optional[Sequence[int]] = None) -> None:
        """Writes the costs as JSON, on rank 0; other ranks do nothing. `predict` and `pipeloom simulate --set costs=FILE` take it."""
        text = json.dumps(self.costs(layers), indent=1)
        self._write(path, text + "\n")

    def timeline(self, path: Any) -> None:
        """Writes every op of the counted steps as JSON lines, on rank 0: for `pipeloom convert`, `compare`, `explain` and `calibrate`."""
        self._write(path, timeline_text(self.rows))

    def _write(self, path: Any, text: str) -> None:
        import torch.distributed as dist

        if dist.get_rank(self._group) != 0:
            return
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from error


class _HostClock:
    """The host's monotonic clock, one for all processes of a machine."""

    def __init__(self) -> None:
        self.origin = time.perf_counter()

    def mark(self) -> float:
        return time.perf_counter()

    def since_origin(self, mark: float) -> float:
        """Milliseconds from the origin to the mark."""
        return (mark - self.origin) * 1000

    def settle(self) -> None:
        """Marks are times already."""


class _CudaClock:
    """Events on the current stream, read once all work is done; their origin is an event that the host has seen happen."""

    def __init__(self) -> None:
        import torch

        self._torch = torch
        torch.cuda.synchronize()
        self._base = self.mark()
        torch.cuda.synchronize()
        self.origin = time.perf_counter()

    def mark(self) -> Any:
        event = self._torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def since_origin(self, mark: Any) -> float:
        """Milliseconds from the origin to the mark."""
        return float(self._base.elapsed_time(mark))

    def settle(self) -> None:
        self._torch.cuda.synchronize()


def _clock_of(schedule: Any) -> Any:
    return _CudaClock() if stages_of(schedule)[0].device.type == "cuda" else _HostClock()


class _Hooks:
    """Stands in for methods of the schedule and its stages, and takes the time around them."""

    def __init__(self, schedule: Any, clock: Any, bytes_step: Optional[int]) -> None:
        self.schedule = schedule
        self.clock = clock
        self.kept: dict[int, int] = {}
        self._bytes_step = bytes_step
        self._step = -1
        self._marks: list[list[Any]] = []  # step, stage, kind, microbatch, start, end
        self._in_pair = False
        self._replaced: list[tuple[Any, str, Any]] = []
        self._replace(schedule, "_step_microbatches", self._around_step)
        self._replace(schedule, "_maybe_compute_loss", self._around_loss)
        for stage in stages_of(schedule):
            self._replace(stage, "forward_one_chunk", self._around("F", stage))
            self._replace(stage, "backward_one_chunk", self._around("B", stage))
            self._replace(stage, "backward_weight_one_chunk", self._around("W", stage))
        self._custom = self._replace_pair_function()

    def _replace(self, owner: Any, name: str, around: Callable[..., Any]) -> None:
        original = getattr(owner, name)
        self._replaced.append((owner, name, owner.__dict__.get(name)))
        setattr(owner, name, lambda *args, **kwargs: around(original, *args, **kwargs))

    def _replace_pair_function(self) -> Any:
        """Pairs that a function of the user's overlaps are one op; those that the runtime runs one after the other are two."""
        functions = getattr(self.schedule, "_comp_type_to_function_map", {})
        for kind, function in functions.items():
            if getattr(kind, "value", None) == PAIR:
                functions[kind] = lambda action, context: self._around_pair(function, action, context)
                return functions, kind, function
        return None

    def remove(self) -> None:
        """Everything as it was."""
        self.clock.settle()
        for owner, name, before in self._replaced:
            if before is None:
                delattr(owner, name)
            else:
                setattr(owner, name, before)
        if self._custom is not None:
            functions, kind, function = self._custom
            functions[kind] = function

    def _around_step(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self._step += 1
        return original(*args, **kwargs)

    def _around(self, kind: str, stage: Any) -> Callable[..., Any]:
        def around(original: Callable[..., Any], microbatch: int, *args: Any, **kwargs: Any) -> Any:
            counted = kind == "F" and self._step == self._bytes_step
            start = self.clock.mark()
            result = self._counting(original, stage, microbatch, *args, **kwargs) if counted else original(microbatch, *args, **kwargs)
            if not self._in_pair:
                full = kwargs.get("full_backward", args[1] if len(args) > 1 else True)
                said = "I" if kind == "B" and not full else kind
                self._marks.append([self._step, stage.stage_index, said, microbatch, start, self.clock.mark()])
            return result

        return around

    def _around_loss(self, original: Callable[..., Any], stage: Any, *args: Any, **kwargs: Any) -> Any:
        """The loss is a part of the last stage's forward."""
        result = original(stage, *args, **kwargs)
        if stage.is_last and self._marks and not self._in_pair:
            self._marks[-1][5] = self.clock.mark()
        return result

    def _around_pair(self, function: Callable[..., Any], action: Any, context: Any) -> None:
        start = self.clock.mark()
        self._in_pair = True
        try:
            function(action, context)
        finally:
            self._in_pair = False
        end = self.clock.mark()
        for part in action.sub_actions:
            self._marks.append([self._step, part.stage_index, part.computation_type.value, part.microbatch_index, start, end])

    def _counting(self, original: Callable[..., Any], stage: Any, *args: Any, **kwargs: Any) -> Any:
        """Runs a forward and counts the bytes that it keeps for its backward; parameters and buffers are there anyway."""
        import torch

        own = _storages(stage.submod)
        kept: dict[int, int] = {}

        def pack(tensor: Any) -> Any:
            if type(tensor) in (torch.Tensor, torch.nn.Parameter):
                storage = tensor.untyped_storage()
                kept[storage.data_ptr()] = storage.nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            result = original(*args, **kwargs)
        for output in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(output, torch.Tensor):
                pack(output)
        own |= _storages(stage.submod)  # sharded parameters are gathered in other storages now
        bytes_kept = sum(size for place, size in kept.items() if place not in own)
        self.kept[stage.stage_index] = max(self.kept.get(stage.stage_index, 0), bytes_kept)
        return result

    def static(self) -> dict[int, int]:
        """Bytes of a stage's parameters and gradients, of sharded ones this rank's part; what an optimizer keeps is not known here."""
        return {stage.stage_index: sum(map(_static_bytes, stage.submod.parameters())) for stage in stages_of(self.schedule)}

    def rows(self, rank: int) -> list[Timed]:
        """Times in ms since the clock's origin."""
        since = self.clock.since_origin
        return [
            Timed(step, rank, stage, kind, microbatch, since(start), since(end))
            for step, stage, kind, microbatch, start, end in self._marks
        ]


def _static_bytes(parameter: Any) -> int:
    own = getattr(parameter, "_local_tensor", parameter)
    return int(own.numel() * own.element_size() * (2 if parameter.requires_grad else 1))


def _storages(module: Any) -> set[int]:
    """The storages of a module's parameters and buffers; for sharded ones this rank's part."""
    plain = [getattr(one, "_local_tensor", one) for one in (*module.parameters(), *module.buffers())]
    return {one.untyped_storage().data_ptr() for one in plain}
