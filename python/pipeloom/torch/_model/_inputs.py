"""The inputs that a model is called with, if the caller gives none."""
from __future__ import annotations

import inspect
from typing import Any, Optional

import torch
from torch.utils._pytree import tree_map

from ... import InputError
from ._build import nowhere
from ._values import Values


def inputs_for(model: torch.nn.Module, given: Any, seq: int, micro_batch: int, values: Values) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments of the call: `given` on the meta device (a tensor, a tuple of arguments or a dict), or token ids [micro_batch, seq]."""
    if given is not None:
        moved = tree_map(lambda item: _moved(item, values) if isinstance(item, torch.Tensor) else item, given)
        if isinstance(moved, dict):
            return (), moved
        return (tuple(moved) if isinstance(moved, (tuple, list)) else (moved,)), {}
    with nowhere(values):
        ids = torch.full((micro_batch, seq), _plain_token(getattr(model, "config", None)), dtype=torch.int64)
    names = inspect.signature(model.forward).parameters
    if "input_ids" not in names:
        if len([item for item in names.values() if item.default is item.empty and item.kind <= item.POSITIONAL_OR_KEYWORD]) > 1:
            raise InputError(f"{type(model).__name__} takes {', '.join(names)}; give its inputs as a dict, inputs={{..}}")
        return (ids,), {}
    return (), {"input_ids": ids, **({"use_cache": False} if "use_cache" in names else {})}


def _moved(item: torch.Tensor, values: Values) -> torch.Tensor:
    meta = item.detach().to("meta")
    if item.device.type != "meta":
        values.learn(meta, item.detach().cpu())
    return meta.requires_grad_(item.requires_grad)


def _plain_token(config: Optional[Any]) -> int:
    """The first token that is not one of those with a meaning: padding, an image's place."""
    special: set[int] = set()
    for part in (config, getattr(config, "text_config", None)):
        for key, value in getattr(part, "__dict__", {}).items():
            if key.endswith(("_id", "_index", "_ids")):
                special.update(item for item in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(item, int))
    return next(token for token in range(5, 10000) if token not in special)
