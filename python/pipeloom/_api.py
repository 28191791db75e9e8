"""The functions of the package."""

from __future__ import annotations

import functools
import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, SupportsIndex

from . import _cluster, _core, _program
from ._errors import InputError
from ._results import Comparison, Plan, Result, Sweep, Validation
from ._run import Run, _again
from ._source import BINARY, COUNTS, Source, arguments, no_option, plain, request_fields


def simulate(
    source: Source, *, ranks: SupportsIndex | None = None, microbatches: SupportsIndex | None = None, chunks: SupportsIndex | None = None,
    costs: Any = None, memory: Any = None, options: Mapping[str, Any] | None = None, step: Mapping[str, Any] | None = None,
    set: Mapping[str, Any] | None = None, metrics: bool = True,
) -> Run:
    """Simulates a schedule.

    ``source`` is a schedule's name, a file (configuration or schedule), a configuration as a dict, or a ``Schedule`` by hand. ``costs`` is a dict as
    configurations have it, or a costs file; ``memory``, ``options`` and ``step`` likewise; ``set`` takes any key by its path,
    ``{"costs.transfer.latency": 0.1}``, and stands above all else. Counts are p, m and v: stages are p times v. ``metrics=False`` leaves out all but the timeline.

    Raises InputError where the input is wrong (file, line and column named), ScheduleError where the schedule refuses its parameters, HangError
    where it hangs, KeyboardInterrupt at Ctrl-C. The GIL is free while it works.

    >>> simulate("1f1b", ranks=4, microbatches=8, costs={"forward": 1, "backward": 2}).makespan
    33.0
    """
    given = {"ranks": ranks, "microbatches": microbatches, "chunks": chunks, "costs": costs, "memory": memory, "options": options, "step": step, "set": set}
    run = _again(_with_text(request_fields(source, given)), bool(metrics))
    said = [name for name, value in given.items() if value is not None]
    if said and not run.simulated:
        raise InputError(f"{run.title} holds times, which say this themselves; leave {', '.join(said)} out")
    return run


def _with_text(fields: dict[str, Any]) -> dict[str, Any]:
    """What a file holds now, so that the run stays what it is when the file changes. Binary files and folders are left to the reader."""
    if "file" not in fields or "text" in fields or fields["file"] == "-":
        return fields
    try:
        return {**fields, "text": Path(fields["file"]).read_text()}
    except (OSError, ValueError):
        return fields


def read(file: str | os.PathLike[str], *others: str | os.PathLike[str], format: str | None = None,
         mapping: str | os.PathLike[str] | None = None) -> Run:
    """Reads measured times: a timeline, or a trace of any format that ``pipeloom convert`` knows. ``others`` are the files of the other ranks,
    ``mapping`` the file that says what the names of ranges mean."""
    fields: dict[str, Any] = {"file": os.fspath(file), "other_files": [os.fspath(name) for name in others]}
    if format is not None:
        fields["from_"] = format
    if mapping is not None:
        fields["mapping"] = os.fspath(mapping)
    return _again(fields)


def schedules(name: str | None = None) -> Any:
    """All schedules: a list of dicts with name, aliases, summary, source, when_to_use, requirements, default_chunks and variants; with ``name`` or
    an alias that schedule's alone."""
    rows = [Result(row) for row in _core.schedules()]
    if name is None:
        return rows
    for row in rows:
        if name.lower() in (row.name, *(alias.lower() for alias in row.aliases)):
            return row
    raise InputError(f"unknown schedule '{name}'; schedules() lists them")


# --- what the program answers ---


def _options(values: Mapping[str, Any]) -> list[str]:
    """Keyword arguments as the command line's options: ``global_batch=1024`` is ``--global-batch 1024``."""
    out: list[str] = []
    for name, value in values.items():
        if not name.isidentifier() or name in ("help", "json", "format"):
            raise InputError(f"unknown option {name!r}; options are those of the command line, such as budget=5")
        flag = "--" + name.rstrip("_").replace("_", "-")
        value = plain(value)
        if value is None or value is False:
            continue
        if value is True:
            out.append(flag)
        elif isinstance(value, list):
            out.append(f"{flag}={','.join(str(item) for item in value)}")
        else:
            out.append(f"{flag}={value}")
    return out


def _settings(values: Mapping[str, Any] | None) -> list[str]:
    out: list[str] = []
    for path, value in (values or {}).items():
        value = plain(value)
        out += ["--set", f"{path}={value if isinstance(value, str) else json.dumps(value)}"]
    return out


def _config_input(source: Source, given: Mapping[str, Any]) -> tuple[list[str], str | None]:
    """What a command reads. A schedule's name becomes a configuration, as commands take files."""
    fields = request_fields(source, given)
    if "schedule" in fields and "file" not in fields:
        config: dict[str, Any] = {"schedule": fields.pop("schedule")}
        config.update({name: _number(fields.pop(name)) for name in COUNTS if name in fields})
        fields.update(file="configuration", text=json.dumps(config))
    # These commands have no options for counts; a configuration takes them like any key.
    fields["set"] = [f"{name}={fields.pop(name)}" for name in COUNTS if name in fields] + fields["set"]
    return arguments(fields)


def _number(text: str) -> Any:
    """A count as configurations have it; what is none stays text, which the reader refuses by name."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def validate(
    source: Source, *, target: str | None = None, ranks: SupportsIndex | None = None, microbatches: SupportsIndex | None = None,
    chunks: SupportsIndex | None = None, costs: Any = None, memory: Any = None, options: Mapping[str, Any] | None = None,
    step: Mapping[str, Any] | None = None, set: Mapping[str, Any] | None = None,
) -> Validation:
    """Is it legal, and does it run? Answers ``ok``, ``diagnostics`` and ``lines``: an illegal order, or one that hangs, is an answer and no error.

    ``target`` is what is to run it ("torch-2.15", "torchtitan", "areal", "megatron"): ``to_run`` then has the lines to paste, ``not_taken`` why it
    does not run there. Raises InputError for what cannot be read, and for parameters that a schedule refuses.
    """
    given = {"ranks": ranks, "microbatches": microbatches, "chunks": chunks, "costs": costs, "memory": memory, "options": options, "step": step, "set": set}
    words, text = _config_input(source, given)
    answer = _program.call(["validate", *words, *_options({"target": target}), "--json"], text)
    data = json.loads(answer.out)
    torch = data.get("torch", {})
    lines = [item["message"] for item in [*data.get("diagnostics", []), *torch.get("assertions", [])]]
    if not torch.get("loads", True):
        lines.append(f"PyTorch refuses it: {torch['exception']}: {torch['message']}")
    lines += [f"{item['target']} does not run it: {item['reason']}" for item in data.get("not_taken", [])]
    return Validation({**data, "ok": answer.code == 0, "lines": lines})


def convert(source: Source | Run, to: str, *, set: Mapping[str, Any] | None = None, ranks: SupportsIndex | None = None,
            microbatches: SupportsIndex | None = None, chunks: SupportsIndex | None = None, **options: Any) -> str:
    """The text of another format: ``to`` is "json", "torch-compute", "torch-comms", "torch-steps", "timeline", "csv", "chrome", "dot", "svg" or
    "megatron-layout". ``options`` are the command line's: ``target="2.15"``, ``max_outstanding_sends=2``, ``defer_reduce_grad_wait=True``. Raises InputError
    for wrong input and for formats that are no text ("png", "pdf": ``Run.save``)."""
    given = {"set": set, "ranks": ranks, "microbatches": microbatches, "chunks": chunks}
    if to in BINARY:
        raise InputError(f"{to} is no text; write it with run.save(path), or take run.to_bytes({to!r})")
    if isinstance(source, Run):
        said = [name for name, value in given.items() if value is not None]
        if said:
            raise InputError(f"a run is what it is; give {', '.join(said)} to simulate()")
        if not options:
            return source.to_bytes(to).decode()
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(source, Run):
            words, text = [source._write_input(folder, "run")], None
        else:
            words, text = _config_input(source, given)
        target = Path(folder, "out")
        _program.call(["convert", words[0], str(target), "--to", to, *words[1:], *_options(options)], text)
        return target.read_bytes().decode()


def plan(source: Source | None = None, *, set: Mapping[str, Any] | None = None, **options: Any) -> Plan:
    """The best schedules for a workload, ranked, each with a bound on how much better any could be.

    ``source`` is a configuration (file or dict) or the name of a model, as ``estimate`` takes it. ``options`` are the command line's:
    ``ranks``, ``microbatches``, ``limit="16GB"``, ``objective``, ``vary=["order", "chunks"]``, ``budget`` (seconds of search, about), ``seed``, ``jobs``, ``target``. Ctrl-C
    gives the best so far (``interrupted``). No schedule that fits is no error: ``candidates`` is then empty. Raises InputError for wrong input.

    >>> plan({"schedule": "1f1b", "ranks": 4, "microbatches": 8}, budget=0.2).best.step_time > 0
    True
    """
    words: list[str] = []
    text: str | None = None
    if source is not None:
        words, text = _source_of_model(source)
    answer = _program.call(["plan", *words, *_settings(set), *_options(options), "--include", "orders", "--json"], text)
    found = Plan({**json.loads(answer.out), "interrupted": answer.interrupted})
    if answer.interrupted and not found.candidates:
        raise KeyboardInterrupt
    return found


def estimate(model: Source, *, set: Mapping[str, Any] | None = None, **options: Any) -> Result:
    """Times, bytes, tokens per second and memory of a model on a cluster.

    ``model`` is a preset ("llama3-70b"), a file (Hugging Face's config.json, Megatron's arguments, ours) or a dict. ``options`` are the command
    line's: ``hardware="h100"``, ``ranks``, ``tp``, ``dp``, ``seq``, ``global_batch``, ``schedule``, ``limit``. Raises InputError for wrong input.
    """
    with tempfile.TemporaryDirectory() as folder:
        name, text = _source_of_model(model)
        if text is not None:
            name = [str(Path(folder, "model.json"))]
            Path(name[0]).write_text(text)
        return Result(json.loads(_program.call(["estimate", *name, *_settings(set), *_options(options), "--json"]).out))


def _source_of_model(source: Source) -> tuple[list[str], str | None]:
    if isinstance(source, Mapping):
        return ["-"], json.dumps(plain(source))
    if isinstance(source, (str, os.PathLike)):
        return [no_option(os.fspath(source))], None
    raise InputError(f"{type(source).__name__} is no workload; give a configuration, or the name or file of a model")


def calibrate(*traces: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], **options: Any) -> Result:
    """Costs from a measured run: durations by stage and kind, message times, and how well they fit. ``traces`` are a timeline, a folder, or the files of
    all ranks, one by one or as a list. ``options`` are the command line's: ``from_``, ``mapping``, ``layers``, ``unit``. ``.costs`` goes into
    ``simulate(costs=...)``, ``.warnings`` says what is doubtful. Raises InputError for what cannot be read."""
    files = [file for trace in traces for file in ([trace] if isinstance(trace, (str, os.PathLike)) else trace)]
    if not files:
        raise InputError("calibrate takes at least one file or folder of a trace")
    words = [no_option(os.fspath(file)) for file in files]
    with tempfile.TemporaryDirectory() as folder:
        costs = Path(folder, "costs.json")
        answer = _program.call(["calibrate", *words, *_options(options), "-o", str(costs), "--json"])
        return Result({**json.loads(answer.out), "costs": json.loads(costs.read_text())})


def explain(predicted: Run | Source, measured: Run | Source, **options: Any) -> Result:
    """Where the difference in step time comes from, as a sum of named causes (``pipeloom explain``). Both are runs, files or
    configurations. Raises InputError for wrong input, and where they are of different ops."""
    with tempfile.TemporaryDirectory() as folder:
        words = [_file_of(one, folder, name) for one, name in ((predicted, "predicted"), (measured, "measured"))]
        return Result(json.loads(_program.call(["explain", *words, *_options(options), "--json"]).out))


def _file_of(source: Run | Source, folder: str, name: str) -> str:
    if isinstance(source, Run):
        return source._write_input(folder, name)
    if isinstance(source, Mapping):
        target = Path(folder, name + ".json")
        target.write_text(json.dumps(plain(source)))
        return str(target)
    if isinstance(source, (str, os.PathLike)):
        return no_option(os.fspath(source))
    raise InputError(f"{type(source).__name__} is no run; give a Run, a configuration or a file")


# --- several runs ---


def compare(*runs: Run | Source) -> Comparison:
    """Runs side by side, the first being the baseline; sources that are no runs are simulated, or read where they hold times. Raises InputError where
    their times are in different units."""
    made = [one if isinstance(one, Run) else simulate(one) for one in runs]
    if not made:
        raise InputError("compare takes at least one run")
    units = {run.unit for run in made}
    if len(units) > 1:
        raise InputError(f"the runs have times in {', '.join(sorted(units))}; give all of them the same costs.time_unit")
    rows, remarks = _core.compare([run._core for run in made])
    return Comparison(made, rows, remarks)


def sweep(
    grid: Mapping[str, Any] | str | os.PathLike[str], *, threads: int = 0, shard: tuple[int, int] = (1, 1),
    progress: Callable[[int, int], object] | None = None, client: Any = None, parts: int | None = None, retries: int = 3,
) -> Sweep:
    """Runs every point of a grid (docs/sweeps.md) on all cores, or on the workers of a ``client``.

    ``progress(done, all)`` is called now and then from the thread that called; its False ends the sweep. So does Ctrl-C: what is there comes
    back, with ``complete`` False and ``interrupted`` True. ``shard=(2, 7)`` runs the second of seven parts, as ``pipeloom sweep --shard 2/7`` deals
    them out; ``Sweep.joined`` puts parts together.

    ``client`` is a ``dask.distributed.Client``, the module ``ray`` or an executor of ``concurrent.futures``. Its workers, which need Pipeloom, get ``parts``
    shards (four for each worker's thread unless given, no more than points); one that fails or whose worker dies is tried again, ``retries`` times. ``threads`` are
    those of each worker, 1 unless given. The result is that of one process; Ctrl-C is then a KeyboardInterrupt, and ends what waits.

    >>> len(sweep({"base": {"ranks": 4, "microbatches": 8}, "axes": {"schedule": ["1f1b", "zb-h1"]}}))
    2
    """
    text, name = _text_of_grid(grid)
    if client is None:
        return Sweep(_core.sweep(text, name, threads, shard, progress))
    if shard != (1, 1):
        raise InputError("shard and client are given, and a client deals out shards itself; leave one out")
    return _sweep_on(client, text, name, threads or 1, progress, parts, retries)


def _text_of_grid(grid: Mapping[str, Any] | str | os.PathLike[str]) -> tuple[str, str]:
    """The grid's JSON, and what it is called in errors."""
    if isinstance(grid, Mapping):
        return json.dumps(plain(grid)), "grid"
    path = os.fspath(grid)
    try:
        return Path(path).read_text(), path
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path) from error


def _part_of_sweep(text: str, name: str, threads: int, count: int, part: int) -> tuple[Sweep, list[int]]:
    """The points of one shard alone, and their places in the grid."""
    whole = Sweep(_core.sweep(text, name, threads, (part, count), None))
    places = [place for place, point in enumerate(whole.points) if point["status"]]
    whole.points = [whole.points[place] for place in places]
    return whole, places


def _sweep_on(
    client: Any, text: str, name: str, threads: int, progress: Callable[[int, int], object] | None, parts: int | None, retries: int,
) -> Sweep:
    # Nothing is done yet: every point with its settings.
    whole = Sweep(_core.sweep(text, name, 1, (1, 1), lambda _done, _all: False))
    for point in whole.points:
        point.update(dict.fromkeys(whole.metrics), status="", error="")
    count = min(parts if parts is not None else 4 * _cluster.workers_of(client), max(1, len(whole)))
    if count < 1:
        raise InputError(f"parts is {count}; give at least 1")
    ended = done = 0
    for found, places in _cluster.parts(client, functools.partial(_part_of_sweep, text, name, threads, count), count, retries):
        for place, point in zip(places, found.points, strict=True):
            whole.points[place] = point
        ended += 1
        done += len(places)
        if progress is not None and progress(done, len(whole)) is False:
            break
    whole.complete = done == len(whole)
    whole.interrupted = ended < count
    return whole


__all__: Sequence[str] = ["calibrate", "compare", "convert", "estimate", "explain", "plan", "read", "schedules", "simulate", "sweep", "validate"]
