"""Counts a model on no device: what `pipeloom.torch.model` is made of. Importing this package imports no torch."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import InputError
from ..._optional import module as optional

if TYPE_CHECKING:
    from ._model_count import ModelCount

ATTENTIONS = ("flash", "eager")


def model(
    source: Any,
    *,
    seq: int = 4096,
    micro_batch: int = 1,
    attention: str = "flash",
    dtype: str = "bfloat16",
    inputs: Any = None,
    name: str = "",
) -> "ModelCount":
    """Counts parameters, products, FLOPs and bytes kept for the backward of any PyTorch model, layer by layer, without a device and without weights.

    `source`: a torch.nn.Module, a function that makes one, a configuration of transformers, its dict, or the path of a config.json or of its
    folder. The model is built and run once on the meta device, one layer of each kind forward and backward.

    `seq`, `micro_batch`: tokens of a sample, samples of a microbatch. `attention`: "flash", as a fused kernel computes and keeps it, or "eager".
    `dtype` of a configuration's model; a module has its own. `inputs`: what the model is called with, a tensor, a tuple or a dict; token ids
    if nothing is given.

    Raises InputError for a source that is none of these, for a model without a list of layers, and for one whose code needs the numbers of its
    weights. ModuleNotFoundError where torch, or for a configuration transformers, is missing.
    """
    if attention not in ATTENTIONS:
        raise InputError(f"attention is {attention!r}; it must be one of {', '.join(ATTENTIONS)}")
    for what, value in (("seq", seq), ("micro_batch", micro_batch)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InputError(f"{what} is {value!r}; it must be a whole number of 1 or more")
    optional("torch", "torch")
    from ._count import run
    from ._model_count import summed

    return summed(run(source, seq, micro_batch, attention, dtype, inputs), name, seq, micro_batch, dtype, attention)
