"""Answers about other schedules from a measured step: predictions, rankings, and costs dealt out to other stages."""
from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, Optional

from .. import KINDS, InputError, ScheduleError, convert, simulate
from .._result import Answer, Result
from ._lowered import homes, run_lowered
from ._sharded import at_step_end, is_sharded_model, shard_times
from ._source import csv_text, is_listed

#: Options that change a step in PyTorch's runtime, of those that `load_schedule` takes.
RUNTIME_OPTIONS = ("max_outstanding_sends", "unshard_lookahead", "defer_reduce_grad_wait")
# Rules of PyTorch's runtime, used where costs do not say otherwise.
RULES = {"first_stage": "torch", "overlapped": "sequential", "transfer": {"model": "latency"}}


def read_costs(costs: Any) -> dict[str, Any]:
    """Costs as a dict: a recording's, a file's, or those given. Raises InputError for a file that cannot be read."""
    if hasattr(costs, "costs"):
        found = costs.costs()
    elif isinstance(costs, Mapping):
        found = dict(costs)
    elif isinstance(costs, (str, os.PathLike)):
        found = _read_file(os.fspath(costs))
    else:
        raise InputError(f"costs are a recording, a file or a dict; not {type(costs).__name__}")
    return {**RULES, **found}


def _read_file(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}:{error.colno}: no JSON: {error.msg}") from error
    if not isinstance(found, dict):
        raise InputError(f"{path}: costs are one object, as a recording saves them")
    return found


def predict(
    schedule: Any,
    *,
    ranks: Optional[int] = None,
    microbatches: Optional[int] = None,
    chunks: Optional[int] = None,
    costs: Any,
    memory: Optional[Mapping[str, Any]] = None,
    memory_limit: Any = None,
    unshard: Any = None,
    reduce_grad: Any = None,
    target: str = "2.15",
    **options: Any,
) -> Result:
    """The report of a step of `schedule` in PyTorch's runtime, from costs of a recording: `makespan`, `bubble_ratio` and so on.

    Times are in the report's `time_unit`, that of the costs.

    `schedule` is whatever `load_schedule` takes; ranks and microbatches are the recording's unless given. Costs of other stages are dealt
    out (`restage`). `memory` is what configurations have there, the recording's unless given; over `memory_limit` (bytes, "60GB") the
    report's `fits` is False. `options` are max_outstanding_sends, unshard_lookahead and defer_reduce_grad_wait; `unshard` and `reduce_grad`
    say how long gathering a stage's parameters and reducing its gradients take (one number or one per stage, in the costs' unit). With any
    of these the step is run action by action as `target` lowers it, and `lowered` says how long ranks waited for what. Costs that name a
    model and a device and have `"zero": 3` say themselves how long both take.

    Raises InputError for wrong input and ScheduleError for a schedule that refuses its parameters.
    """
    found = read_costs(costs)
    _check_options(options)
    shape = _shape(found, ranks, microbatches, chunks)
    limits = _memory(found, memory, memory_limit)
    with tempfile.TemporaryDirectory() as folder:
        source, shape = _for_simulation(schedule, shape, folder)
        run = simulate(source, costs=_costs_only(found), memory=limits or None, **shape)
        report = Result({**run.report, "fits": run.fits})
        sharded = is_sharded_model(found)
        if not options and not sharded and unshard is None and reduce_grad is None:
            return report
        rows = _lowered_rows(run, folder, target, options)
    latency = _message(run.config["costs"]["transfer"]) if "model" in found else float(_transfer(found).get("latency", 0))
    by_model = shard_times(found, run.stages) if sharded else ([0.0] * run.stages, [0.0] * run.stages)
    gathers = _by_stage(by_model[0] if unshard is None else unshard, run.stages, "unshard")
    reductions = _by_stage(by_model[1] if reduce_grad is None else reduce_grad, run.stages, "reduce_grad")
    lowered = run_lowered(rows, op_times(run), latency, gathers, reductions)
    # The optimizer: of a model the simulator has put the reduction there too, which the list has itself.
    rest = max(0.0, report["step_time"] - report["makespan"] - at_step_end(*by_model, homes(rows)))
    return Result({**report, **_measures(lowered, report, rest), "lowered": lowered})


def rank(
    schedules: Sequence[Any],
    *,
    ranks: Optional[int] = None,
    microbatches: Optional[int] = None,
    costs: Any,
    memory_limit: Any = None,
    **others: Any,
) -> list[Result]:
    """Predictions of several schedules, the fastest first; those that need too much memory follow, then those that refuse their parameters.

    Each has `schedule`, `makespan`, `fits` and `error` (None where there is none), and the rest of its report. `others` are arguments of
    `predict`. Raises InputError where the costs cannot be used for any.
    """
    found = read_costs(costs)
    rows = [
        _ranked(one, found, ranks=ranks, microbatches=microbatches, memory_limit=memory_limit, **others) for one in schedules
    ]
    return sorted(rows, key=lambda row: (row["error"] is not None, not row["fits"], row["makespan"] or 0.0))


def _ranked(schedule: Any, costs: dict[str, Any], **arguments: Any) -> Result:
    name = schedule if isinstance(schedule, str) else getattr(schedule, "name", None) or getattr(schedule, "title", None) or "schedule"
    try:
        return Result({**predict(schedule, costs=costs, **arguments), "schedule": name, "error": None})
    except ScheduleError as error:
        return Result({"schedule": name, "makespan": None, "fits": False, "error": str(error)})


def restage(
    costs: Any, schedule: Any, *, ranks: Optional[int] = None, microbatches: Optional[int] = None, chunks: Optional[int] = None
) -> dict[str, Any]:
    """The costs of a recording dealt out to the stages of another schedule on the same ranks, as `predict` uses them.

    What stage 0 and the last stage take more than their layers would on the fastest other stage (embedding, head) goes whole to the first
    and the last stage. All else that a rank's stages took goes to that rank's new stages by their layers: so two chunks of a rank merge to
    the sum of both, and a slow rank stays slow. Raises InputError for costs of other ranks, ScheduleError for what the schedule refuses.
    """
    found = read_costs(costs)
    shape = _shape(found, ranks, microbatches, chunks)
    with tempfile.TemporaryDirectory() as folder:
        source, shape = _for_simulation(schedule, shape, folder)
        config = simulate(source, costs=_costs_only(found), metrics=True, **shape).config
    return dict(config["costs"])


def op_times(run: Any) -> dict[tuple[int, str, int], tuple[float, float]]:
    """Start and end of every op of a simulated run, in its unit."""
    columns = run.timeline
    scale = run.ticks_per_unit
    names = [columns[name].tolist() for name in ("stage", "kind", "microbatch", "start", "end")]
    return {(s, KINDS[kind], k): (start / scale, end / scale) for s, kind, k, start, end in zip(*names)}


def _check_options(options: Mapping[str, Any]) -> None:
    for name in options:
        if name not in RUNTIME_OPTIONS:
            raise InputError(f"unknown option {name} of a prediction; PyTorch's runtime has {', '.join(RUNTIME_OPTIONS)}")


def _shape(costs: Mapping[str, Any], ranks: Optional[int], microbatches: Optional[int], chunks: Optional[int]) -> dict[str, Any]:
    """Counts for the simulator: those given, else those of the recorded run."""
    measured = costs.get("measured", {})
    placed = costs.get("stage_ranks")
    ranks = ranks if ranks is not None else measured.get("ranks", 1 + max(placed) if placed else None)
    microbatches = microbatches if microbatches is not None else measured.get("microbatches")
    for name, value in (("ranks", ranks), ("microbatches", microbatches)):
        if value is None:
            raise InputError(f"the costs do not say how many {name} ran; give {name}=")
    if placed and 1 + max(placed) != ranks:
        raise InputError(
            f"these costs were measured on {1 + max(placed)} ranks, {ranks} were asked for; they tell how fast those are, and no others"
        )
    return {"ranks": ranks, "microbatches": microbatches, **({} if chunks is None else {"chunks": chunks})}


def _for_simulation(schedule: Any, shape: dict[str, Any], folder: str) -> tuple[Any, dict[str, Any]]:
    """The schedule and shape that the simulator reads. Lists of ops (a plan, a run, a CSV) become a file, which states its own counts."""
    if not is_listed(schedule):
        return schedule, shape
    path = os.path.join(folder, "schedule.csv")
    with open(path, "w", newline="", encoding="utf-8") as file:
        file.write(csv_text(schedule, shape["ranks"], shape["microbatches"], shape.get("chunks")))
    return path, {}


def _costs_only(costs: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in costs.items() if key != "measured"}


def _transfer(costs: Mapping[str, Any]) -> Mapping[str, Any]:
    found = costs.get("transfer", {})
    return found if isinstance(found, Mapping) else {}


def _message(transfer: Mapping[str, Any]) -> float:
    """The time of a message of a model: its latency, and the time for which it keeps each of both ranks busy."""
    return float(transfer.get("latency", 0)) + 2 * float(transfer.get("rank_time", 0))


def _memory(costs: Mapping[str, Any], memory: Optional[Mapping[str, Any]], limit: Any) -> dict[str, Any]:
    found = dict(memory if memory is not None else costs.get("measured", {}).get("memory", {}))
    if limit is None:
        return found
    if not found:
        raise InputError(
            "memory_limit: these costs say nothing of memory; record with memory=True, or give memory={'activation_bytes': .., "
            "'static_bytes': ..}"
        )
    return {**found, "limit_bytes": limit}


def _lowered_rows(run: Any, folder: str, target: str, options: Mapping[str, Any]) -> list[list[str]]:
    path = os.path.join(folder, "orders.csv")
    with open(path, "w", newline="", encoding="utf-8") as file:
        file.write(csv_text(run, 0, 0, None))
    given = {name: value for name, value in options.items() if value is not None and value is not False}
    text = convert(path, to="torch-comms", target=target, **given)
    return [[cell for cell in line.split(",") if cell] for line in text.splitlines() if line]


def _by_stage(given: Any, stages: int, name: str) -> list[float]:
    listed = [given] * stages if isinstance(given, (int, float, str)) else list(given)
    for one in listed:
        if isinstance(one, str) or not math.isfinite(one) or one < 0:
            raise InputError(f"{name} is {one!r}; it is a time in the costs' unit, a number from 0 on")
    values = [float(one) for one in listed]
    if len(values) != stages:
        raise InputError(f"{name} has {len(values)} numbers, the schedule has {stages} stages; give one for each, or one number")
    return values


def _measures(lowered: Mapping[str, Any], report: Mapping[str, Any], rest: float) -> dict[str, float]:
    """The measures of the report that follow from the makespan and from the time after the last op."""
    makespan = lowered["makespan"]
    busy = report["makespan"] * (1 - report["bubble_ratio"])
    return {
        "makespan": makespan,
        "step_time": lowered["step_time"] + rest,
        "bubble_ratio": 1 - busy / makespan if makespan else 0.0,
    }
