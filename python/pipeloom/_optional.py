"""Packages that are there or not: pandas and the like."""

from __future__ import annotations

import importlib
from typing import Any


def module(name: str, extra: str) -> Any:
    """The package of that name. Raises ModuleNotFoundError that says how to get it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise
        package = name.partition(".")[0].lower()
        raise ModuleNotFoundError(f"this needs {package}, which is not here; pip install {package}, or pipeloom[{extra}]", name=error.name) from None
