"""Asks the torch at hand how it lowers a list, and compares that cell by cell with what this package knows."""
from __future__ import annotations

import re
import types
from collections.abc import Mapping
from typing import Any, Optional

from ._actions import ComputeList
from .. import InputError, ScheduleError, convert

#: Releases whose lowered lists were compared with this package's, cell by cell, for hundreds of shapes.
RELEASES = ("2.10", "2.13", "2.14", "2.15")
# Names that PyTorch's runtime and `pipeloom convert` give an option.
AS_CONVERT = {"defer_pp_recv": "defer_receives"}
LOWERING = ("max_outstanding_sends", "unshard_lookahead", "defer_reduce_grad_wait", "max_active_stages", "defer_pp_recv")


def release_of(version: str) -> tuple[str, bool]:
    """The newest known release that is not newer than `version`, and True if it is that release itself.

    A development build counts as a release that is not known yet: its passes may differ from those of the release it is named after.
    """
    found = re.match(r"(\d+)\.(\d+)", version)
    if found is None:
        raise ScheduleError(f"torch calls itself '{version}', which names no release")
    number = (int(found[1]), int(found[2]))
    older = [one for one in RELEASES if _number(one) <= number]
    if not older:
        return "legacy", False
    released = re.fullmatch(r"\d+\.\d+\.\d+(\.post\d+)?(\+.*)?", version) is not None
    return older[-1], released and _number(older[-1]) == number


def _number(release: str) -> tuple[int, int]:
    major, minor = release.split(".")
    return int(major), int(minor)


def expected_rows(path: str, target: str, options: Mapping[str, Any]) -> list[list[str]]:
    """Rows as this package lowers a compute-only file for a release. Raises ScheduleError where the options make it hang or train wrong."""
    chosen = {name: value for name, value in options.items() if name in LOWERING and value is not None and value is not False}
    try:
        text = convert(path, to="torch-comms", target=target, **{AS_CONVERT.get(name, name): value for name, value in chosen.items()})
    except InputError as error:
        said = ", ".join(f"{name}={value!r}" for name, value in chosen.items())
        raise ScheduleError(f"with {said or 'no options'}: {error.message}") from error
    return [line.split(",") for line in text.splitlines()]


def own_rows(path: str, schedule: ComputeList, microbatches: int, options: Mapping[str, Any]) -> list[list[str]]:
    """Rows as the installed torch lowers the file. It gets placeholders for stages: nothing is run, no other process takes part."""
    from torch.distributed.pipelining import schedules

    given = {name: value for name, value in options.items() if name in LOWERING}
    stages = [_stand_in(schedule, stage) for stage in schedule.stages_of(0)]
    try:
        runtime = schedules._PipelineScheduleRuntime(stages, microbatches, **given)
        runtime._load_csv(path, format="compute_only")
        rows = runtime.pipeline_order_with_comms
        return [[str(cell) for cell in rows[rank] if cell is not None] for rank in sorted(rows)]
    except Exception as error:  # a release that is not known yet may raise anything
        raise ScheduleError(f"torch cannot say how it lowers this list: {type(error).__name__}: {error}".splitlines()[0]) from error


def _stand_in(schedule: ComputeList, stage: int) -> Any:
    return types.SimpleNamespace(
        stage_index=stage, num_stages=schedule.stages, group_size=len(schedule.rows), group_rank=0, submod=None,
        is_first=stage == 0, is_last=stage == schedule.stages - 1, has_backward=True, device=None, group=None,
    )


def first_difference(own: list[list[str]], expected: list[list[str]]) -> Optional[str]:
    """The first place where two lists differ: rank, action, and both cells."""
    for rank in range(max(len(own), len(expected))):
        mine, other = (rows[rank] if rank < len(rows) else [] for rows in (own, expected))
        for place in range(max(len(mine), len(other))):
            pair = [row[place] if place < len(row) else "nothing" for row in (mine, other)]
            if pair[0] != pair[1]:
                return f"rank {rank}, action {place}: {pair[0]}, not {pair[1]}"
    return None
