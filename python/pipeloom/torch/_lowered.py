"""Runs a lowered list action by action, as PyTorch's runtime does: sends and receives meet, waits wait, parameters come and go."""
from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Optional

from .. import ScheduleError

GROUP = re.compile(r"\((.*)\)OVERLAP_F_B")
CELL = re.compile(r"(\d+)([A-Z]+(?:_[A-Z]+)*)(\d*)")
Times = Mapping[tuple[int, str, int], tuple[float, float]]
# A message by the stage that sends it: direction, stage, microbatch.
Message = tuple[str, int, int]


def run_lowered(
    rows: Sequence[Sequence[str]], times: Times, latency: float, unshard: Sequence[float], reduce_grad: Sequence[float]
) -> dict[str, Any]:
    """`makespan`, first start to last end of an op; `step_time`, with the gathers before it and the reductions after it; and `waits`.

    `waits` are by rank what it waited for: `receive`, `send`, `parameters`, `gradients`.

    `times` are starts and ends of every op, of which the lengths count; `latency` is a message's time once both ends are posted;
    `unshard` and `reduce_grad` are by stage. One gather or reduction of a rank runs at a time, in parallel with its computations. Raises
    ScheduleError where the list hangs, and names the action at which each rank waits.
    """
    run = _Run(rows, times, latency, unshard, reduce_grad)
    while run.advance():
        pass
    stuck = [f"rank {rank} at {row[run.at[rank]]}" for rank, row in enumerate(rows) if run.at[rank] < len(row)]
    if stuck:
        raise ScheduleError(f"the lowered list hangs: {', '.join(stuck)}")
    return {"makespan": max(run.ends) - min(run.starts), "step_time": max(run.clock), "waits": run.waits}


def homes(rows: Sequence[Sequence[str]]) -> dict[int, int]:
    """The rank of each stage."""
    return {int(match[1]): rank for rank, row in enumerate(rows) for cell in row for match in re.finditer(r"(\d+)F\d", cell)}


class _Run:
    """The action of every rank, and the messages, results and parameters that are posted or done."""

    def __init__(
        self, rows: Sequence[Sequence[str]], times: Times, latency: float, unshard: Sequence[float], reduce_grad: Sequence[float]
    ) -> None:
        self.rows, self.times, self.latency = rows, times, latency
        self.long = {"UNSHARD": unshard, "REDUCE_GRAD": reduce_grad}
        self.home = homes(rows)
        self.at = [0] * len(rows)
        self.clock = [0.0] * len(rows)
        self.stream = [0.0] * len(rows)  # when the rank's gathers and reductions so far are done
        self.posted: dict[str, dict[Message, float]] = {"SEND": {}, "RECV": {}}
        self.line: dict[tuple[int, int], list[Message]] = defaultdict(list)  # by sender and receiver, in the order of sends
        self.done: dict[Message, float] = {}
        self.made: dict[tuple[int, str, int], float] = {}
        self.gathered: dict[int, float] = {}
        self.reduced: dict[int, float] = {}
        self.starts: list[float] = []
        self.ends: list[float] = []
        self.waits = [{"receive": 0.0, "send": 0.0, "parameters": 0.0, "gradients": 0.0} for _ in rows]

    def advance(self) -> bool:
        """Runs every rank as far as it can; returns False once none can go on."""
        moved = False
        for rank, row in enumerate(self.rows):
            while self.at[rank] < len(row) and self._perform(rank, row[self.at[rank]]):
                self.at[rank] += 1
                moved = True
        return moved

    def _perform(self, rank: int, cell: str) -> bool:
        """False where the action cannot be carried out yet."""
        group = GROUP.fullmatch(cell)
        if group:
            return self._pair(rank, [_parsed(part) for part in group[1].split(";")])
        stage, kind, microbatch = _parsed(cell)
        if kind in ("F", "B", "I", "W"):
            return self._compute(rank, (stage, kind, microbatch))
        if kind in ("UNSHARD", "REDUCE_GRAD"):
            self.stream[rank] = max(self.stream[rank], self.clock[rank]) + self.long[kind][stage]
            (self.gathered if kind == "UNSHARD" else self.reduced)[stage] = self.stream[rank]
        elif kind == "WAIT_REDUCE_GRAD":
            self._until(rank, self.reduced[stage], "gradients")
        elif kind.startswith("WAIT_SEND"):
            return self._wait_send(rank, (kind[-1], stage, microbatch))
        elif kind != "RESHARD":
            self._post(rank, kind[:4], _message(kind, stage, microbatch))
        return True

    def _post(self, rank: int, side: str, message: Message) -> None:
        self.posted[side][message] = self.clock[rank]
        if side == "SEND":
            self.line[self._way(message)].append(message)

    def _way(self, message: Message) -> tuple[int, int]:
        direction, stage, _ = message
        return self.home[stage], self.home[stage + (1 if direction == "F" else -1)]

    def _arrival(self, message: Message) -> Optional[float]:
        """The time at which a message is there; None as long as an end of it, or of an earlier one, is not posted."""
        if message in self.done:
            return self.done[message]
        before = 0.0
        for one in self.line[self._way(message)]:
            if one not in self.done:
                if one not in self.posted["RECV"]:
                    return None
                self.done[one] = max(self.posted["SEND"][one], self.posted["RECV"][one], before) + self.latency
            before = self.done[one]
            if one == message:
                return before
        return None

    def _wait_send(self, rank: int, message: Message) -> bool:
        arrival = self._arrival(message)
        if arrival is None:
            return False
        self._until(rank, arrival, "send")
        return True

    def _ready(self, rank: int, op: tuple[int, str, int]) -> bool:
        """Waits for the message and the parameters that an op needs; False where the message cannot be there yet."""
        stage, kind, microbatch = op
        source = {"F": stage - 1, "B": stage + 1, "I": stage + 1}.get(kind)
        if source in self.home and self.home[source] != rank:
            arrival = self._arrival(("F" if kind == "F" else "B", source, microbatch))
            if arrival is None:
                return False
            self._until(rank, arrival, "receive")
        self._until(rank, self.gathered.get(stage, 0.0), "parameters")
        return True

    def _compute(self, rank: int, op: tuple[int, str, int]) -> bool:
        if not self._ready(rank, op):
            return False
        start, end = self.times[op]
        self._run_for(rank, end - start)
        return True

    def _pair(self, rank: int, ops: list[tuple[int, str, int]]) -> bool:
        """Ops of equal start and end are one group; else they run one after the other, as a plain runtime runs pairs."""
        if self.times[ops[0]] != self.times[ops[1]]:
            # The forward may be done in an earlier call, whose backward had to wait.
            return all(self._once(rank, op) for op in ops)
        if not all([self._ready(rank, op) for op in ops]):
            return False
        start, end = self.times[ops[0]]
        self._run_for(rank, end - start)
        return True

    def _once(self, rank: int, op: tuple[int, str, int]) -> bool:
        if op in self.made:
            return True
        if not self._compute(rank, op):
            return False
        self.made[op] = self.clock[rank]
        return True

    def _run_for(self, rank: int, duration: float) -> None:
        self.starts.append(self.clock[rank])
        self.clock[rank] += duration
        self.ends.append(self.clock[rank])

    def _until(self, rank: int, moment: float, what: str) -> None:
        if moment > self.clock[rank]:
            self.waits[rank][what] += moment - self.clock[rank]
            self.clock[rank] = moment


def _parsed(cell: str) -> tuple[int, str, int]:
    found = CELL.fullmatch(cell.strip())
    if found is None:
        raise ScheduleError(f"'{cell}' is no action of a lowered list")
    return int(found[1]), found[2], int(found[3] or 0)


def _message(kind: str, stage: int, microbatch: int) -> Message:
    """By its sender: RECV_F names the next stage, RECV_B the previous one."""
    direction = kind[-1]
    if kind.startswith("RECV"):
        stage += -1 if direction == "F" else 1
    return direction, stage, microbatch
