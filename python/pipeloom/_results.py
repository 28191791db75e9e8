"""Results that come as JSON: dicts whose keys are attributes too."""

from __future__ import annotations

import copy
import html
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _optional
from ._errors import InputError

if TYPE_CHECKING:
    from ._run import Run


class Result(dict[str, Any]):
    """A JSON object; nested ones are Results, arrays lists."""

    def __init__(self, data: dict[str, Any]) -> None:
        super().__init__({key: _wrapped(value) for key, value in data.items()})

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no '{name}' here; there are {', '.join(self)}") from None

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self})

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self),)


def _wrapped(value: Any) -> Any:
    if isinstance(value, Result):
        return value
    if isinstance(value, dict):
        return Result(value)
    if isinstance(value, list):
        return [_wrapped(item) for item in value]
    return value


def table(head: list[str], rows: list[list[str]]) -> str:
    """An HTML table; every cell is text."""

    def row(cells: list[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    return "<table>" + row(head, "th") + "".join(row(cells, "td") for cells in rows) + "</table>"


def number(value: Any) -> str:
    """As tables show it; nothing where a run does not know it."""
    return "–" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


class Candidate(Result):
    """One schedule of a plan. ``config`` are its settings by path, ``orders`` as a run has them."""

    def run(self) -> Run:
        """Simulates it."""
        from ._api import simulate
        from ._source import Schedule

        settings = dict(self["config"])
        name = settings.pop("schedule")
        return simulate(Schedule(self["orders"]) if name == "custom" else name, set=settings)


class Plan(Result):
    """What ``plan`` found, the best first. ``interrupted`` says that Ctrl-C ended the search: it is then the best so far."""

    def __init__(self, data: dict[str, Any]) -> None:
        super().__init__(data)
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
        keys = ["name", "chunks", "step_time", "bubble_ratio", "bound", "gap"]
        return table(keys, [[number(row.get(key)) for key in keys] for row in self["candidates"]])


class Validation(Result):
    """``ok``; ``lines`` as the program prints them; falsy if it may not run."""

    def __bool__(self) -> bool:
        return bool(self["ok"])


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

    def __repr__(self) -> str:
        return f"Comparison({', '.join(repr(run) for run in self.runs)})"

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
            change = self.change(metric.name, i)
            cells += [number(value), f"{change:+.1%}" if change else ""]
        return cells


def _cell(value: Any) -> Any:
    """Lists and objects as JSON: a column of polars has one type."""
    return json.dumps(value) if isinstance(value, (list, dict)) else value


class Sweep:
    """Every point of a grid, in its order: a dict of what varies, ``status``, metrics and ``error``. A point that nobody got to, or of another shard,
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
