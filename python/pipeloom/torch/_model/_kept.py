"""Tensors that autograd keeps from a forward on for its backward: storages, each once."""
from __future__ import annotations

from typing import Any, Callable, Iterable

import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from ._values import storage_key


class Kept(saved_tensors_hooks):
    """Inside it, every tensor that autograd packs is noted by its storage, and held: a freed address would be used again.

    `known` are storages that are no activations: parameters, buffers, and arguments that all layers share.
    """

    def __init__(self, known: Iterable[torch.Tensor]) -> None:
        super().__init__(self._pack, lambda tensor: tensor)
        self._known = {storage_key(tensor) for tensor in known}
        self._seen: dict[int, torch.Tensor] = {}

    def _pack(self, tensor: torch.Tensor) -> torch.Tensor:
        self._seen.setdefault(storage_key(tensor), tensor)
        return tensor

    def storages(self) -> dict[int, int]:
        """Bytes of each storage that is an activation, by its key."""
        return {key: tensor.untyped_storage().nbytes() for key, tensor in self._seen.items() if key not in self._known}

    @property
    def bytes(self) -> int:
        return sum(self.storages().values())


class Alive(TorchDispatchMode):
    """Storages that operations inside it make, to ask later which of them are still there: a second opinion on what a graph keeps, which also sees
    tensors that a function holds without telling autograd."""

    def __init__(self) -> None:
        super().__init__()
        self._made: dict[int, tuple[StorageWeakRef, int]] = {}

    def __torch_dispatch__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for item in tree_flatten(out)[0]:
            if isinstance(item, torch.Tensor):
                storage = item.untyped_storage()
                self._made.setdefault(int(storage._cdata), (StorageWeakRef(storage), storage.nbytes()))
        return out

    def storages(self) -> dict[int, int]:
        return {key: size for key, (reference, size) in self._made.items() if not reference.expired()}
