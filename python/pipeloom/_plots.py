"""Runs on matplotlib's Axes, for those who combine them with figures of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._run import Run

#: By kind, as the program's own pictures have them in the light theme.
COLOURS = {
    "F": "#4c78a8", "B": "#59a14f", "I": "#8cd17d", "W": "#edc948", "R": "#b07aa1", "O": "#9c755f", "L": "#bab0ac", "S": "#76b7b2", "T": "#ff9da7",
}


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    import matplotlib.pyplot

    return matplotlib.pyplot.subplots(figsize=(10, 3))[1]


def timeline(run: Run, ax: Any = None, colours: dict[str, str] | None = None) -> Any:
    from ._frames import KINDS, in_units

    ax = _axes(ax)
    data = in_units(run)
    palette = {**COLOURS, **(colours or {})}
    for index, kind in enumerate(KINDS):
        of_kind = data["kind"] == index
        if not of_kind.any():
            continue
        start, length, rank = data["start"][of_kind], (data["end"] - data["start"])[of_kind], data["rank"][of_kind]
        ax.barh(rank, length, left=start, height=0.8, color=palette[kind], edgecolor="white", linewidth=0.3, label=kind)
    ax.set_yticks(range(run.ranks), [f"rank {r}" for r in range(run.ranks)])
    ax.invert_yaxis()
    ax.set_xlabel("time" if run.unit == "unit" else f"time ({run.unit})")
    ax.legend(ncols=len(KINDS), loc="upper right", bbox_to_anchor=(1, 1.15), frameon=False)
    return ax


def memory(run: Run, ax: Any = None, ranks: list[int] | None = None) -> Any:
    ax = _axes(ax)
    for rank in range(run.ranks) if ranks is None else ranks:
        times, held = run.memory_curve(rank)
        ax.step(times, held, where="post", label=f"rank {rank}")
    ax.set_xlabel("time" if run.unit == "unit" else f"time ({run.unit})")
    ax.set_ylabel("bytes")
    ax.legend(frameon=False)
    return ax
