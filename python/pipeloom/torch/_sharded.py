"""Times of gathers and reductions of fully sharded stages (FSDP, ZeRO 3), where costs name a model and a device."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import estimate

# Keys of `costs` that do not matter here, or that only hold for the counts of the run itself.
ASIDE = ("model", "hardware", "global_batch", "first_stage", "overlapped", "measured", "transfer")


def is_sharded_model(costs: Mapping[str, Any]) -> bool:
    return "model" in costs and "hardware" in costs and costs.get("zero") == 3


def shard_times(costs: Mapping[str, Any], stages: int) -> tuple[list[float], list[float]]:
    """Milliseconds by stage of UNSHARD and of REDUCE_GRAD. REQUIRES: is_sharded_model(costs).

    They depend on what a stage holds and on its replicas, not on the schedule: so the plainest one is asked, with a rank for each stage.
    """
    given = {f"costs.{key}": value for key, value in costs.items() if key not in ASIDE}
    answer = estimate(costs["model"], hardware=costs["hardware"], schedule="gpipe", ranks=stages, microbatches=1, set=given)
    return [float(stage["unshard_ms"]) for stage in answer["stages"]], [float(stage["reduce_grad_ms"]) for stage in answer["stages"]]


def at_step_end(gathers: Sequence[float], reductions: Sequence[float], home: Mapping[int, int]) -> float:
    """Time of the busiest rank's gathers and reductions together: the simulator, which plays no actions, adds it after the step."""
    by_rank: dict[int, float] = {}
    for stage, rank in home.items():
        by_rank[rank] = by_rank.get(rank, 0.0) + gathers[stage] + reductions[stage]
    return max(by_rank.values(), default=0.0)
