"""The modules that are a model's layers, the order in which they run, and the layers that are alike."""
from __future__ import annotations

import dataclasses
from typing import Any, Callable, Iterator

import torch
from torch.utils._pytree import tree_flatten, tree_map

from ._measure import Counted, measure
from ._products import Pairs

# Attributes that say which one of many a layer is.
_NUMBERS = {"layer_idx", "layer_id", "layer_index", "block_idx", "idx", "index", "layer_number", "training"}


@dataclasses.dataclass
class LayerList:
    """A list of layers: its name, and name and module of each item."""

    name: str
    items: list[tuple[str, torch.nn.Module]]

    @property
    def parameters(self) -> int:
        return _size(parameter for _, item in self.items for parameter in item.parameters())


@dataclasses.dataclass
class Call:
    """One run of a layer: its name and module, and the number of its kind."""

    name: str
    layer: torch.nn.Module
    kind: int


def _size(parameters: Iterator[torch.Tensor]) -> int:
    return sum({id(item): item.numel() for item in parameters}.values())


def find_lists(model: torch.nn.Module) -> list[LayerList]:
    """Containers of modules that lie in no other one's item.

    A list holds layers if one of its items has modules of its own, or is of no class of torch.nn. A Sequential is a list only if it holds half of the parameters: most are
    small chains such as projectors.
    """
    found: list[LayerList] = []
    inside: list[str] = []
    whole = _size(model.parameters())
    for name, module in model.named_modules():
        if any(name.startswith(outer) for outer in inside):
            continue
        if not isinstance(module, (torch.nn.ModuleList, torch.nn.ModuleDict, torch.nn.Sequential)):
            continue
        prefix = f"{name}." if name else ""
        layers = LayerList(name, [(prefix + key, item) for key, item in module.named_children() if not isinstance(item, torch.nn.Identity)])
        big = 2 * layers.parameters >= whole
        if not layers.parameters or (isinstance(module, torch.nn.Sequential) and not big):
            continue
        if big or any(next(item.children(), None) is not None or not type(item).__module__.startswith("torch.nn.") for _, item in layers.items):
            found.append(layers)
            inside += [f"{item}." for item, _ in layers.items]
    return found


class Watch:
    """Runs the first layer of each kind under the counters, in place of the others returns its output.

    A layer's class, parameters, settings and arguments make its kind. `calls` are all runs in order, `kinds` the counts.
    """

    def __init__(self, lists: list[LayerList], around: Callable[[], Any], pairs: Pairs) -> None:
        self.calls: list[Call] = []
        self.kinds: list[Counted] = []
        self.classes: list[str] = []
        self.inside = False
        self._around = around
        self._pairs = pairs
        self._numbers: dict[Any, int] = {}
        self._outputs: list[Any] = []
        self._settings: dict[int, Any] = {}
        for layers in lists:
            for name, layer in layers.items:
                self._wrap(name, layer)

    def _wrap(self, name: str, layer: torch.nn.Module) -> None:
        run = layer.forward

        def forward(*args: Any, **kwargs: Any) -> Any:
            if self.inside:
                return run(*args, **kwargs)
            return self._run(name, layer, run, args, kwargs)

        layer.forward = forward

    def _run(self, name: str, layer: torch.nn.Module, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        signature = self._signature(layer, args, kwargs)
        if signature not in self._numbers:
            self.inside = True
            try:
                with self._around():
                    output, counted = measure(layer, run, args, kwargs, self._pairs)
            finally:
                self.inside = False
            self._numbers[signature] = len(self.kinds)
            self.kinds.append(counted)
            self.classes.append(type(layer).__name__)
            self._outputs.append(output)
        number = self._numbers[signature]
        self.calls.append(Call(name, layer, number))
        return tree_map(_again, self._outputs[number])

    def _signature(self, layer: torch.nn.Module, args: Any, kwargs: Any) -> Any:
        if id(layer) not in self._settings:
            shapes = tuple((name, tuple(item.shape), item.dtype, item.requires_grad) for name, item in layer.named_parameters())
            self._settings[id(layer)] = (type(layer).__qualname__, shapes, tuple(_settings(layer)))
        given = tuple(_form(item) for item in tree_flatten((args, kwargs))[0])
        return self._settings[id(layer)], given, torch.is_grad_enabled()


def _settings(layer: torch.nn.Module) -> Iterator[Any]:
    for name, module in layer.named_modules():
        simple = sorted((key, str(value)) for key, value in vars(module).items() if key not in _NUMBERS and isinstance(value, (int, str, float, bool)))
        yield name, type(module).__qualname__, tuple(simple)


def _again(item: Any) -> Any:
    """An output without its graph. Not a leaf, as in a real run: what follows may write into it."""
    if not isinstance(item, torch.Tensor):
        return item
    return item.detach().requires_grad_().clone() if item.requires_grad else item.detach()


def _form(item: Any) -> Any:
    if isinstance(item, torch.Tensor):
        return tuple(item.shape), item.dtype, item.requires_grad
    return item if isinstance(item, (bool, str, type(None))) else type(item).__name__


def merged(watch: Watch) -> list[int]:
    """For each kind of `watch` the first one of the same class with the same counts: settings may differ and change nothing."""
    first: dict[Any, int] = {}
    return [first.setdefault((name, counted), number) for number, (name, counted) in enumerate(zip(watch.classes, watch.kinds))]
