"""Ops of recorded steps: their timeline, and the costs that `pipeloom calibrate` reads from it."""
from __future__ import annotations

import json
import os
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Optional

from .. import InputError, _program


@dataclass(frozen=True)
class Timed:
    """One op of one step; times in ms on a clock that all ranks share. The ops of an overlapped pair have the same times."""

    step: int
    rank: int
    stage: int
    kind: str
    microbatch: int
    start: float
    end: float

    @property
    def op(self) -> str:
        return f"{self.stage}{self.kind}{self.microbatch}"


def step_time(rows: Iterable[Timed]) -> float:
    """The median over steps of first start to last end, in ms."""
    steps: dict[int, list[Timed]] = defaultdict(list)
    for row in rows:
        steps[row.step].append(row)
    if not steps:
        raise InputError("nothing was recorded; run steps inside the with block")
    return median(max(row.end for row in step) - min(row.start for row in step) for step in steps.values())


def stage_ranks_of(rows: Iterable[Timed]) -> list[int]:
    """[stage]: the rank that ran it. Raises InputError where a stage ran nowhere."""
    homes = {row.stage: row.rank for row in rows}
    missing = [stage for stage in range(1 + max(homes)) if stage not in homes]
    if missing:
        raise InputError(f"stage {missing[0]} ran no op in the recorded steps; record whole training steps on all ranks")
    return [homes[stage] for stage in range(len(homes))]


def timeline_text(rows: Sequence[Timed]) -> str:
    """The ops as JSON lines, times in ms from the first start on."""
    ordered = sorted(rows, key=lambda row: (row.step, row.rank, row.start, row.kind != "F"))
    first = min(row.step for row in ordered)
    zero = min(row.start for row in ordered)
    several = any(row.step != first for row in ordered)
    lines = ['{"time_unit": "ms"}'] + [_line(row, first, zero, several) for row in ordered]
    return "\n".join(lines) + "\n"


def _line(row: Timed, first: int, zero: float, several: bool) -> str:
    step = {"step": row.step - first} if several else {}
    times = {"start": round(row.start - zero, 6), "end": round(row.end - zero, 6)}
    return json.dumps({**step, "rank": row.rank, "op": row.op, **times})


def _require_backwards(rows: Sequence[Timed], stages: int) -> None:
    ran = {row.stage for row in rows if row.kind in ("B", "W")}
    for stage in range(stages):
        if stage not in ran:
            raise InputError(f"stage {stage} ran no backward in the recorded steps; record whole training steps")


def costs_of(rows: Sequence[Timed], layers: Optional[Sequence[int]] = None) -> dict[str, Any]:
    """The costs that `pipeloom calibrate` finds in the timeline, as the simulator takes them. Raises InputError for steps without a backward,
    and where it refuses the timeline or the layers."""
    stages = len(stage_ranks_of(rows))
    _require_backwards(rows, stages)
    if layers is not None and len(layers) != stages:
        raise InputError(f"layers has {len(layers)} numbers, the run has {stages} stages; give one for each")
    with tempfile.TemporaryDirectory() as folder:
        timeline, costs = (os.path.join(folder, name) for name in ("recorded.jsonl", "costs.json"))
        with open(timeline, "w", encoding="utf-8") as file:
            file.write(timeline_text(rows))
        said = [] if layers is None else ["--layers", ",".join(str(one) for one in layers)]
        _program.call(["calibrate", timeline, "--first-stage", "torch", *said, "-o", costs, "--quiet"])
        with open(costs, encoding="utf-8") as file:
            return dict(json.load(file))
