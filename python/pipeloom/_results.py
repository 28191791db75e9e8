"""Answers of the functions: plans, verdicts, comparisons and sweeps."""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core, _optional, _program
from ._errors import InputError
from ._result import Answer, Result, number, percent, preformatted, table
from ._result import change as change_text
from ._run import Run, run_of
from ._source import Schedule, request_fields


def _said(key: str, value: Any) -> str:
    if value is None:
        return "–"
    if key == "change":
        return change_text(value)
    if key in ("bubble_ratio", "gap"):
        return percent(value)
    return number(max(value) if key == "peak_bytes" else value)


class Candidate(Result):
    """One schedule of a plan. ``config`` are its settings by path, ``orders`` as a run has them."""

    #: Keys that are shown, in this order; the rest are long.
    _SHOWN = ("step_time", "change", "tokens_per_s", "makespan", "max_window", "p95", "bubble_ratio", "peak_bytes", "lower_bound", "gap", "proven", "chunks", "layers")

    def run(self) -> Run:
        """Simulates it."""
        settings = dict(self["config"])
        name = settings.pop("schedule")
        return run_of(request_fields(Schedule(self["orders"]) if name == "custom" else name, {"set": settings}))

    def cells(self, keys: Iterable[str]) -> list[str]:
        """The words that people read for these keys: the fullest rank's bytes, percent where it is a share."""
        return [_said(key, self.get(key)) for key in keys]

    def __repr__(self) -> str:
        lines = [str(self.get("name", "candidate"))]
        lines += [f"  {key:14}{said}" for key, said in zip(self._SHOWN, self.cells(self._SHOWN), strict=True) if said not in ("–", "[]")]
        if "orders" in self:
            lines.append(f"  {'orders':14}{len(self['orders'])} ranks, {sum(len(queue) for queue in self['orders'])} entries")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return preformatted(repr(self))


class Plan(Answer):
    """Plans that ``plan`` found, the best first. ``interrupted`` says that Ctrl-C ended the search: it is then the best so far."""

    def __init__(self, data: dict[str, Any], text: str = "") -> None:
        super().__init__(data, text)
        self["candidates"] = [Candidate(row) for row in self.get("candidates", [])]
        if self.get("baseline") is not None:
            self["baseline"] = Candidate(self["baseline"])

    if TYPE_CHECKING:
        candidates: list[Candidate]
        baseline: Candidate | None
        #: how the best is told to the target, or to each: target, text to paste, settings, files, needs, layers ("said" or "its own")
        to_run: list[Result]
        #: what the target does not run or cannot be told: target, name, reason
        not_taken: list[Result]

    @property
    def best(self) -> Candidate:
        """Raises LookupError if nothing fits the limit; ``rejected`` says why."""
        if not self["candidates"]:
            raise LookupError("no schedule fits; .rejected says why")
        found: Candidate = self["candidates"][0]
        return found

    def to_pandas(self) -> Any:
        """One row per candidate, without its orders and settings."""
        pandas = _optional.module("pandas", "frames")

        skipped = ("config", "orders", "placement", "layers", "peak_bytes")
        return pandas.DataFrame([{k: v for k, v in row.items() if k not in skipped} for row in self["candidates"]])

    def _repr_html_(self) -> str:
        rows = self["candidates"]
        keys = ["name", "step_time", "change", "tokens_per_s", "bubble_ratio", "peak_bytes", "gap"]
        keys = [key for key in keys if any(row.get(key) is not None for row in rows)]
        headline = preformatted(self.text.partition("\n\nschedule ")[0])
        return headline + table(keys, [row.cells(keys) for row in rows])


class Validation(Answer):
    """``ok``; ``lines``, one for each problem; falsy if it may not run."""

    def __bool__(self) -> bool:
        return bool(self["ok"])


class ScheduleInfo(Result):
    """One schedule of the registry: name, aliases, summary, source, when_to_use, requirements, default_chunks and variants."""

    def __repr__(self) -> str:
        return _program.call(["schedules", self["name"]]).out.rstrip("\n")

    def _repr_html_(self) -> str:
        return preformatted(repr(self))


class ScheduleList(list[ScheduleInfo]):
    """All schedules; shows itself as ``pipeloom schedules`` prints them."""

    def __repr__(self) -> str:
        return _program.call(["schedules"]).out.rstrip("\n")

    def _repr_html_(self) -> str:
        return preformatted(repr(self))


def all_schedules() -> ScheduleList:
    return ScheduleList(ScheduleInfo(row) for row in _core.schedules())


@dataclass(frozen=True)
class ComparedMetric:
    """One metric of all runs."""

    name: str
    unit: str  #: "time_unit", "bytes", "ratio", "count" or "per_second"
    better: int  #: -1 where less is better, 1 where more is, 0 where neither
    values: list[float | None]  #: [run], times in that run's unit; None where it is not known


class Comparison:
    """Metrics of runs side by side, the first being the baseline."""

    def __init__(self, runs: list[Run], rows: list[Any], remarks: list[list[str]]) -> None:
        self.runs = runs
        self.metrics = [ComparedMetric(n, u, b, self._values(u, v)) for n, u, b, v in rows]
        #: [run - 1]: what the numbers do not say.
        self.remarks = remarks

    def _values(self, unit: str, values: list[float | None]) -> list[float | None]:
        if unit != "time_unit":
            return list(values)
        return [None if v is None else v / run.ticks_per_unit for v, run in zip(values, self.runs, strict=True)]

    def __getitem__(self, name: str) -> list[float | None]:
        """A metric's values by its name."""
        for metric in self.metrics:
            if metric.name == name:
                return metric.values
        raise KeyError(f"no metric '{name}'; there are {', '.join(m.name for m in self.metrics)}")

    def change(self, name: str, run: int = 1) -> float | None:
        """(run - baseline) / baseline."""
        values = self[name]
        first, other = values[0], values[run]
        return None if first is None or other is None or first == 0 else (other - first) / first

    def to_pandas(self) -> Any:
        """One row per metric, one column per run."""
        pandas = _optional.module("pandas", "frames")

        names = [run.title or f"run {i}" for i, run in enumerate(self.runs)]
        return pandas.DataFrame([m.values for m in self.metrics], index=[m.name for m in self.metrics], columns=names)

    @property
    def roots(self) -> list[list[Result]]:
        """[run]: the root causes of its idle time, the largest first: kind, what, amount, share, rank, op. [] for measured runs."""
        return [run.report.get("roots", []) if run.simulated else [] for run in self.runs]

    @cached_property
    def text(self) -> str:
        """The text that ``pipeloom compare`` prints, which this object shows of itself."""
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for i, run in enumerate(self.runs):
                own = Path(folder, str(i))
                own.mkdir()
                files.append(run._write_input(str(own), run.title or f"run {i}"))
            if len(files) == 1:
                return self.runs[0].table() if self.runs[0].simulated else repr(self.runs[0])
            said = _program.call(["compare", *files, "--color", "never"]).out.rstrip("\n")
            for file, run in zip(files, self.runs, strict=True):
                said = said.replace(file, run.title or Path(file).stem)
            return said

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        names = [run.title or f"run {i}" for i, run in enumerate(self.runs)]
        head = ["metric", names[0], *(cell for name in names[1:] for cell in (name, "change"))]
        body = table(head, [self._row(metric) for metric in self.metrics if any(metric.values)])
        # As wide as they take long, so that an inch is the same time in each.
        alike = len({run.unit for run in self.runs}) == 1
        longest = max(float(run.makespan) for run in self.runs)
        shares = [float(run.makespan) / longest if alike and longest > 0 else 1.0 for run in self.runs]
        pictures = "".join(
            f'<div style="flex:{share:.4f} 1 0;min-width:{480 * share:.0f}px">{run._repr_html_()}</div>'
            for run, share in zip(self.runs, shares, strict=True)
        )
        return f'<div style="display:flex;flex-wrap:wrap;gap:12px">{pictures}</div>{body}'

    def _row(self, metric: ComparedMetric) -> list[str]:
        """Nothing beside a number that is the same, or of which a share means nothing."""
        cells = [metric.name, number(metric.values[0])]
        for i, value in enumerate(metric.values[1:], 1):
            ratio = self.change(metric.name, i)
            cells += [number(value), change_text(ratio) if ratio else ""]
        return cells


def _cell(value: Any) -> Any:
    """Lists and objects as JSON: a column of polars has one type."""
    return json.dumps(value) if isinstance(value, (list, dict)) else value


class Sweep:
    """Every point of a grid, in its order: a dict of what varies, ``status``, metrics and ``error``. A point that was not reached, or of another shard,
    has the status ""."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.keys: list[str] = data["keys"]
        self.metrics: list[str] = data["metrics"]
        #: False if Ctrl-C or the progress function ended it; of joined shards: if points are missing.
        self.complete: bool = data["complete"]
        self.interrupted: bool = data["interrupted"]
        self.points: list[dict[str, Any]] = [self._point(point) for point in data["points"]]

    def _point(self, point: dict[str, Any]) -> dict[str, Any]:
        settings = {key: json.loads(text) if text else None for key, text in zip(self.keys, point["settings"], strict=True)}
        metrics = point["metrics"] or [None] * len(self.metrics)
        return {**settings, "status": point["status"], **dict(zip(self.metrics, metrics, strict=True)), "error": point["error"]}

    @classmethod
    def joined(cls, parts: Iterable[Sweep]) -> Sweep:
        """The whole from its shards. Raises InputError where they are of different grids."""
        out: Sweep | None = None
        for part in parts:
            if out is None:
                out = copy.copy(part)
                out.points = list(part.points)
                continue
            if (part.keys, part.metrics, part._settings()) != (out.keys, out.metrics, out._settings()):
                raise InputError("these sweeps are of different grids; only the shards of one grid go together")
            out.points = [theirs if theirs["status"] else ours for ours, theirs in zip(out.points, part.points, strict=True)]
            out.interrupted |= part.interrupted
        if out is None:
            raise InputError("no sweep to join; give the shards of one grid")
        out.complete = all(point["status"] for point in out.points)
        return out

    def _settings(self) -> list[list[Any]]:
        return [[point[key] for key in self.keys] for point in self.points]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.points)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return self.points[index]

    def __repr__(self) -> str:
        done = sum(1 for point in self.points if point["status"])
        return f"Sweep({len(self)} points, {done} done, over {', '.join(self.keys) or 'nothing'})"

    def __len__(self) -> int:
        return len(self.points)

    def to_pandas(self) -> Any:
        """One row per point."""
        pandas = _optional.module("pandas", "frames")

        return pandas.DataFrame(self.points)

    def to_polars(self) -> Any:
        polars = _optional.module("polars", "frames")

        return polars.DataFrame([{key: _cell(value) for key, value in point.items()} for point in self.points], infer_schema_length=None)

    def _repr_html_(self) -> str:
        head = [*self.keys, "status", *self.metrics]
        return table(head, [[number(p[key]) for key in head] for p in self.points[:200]])
