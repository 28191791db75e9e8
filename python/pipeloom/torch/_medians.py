"""From the times of single ops to costs: medians by stage and kind, what lies between ops, and what messages take."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Optional

from .. import InputError

#: Parts of a model that a stage counts as where nobody says how many layers it has: 2, 3, 4 and 6 stages can be made of one.
PARTS = 12


@dataclass(frozen=True)
class Timed:
    """One op of one step; times in ms on a clock that all ranks share. The ops of an overlapped pair have the same times."""

    step: int
    rank: int
    stage: int
    kind: str
    microbatch: int
    start: float
    end: float

    @property
    def op(self) -> str:
        return f"{self.stage}{self.kind}{self.microbatch}"


def costs_of(
    rows: Sequence[Timed], stage_ranks: Sequence[int], microbatches: int, layers: Optional[Sequence[int]] = None
) -> dict[str, Any]:
    """Costs as the simulator takes them, in ms. Raises InputError where a stage ran no forward or no backward."""
    stages = len(stage_ranks)
    single, pairs = _durations(rows)
    if layers is not None and len(layers) != stages:
        raise InputError(f"layers has {len(layers)} numbers, the run has {stages} stages; give one for each")
    entry = between(rows)
    out: dict[str, Any] = {
        "time_unit": "ms",
        "layers": list(layers) if layers is not None else [PARTS] * stages,
        "stage_ranks": list(stage_ranks),
        **_op_costs(single, pairs, stages),
        "overlapped": _pair_costs(pairs, stages) if pairs else "sequential",
        "first_stage": "torch",
        "entry": entry,
        "transfer": {"latency": latency(rows, stage_ranks, entry)},
        "measured": {"ranks": 1 + max(stage_ranks), "microbatches": microbatches},
    }
    return out


def step_time(rows: Iterable[Timed]) -> float:
    """The median over steps of first start to last end, in ms."""
    steps: dict[int, list[Timed]] = defaultdict(list)
    for row in rows:
        steps[row.step].append(row)
    if not steps:
        raise InputError("nothing was recorded; run steps inside the with block")
    return median(max(row.end for row in step) - min(row.start for row in step) for step in steps.values())


def _durations(rows: Sequence[Timed]) -> tuple[dict[tuple[str, int], list[float]], dict[tuple[int, int], list[float]]]:
    """Of ops that ran alone by kind and stage, and of pairs by the stages of forward and backward."""
    together: dict[tuple[int, int, float, float], list[Timed]] = defaultdict(list)
    for row in rows:
        together[row.step, row.rank, row.start, row.end].append(row)
    single: dict[tuple[str, int], list[float]] = defaultdict(list)
    pairs: dict[tuple[int, int], list[float]] = defaultdict(list)
    for group in together.values():
        if len(group) == 1:
            single[group[0].kind, group[0].stage].append(group[0].end - group[0].start)
        else:
            forward, backward = sorted(group, key=lambda row: row.kind != "F")[:2]
            pairs[forward.stage, backward.stage].append(forward.end - forward.start)
    return single, pairs


def _op_costs(single: dict[tuple[str, int], list[float]], pairs: dict[tuple[int, int], list[float]], stages: int) -> dict[str, list[float]]:
    found = {key: median(values) for key, values in single.items()}
    forward = [found.get(("F", stage)) for stage in range(stages)]
    inputs = [found.get(("I", stage)) for stage in range(stages)]
    weights = [found.get(("W", stage)) for stage in range(stages)]
    backward = [_whole(found.get(("B", stage)), i, w) for stage, (i, w) in enumerate(zip(inputs, weights))]
    for stage in range(stages):
        for name, value in (("forward", forward[stage]), ("backward", backward[stage])):
            if value is None:
                also = " outside of pairs" if any(stage in pair for pair in pairs) else ""
                raise InputError(f"stage {stage} ran no {name}{also} in the recorded steps; record whole training steps")
    out = {"forward": forward, "backward": backward}
    if any(one is not None for one in inputs):
        share = input_share(inputs, weights)
        split = [_split(i, w, b, share, first=stage == 0) for stage, (i, w, b) in enumerate(zip(inputs, weights, backward))]
        out.update(backward_input=[i for i, _ in split], backward_weight=[w for _, w in split])
    return {name: [round(float(value or 0.0), 6) for value in values] for name, values in out.items()}


def _whole(backward: Optional[float], inputs: Optional[float], weights: Optional[float]) -> Optional[float]:
    if backward is not None:
        return backward
    return None if inputs is None or weights is None else inputs + weights


def input_share(inputs: Sequence[Optional[float]], weights: Sequence[Optional[float]]) -> float:
    """The part of a backward that its input half is, the median over all stages but the first; a half where no other stage is split."""
    shares = [i / (i + w) for i, w in list(zip(inputs, weights))[1:] if i is not None and w is not None and i + w > 0]
    return median(shares) if shares else 0.5


def _split(inputs: Optional[float], weights: Optional[float], backward: Optional[float], share: float, first: bool) -> tuple[float, float]:
    """PyTorch does all of the first stage's backward in W: what would be I there follows from the other stages."""
    if inputs is not None and weights is not None and not first:
        return inputs, weights
    whole = inputs + weights if inputs is not None and weights is not None else float(backward or 0.0)
    return whole * share, whole * (1 - share)


def _pair_costs(pairs: dict[tuple[int, int], list[float]], stages: int) -> dict[str, list[list[float]]]:
    """A time for every two stages; where no such pair ran, the median of those that did."""
    usual = median(value for values in pairs.values() for value in values)
    return {"pairs": [[round(median(pairs.get((f, b), [usual])), 6) for b in range(stages)] for f in range(stages)]}


def _queues(rows: Iterable[Timed]) -> list[list[Timed]]:
    """Of every rank and step the ops by their starts."""
    queues: dict[tuple[int, int], list[Timed]] = defaultdict(list)
    for row in rows:
        queues[row.step, row.rank].append(row)
    return [sorted(queue, key=lambda row: (row.start, row.end)) for queue in queues.values()]


def _source(row: Timed) -> Optional[tuple[int, tuple[str, ...]]]:
    """The stage and kinds that an op takes its input from."""
    if row.kind == "F":
        return (row.stage - 1, ("F",))
    return None if row.kind == "W" else (row.stage + 1, ("B", "I"))


def _producers(rows: Iterable[Timed]) -> dict[tuple[int, int, str, int], Timed]:
    return {(row.step, row.stage, row.kind, row.microbatch): row for row in rows}


def _producer(row: Timed, known: dict[tuple[int, int, str, int], Timed]) -> Optional[Timed]:
    source = _source(row)
    if source is None:
        return None
    stage, kinds = source
    return next((known[row.step, stage, kind, row.microbatch] for kind in kinds if (row.step, stage, kind, row.microbatch) in known), None)


def between(rows: Sequence[Timed]) -> float:
    """What lies between two ops of a rank where the second waited for nobody, the median in ms: launches, messages handed over, Python.

    An op waits for nobody if it takes no message (W, or its producer ran on its own rank).
    """
    known = _producers(rows)
    gaps = [
        after.start - before.end
        for queue in _queues(rows)
        for before, after in zip(queue, queue[1:])
        if after.start >= before.end and _waits_for_nobody(after, known)
    ]
    return round(median(gaps), 6) if gaps else 0.0


def _waits_for_nobody(row: Timed, known: dict[tuple[int, int, str, int], Timed]) -> bool:
    producer = _producer(row, known)
    return producer is None or producer.rank == row.rank


def latency(rows: Sequence[Timed], stage_ranks: Sequence[int], entry: float) -> float:
    """What a message takes from the end of its producer to the start of its consumer, less `entry`, in ms.

    Of messages whose consumer stood idle when they were made. Per two ranks the medians of both directions are averaged, so that clocks
    that differ cancel; the result is the median over all two ranks that sent each other any.
    """
    known = _producers(rows)
    delays: dict[tuple[int, int], list[float]] = defaultdict(list)
    for queue in _queues(rows):
        for before, after in zip([None, *queue], queue):
            producer = _producer(after, known)
            if producer is not None and producer.rank != after.rank and (before is None or before.end <= producer.end):
                delays[producer.rank, after.rank].append(after.start - producer.end)
    both = {frozenset(way) for way in delays}
    links = [median([median(delays[way]) for way in delays if frozenset(way) == link]) for link in both]
    return round(max(0.0, median(links) - entry), 6) if links else 0.0
