"""Runs on matplotlib's Axes, for those who combine them with figures of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _core, _optional
from ._frames import KINDS, Timed, in_units


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    return _optional.module("matplotlib.pyplot", "plots").subplots(figsize=(10, 3))[1]


def timeline(run: Timed, ax: Any = None, colours: dict[str, str] | None = None) -> Any:
    ax = _axes(ax)
    data = in_units(run)
    palette = {**dict(zip(KINDS, _core.kind_colours(), strict=True)), **(colours or {})}
    for index, kind in enumerate(KINDS):
        of_kind = data["kind"] == index
        if not of_kind.any():
            continue
        start, length, rank = data["start"][of_kind], (data["end"] - data["start"])[of_kind], data["rank"][of_kind]
        ax.barh(rank, length, left=start, height=0.8, color=palette[kind], edgecolor="white", linewidth=0.3, label=kind)
    ax.set_yticks(range(run.num_ranks), [f"rank {r}" for r in range(run.num_ranks)])
    ax.invert_yaxis()
    ax.set_xlabel("time" if run.unit == "unit" else f"time ({run.unit})")
    ax.legend(ncols=len(KINDS), loc="upper right", bbox_to_anchor=(1, 1.15), frameon=False)
    return ax


def memory(run: Timed, ax: Any = None, ranks: Sequence[int] | None = None) -> Any:
    ax = _axes(ax)
    for rank in range(run.num_ranks) if ranks is None else ranks:
        times, held = run.memory(rank)
        ax.step(times, held, where="post", label=f"rank {rank}")
    ax.set_xlabel("time" if run.unit == "unit" else f"time ({run.unit})")
    ax.set_ylabel("bytes")
    ax.legend(frameon=False)
    return ax
