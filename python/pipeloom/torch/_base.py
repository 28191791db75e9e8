"""What the sub-package takes from the base package. A CSV file can be loaded where that is missing, so its errors have stand-ins."""
from __future__ import annotations

from typing import Any

try:
    from pipeloom import InputError, ScheduleError
except ImportError:

    class InputError(ValueError):  # type: ignore[no-redef]
        """An argument or a file that cannot be used."""

    class ScheduleError(ValueError):  # type: ignore[no-redef]
        """A schedule that cannot be run."""


def base_package(purpose: str) -> Any:
    """The base package, imported when called so that nothing here depends on it."""
    found = base_package_or_none()
    if found is None:
        raise InputError(f"{purpose} needs the whole package pipeloom; without it only compute-only CSV files can be loaded")
    return found


def base_package_or_none() -> Any:
    try:
        import pipeloom
    except ImportError:
        return None
    return pipeloom if hasattr(pipeloom, "simulate") else None
