"""Values of small tensors on the meta device, so that code which asks for them runs there.

Masks, positions and token ids decide what a model runs: `mask.all()` chooses a kernel, `nonzero()` of a routing the rows of an expert. The meta
device has no values. This mode computes each small tensor of which all inputs are known a second time, on the CPU, in addition to the meta one.
A router's choice depends on weights, which are not there: it is taken to be even.
"""
from __future__ import annotations

from typing import Any, Callable, Optional

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

# Elements of a tensor that is computed at most: masks of sequences up to 8192 tokens, token ids, tables of a few settings.
_MOST = {torch.bool: 1 << 26, torch.int64: 1 << 24, torch.int32: 1 << 24}
_MOST_OTHERS = 1 << 14
CHOICES = 64  # a topk of more elements is not a router's

_aten = torch.ops.aten
_INDEXED = (_aten.index, _aten.index_put, _aten.index_put_)
_READS = (_aten._local_scalar_dense.default, _aten.equal.default)


def storage_key(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


class Values(TorchDispatchMode):
    """Keeps a CPU storage for each meta storage whose numbers are known; views follow by themselves, as they share the storage.

    `routed`: whether a router's choice was taken to be even somewhere.
    """

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[int, tuple[StorageWeakRef, torch.Tensor]] = {}
        self.routed = False

    def learn(self, meta: torch.Tensor, real: torch.Tensor) -> None:
        """Says the numbers of a meta tensor. The weak reference keeps the address of its storage from being used again."""
        if not _small(meta):
            return
        elements = meta.untyped_storage().nbytes() // meta.element_size()
        flat = torch.zeros(elements, dtype=meta.dtype, device="cpu")
        flat.as_strided(meta.shape, meta.stride(), meta.storage_offset()).copy_(real)
        self._known[storage_key(meta)] = (StorageWeakRef(meta.untyped_storage()), flat)
        if len(self._known) % 4096 == 0:
            self._known = {key: row for key, row in self._known.items() if not row[0].expired()}

    def of(self, tensor: torch.Tensor) -> Optional[torch.Tensor]:
        """The numbers of a tensor, or None if they are not known."""
        if tensor.device.type != "meta":
            return tensor
        row = self._known.get(storage_key(tensor))
        if row is None or row[0].expired() or row[1].dtype != tensor.dtype:
            return None
        return row[1].as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is _aten.embedding.default:
            self._check_table(args[0], args[1])
        if func.overloadpacket in _INDEXED:
            args = (args[0], self._places(args[1]), *args[2:])
        if not self._computable(func, args, kwargs):
            if _leaves_meta(func, kwargs) and not torch.is_grad_enabled():
                return torch.zeros(args[0].shape, dtype=kwargs.get("dtype") or args[0].dtype, device="cpu")  # a gradient, which decides nothing
            out = func(*args, **kwargs)
            self._forget_written(func, args)
            self._choose(func, args, out)
            return out
        if func in _READS or _leaves_meta(func, kwargs):
            return self._real(func, args, kwargs)
        if func._schema.is_mutable:
            self._real(func, args, kwargs)
            return func(*args, **kwargs)
        return self._beside(func, args, kwargs)

    def _real(self, func: Any, args: Any, kwargs: Any) -> Any:
        """The operation on the CPU, with the numbers of its arguments."""

        def of(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                return self.of(value)
            return torch.device("cpu") if isinstance(value, torch.device) and value.type == "meta" else value

        return func(*tree_map(of, args), **tree_map(of, kwargs))

    def _computable(self, func: Any, args: Any, kwargs: Any) -> bool:
        if _random(func) or _is_view(func):
            return False
        tensors = [item for item in tree_flatten((args, kwargs))[0] if isinstance(item, torch.Tensor)]
        if not tensors:
            return torch.device(kwargs.get("device") or "cpu").type == "meta"
        here = any(item.device.type == "meta" for item in tensors) or torch.device(kwargs.get("device") or "cpu").type == "meta"
        return here and all(_small(item) and self.of(item) is not None for item in tensors)

    def _beside(self, func: Any, args: Any, kwargs: Any) -> Any:
        """The meta result, its numbers known if it is small. Its shape may follow from numbers too."""
        try:
            out = func(*args, **kwargs)
        except (RuntimeError, NotImplementedError):
            real = self._real(func, args, kwargs)
            out = tree_map(lambda item: item.to("meta") if isinstance(item, torch.Tensor) else item, real)
        else:
            if not all(_small(item) for item in tree_flatten(out)[0] if isinstance(item, torch.Tensor)):
                return out
            try:
                real = self._real(func, args, kwargs)
            except (RuntimeError, NotImplementedError):
                return out  # the CPU has no such operation: nothing is known of the result
        for meta, values in zip(tree_flatten(out)[0], tree_flatten(real)[0]):
            if isinstance(meta, torch.Tensor) and meta.device.type == "meta":
                self.learn(meta, values)
        return out

    def _places(self, indices: Any) -> list[Any]:
        """Masks among indices as the places that they name: how many there are decides a shape."""
        out: list[Any] = []
        for item in indices:
            known = self.of(item) if isinstance(item, torch.Tensor) and item.dtype is torch.bool else None
            if known is None or item.device.type != "meta":
                out.append(item)
                continue
            for places in known.nonzero().unbind(1):
                out.append(places.to("meta"))
                self.learn(out[-1], places)
        return out

    def _check_table(self, table: torch.Tensor, indices: torch.Tensor) -> None:
        """A device would refuse an index past the last row; the meta device does not look."""
        numbers = self.of(indices)
        if numbers is not None and numbers.numel() and int(numbers.max()) >= table.shape[0]:
            raise IndexError(f"index {int(numbers.max())} is outside the {table.shape[0]} rows of a table; a shorter seq may help")

    def _forget_written(self, func: Any, args: Any) -> None:
        if not func._schema.is_mutable:
            return
        for argument, value in zip(func._schema.arguments, args):
            if isinstance(value, torch.Tensor) and argument.alias_info is not None and argument.alias_info.is_write:
                self._known.pop(storage_key(value), None)

    def _choose(self, func: Any, args: Any, out: Any) -> None:
        """A router's choice of few out of many: each row the next ones in turn."""
        packet = func.overloadpacket
        if packet is _aten.topk and args[1] <= CHOICES:
            indices, among = out[1], args[0].shape[-1]
        elif packet is _aten.argmax and len(args) > 1 and args[1] is not None:
            indices, among = out, args[0].shape[args[1]]
        else:
            return
        if indices.device.type != "meta" or not among or not _small(indices):
            return
        self.routed = True
        self.learn(indices, (torch.arange(indices.numel(), device="cpu") % among).reshape(indices.shape))


class Constants(TorchFunctionMode):
    """Numbers that code writes down, `torch.tensor([..])` or `x[:, [0, -1]]`, would be lost on the meta device."""

    def __init__(self, values: Values) -> None:
        super().__init__()
        self._values = values

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in (torch.Tensor.__getitem__, torch.Tensor.__setitem__) and isinstance(args[1], tuple):
            return func(args[0], tuple(self._place(item) for item in args[1]), *args[2:], **kwargs)
        if func not in (torch.tensor, torch.as_tensor) or isinstance(args[0] if args else None, torch.Tensor):
            return func(*args, **kwargs)
        out = func(*args, **kwargs)
        if out.device.type == "meta":
            self._values.learn(out, func(*args, **{**kwargs, "device": "cpu", "requires_grad": False}))
        return out

    def _place(self, item: Any) -> Any:
        if not isinstance(item, list) or not all(type(number) is int for number in item):
            return item
        real = torch.tensor(item, device="cpu")
        self._values.learn(out := real.to("meta"), real)
        return out


def _small(tensor: torch.Tensor) -> bool:
    return int(tensor.numel()) <= _MOST.get(tensor.dtype, _MOST_OTHERS)


def _random(func: Any) -> bool:
    return torch.Tag.nondeterministic_seeded in func.tags or func.overloadpacket in (_aten.empty, _aten.empty_strided, _aten.empty_like)


def _is_view(func: Any) -> bool:
    return any(ret.alias_info is not None and not ret.alias_info.is_write for ret in func._schema.returns)


def _leaves_meta(func: Any, kwargs: Any) -> bool:
    return func is _aten._to_copy.default and kwargs.get("device") is not None and torch.device(kwargs["device"]).type == "cpu"
