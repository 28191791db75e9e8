"""Compares a schedule's loss and gradients with those of the model in one piece."""
from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Optional

from .. import InputError
from ._load import group_of, home_of, stage_count, stages_of, step

#: From a stage and the name of a parameter in it to the parameter's name in the whole model.
Naming = Callable[[int, str], str]


@dataclass(frozen=True)
class GradientCheck:
    """The result, alike on every rank; true if nothing differs by more than `tolerance`.

    Differences are relative: of the loss to the model's loss, of a gradient its largest element to the largest of the model's gradient.
    """

    loss: float
    expected_loss: float
    loss_difference: float
    worst: float
    worst_parameter: str
    parameters: int
    tolerance: float

    def __bool__(self) -> bool:
        return max(self.worst, self.loss_difference) <= self.tolerance

    def __str__(self) -> str:
        verdict = "equal" if self else "different"
        return (
            f"{verdict}: loss {self.loss:g} against {self.expected_loss:g}, {self.parameters} gradients, "
            f"largest difference {self.worst:.2g} in {self.worst_parameter}"
        )


def check_gradients(
    schedule: Any,
    model: Any,
    x: Any = None,
    target: Any = None,
    *,
    names: Optional[Naming] = None,
    tolerance: float = 1e-4,
) -> GradientCheck:
    """Steps `schedule` once and compares its loss and all gradients with those of `model`, the stages in one piece.

    Every rank calls it. `x` and `target` are those of the last `step` if left out. A copy of `model` gets the stages' parameters, so its
    values do not matter; the names do: a parameter is called in it as in its stage, or, if the model is a sequence of as many modules as
    there are stages, as in the module of that index; `names(stage, name)` says it otherwise. Gradients of the stages are emptied before
    and after. Dropout and other chance must be off, and replicas must get the same batch. All parameters are gathered on each rank:
    meant for small models.

    Raises InputError where a name is not in the model or there is no batch.
    """
    import torch

    group = group_of(schedule)
    x, target = _batch(schedule, group, x, target)
    _clear(schedule)
    loss = step(schedule, x, target, broadcast=True)
    parts = _gathered({stage.stage_index: _state(stage.submod) for stage in stages_of(schedule)}, group)
    _clear(schedule)
    whole = copy.deepcopy(model)
    naming = names or _naming(whole, stage_count(schedule))
    own = dict(whole.named_parameters())
    pairs = [
        (_found(own, naming(s, name), s, name), value, grad) for s, part in sorted(parts.items()) for name, (value, grad) in part.items()
    ]
    with torch.no_grad():
        for name, value, _ in pairs:
            own[name].copy_(value)
    expected = _step_whole(schedule, whole, x, target)
    worst, where = max(((_difference(grad, own[name].grad), name) for name, _, grad in pairs), default=(0.0, ""))
    away = _known(abs(float(loss) - expected) / (abs(expected) or 1.0))
    return GradientCheck(float(loss), expected, away, worst, where, len(pairs), tolerance)


def _batch(schedule: Any, group: Any, x: Any, target: Any) -> tuple[Any, Any]:
    """The batch on every rank: inputs from the rank of the first stage, targets from that of the last."""
    import torch.distributed as dist

    last = getattr(schedule, "pipeloom_batch", (None, None))
    mine = (x if x is not None else last[0], target if target is not None else last[1])
    both: list[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(both, mine, group=group)
    found = both[home_of(schedule, 0)][0], both[home_of(schedule, stage_count(schedule) - 1)][1]
    if found[0] is None or found[1] is None:
        raise InputError("there is no batch to check with; give x and target, or step once before")
    return found


def _clear(schedule: Any) -> None:
    for stage in stages_of(schedule):
        stage.submod.zero_grad(set_to_none=True)


def _state(module: Any) -> dict[str, tuple[Any, Any]]:
    """By name a parameter's values and gradient, on the CPU."""
    return {name: (_whole(one), None if one.grad is None else _whole(one.grad)) for name, one in module.named_parameters()}


def _whole(tensor: Any) -> Any:
    """A tensor on the CPU, of one that is sharded all parts."""
    tensor = tensor.detach()
    return (tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor).cpu()


def _gathered(mine: dict[int, Any], group: Any) -> dict[int, Any]:
    import torch.distributed as dist

    parts: list[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(parts, mine, group=group)
    return {stage: state for part in parts for stage, state in part.items()}


def _naming(model: Any, stages: int) -> Naming:
    import torch

    if isinstance(model, (torch.nn.Sequential, torch.nn.ModuleList)) and len(model) == stages:
        return lambda stage, name: f"{stage}.{name}"
    return lambda stage, name: name


def _found(own: dict[str, Any], wanted: str, stage: int, name: str) -> str:
    if wanted not in own:
        raise InputError(f"stage {stage}, parameter {name}: the model has no {wanted}; give names=, from stage and name to its name")
    return wanted


def _step_whole(schedule: Any, model: Any, x: Any, target: Any) -> float:
    """The model's loss and gradients over the runtime's own microbatches, scaled as the runtime scales them; returns the mean loss."""
    import torch

    count = schedule._n_microbatches
    device = next(model.parameters()).device
    pieces, _ = schedule._split_inputs(x if isinstance(x, tuple) else (x,))
    losses = []
    for piece, wanted in zip(pieces, torch.tensor_split(target, count)):
        loss = schedule._loss_fn(model(*(one.to(device) for one in piece)), wanted.to(device))
        (loss / count if schedule.scale_grads else loss).backward()
        losses.append(loss.detach())
    return float(torch.stack(losses).mean())


def _difference(got: Any, expected: Any) -> float:
    import torch

    if expected is None and got is None:
        return 0.0
    expected = torch.zeros_like(got) if expected is None else expected.cpu()
    got = torch.zeros_like(expected) if got is None else got
    scale = expected.abs().max().item() or 1.0
    return _known((got - expected).abs().max().item() / scale)


def _known(difference: float) -> float:
    """NaN is no difference that is small: it loses every comparison, and would pass."""
    return math.inf if math.isnan(difference) else float(difference)
