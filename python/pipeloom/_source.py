"""From what a user names a run by to what the library reads."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Union

from . import _core
from ._errors import InputError

Source = Union[str, "os.PathLike[str]", Mapping[str, Any], "Schedule"]
#: Options that go on top of a source, by the name of the argument.
SECTIONS = ("costs", "memory", "options", "step")
COUNTS = ("ranks", "microbatches", "chunks")
#: Formats that are no text.
BINARY = ("png", "pdf")


class Schedule:
    """A schedule by hand: the order of every rank's ops.

    ``orders`` is one list per rank of op texts, ``"<stage><kind><microbatch>"`` with kinds F, B, I, W, R, O, L, S and T; a tuple or list of two is
    a pair that overlaps, its forward first. ``placement`` lists the stages of each rank; without it a stage is on the rank whose list names it.

    >>> Schedule([["0F0", "0B0"], ["1F0", "1B0"]]).stages
    2
    """

    def __init__(
        self, orders: Sequence[Sequence[str | Sequence[str]]], *, placement: Sequence[Sequence[int]] | None = None
    ) -> None:
        self.orders = [[_entry(entry) for entry in queue] for queue in orders]
        ops = [[op for entry in queue for op in _ops(entry)] for queue in self.orders]
        every = [op for queue in ops for op in queue]
        for op in every:
            if _kind_at(op) >= len(op) or op[_kind_at(op)] not in _core.kinds():
                raise InputError(f"'{op}' is no op; an op is '<stage><kind><microbatch>', like '0F0', and kinds are {', '.join(_core.kinds())}")
        if not every:
            raise InputError("orders name no op; each rank's list holds texts like '0F0'")
        self.placement = (
            [list(stages) for stages in placement]
            if placement is not None
            else [sorted({_stage(op) for op in queue}) for queue in ops]
        )
        self.ranks = len(self.orders)
        self.stages = 1 + max(_stage(op) for op in every)
        self.microbatches = 1 + max(_microbatch(op) for op in every)

    def to_json(self) -> str:
        """A schedule file (format ``json``)."""
        return json.dumps(
            {
                "ranks": self.ranks,
                "stages": self.stages,
                "microbatches": self.microbatches,
                "placement": self.placement,
                "orders": self.orders,
            }
        )

    def __repr__(self) -> str:
        return f"Schedule({self.ranks} ranks, {self.stages} stages, {self.microbatches} microbatches)"


def _entry(entry: str | Sequence[str]) -> str:
    return entry if isinstance(entry, str) else "(" + ";".join(entry) + ")OVERLAP_F_B"


def _ops(entry: str) -> list[str]:
    return entry[1 : entry.rindex(")")].split(";") if entry.startswith("(") and ")" in entry else [entry]


def _number(op: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise InputError(f"'{op}' is no op; an op is '<stage><kind><microbatch>', like '0F0'")
    return int(text)


def _kind_at(op: str) -> int:
    return next((i for i, c in enumerate(op) if not c.isdigit()), len(op))


def _stage(op: str) -> int:
    return _number(op, op[: _kind_at(op)])


def _microbatch(op: str) -> int:
    return _number(op, op[_kind_at(op) + 1 :].partition(".")[0])


def is_path(source: str) -> bool:
    """True if a text names a file, or is a link, and is no schedule; where it could be both, it is the schedule."""
    if source == "-" or _core.is_link(source) or os.sep in source or Path(source).suffix:
        return True
    return Path(source).is_file() and not any(
        source.lower() in (row["name"], *(alias.lower() for alias in row["aliases"])) for row in _core.schedules()  # type: ignore[attr-defined]
    )


def no_option(path: str) -> str:
    """A path that a command line cannot take for an option. "-" is standard input, as everywhere."""
    if "\0" in path:
        raise InputError("a file's name holds no zero byte")
    return "./" + path if path.startswith("-") and path != "-" else path


def plain(value: Any) -> Any:
    """numpy's numbers and arrays, paths and tuples as JSON has them. Raises InputError for what it has no form for, NaN and infinity too."""
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{value} is no value of a configuration; numbers are finite")
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (str, bool, int, float)) or value is None:
        return value
    if hasattr(value, "tolist") and type(value.tolist()) is not type(value):
        return plain(value.tolist())
    if isinstance(value, Iterable):
        return [plain(item) for item in value]
    raise InputError(f"{value!r} is no value of a configuration; allowed are numbers, texts, lists, arrays and dicts")


def _settings(name: str, value: Any) -> list[str]:
    """PATH=VALUE, as the library's own reader takes them."""
    value = plain(value)
    if isinstance(value, dict):
        return [f"{name}.{key}={json.dumps(item)}" for key, item in value.items()]
    return [f"{name}={value if isinstance(value, str) else json.dumps(value)}"]


def request_fields(source: Source, given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a request: file, text and what goes on top, texts all."""
    fields: dict[str, Any] = {"set": []}
    if isinstance(source, Schedule):
        fields.update(file="schedule", text=source.to_json(), from_="json")
    elif isinstance(source, Mapping):
        fields.update(file="configuration", text=json.dumps(plain(source)))
    elif isinstance(source, str) and not is_path(source):
        fields.update(schedule=source)
    elif isinstance(source, (str, os.PathLike)):
        fields.update(file=os.fspath(source))
    else:
        raise InputError(
            f"{type(source).__name__} is nothing to simulate; give a schedule's name, a file, a configuration as a dict, or a Schedule"
        )
    for name in COUNTS:
        if given.get(name) is not None:
            fields[name] = str(plain(given[name]))
    for name in SECTIONS:
        if given.get(name) is not None:
            fields["set"] += _settings(name, given[name])
    settings = given.get("set") or {}
    if not isinstance(settings, Mapping):
        raise InputError(f"set is {settings!r}; it is a dict of paths and values, such as {{'costs.forward': 2}}")
    for path, value in settings.items():
        value = plain(value)
        fields["set"].append(f"{path}={value if isinstance(value, str) else json.dumps(value)}")
    for name in ("from_", "mapping"):
        if given.get(name) is not None:
            fields[name] = os.fspath(given[name])
    return fields


def config_input(fields: dict[str, Any]) -> tuple[list[str], str | None]:
    """The arguments and standard input of a command that takes a file. A schedule's name becomes a configuration."""
    fields = {**fields, "set": list(fields["set"])}
    if "schedule" in fields and "file" not in fields:
        config: dict[str, Any] = {"schedule": fields.pop("schedule")}
        config.update({name: _count(fields.pop(name)) for name in COUNTS if name in fields})
        fields.update(file="configuration", text=json.dumps(config))
    # These commands have no options for counts; a configuration takes them like any key.
    fields["set"] = [f"{name}={fields.pop(name)}" for name in COUNTS if name in fields] + fields["set"]
    return arguments(fields)


def _count(text: str) -> Any:
    """A count as configurations have it; what is none stays text, which the reader refuses by name."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def option_words(values: Mapping[str, Any]) -> list[str]:
    """Keyword arguments as the command line's options: ``global_batch=1024`` is ``--global-batch 1024``; None and False are left out."""
    out: list[str] = []
    for name, value in values.items():
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


def setting_words(values: Mapping[str, Any] | None) -> list[str]:
    """``--set PATH=VALUE`` for each."""
    out: list[str] = []
    for path, value in (values or {}).items():
        value = plain(value)
        out += ["--set", f"{path}={value if isinstance(value, str) else json.dumps(value)}"]
    return out


def arguments(fields: Mapping[str, Any]) -> tuple[list[str], str | None]:
    """The same for the command line: its arguments, and what it reads from standard input."""
    out: list[str] = []
    text = fields.get("text")
    if "file" in fields:
        out.append("-" if text is not None else fields["file"])
    if "schedule" in fields:
        out += ["--schedule", fields["schedule"]]
    for name in COUNTS:
        if name in fields:
            out += [f"--{name}", fields[name]]
    for setting in fields["set"]:
        out += ["--set", setting]
    if "from_" in fields:
        out += ["--from", fields["from_"]]
    return out, text
