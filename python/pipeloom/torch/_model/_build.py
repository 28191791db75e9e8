"""A module on the meta device, from a configuration of transformers, from a function that makes it, or from a module that is somewhere else."""
from __future__ import annotations

import contextlib
import copy
import json
import os
from pathlib import Path
from typing import Any, Iterator

import torch

from ... import InputError
from ..._optional import module as optional
from ._values import Constants, Values


@contextlib.contextmanager
def nowhere(values: Values) -> Iterator[None]:
    """Everything made inside is on the meta device, with the numbers of small tensors beside it."""
    with torch.device("meta"), Constants(values), values:
        yield


def build(source: Any, dtype: torch.dtype, attention: str, values: Values) -> tuple[torch.nn.Module, list[str]]:
    """The module that `source` names, and notes on how it was made.

    `source`: a torch.nn.Module, copied to the meta device without its numbers; a function without arguments that returns one; a configuration
    object of transformers, its dict, or the path of a config.json or of its folder. Raises InputError for anything else.
    """
    if isinstance(source, torch.nn.Module):
        return copied(source, values), []
    if callable(source):
        with nowhere(values):
            made = source()
        if not isinstance(made, torch.nn.Module):
            raise InputError(f"the function made a {type(made).__name__}, not a torch.nn.Module; return the module")
        return made, []
    return _of_transformers(source, dtype, attention, values)


def copied(source: torch.nn.Module, values: Values) -> torch.nn.Module:
    """A copy without the numbers of parameters; small buffers keep theirs beside."""
    memo: dict[int, Any] = {}
    for weight in source.parameters():
        memo[id(weight)] = torch.nn.Parameter(weight.detach().to("meta"), requires_grad=weight.requires_grad)
    for buffer in source.buffers():
        memo[id(buffer)] = buffer.detach().to("meta")
        if buffer.device.type != "meta":
            values.learn(memo[id(buffer)], buffer.detach().cpu())
    return copy.deepcopy(source, memo)


def _of_transformers(source: Any, dtype: torch.dtype, attention: str, values: Values) -> tuple[torch.nn.Module, list[str]]:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    transformers = optional("transformers", "torch")
    transformers.logging.set_verbosity_error()
    config = _configuration(transformers, source)
    kinds = {"flash": ("sdpa", "eager"), "eager": ("eager",)}[attention]
    notes: list[str] = []
    for kind in kinds:
        made, cls = _class_of(transformers, copy.deepcopy(config))
        made.use_cache = False
        try:
            with nowhere(values):
                return cls._from_config(made, dtype=dtype, attn_implementation=kind), notes
        except ValueError as error:
            if kind == kinds[-1] or "attention" not in str(error).lower():
                raise InputError(f"transformers does not build this configuration: {_line(error)}") from error
            notes.append(f"attention: {made.model_type} has no scaled_dot_product_attention; what attention it has keeps scores of S x S")
        except (TypeError, AttributeError, KeyError, AssertionError, ImportError, RuntimeError) as error:
            raise InputError(f"transformers does not build this configuration: {type(error).__name__}: {_line(error)}") from error
    raise AssertionError("the last implementation returns or raises")


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def _configuration(transformers: Any, source: Any) -> Any:
    if isinstance(source, transformers.PretrainedConfig):
        return source
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        path = path / "config.json" if path.is_dir() else path
        try:
            source = json.loads(path.read_text(encoding="utf-8"), object_hook=_float)
        except OSError as error:
            raise InputError(f"cannot read it: {error.strerror}; give a config.json or its folder", str(path)) from None
        except ValueError as error:
            raise InputError(f"no JSON: {_line(error)}", str(path)) from None
    if not isinstance(source, dict):
        raise InputError(f"a {type(source).__name__} says no model; give a module, a function that makes one, or a config.json of transformers")
    name = source.get("model_type")
    if name not in transformers.CONFIG_MAPPING:
        raise InputError(f"model_type {name!r} is not one of transformers {transformers.__version__}; pass the module itself")
    return transformers.CONFIG_MAPPING[name].from_dict(source)


def _float(item: dict[str, Any]) -> Any:
    """transformers 5 writes infinity as {"__float__": "Infinity"}."""
    return float(item["__float__"]) if item.keys() == {"__float__"} else item


def _class_of(transformers: Any, config: Any) -> tuple[Any, Any]:
    """The class that `architectures` names, else the causal, the image and text, or the plain one; and the part of the configuration that it takes."""
    for name in config.architectures or ():
        found = getattr(transformers, name, None)
        if found is not None:
            return _part_for(config, found), found
    for auto in ("AutoModelForCausalLM", "AutoModelForImageTextToText", "AutoModel"):
        mapping = getattr(transformers, auto)._model_mapping
        if type(config) in mapping:
            found = mapping[type(config)]
            found = found[0] if isinstance(found, (tuple, list)) else found
            return _part_for(config, found), found
    raise InputError(f"transformers has no model for {type(config).__name__}; pass the module itself")


def _part_for(config: Any, cls: Any) -> Any:
    """The configuration, or that of its parts (text, decoder) which the class was written for."""
    wanted = getattr(cls, "config_class", None)
    if wanted is None or isinstance(config, wanted):
        return config
    for name in getattr(config, "sub_configs", {}):
        if isinstance(getattr(config, name, None), wanted):
            return getattr(config, name)
    return getattr(config, "decoder", config)
