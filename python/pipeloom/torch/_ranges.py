"""Ranges of a profile that hold no wait: what each pass of a stage takes, whatever class of schedule runs the stage."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Optional

from .. import InputError
from ._load import is_schedule, stages_of

#: The beginning of the names of the ranges; an action as PyTorch writes it follows, `pipeloom:0F3`.
PREFIX = "pipeloom:"
#: The pass alone, inside each range: opening and closing record_function's range takes some 20 us on the host.
PASS = PREFIX + "pass"
MARK = "_pipeloom_ranges"


def ranges(what: Any) -> None:
    """Puts each forward, backward, input and weight pass of a stage into a range of its own wherever a profiler records.

    `what` is a stage, several stages, or a schedule of torch.distributed.pipelining; with a schedule the loss is in the last stage's forward,
    as `record` counts it. The ranges are called `pipeloom:0F3` (stage, kind F, B, I or W, microbatch) and begin when the pass's input is there, so that
    `pipeloom calibrate` and `explain` read the times of ops from them: schedules that name nothing (Schedule1F1B) and those whose ranges hold
    the wait (all others). A second one within each, `pipeloom:pass`, is within 2 us of the pass on the host. Outside of a profile a pass costs one look
    at a flag. A stage that has its ranges keeps them.

    Raises InputError for what is no stage.
    """
    stages = stages_of(what) if is_schedule(what) else list(what) if isinstance(what, Iterable) else [what]
    for stage in stages:
        _require_stage(stage)
    for stage in stages:
        if not hasattr(stage, MARK):
            setattr(stage, MARK, _Ranges(stage))
    if is_schedule(what):
        _put_loss_into_forward(what, [getattr(stage, MARK) for stage in stages])


def _require_stage(stage: Any) -> None:
    if not hasattr(stage, "forward_one_chunk") or not hasattr(stage, "backward_one_chunk"):
        raise InputError(f"{type(stage).__name__} is no stage and no schedule of torch.distributed.pipelining; give one of these, or a list of stages")


def _profiler_is_on() -> bool:
    import torch

    return bool(torch._C._autograd._profiler_enabled())


class _Opened:
    """A range that has begun, and the pass in it. A torch without the cheap range marks no pass."""

    def __init__(self, name: str) -> None:
        import torch

        cheap = getattr(torch._C._profiler, "_RecordFunctionFast", None)
        self._opened = [torch.profiler.record_function(name)] + ([] if cheap is None else [cheap(PASS)])
        for one in self._opened:
            one.__enter__()

    def close(self) -> None:
        for one in reversed(self._opened):
            one.__exit__(None, None, None)


class _Ranges:
    """The methods of a stage with ranges around them. A forward that a loss belongs to stays open until the loss is there."""

    def __init__(self, stage: Any) -> None:
        self.stage = stage
        self.loss_follows = False
        self._open: Optional[_Opened] = None
        self._wrap("forward_one_chunk", lambda _: "F")
        self._wrap("backward_one_chunk", _kind_of_backward)
        if hasattr(stage, "backward_weight_one_chunk"):
            self._wrap("backward_weight_one_chunk", lambda _: "W")

    def _wrap(self, name: str, kind_of: Callable[[dict[str, Any]], str]) -> None:
        original = getattr(self.stage, name)

        def with_range(microbatch: int, *args: Any, **kwargs: Any) -> Any:
            if not _profiler_is_on():
                return original(microbatch, *args, **kwargs)
            self.close()
            kind = kind_of({**dict(zip(("loss", "full_backward", "last_backward"), args)), **kwargs} if name == "backward_one_chunk" else {})
            return self._run(f"{PREFIX}{self.stage.stage_index}{kind}{microbatch}", kind, lambda: original(microbatch, *args, **kwargs))

        setattr(self.stage, name, with_range)

    def _run(self, name: str, kind: str, body: Callable[[], Any]) -> Any:
        opened = _Opened(name)
        try:
            result = body()
        except BaseException:
            opened.close()
            raise
        if kind == "F" and self.loss_follows:
            self._open = opened
        else:
            opened.close()
        return result

    def close(self) -> None:
        """Ends a forward that is still open: its loss is there, or never came."""
        opened, self._open = self._open, None
        if opened is not None:
            opened.close()


def _kind_of_backward(arguments: dict[str, Any]) -> str:
    return "B" if arguments.get("full_backward", True) else "I"


def _put_loss_into_forward(schedule: Any, wrapped: list[_Ranges]) -> None:
    """The schedule computes the loss right after the last stage's forward, in a method of its own."""
    last = next((one for one in wrapped if one.stage.is_last), None)
    if last is None or last.loss_follows or getattr(schedule, "_loss_fn", None) is None:
        return
    original = schedule._maybe_compute_loss

    def and_close(stage: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(stage, *args, **kwargs)
        finally:
            if stage.is_last:
                last.close()

    schedule._maybe_compute_loss = and_close
    last.loss_follows = True
