"""Matrix products that run, seen at the dispatcher: their sizes, their FLOPs, and other operations that move bytes.

torch.utils.flop_counter knows no grouped product (0 FLOPs for every expert of a mixture) and no sizes; its formulas serve what has none here.
"""
from __future__ import annotations

import collections
import math
from typing import Any, Callable, Iterable, NamedTuple, Optional

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten
from torch.utils.flop_counter import flop_registry

from ._values import storage_key


class Product(NamedTuple):
    """C[rows, outputs] = A[rows, inputs] B[inputs, outputs], `groups` times; `rows` are those of all groups together."""

    rows: int
    inputs: int
    outputs: int
    groups: int = 1

    @property
    def flops(self) -> int:
        return 2 * self.rows * self.inputs * self.outputs


class Attention(NamedTuple):
    """One call of a fused attention kernel."""

    batch: int
    queries: int
    keys: int
    heads: int
    kv_heads: int
    qk_dim: int
    v_dim: int
    pairs: Optional[int]  # of query and key that see each other, of one head; None: unknown


Sizes = tuple[int, ...]
Pairs = Callable[[], Optional[int]]


def _plain(a: Sizes, b: Sizes) -> Product:
    return Product(a[0], a[1], b[1] if len(b) > 1 else 1)


def _batched(a: Sizes, b: Sizes) -> Product:
    return Product(a[0] * a[1], a[2], b[2], a[0])


def _dot(a: Sizes, b: Sizes) -> Product:
    return Product(1, a[0], 1)


def _grouped(a: Sizes, b: Sizes) -> Product:
    """Rows, columns or the inner size are cut into groups, or every group has its own of both (torch.nn.functional.grouped_mm)."""
    if len(a) == 3 and len(b) == 3:
        return _batched(a, b)
    if len(b) == 3:
        return Product(a[0], a[1], b[2], b[0])
    if len(a) == 3:
        return Product(a[1], a[2], b[1], a[0])
    return Product(a[0], a[1], b[1])


# Operation: which arguments are multiplied, and how.
_PRODUCTS = {
    "mm": (0, 1, _plain),
    "addmm": (1, 2, _plain),
    "mv": (0, 1, _plain),
    "addmv": (1, 2, _plain),
    "dot": (0, 1, _dot),
    "bmm": (0, 1, _batched),
    "baddbmm": (1, 2, _batched),
    "addbmm": (1, 2, _batched),
    "_int_mm": (0, 1, _plain),
    "_scaled_mm": (0, 1, _plain),
    "_grouped_mm": (0, 1, _grouped),
    "_scaled_grouped_mm": (0, 1, _grouped),
}
# In names of operations that multiply and are in no table.
_SUSPECT = ("mm", "conv", "linear", "attention", "lstm", "gru", "rnn", "einsum", "matmul", "cdist")
# Kernels of torch.nn.attention.varlen: the first seven arguments are alike.
_PACKED = ("_flash_attention_forward", "_varlen_attn")
_NATIVE = ("aten", "prim", "prims")


class Counter(TorchDispatchMode):
    """Counts the operations that run inside it.

    `flops`; `elementwise` bytes that operations other than products and views read and write, and their number `kernels`; `products` by weights (a
    parameter, or what is made of parameters alone) and how often; `inner` other products; `attention` kernels; `operands` storages that a product
    with a weight reads; `unseen` operations whose work is not known. `pairs` says how many pairs the attention that runs now lets through.
    """

    def __init__(self, weights: Iterable[torch.Tensor] = (), pairs: Pairs = lambda: None) -> None:
        super().__init__()
        self.flops = 0
        self.elementwise = 0
        self.kernels = 0
        self.products: collections.Counter[Product] = collections.Counter()
        self.inner: collections.Counter[Product] = collections.Counter()
        self.attention: collections.Counter[Attention] = collections.Counter()
        self.unseen: collections.Counter[str] = collections.Counter()
        self.operands: set[int] = set()
        self.outputs = 0  # bytes that products with weights make
        self.used: dict[int, int] = {}  # elements of each weight that takes part in a product
        self.paused = False
        self._pairs = pairs
        self._weights = {storage_key(weight): weight for weight in weights}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if not self.paused:
            self._see(func, args, kwargs or {}, out)
        return out

    def _see(self, func: Any, args: Any, kwargs: Any, out: Any) -> None:
        namespace, _, name = func._schema.name.partition("::")
        if namespace in _NATIVE and name in _PRODUCTS:
            self._see_product(name, args, out)
        elif func.overloadpacket in flop_registry:
            self.flops += int(flop_registry[func.overloadpacket](*args, **kwargs, out_val=out))
            if name in _PACKED:
                self._see_packed(args, kwargs)
            elif "scaled_dot_product" in name and "backward" not in name:
                self._see_attention(args)
        elif namespace not in _NATIVE or any(part in name for part in _SUSPECT):
            self.unseen[f"{namespace}::{name}"] += 1
        else:
            self._see_other(args, kwargs, out)

    def _see_product(self, name: str, args: Any, out: torch.Tensor) -> None:
        first, second, sizes = _PRODUCTS[name]
        left, right = args[first], args[second]
        product = sizes(tuple(left.shape), tuple(right.shape))
        self.flops += product.flops
        weights = [storage_key(side) in self._weights for side in (left, right)]
        if weights[0] == weights[1]:
            self.inner[product] += 1
            return
        if weights[0]:
            product = Product(product.outputs, product.inputs, product.rows, product.groups)
        self.products[product] += 1
        weight = left if weights[0] else right
        self.used[storage_key(weight)] = weight.untyped_storage().nbytes() // weight.element_size()
        self.operands.add(storage_key(right if weights[0] else left))
        self.outputs += _bytes(out)

    def _see_attention(self, args: Any) -> None:
        query, key, value = (tuple(tensor.shape) for tensor in args[:3])
        self.attention[Attention(query[0], query[2], key[2], query[1], key[1], query[3], value[3], self._pairs())] += 1

    def _see_packed(self, args: Any, kwargs: Any) -> None:
        """Queries, keys and values as [tokens, heads, width], samples of at most `queries` or `keys` tokens one after another."""
        query, key, value, _, _, queries, keys = args[:7]
        window = args[9] if len(args) > 9 else kwargs.get("window_size")
        causal = any(item is True for item in args[7:9]) or list(window or ()) == [-1, 0]
        pairs = queries * (queries + 1) // 2 if causal else queries * keys
        sizes = (query.shape[0] // queries, queries, keys, query.shape[-2], key.shape[-2], query.shape[-1], value.shape[-1])
        self.attention[Attention(*sizes, pairs)] += 1

    def _see_other(self, args: Any, kwargs: Any, out: Any) -> None:
        inputs = [item for item in tree_flatten((args, kwargs))[0] if isinstance(item, torch.Tensor)]
        outputs = [item for item in tree_flatten(out)[0] if isinstance(item, torch.Tensor)]
        if not outputs:
            return
        keys = {storage_key(item) for item in inputs}
        if inputs and all(key in self._weights for key in keys):
            self._weights.update((storage_key(item), item) for item in outputs)
        made = [item for item in outputs if storage_key(item) not in keys]
        if made:
            self.elementwise += sum(_bytes(item) for item in inputs + made)
            self.kernels += 1


def _bytes(tensor: torch.Tensor) -> int:
    """Bytes in memory: an expanded tensor has no more than its storage."""
    return min(math.prod(tensor.shape) * tensor.element_size(), tensor.untyped_storage().nbytes())
