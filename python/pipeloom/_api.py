"""The functions of the package."""

from __future__ import annotations

import functools
import json
import operator
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, SupportsIndex, Union, overload

from . import _cluster, _core, _program
from ._errors import InputError
from ._result import Answer, Result
from ._results import Comparison, Plan, ScheduleInfo, ScheduleList, Sweep, Validation, all_schedules
from ._run import Run, explained, run_of
from ._source import BINARY, Source, config_input, no_option, option_words, plain, request_fields, setting_words

Path_ = Union[str, "os.PathLike[str]"]
#: A size in bytes, or a text such as "80GB".
Size = Union[SupportsIndex, str]


def simulate(
    source: Source, *, ranks: SupportsIndex | None = None, microbatches: SupportsIndex | None = None, chunks: SupportsIndex | None = None,
    costs: Any = None, memory: Any = None, options: Mapping[str, Any] | None = None, step: Mapping[str, Any] | None = None,
    set: Mapping[str, Any] | None = None, metrics: bool = True,
) -> Run:
    """Simulates a schedule.

    ``source`` is a schedule's name, a file (configuration or schedule), a configuration as a dict, or a ``Schedule`` by hand. ``costs`` is a dict as
    configurations have it, or a costs file; ``memory``, ``options`` and ``step`` likewise; ``set`` takes any key by its path,
    ``{"costs.transfer.latency": 0.1}``, and outranks all else. Counts are p, m and v: stages are p times v. ``metrics=False`` leaves out all but the timeline.

    Raises InputError where the input is wrong (file, line and column named), ScheduleError where the schedule refuses its parameters, HangError
    where it hangs, KeyboardInterrupt at Ctrl-C. The GIL is free while it works.

    >>> simulate("1f1b", ranks=4, microbatches=8, costs={"forward": 1, "backward": 2}).makespan
    33.0
    """
    given = {"ranks": ranks, "microbatches": microbatches, "chunks": chunks, "costs": costs, "memory": memory, "options": options, "step": step, "set": set}
    run = run_of(_with_text(request_fields(source, given)), bool(metrics))
    said = [name for name, value in given.items() if value is not None]
    if said and not run.simulated:
        raise InputError(f"{run.title} holds times, which say this themselves; leave {', '.join(said)} out")
    return run


def _with_text(fields: dict[str, Any]) -> dict[str, Any]:
    """The contents of a file now, so that the run stays what it is when the file changes. Binary files and folders are left to the reader."""
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
    return run_of(fields)


def from_link(text: str, *, compare: bool = False) -> Result:
    """The configuration that a link holds, or its second one with ``compare``: to be changed and simulated. Nothing is loaded from a network. Raises
    InputError for what is no link, is damaged or of another version, and for links to a file beside a page."""
    config, file, second = _core.read_link(text)
    found = second if compare else config
    if found is None:
        raise InputError(f"this link leads to the file {file!r} beside its page; download that" if file is not None and not compare
                         else "this link holds no second configuration")
    try:
        value = json.loads(found)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise InputError("this link holds no configuration; copy it again")
    return Result(value)


@overload
def schedules(name: None = None) -> ScheduleList: ...
@overload
def schedules(name: str) -> ScheduleInfo: ...
def schedules(name: str | None = None) -> ScheduleList | ScheduleInfo:
    """All schedules, a list that shows itself as ``pipeloom schedules`` prints them: each has name, aliases, summary, source, when_to_use, requirements,
    default_chunks and variants. With ``name`` or an alias that schedule's alone. Raises InputError for an unknown name."""
    rows = all_schedules()
    if name is None:
        return rows
    for row in rows:
        if name.lower() in (row.name, *(alias.lower() for alias in row.aliases)):
            return row
    raise InputError(f"unknown schedule '{name}'; schedules() lists them")


# --- what the program answers ---


def models(name: str | os.PathLike[str] | None = None) -> Any:
    """The models that have names: a list of results with name, parameters, active_parameters, mtp_parameters, layers, hidden, vocabulary, context,
    source and kinds; with ``name``, or the file of any model, that one alone. Raises InputError for a name that is none."""
    return _listed("models", name)


def hardware(name: str | os.PathLike[str] | None = None) -> Any:
    """The devices that have names, with memory, rates and links; with ``name``, or a hardware file, that one alone. Raises InputError for a name
    that is none."""
    return _listed("hardware", name)


def _listed(command: str, name: str | os.PathLike[str] | None) -> Any:
    answer = json.loads(_program.call([command, *([] if name is None else [os.fspath(name)]), "--json"]).out)
    return Result(answer) if name is not None else [Result(row) for row in answer[command]]


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
    words, text = config_input(request_fields(source, given))
    data, answer = _program.ask(["validate", *words, *option_words({"target": target})], text)
    torch = data.get("torch", {})
    lines = [item["message"] for item in [*data.get("diagnostics", []), *torch.get("assertions", [])]]
    if not torch.get("loads", True):
        lines.append(f"PyTorch refuses it: {torch['exception']}: {torch['message']}")
    lines += [f"{item['target']} does not run it: {item['reason']}" for item in data.get("not_taken", [])]
    return Validation({**data, "ok": answer.code == 0, "lines": lines}, answer.out)


def convert(
    source: Source | Run, to: str, *, set: Mapping[str, Any] | None = None, ranks: SupportsIndex | None = None,
    microbatches: SupportsIndex | None = None, chunks: SupportsIndex | None = None, target: str | None = None, max_active_stages: int | None = None,
    unshard_lookahead: str | Sequence[int] | None = None, max_outstanding_sends: int | None = None, defer_reduce_grad_wait: bool = False,
    defer_receives: bool = False, allow_swaps: bool = False, merge: bool = False, full_trace: bool = False, width: float | None = None,
    range: str | None = None, colour_by: str | None = None, theme: str | None = None, title: str | None = None, memory: bool = False,
    idle_causes: bool = False, critical_path: bool = False, patterns: bool = False,
) -> str:
    """The text of another format: ``to`` is "json", "torch-compute", "torch-comms", "torch-steps", "timeline", "csv", "chrome", "dot", "svg" or
    "megatron-layout".

    ``target`` ("2.15") to ``merge`` are those of PyTorch's lists (``pipeloom convert --help``), ``full_trace`` that of traces, ``width`` (pixels) to ``patterns`` those of
    pictures. Raises InputError for wrong input and for formats that are no text ("png", "pdf": ``Run.save``)."""
    options = {
        "target": target, "max_active_stages": max_active_stages, "unshard_lookahead": unshard_lookahead,
        "max_outstanding_sends": max_outstanding_sends, "defer_reduce_grad_wait": defer_reduce_grad_wait, "defer_receives": defer_receives,
        "allow_swaps": allow_swaps, "merge": merge, "full_trace": full_trace, "width": width, "range": range, "colour_by": colour_by, "theme": theme,
        "title": title, "memory": memory, "idle_causes": idle_causes, "critical_path": critical_path, "patterns": patterns,
    }
    given = {"set": set, "ranks": ranks, "microbatches": microbatches, "chunks": chunks}
    if to in BINARY:
        raise InputError(f"{to} is no text; write it with run.save(path), or take run.to_bytes({to!r})")
    if isinstance(source, Run):
        said = [name for name, value in given.items() if value is not None]
        if said:
            raise InputError(f"a run is what it is; give {', '.join(said)} to simulate()")
        if not option_words(options):
            return source.to_bytes(to).decode()
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(source, Run):
            words, text = [source._write_input(folder, "run")], None
        else:
            words, text = config_input(request_fields(source, given))
        file = Path(folder, "out")
        _program.call(["convert", words[0], str(file), "--to", to, *words[1:], *option_words(options)], text)
        return file.read_bytes().decode()


def plan(
    source: Source | None = None, *, set: Mapping[str, Any] | None = None, ranks: SupportsIndex | None = None,
    microbatches: SupportsIndex | None = None, chunks: SupportsIndex | None = None, schedule: str | None = None, objective: str | None = None,
    vary: str | Sequence[str] | None = None, target: str | None = None, limit: Size | None = None, headroom: float | None = None,
    budget: float | None = None, seed: int | None = None, jobs: int | None = None, top: int | None = None, hardware: Path_ | None = None,
    tp: SupportsIndex | None = None, dp: SupportsIndex | None = None, cp: SupportsIndex | None = None, ep: SupportsIndex | None = None,
    zero: int | None = None, seq: SupportsIndex | None = None, micro_batch: SupportsIndex | None = None, global_batch: SupportsIndex | None = None,
    recompute: str | Sequence[str] | None = None, precision: str | None = None, gpus: SupportsIndex | None = None,
    fix: Mapping[str, SupportsIndex] | None = None, max_cp: SupportsIndex | None = None,
    measured: Path_ | None = None,
) -> Plan:
    """The best schedules for a workload, ranked, each with a bound on how much better any could be.

    ``source`` is a configuration (file or dict) or the name of a model, as ``estimate`` takes it; ``hardware`` to ``precision`` are of models. ``vary`` says what may differ
    (["order", "chunks"]), ``limit`` what a rank may hold (bytes or "16GB"), ``headroom`` what share of the device stays free, ``budget`` how many seconds are searched,
    about. With ``gpus`` in place of ``ranks`` every layout of that many devices is looked at (tp, cp, ep, pp, dp, micro batch, chunks, schedule, recomputation): ``fix``
    keeps sizes ({"tp": 8}), ``max_cp`` bounds cp, ``measured`` names a file of measured steps; candidates then have ``layout``, ``tokens_per_s_per_gpu``, ``mfu`` and ``exposed``, the plan ``space``. Ctrl-C gives the best so far (``interrupted``). No schedule that fits is no error: ``candidates`` is then empty. Raises InputError for wrong input.

    >>> plan({"schedule": "1f1b", "ranks": 4, "microbatches": 8}, budget=0.2).best.step_time > 0
    True
    """
    options = {
        "ranks": ranks, "microbatches": microbatches, "chunks": chunks, "schedule": schedule, "objective": objective, "vary": vary, "target": target,
        "limit": limit, "headroom": headroom, "budget": budget, "seed": seed, "jobs": jobs, "top": top, "hardware": hardware, "tp": tp, "dp": dp,
        "cp": cp, "ep": ep, "zero": zero, "seq": seq, "micro_batch": micro_batch, "global_batch": global_batch, "recompute": recompute,
        "precision": precision, "gpus": gpus, "max_cp": max_cp, "measured": measured,
        "fix": None if fix is None else ",".join(f"{key}={operator.index(size)}" for key, size in fix.items()),
    }
    words: list[str] = []
    text: str | None = None
    if source is not None:
        words, text = _source_of_model(source)
    data, answer = _program.ask(["plan", *words, *setting_words(set), *option_words(options), "--include", "orders"], text)
    found = Plan({**data, "interrupted": answer.interrupted}, answer.out)
    if answer.interrupted and not found.candidates:
        raise KeyboardInterrupt
    return found


def estimate(
    model: Source, *, set: Mapping[str, Any] | None = None, hardware: Path_ | None = None, ranks: SupportsIndex | None = None,
    microbatches: SupportsIndex | None = None, chunks: SupportsIndex | None = None, schedule: str | None = None, tp: SupportsIndex | None = None,
    dp: SupportsIndex | None = None, cp: SupportsIndex | None = None, ep: SupportsIndex | None = None, zero: int | None = None,
    seq: SupportsIndex | None = None, micro_batch: SupportsIndex | None = None, global_batch: SupportsIndex | None = None,
    recompute: str | Sequence[str] | None = None, precision: str | None = None, layers: str | Sequence[int] | None = None,
    limit: Size | None = None, tokens: float | None = None,
) -> Answer:
    """Times, bytes, tokens per second and memory of a model on a cluster.

    ``model`` is a preset ("llama3-70b"), a file (Hugging Face's config.json, Megatron's arguments, ours) or a dict. ``layers`` are those of each stage, ``limit`` the
    memory of a device (bytes or "80GB"), ``tokens`` those of the whole training. Raises InputError for wrong input.
    """
    options = {
        "hardware": hardware, "ranks": ranks, "microbatches": microbatches, "chunks": chunks, "schedule": schedule, "tp": tp, "dp": dp, "cp": cp,
        "ep": ep, "zero": zero, "seq": seq, "micro_batch": micro_batch, "global_batch": global_batch, "recompute": recompute,
        "precision": precision, "layers": layers,
        "limit": limit, "tokens": tokens,
    }
    with tempfile.TemporaryDirectory() as folder:
        name, text = _source_of_model(model)
        if text is not None:
            name = [str(Path(folder, "model.json"))]
            Path(name[0]).write_text(text)
        data, answer = _program.ask(["estimate", *name, *setting_words(set), *option_words(options)])
        return Answer(data, answer.out)


def _source_of_model(source: Source) -> tuple[list[str], str | None]:
    if isinstance(source, Mapping):
        return ["-"], json.dumps(plain(source))
    if isinstance(source, (str, os.PathLike)):
        return [no_option(os.fspath(source))], None
    raise InputError(f"{type(source).__name__} is no workload; give a configuration, or the name or file of a model")


def calibrate(
    *traces: Path_ | Sequence[Path_], from_: str | None = None, mapping: Path_ | None = None, layers: int | str | Sequence[int] | None = None,
    with_: Path_ | None = None, unit: str | None = None, first_stage: str | None = None,
) -> Answer:
    """Costs from a measured run: durations by stage and kind, message times, and how well they fit.

    ``traces`` are a timeline, a folder, or the files of all ranks, one by one or as a list; ``from_`` is their format, ``mapping`` the file that says what the names of
    ranges mean. ``layers`` are those of each stage, or of the model; ``with_`` a costs file of the same model with other chunks; ``unit`` that of a timeline that does not
    say it; ``first_stage`` "full" or "torch". ``.costs`` goes into ``simulate(costs=...)``, ``.warnings`` says what is doubtful. Raises InputError for what cannot be read.
    """
    files = [file for trace in traces for file in ([trace] if isinstance(trace, (str, os.PathLike)) else trace)]
    if not files:
        raise InputError("calibrate takes at least one file or folder of a trace")
    words = [no_option(os.fspath(file)) for file in files]
    options = {"from_": from_, "mapping": mapping, "layers": layers, "with_": with_, "unit": unit, "first_stage": first_stage}
    with tempfile.TemporaryDirectory() as folder:
        costs = Path(folder, "costs.json")
        data, answer = _program.ask(["calibrate", *words, *option_words(options), "-o", str(costs)])
        return Answer({**data, "costs": json.loads(costs.read_text())}, answer.out)


def explain(
    predicted: Run | Source, measured: Run | Source, *, from_: str | None = None, mapping: Path_ | None = None,
    set: Mapping[str, Any] | None = None,
) -> Answer:
    """Where the difference in step time comes from, as a sum of named causes (``pipeloom explain``). Both are runs, files or
    configurations; ``from_`` and ``mapping`` say how to read files of ``measured``. Raises InputError for wrong input, and where they are of different ops."""
    return explained(predicted, measured, {"from_": from_, "mapping": mapping}, set)


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
