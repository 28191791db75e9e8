"""Counts a model of transformers on no device and writes Pipeloom's model file: python -m pipeloom.torch.model config.json -o model.json

The function is `pipeloom.torch.model`; this module may be called like it, as importing it puts it in the function's place.
"""
from __future__ import annotations

import argparse
import sys
from types import ModuleType
from typing import Any, Optional, Sequence

from .. import Error
from ._model import ATTENTIONS, model


class _Callable(ModuleType):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return model(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Runs the command. Returns 0, or 2 for input that is refused, with one line on stderr."""
    parser = argparse.ArgumentParser(prog="python -m pipeloom.torch.model", description="Counts a model of transformers on no device.")
    parser.add_argument("config", help="config.json, or the folder that has it")
    parser.add_argument("-o", "--output", metavar="FILE", help="the model file that is written, for pipeloom estimate, plan and layout")
    parser.add_argument("--seq", type=int, default=4096, help="tokens of a sample (4096)")
    parser.add_argument("--micro-batch", type=int, default=1, help="samples of a microbatch (1)")
    parser.add_argument("--attention", choices=ATTENTIONS, default="flash", help="a fused kernel, or eager with scores of S x S")
    parser.add_argument("--dtype", default="bfloat16", help="of the weights (bfloat16)")
    parser.add_argument("--partial", action="store_true", help="leave out layers that a call with token ids does not reach")
    given = parser.parse_args(arguments)
    try:
        counted = model(given.config, seq=given.seq, micro_batch=given.micro_batch, attention=given.attention, dtype=given.dtype)
        print(counted)
        if given.output:
            counted.save(given.output, partial=given.partial)
    except (Error, ModuleNotFoundError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
