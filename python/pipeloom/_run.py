"""One run: what was simulated or read, and everything that is known of it."""

from __future__ import annotations

import base64
import html
import json
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core, _frames, _optional, _plots, _program
from ._errors import DeviceError, HangError, InputError
from ._result import Answer, Result, percent
from ._source import Source, config_input, no_option, option_words, request_fields, setting_words

# With more ops than this an svg would be half a saved notebook: a png, which does not grow, takes its place.
_SVG_OPS = 5_000


def request(fields: dict[str, Any]) -> Any:
    out = _core.Request()
    for name, value in fields.items():
        setattr(out, name, value)
    return out


def run_of(fields: dict[str, Any], with_metrics: bool = True) -> Run:
    """Simulates or reads what the fields of a request say. A HangError has a note with the grid of the waits and the moves after which it runs."""
    try:
        return Run(_core.run(request(fields), with_metrics), fields)
    except HangError as error:
        words, text = config_input(fields)
        page = _program.call(["validate", *words, "--color", "never"], text).out
        error.add_note(page.partition("\n\n")[2].rstrip("\n"))  # the first line is the error
        raise


def _timeline_first(page: str) -> str:
    """A cell is small: what people look for is at its top."""
    start = page.index('<section id="timeline"')
    end = page.index("<section ", start + 1)
    head = page.index("<body>") + len("<body>")
    return page[:head] + page[start:end] + page[head:start] + page[end:]


class Memory:
    """The report's section ``memory`` by its keys, and the curve of a rank when called."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def __call__(self, rank: int, step: int = 0) -> tuple[Any, Any]:
        """The bytes that a rank holds: times in ``unit`` (float64), and bytes from each on (int64). Raises InputError for measured runs, and for ranks and
        steps that are not there."""
        times, held = self._run._core.memory(rank, step)
        return times / self._run.ticks_per_unit, held

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._run.report["memory"], name)

    def __repr__(self) -> str:
        return f"Memory(peak_bytes={self.peak_bytes}, peak_rank={self.peak_rank})"


class Run:
    """The run that ``simulate`` and ``read`` return.

    Every key of the report is an attribute: ``makespan``, ``step_time``, ``bubble_ratio`` (floats; times in ``unit``), ``ranks`` (a list, one
    object for each), ``critical_path`` and so on. Times in columns are integers, ``ticks_per_unit`` of them in one unit. In a notebook a run is
    its picture.
    """

    if TYPE_CHECKING:  # those of the report that most ask for
        makespan: float
        step_time: float
        bubble_ratio: float
        ranks: list[Any]
        critical_path: Result

    def __init__(self, core: Any, fields: dict[str, Any]) -> None:
        self._core = core
        self._fields = fields

    # --- what it is ---

    @property
    def simulated(self) -> bool:
        """False if it holds measured times alone: then it has no report, costs or memory."""
        return bool(self._core.simulated)

    @property
    def title(self) -> str:
        given = self._fields.get("schedule")
        if given is not None:
            return str(given)
        named = self._core.title or self._core.file
        return str(self.config["schedule"]) if named == "configuration" and self._core.has_metrics else str(named)

    @property
    def unit(self) -> str:
        """"unit", "s", "ms", "us" or "ns"."""
        return str(self._core.unit)

    @property
    def ticks_per_unit(self) -> int:
        return int(self._core.ticks_per_unit)

    @property
    def num_ranks(self) -> int:
        """p; ``ranks`` are what the report says of each."""
        return int(self._core.ranks)

    @property
    def stages(self) -> int:
        return int(self._core.stages)

    @property
    def microbatches(self) -> int:
        return int(self._core.microbatches)

    @property
    def steps(self) -> int:
        return int(self._core.steps)

    @property
    def num_ops(self) -> int:
        """Of one step."""
        return int(self._core.num_ops)

    @property
    def warnings(self) -> list[str]:
        return list(self._core.warnings)

    @property
    def fits(self) -> bool:
        """False if a rank needs more than ``memory.limit_bytes``."""
        return not self._core.over_limit

    @cached_property
    def report(self) -> Result:
        """The report as ``pipeloom simulate --json`` prints it. Raises InputError for measured runs, and for those made with metrics=False."""
        if self.simulated and not self._core.has_metrics:
            raise InputError("this run was made with metrics=False and has its timeline alone; simulate again without that")
        return Result(json.loads(self._core.report()))

    @property
    def config(self) -> Result:
        """The effective configuration, every default spelt out."""
        found: Result = self.report["config"]
        return found

    @property
    def metrics(self) -> dict[str, float]:
        """The report's numbers of the whole run."""
        return {key: value for key, value in self.report.items() if isinstance(value, (int, float)) and key != "schema_version"}

    def __getattr__(self, name: str) -> Any:
        # Private names are never the report's: copying and pickling ask for some before there is one.
        if name.startswith("_"):
            raise AttributeError(name)
        if name in ("makespan", "step_time") and not self._core.has_metrics:
            return self._measured_makespan()
        if self.simulated and name in self.report:
            return self.report[name]
        raise AttributeError(f"a run has no '{name}'; dir(run) lists what it has")

    def _measured_makespan(self) -> float:
        """Of one step: the median over them."""
        import statistics

        starts, ends = (column.reshape(self.steps, -1) for column in (self._core.start, self._core.end))
        times = [int(end.max() - start.min()) for start, end in zip(starts, ends, strict=True)]
        return statistics.median(times) / self.ticks_per_unit

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *(self.report if self.simulated else ())})

    @property
    def orders(self) -> list[list[str]]:
        """[rank]: texts of its entries in queue order; an overlapped pair is one text."""
        return [queue.split() for queue in self._core.queues()]

    @property
    def placement(self) -> list[int]:
        """[stage]: its rank; of a schedule with two replicas those of the first."""
        return list(self._core.placement()[0])

    # --- its timeline ---

    @property
    def timeline(self) -> dict[str, Any]:
        """Columns: numpy arrays ``rank``, ``stage``, ``kind`` (index of ``pipeloom.KINDS``), ``microbatch``, ``slice``, ``start`` and ``end`` (int64 ticks), one
        value per op and step. They are views of the run's own memory: read-only, and they keep it alive."""
        return _frames.columns(self)

    def to_pandas(self) -> Any:
        """A pandas frame, one row per op and step; times in ``unit``."""
        return _frames.to_pandas(self)

    def to_polars(self) -> Any:
        """The same for polars."""
        return _frames.to_polars(self)

    def to_arrow(self) -> Any:
        """The same as a pyarrow table."""
        return _frames.to_arrow(self)

    @property
    def memory(self) -> Memory:
        """``run.memory(rank)`` is what that rank holds over time, ``run.memory.peak_bytes`` and the like are the report's."""
        return Memory(self)

    @property
    def idle(self) -> list[Result]:
        """Every stretch of the first step in which a rank is idle: ``rank``, ``start``, ``end`` (in ``unit``) and ``cause``. Raises InputError for
        measured runs."""
        scale = self.ticks_per_unit
        return [
            Result({"rank": rank, "start": start / scale, "end": end / scale, "cause": cause})
            for rank, start, end, cause in self._core.idle()
        ]

    # --- where it goes ---

    def to_bytes(self, format: str, *, title: str = "", width: float = 0, height: float = 0, memory: bool = False,
                 idle_causes: bool = False, critical_path: bool = False, dark: bool = False) -> bytes:
        """The file that ``pipeloom convert`` writes: "svg", "png", "pdf", "chrome", "timeline", "csv", "json", "torch-compute" and others. Sizes are pixels; 0
        follows from what it shows."""
        for name, value in (("width", width), ("height", height)):
            if value != 0 and not 120 <= value <= 32767:
                raise InputError(f"{name} is {value}; it is from 120 to 32767 pixels, or 0 for what follows from the content")
        picture = _core.Picture()
        picture.title, picture.width, picture.height = title, float(width), float(height)
        picture.memory, picture.idle_causes = bool(memory), bool(idle_causes)
        picture.critical_path, picture.dark = bool(critical_path), bool(dark)
        return bytes(self._core.write(format, picture))

    def svg(self, **picture: Any) -> str:
        """The picture as text; arguments as ``to_bytes`` has them."""
        return self.to_bytes("svg", **picture).decode()

    def save(self, path: str | os.PathLike[str], format: str | None = None, **picture: Any) -> None:
        """Writes a file; its extension decides unless ``format`` does. Raises InputError for unknown extensions, DeviceError where it cannot be written."""
        name = os.fsdecode(path)
        by_end = {".jsonl": "timeline", ".trace.json": "chrome", ".json": "json", ".csv": "torch-compute", ".svg": "svg", ".png": "png", ".pdf": "pdf", ".dot": "dot"}
        chosen = format or next((kind for end, kind in by_end.items() if name.lower().endswith(end)), None)
        if chosen is None:
            raise InputError(f"no format goes with the name {name}; extensions are {', '.join(by_end)}, or give format=")
        data = self.to_bytes(chosen, **picture)
        try:
            Path(name).write_bytes(data)
        except OSError as error:
            raise DeviceError(f"cannot be written: {error.strerror}; check the folder and its permissions", name, exit_code=3) from error

    def explain(self, measured: Run | Source, *, from_: str | None = None, mapping: str | os.PathLike[str] | None = None,
                set: Mapping[str, Any] | None = None) -> Answer:
        """Where the difference in step time to another run of the same ops comes from, by cause (``pipeloom explain``). ``from_`` and ``mapping`` say how
        to read files of ``measured``."""
        return explained(self, measured, {"from_": from_, "mapping": mapping}, set)

    def _write_input(self, folder: str, name: str) -> str:
        """A file in `folder` that the program reads this run from: times of measured ones, the effective configuration of others."""
        name = re.sub(r"[^A-Za-z0-9._=+ -]", "-", os.path.basename(name)) or "run"
        if not self.simulated or not self._core.has_metrics:
            target = Path(folder, name + ".jsonl")
            target.write_bytes(self.to_bytes("timeline"))
            return str(target)
        config = {key: value for key, value in self.report["config"].items() if key != "origin"}
        if config["schedule"] not in {row["name"] for row in _core.schedules()}:
            Path(folder, name + ".orders.json").write_bytes(self.to_bytes("json"))
            config = {**config, "schedule": "custom", "options": {"file": name + ".orders.json"}}
        target = Path(folder, name + ".json")
        target.write_text(json.dumps(config))
        return str(target)

    def link(self, compare: Run | None = None, *, base: str = _core.serve_address) -> str:
        """The run as an address, whose part after '#' is its configuration: a browser that opens it shows the run, to be changed, and sends it nowhere.
        ``compare`` is a second run beside it, ``base`` the page's address, by default that of ``pipeloom serve`` and ``python -m pipeloom.play``. Raises
        InputError for measured runs, schedules by hand, and configurations that name other files or are too long."""
        return str(self._core.link(compare._core if compare is not None else None, base))

    # --- how it looks ---

    def page(self) -> str:
        """The interactive timeline as one HTML page that needs no network."""
        with tempfile.TemporaryDirectory() as folder:
            target = os.path.join(folder, "run.html")
            _program.call(["report", self._write_input(folder, self.title or "run"), "-o", target])
            return Path(target).read_text()

    def view(self, height: int = 640) -> Any:
        """The interactive timeline inside a notebook: zoom, search and details, offline. Takes IPython."""
        show = _optional.module("IPython.display", "notebook").HTML
        page = html.escape(_timeline_first(self.page()), quote=True)
        return show(f'<div><iframe srcdoc="{page}" style="width:100%;height:{int(height)}px;border:0"></iframe></div>')

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """The timeline on a matplotlib Axes (a new one without ``ax``); returns the Axes."""
        return _plots.timeline(self, ax, **options)

    def plot_memory(self, ax: Any = None, ranks: Sequence[int] | None = None) -> Any:
        """The memory of ranks over time on a matplotlib Axes; returns the Axes."""
        return _plots.memory(self, ax, ranks)

    def table(self) -> str:
        """The text that ``pipeloom simulate`` prints. Raises InputError for measured runs."""
        if not self.simulated:
            raise InputError("measured times have no table; read the columns of .timeline, or compare with explain()")
        with tempfile.TemporaryDirectory() as folder:
            return _program.call(["simulate", self._write_input(folder, self.title), "--color", "never"]).out.rstrip("\n")

    def __eq__(self, other: object) -> bool:
        """True if it is the same order with the same times, and the same report."""
        if not isinstance(other, Run):
            return NotImplemented
        mine, theirs = self._core, other._core
        if self._size() != other._size() or mine.queues() != theirs.queues() or mine.placement() != theirs.placement():
            return False
        if (mine.start != theirs.start).any() or (mine.end != theirs.end).any():
            return False
        return not mine.has_metrics or bool(mine.report() == theirs.report())

    def __hash__(self) -> int:
        return hash(self._size())

    def _size(self) -> tuple[Any, ...]:
        core = self._core
        return core.simulated, core.has_metrics, core.unit, core.steps, core.num_ops, core.ranks

    def __repr__(self) -> str:
        shape = f"{self.title!r}, {self.num_ranks} ranks, {self.microbatches} microbatches"
        if not self._core.has_metrics:
            steps = f", {self.steps} steps" if self.steps > 1 else ""
            return f"Run({shape}{steps}, {'simulated' if self.simulated else 'measured'}, step {self.makespan:g} {self.unit})"
        return f"Run({shape}, step {self.step_time:g} {self.unit}, bubble {percent(self.bubble_ratio)})"

    def _repr_svg_(self) -> str | None:
        return self.svg(width=960) if self.num_ops * self.steps <= _SVG_OPS else None

    def _picture_html(self) -> str:
        """As an image: what notebooks leave of an svg inside HTML that they do not trust is its text."""
        svg = self._repr_svg_()
        kind, data = ("svg+xml", svg.encode()) if svg is not None else ("png", self.to_bytes("png", width=960))
        return f'<img alt="{html.escape(self.title)}" src="data:image/{kind};base64,{base64.b64encode(data).decode()}">'

    def _repr_html_(self) -> str:
        return f"<div><code>{html.escape(repr(self))}</code><br>{self._picture_html()}</div>"

    # --- pickling ---

    def __reduce__(self) -> tuple[Any, ...]:
        """Equal inputs give equal bytes, so a run travels as its input: the text of its file, and what went on top. Times travel themselves."""
        fields = dict(self._fields)
        if not self.simulated:
            fields = {"file": self._core.file, "text": self.to_bytes("timeline").decode(), "from_": "timeline"}
        elif "file" in fields and "text" not in fields:
            fields["text"] = Path(fields["file"]).read_text()
        return run_of, (fields, self._core.has_metrics)


def explained(predicted: Run | Source, measured: Run | Source, options: Mapping[str, Any], set: Mapping[str, Any] | None) -> Answer:
    """The causes that ``pipeloom explain`` names of two runs, files or configurations."""
    with tempfile.TemporaryDirectory() as folder:
        words = [_file_of(one, folder, name) for one, name in ((predicted, "predicted"), (measured, "measured"))]
        data, answer = _program.ask(["explain", *words, *option_words(options), *setting_words(set)])
        return Answer(data, answer.out)


def _file_of(source: Run | Source, folder: str, name: str) -> str:
    if isinstance(source, Run):
        return source._write_input(folder, name)
    fields = request_fields(source, {})
    if "file" in fields and "text" not in fields:
        return no_option(fields["file"])
    return run_of(fields)._write_input(folder, name)
