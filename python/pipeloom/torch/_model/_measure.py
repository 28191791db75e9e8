"""One layer run forward and backward on the meta device, and what was counted."""
from __future__ import annotations

import dataclasses
from typing import Any, Callable

import torch
from torch.utils._pytree import tree_flatten, tree_map

from ._kept import Alive, Kept
from ._products import Attention, Counter, Pairs, Product
from ._values import storage_key


@dataclasses.dataclass(frozen=True)
class Counted:
    """One call of a layer, for one microbatch.

    `flops`: of forward, gradient of the input, gradient of the weights. `kept`: bytes that its forward leaves for its backward, its input among
    them, without parameters and without tensors that all layers share; `kept_for_weights` is the part of them that products with weights read,
    `input_bytes` the part that stays where the layer is computed again, `gradient_bytes` the results of products with weights. `idle`: elements of
    its weights that a token does not pass, those of experts that it is not sent to; `crowded`: groups of weights (experts) that all multiply every
    token, 0 if there are none. `hidden_bytes`: alive after the forward though autograd does not name them. `no_gradient`: parameters that the
    backward did not reach.
    """

    flops: tuple[int, int, int]
    kept: int
    kept_for_weights: int
    input_bytes: int
    gradient_bytes: int
    idle: int
    crowded: int
    hidden_bytes: int
    elementwise: tuple[int, int]
    kernels: tuple[int, int]
    products: tuple[tuple[Product, int], ...]
    inner: tuple[tuple[Product, int], ...]
    attention: tuple[tuple[Attention, int], ...]
    unseen: tuple[str, ...]
    no_gradient: tuple[str, ...]


def tensors_of(tree: Any) -> list[torch.Tensor]:
    return [item for item in tree_flatten(tree)[0] if isinstance(item, torch.Tensor)]


def measure(layer: torch.nn.Module, run: Callable[..., Any], args: Any, kwargs: Any, pairs: Pairs) -> tuple[Any, Counted]:
    """Calls `run(*args, **kwargs)`, the layer's own forward, and its backward. Returns the output, and the counts. `pairs`: see Counter.

    Arguments that require a gradient are results of earlier layers; if none does, the first floating tensor takes their place. Where the
    model switches gradients off, the layer keeps nothing and has no backward.
    """
    with torch.enable_grad():
        args, kwargs, states = _cut(args, kwargs)
    weights = [*layer.parameters(), *layer.buffers()]
    held = {id(item) for item in states}
    kept = Kept([*weights, *(item for item in tensors_of((args, kwargs)) if id(item) not in held)])
    forward, alive = Counter(layer.parameters(), pairs), Alive()
    with kept, alive, forward:
        out = run(*args, **kwargs)
    input_pass, whole, missing = _backward(layer, out, states)
    storages = kept.storages()
    outputs = {storage_key(item) for item in tensors_of(out)}
    given = {storage_key(item): item.untyped_storage().nbytes() for item in states}
    counted = Counted(
        flops=(forward.flops, input_pass.flops, whole.flops - input_pass.flops),
        kept=sum(storages.values()),
        kept_for_weights=sum(size for key, size in storages.items() if key in forward.operands),
        input_bytes=sum(given.values()),
        gradient_bytes=forward.outputs,
        idle=_idle(forward, states),
        crowded=_crowded(forward, states),
        hidden_bytes=_hidden(alive, set(storages) | outputs, [*weights, *tensors_of((args, kwargs))]),
        elementwise=(forward.elementwise, whole.elementwise),
        kernels=(forward.kernels, whole.kernels),
        products=tuple(sorted(forward.products.items())),
        inner=tuple(sorted(forward.inner.items())),
        attention=tuple(sorted(forward.attention.items())),
        unseen=tuple(sorted({*forward.unseen, *whole.unseen})),
        no_gradient=missing,
    )
    return out, counted


def _cut(args: Any, kwargs: Any) -> tuple[Any, Any, list[torch.Tensor]]:
    """The arguments without their graph, and those of them that need a gradient."""
    states: list[torch.Tensor] = []
    given = tensors_of((args, kwargs))
    needing = [item for item in given if item.requires_grad]
    if not needing:
        needing = [item for item in given if item.is_floating_point() and item.dim() >= 2][:1]
    wanted = {id(item) for item in needing}
    cut: dict[int, torch.Tensor] = {}

    def fresh(item: Any) -> Any:
        if not isinstance(item, torch.Tensor):
            return item
        if id(item) not in cut:
            cut[id(item)] = item.detach()
            if id(item) in wanted:
                # Not a leaf, as in a real run: layers may write into it.
                cut[id(item)] = cut[id(item)].requires_grad_().clone()
                states.append(cut[id(item)])
        return cut[id(item)]

    return tree_map(fresh, args), tree_map(fresh, kwargs), states


def _backward(layer: torch.nn.Module, out: Any, states: list[torch.Tensor]) -> tuple[Counter, Counter, tuple[str, ...]]:
    """Gradients of the input alone, then of all: the difference are those of the weights."""
    named = [(name, weight) for name, weight in layer.named_parameters() if weight.requires_grad]
    ends = [item for item in tensors_of(out) if item.requires_grad]
    input_pass, whole = Counter(layer.parameters()), Counter(layer.parameters())
    if not ends:
        return input_pass, whole, tuple(name for name, _ in named)
    seeds = [torch.ones_like(item, memory_format=torch.contiguous_format) for item in ends]
    if states:
        with input_pass:
            torch.autograd.grad(ends, states, seeds, retain_graph=True, allow_unused=True)
    with whole:
        found = torch.autograd.grad(ends, [*states, *(weight for _, weight in named)], seeds, retain_graph=True, allow_unused=True)
    return input_pass, whole, tuple(name for (name, _), gradient in zip(named, found[len(states):]) if gradient is None)


def _tokens(states: list[torch.Tensor]) -> int:
    return states[0].numel() // states[0].shape[-1] if states and states[0].dim() else 0


def _crowded(forward: Counter, states: list[torch.Tensor]) -> int:
    """Groups of a product with weights that see all tokens each."""
    return max((product.groups for product in forward.products if product.groups > 1 and product.rows == product.groups * _tokens(states)), default=0)


def _idle(forward: Counter, states: list[torch.Tensor]) -> int:
    """Elements of weights in products, but those that the products of one token amount to."""
    tokens = _tokens(states)
    if not tokens:
        return 0
    passed = sum(product.flops * times for product, times in forward.products.items()) // (2 * tokens)
    return max(0, sum(forward.used.values()) - passed)


def _hidden(alive: Alive, named: set[int], given: list[torch.Tensor]) -> int:
    known = named | {storage_key(item) for item in given}
    return sum(size for key, size in alive.storages().items() if key not in known)
