"""Turns any source of a schedule into the text of a CSV that PyTorch loads."""
from __future__ import annotations

import os
import re
from typing import Any, Optional

from .. import InputError, convert

CELL = re.compile(r"\(.*\)[A-Z_]+|\d+[A-Z_]+\d*(\.\d+)?")


def csv_text(source: Any, ranks: int, microbatches: int, chunks: Optional[int]) -> str:
    """The CSV of a name, configuration, run, plan, schedule by hand, path or text. Raises InputError for anything else."""
    source = getattr(source, "best", source)  # of a plan the winner
    if hasattr(source, "orders"):
        return _csv_of_orders(source.orders)
    if isinstance(source, os.PathLike) or (isinstance(source, str) and source.endswith(".csv")):
        return _read(os.fspath(source), ranks, microbatches, chunks)
    if isinstance(source, str) and _is_csv(source):
        return source
    if not isinstance(source, (str, dict)):
        raise InputError(f"a schedule is a name, a configuration, a run, a plan, or a CSV; not {type(source).__name__}")
    return _converted(source, ranks, microbatches, chunks)


def is_listed(source: Any) -> bool:
    """True if a source lists its ops itself (a plan, a run, a CSV) and so needs no counts."""
    source = getattr(source, "best", source)
    if hasattr(source, "orders"):
        return True
    return isinstance(source, (str, os.PathLike)) and (os.fspath(source).endswith(".csv") or _is_csv(os.fspath(source)))


def _is_csv(text: str) -> bool:
    """True if its first cell is an action: "0F0" is one, "1F1B" is a schedule's name."""
    first = next((cell for line in text.splitlines() for cell in line.split(",") if cell.strip(' \t"')), "")
    return CELL.fullmatch(first.strip(' \t"')) is not None


def _csv_of_orders(orders: list[Any]) -> str:
    """Rows are lists of entries; those of a plan are texts with blanks between entries."""
    rows = [row.split() if isinstance(row, str) else row for row in orders]
    return "".join(",".join(_cell(entry) for entry in row) + "\n" for row in rows)


def _cell(entry: Any) -> str:
    return entry if isinstance(entry, str) else f"({';'.join(entry)})OVERLAP_F_B"


def _read(path: str, ranks: int, microbatches: int, chunks: Optional[int]) -> str:
    if not path.endswith(".csv"):
        return _converted(path, ranks, microbatches, chunks)
    try:
        with open(path, newline="", encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error


def _converted(source: Any, ranks: int, microbatches: int, chunks: Optional[int]) -> str:
    """A name is made for these counts, a configuration gets them; a file has its own, which are checked like those of any list."""
    shape: dict[str, Any] = {"ranks": ranks, "microbatches": microbatches, **({} if chunks is None else {"chunks": chunks})}
    if isinstance(source, dict):
        return convert({**source, **shape}, to="torch-compute")
    if os.path.isfile(source):
        return convert(source, to="torch-compute")
    return convert(source, to="torch-compute", **shape)
