"""Lists of actions: how they are read, and what must hold of one before any process starts to wait for another."""
from __future__ import annotations

import csv
import io
import re
import warnings
from dataclasses import dataclass
from typing import Iterable, Iterator, Optional

from .. import ScheduleError

# As PyTorch does, text after the number is ignored, except for slices.
ACTION = re.compile(r"(\d+)([A-Z][A-Z_]*)(\d*)(\.\d+)?(.*)")
GROUP = re.compile(r"\((.*)\)([A-Z_]+)")
COMPUTE = ("F", "B", "I", "W")
PAIR = "OVERLAP_F_B"
MESSAGE = re.compile(r"(\d+)((?:SEND|RECV|WAIT_SEND)_[FB])(\d+)")
PARAMETERS = re.compile(r"(\d+)(UNSHARD|RESHARD|REDUCE_GRAD|WAIT_REDUCE_GRAD)(\d*)")
# The release from which on a runtime has a kind, as far back as releases were looked at.
SINCE = {
    **dict.fromkeys((*COMPUTE, PAIR, "SEND_F", "SEND_B", "RECV_F", "RECV_B", "UNSHARD", "RESHARD", "REDUCE_GRAD"), "2.10"),
    **dict.fromkeys(("WAIT_SEND_F", "WAIT_SEND_B", "WAIT_REDUCE_GRAD"), "2.15"),
}
# Used where no torch can be asked for its own.
KNOWN = frozenset(SINCE)


@dataclass(frozen=True)
class Op:
    """One computation of a stage for a microbatch."""

    stage: int
    kind: str
    microbatch: int

    def __str__(self) -> str:
        return f"{self.stage}{self.kind}{self.microbatch}"


@dataclass(frozen=True)
class Entry:
    """A place in a rank's list: one op, or a pair that overlaps."""

    rank: int
    place: int
    text: str
    ops: tuple[Op, ...]

    @property
    def where(self) -> str:
        return f"rank {self.rank}, action {self.place} '{self.text}'"


@dataclass(frozen=True)
class ComputeList:
    """The computations of every rank in order; `form` says if their file has messages too."""

    rows: tuple[tuple[Entry, ...], ...]
    stages: int
    microbatches: int
    form: str = "compute_only"
    others: tuple[Entry, ...] = ()  # of a lowered file: messages and movements of parameters

    def stage_ranks(self) -> list[int]:
        """[stage]: its rank."""
        return [self.rank_of(stage) for stage in range(self.stages)]

    def stages_of(self, rank: int) -> list[int]:
        return sorted({op.stage for entry in self.rows[rank] for op in entry.ops})

    def rank_of(self, stage: int) -> int:
        return next(r for r in range(len(self.rows)) if stage in self.stages_of(r))

    def located(self) -> Iterator[tuple[Entry, Op]]:
        for row in self.rows:
            for entry in row:
                for op in entry.ops:
                    yield entry, op


def parse_compute(text: str) -> ComputeList:
    """Reads a compute-only CSV: a line for each rank, blanks are bubbles that a runtime drops."""
    rows = []
    for rank, row in enumerate(csv.reader(io.StringIO(text))):
        cells = [(place, cell.strip()) for place, cell in enumerate(row)]
        rows.append(tuple(_entry(rank, place, cell) for place, cell in cells if cell))
    ops = [op for row in rows for entry in row for op in entry.ops]
    if not ops:
        raise ScheduleError("the schedule has no actions")
    return ComputeList(tuple(rows), 1 + max(op.stage for op in ops), 1 + max(op.microbatch for op in ops))


def parse(text: str) -> ComputeList:
    """Reads a CSV of either form; of a lowered one (`compute_comms`) the computations are kept in order, the other actions apart."""
    rows = list(csv.reader(io.StringIO(text)))
    others = tuple(
        Entry(rank, place, cell.strip(), ())
        for rank, row in enumerate(rows)
        for place, cell in enumerate(row)
        if _moves(cell.strip())
    )
    if not others:
        return parse_compute(text)
    kept = "".join(",".join("" if _moves(cell.strip()) else cell for cell in row) + "\n" for row in rows)
    found = parse_compute(kept)
    return ComputeList(found.rows, found.stages, found.microbatches, "compute_comms", others)


def _moves(cell: str) -> bool:
    return MESSAGE.fullmatch(cell) is not None or PARAMETERS.fullmatch(cell) is not None


def _entry(rank: int, place: int, cell: str) -> Entry:
    where = f"rank {rank}, action {place} '{cell}'"
    group = GROUP.fullmatch(cell)
    if group is None:
        return Entry(rank, place, cell, (_op(cell, where),))
    if group[2] != PAIR:
        raise ScheduleError(f"{where}: no PyTorch runtime has a group of kind {group[2]}; pairs are {PAIR}")
    ops = tuple(_op(part.strip(), where) for part in group[1].split(";"))
    if len(ops) != 2 or sorted(op.kind == "F" for op in ops) != [False, True] or any(op.kind == "W" for op in ops):
        raise ScheduleError(f"{where}: an overlapped pair is a forward and a backward, as in (0F1;3B0){PAIR}")
    return Entry(rank, place, cell, ops)


def _op(text: str, where: str) -> Op:
    found = ACTION.fullmatch(text)
    if found is None:
        raise ScheduleError(f"{where}: not an action; actions look like 2F0: stage, kind, microbatch")
    stage, kind, microbatch, piece, rest = found.groups()
    if piece:
        raise ScheduleError(f"{where}: a slice of a sequence; no PyTorch runtime has slices, `pipeloom simulate` runs them")
    if kind in ("S", "T"):
        raise ScheduleError(f"{where}: a pass of a shared output layer; no PyTorch runtime has one, `pipeloom simulate` runs it")
    if kind not in COMPUTE:
        raise ScheduleError(f"{where}: no runtime has an action {kind}; computations are {', '.join(COMPUTE)} and {PAIR}")
    if not microbatch:
        raise ScheduleError(f"{where}: names no microbatch")
    if rest:
        warnings.warn(f"{where}: '{rest}' after the number is ignored, as PyTorch does", stacklevel=2)
    return Op(int(stage), kind, int(microbatch))


def check_actions(
    schedule: ComputeList, ranks: int, microbatches: int, kinds: Iterable[str] = KNOWN, runtime: str = "PyTorch"
) -> None:
    """Raises ScheduleError for what would hang, raise or train wrong; `kinds` are those that the runtime knows."""
    if len(schedule.rows) != ranks:
        raise ScheduleError(f"the schedule has {len(schedule.rows)} ranks, the process group has {ranks}")
    if schedule.microbatches != microbatches:
        raise ScheduleError(f"the schedule has {schedule.microbatches} microbatches, {microbatches} were asked for")
    _check_kinds(schedule, frozenset(kinds), runtime)
    _check_placement(schedule)
    if schedule.form == "compute_only":
        _check_once(schedule)
    _check_last_stage(schedule)


def _check_kinds(schedule: ComputeList, kinds: frozenset[str], runtime: str) -> None:
    for entry, op in schedule.located():
        needed = (op.kind, PAIR) if len(entry.ops) > 1 else (op.kind,)
        for kind in needed:
            _require_kind(entry, kind, kinds, runtime)
    for entry in schedule.others:
        found = MESSAGE.fullmatch(entry.text) or PARAMETERS.fullmatch(entry.text)
        _require_kind(entry, found[2] if found else entry.text, kinds, runtime)


def _require_kind(entry: Entry, kind: str, kinds: frozenset[str], runtime: str) -> None:
    if kind in kinds:
        return
    computes = kind in (*COMPUTE, PAIR)
    instead = "take a schedule without it" if computes else "load the computations alone, every release adds its own messages"
    raise ScheduleError(f"{entry.where}: {runtime} has no action {kind}; torch {SINCE[kind]} and later have it; {instead}")


def _check_placement(schedule: ComputeList) -> None:
    home: dict[int, Entry] = {}
    for entry, op in schedule.located():
        first = home.setdefault(op.stage, entry)
        if first.rank != entry.rank:
            raise ScheduleError(
                f"{entry.where}: stage {op.stage} is on rank {first.rank} too; PyTorch keeps a stage on one rank, "
                "two pipelines in opposite directions only `pipeloom simulate` runs"
            )
    for stage in range(schedule.stages):
        if stage not in home:
            raise ScheduleError(f"stage {stage} has no action, and stage {schedule.stages - 1} has")


def _check_once(schedule: ComputeList) -> None:
    seen: dict[Op, Entry] = {}
    for entry, op in schedule.located():
        if op in seen:
            raise ScheduleError(f"{entry.where}: {op} occurs twice, first as action {seen[op].place}")
        before = _missing_before(op, seen)
        if before is not None:
            raise ScheduleError(f"{entry.where}: {before} has not run before it")
        if op.kind in ("B", "I") and Op(op.stage, "I" if op.kind == "B" else "B", op.microbatch) in seen:
            raise ScheduleError(f"{entry.where}: the backward of that microbatch has run already, in the other form")
        seen[op] = entry
    for stage in range(schedule.stages):
        for microbatch in range(schedule.microbatches):
            missing = _missing(stage, microbatch, seen)
            if missing:
                raise ScheduleError(f"stage {stage}, microbatch {microbatch}: {missing} is missing on rank {schedule.rank_of(stage)}")


def _missing_before(op: Op, seen: dict[Op, Entry]) -> Optional[Op]:
    needed = {"B": "F", "I": "F", "W": "I"}.get(op.kind)
    if needed is None:
        return None
    before = Op(op.stage, needed, op.microbatch)
    return None if before in seen else before


def _missing(stage: int, microbatch: int, seen: dict[Op, Entry]) -> Optional[str]:
    def has(kind: str) -> bool:
        return Op(stage, kind, microbatch) in seen

    if not has("F"):
        return "F"
    if has("I"):
        return None if has("W") else "W after I"
    return None if has("B") else "a backward (B, or I and W)"


def _check_last_stage(schedule: ComputeList) -> None:
    """PyTorch appends losses as they come and finds them by position: another order trains with wrong gradients, in silence."""
    expected = 0
    for entry, op in schedule.located():
        if op.kind != "F" or op.stage != schedule.stages - 1:
            continue
        if op.microbatch != expected:
            raise ScheduleError(
                f"{entry.where}: the last stage's forwards must be in the order of microbatches, {expected} is due; PyTorch finds "
                "losses by their position and would train with wrong gradients. Other stages may have any order"
            )
        expected += 1
