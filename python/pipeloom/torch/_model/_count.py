"""A whole model run once on the meta device, the first layer of each kind under the counters."""
from __future__ import annotations

import contextlib
import dataclasses
from typing import Any, Iterator

import torch

from ... import InputError
from ._attention import FlashAttention
from ._build import build, nowhere
from ._inputs import inputs_for
from ._layers import Call, LayerList, Watch, find_lists, merged
from ._measure import Counted
from ._products import Counter
from ._values import Values


@dataclasses.dataclass(frozen=True)
class Run:
    """The counts of one forward of a model. `kinds` by number, `calls` in order; `rest` counts what runs outside of layers, forward."""

    model: torch.nn.Module
    lists: list[LayerList]
    calls: list[Call]
    classes: list[str]
    kinds: list[Counted]
    rest: Counter
    routed: bool
    notes: list[str]


def run(source: Any, seq: int, micro_batch: int, attention: str, dtype: str, inputs: Any) -> Run:
    """Builds and runs the model. Raises InputError for what cannot be built, has no layers, or cannot run without a device."""
    values = Values()
    model, notes = build(source, _dtype(dtype), attention, values)
    model.train()
    lists = find_lists(model)
    if not lists:
        raise InputError(f"{type(model).__name__} has no list of layers; a ModuleList, ModuleDict or Sequential is one")
    args, kwargs = inputs_for(model, inputs, seq, micro_batch, values)
    flash, rest = FlashAttention(values), Counter(model.parameters())
    watch = Watch(lists, lambda: _paused(rest), lambda: flash.pairs)
    with nowhere(values), flash if attention == "flash" else contextlib.nullcontext(), rest:
        try:
            model(*args, **kwargs)
        except (RuntimeError, ValueError, TypeError, AttributeError, LookupError, AssertionError) as error:
            raise InputError(f"{type(model).__name__} does not run without a device: {type(error).__name__}: {' '.join(str(error).split())[:300]}") from error
    if not watch.calls:
        raise InputError(f"none of the layers of {', '.join(item.name or 'the model' for item in lists)} ran; give inputs= that reach them")
    kinds = merged(watch)
    calls = [dataclasses.replace(call, kind=kinds[call.kind]) for call in watch.calls]
    return Run(model, lists, calls, watch.classes, watch.kinds, rest, values.routed, notes)


def _dtype(name: str) -> torch.dtype:
    found = getattr(torch, name, None)
    if not isinstance(found, torch.dtype):
        raise InputError(f"{name!r} is no dtype of torch; bfloat16, float16 and float32 are some")
    return found


@contextlib.contextmanager
def _paused(counter: Counter) -> Iterator[None]:
    counter.paused = True
    try:
        yield
    finally:
        counter.paused = False
