"""Sweeps on workers of Dask, Ray and processes: the same as on one machine, also where workers die."""

import json
import os
import signal
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

import distributed
import pytest

import pipeloom as pl

GRID = {"base": {"ranks": 4, "microbatches": 8}, "axes": {"schedule": ["1f1b", "gpipe", "zbv"], "costs.forward": [1, 1.25, 1.5]}}
#: some 20,000 points: long enough for a worker to be killed amid them
LARGE = {
    "base": {"ranks": 8, "microbatches": 64, "costs": {"backward": 2, "backward_input": 1, "backward_weight": 1}},
    "axes": {"schedule": ["1f1b", "zb-h1", "zbv"], "costs.forward": {"from": 1, "to": 2, "steps": 6667}},
}


def bytes_of(sweep: pl.Sweep) -> str:
    return json.dumps([sweep.keys, sweep.metrics, sweep.complete, sweep.interrupted, sweep.points])


def test_shards_by_hand() -> None:
    shards = [(i, 4) for i in range(1, 5)]
    with distributed.Client(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as client:
        parts = client.gather(client.map(lambda shard: pl.sweep(GRID, shard=shard, threads=1), shards))
    assert pl.Sweep.joined(parts).points == pl.sweep(GRID).points


@pytest.mark.parametrize("parts", [None, 1, 4, 100])
def test_an_executor(parts: int | None) -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as client:
        assert bytes_of(pl.sweep(GRID, client=client, parts=parts)) == bytes_of(pl.sweep(GRID))


def test_dask_with_workers_killed() -> None:
    expected = bytes_of(pl.sweep(LARGE))
    killed: list[int] = []
    with distributed.Client(n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None) as client:
        def kill_one(done: int, every: int) -> None:
            if len(killed) < 2 and done > (len(killed) + 1) * every // 4:
                nannies = client.scheduler_info(n_workers=-1)["workers"]
                pids = client.run(os.getpid)
                victim = sorted(pids[address] for address in nannies if address in pids)[0]
                killed.append(victim)
                os.kill(victim, signal.SIGKILL)

        found = pl.sweep(LARGE, client=client, parts=24, progress=kill_one)
    assert len(killed) == 2
    assert bytes_of(found) == expected


def test_what_a_worker_raises_is_tried_again_and_then_raised() -> None:
    tries: list[int] = []

    class Failing(ThreadPoolExecutor):
        def submit(self, fn: Any, /, *arguments: Any, **options: Any) -> Any:
            tries.append(arguments[0])
            if len(tries) <= 2:
                return super().submit(int, "no number")
            return super().submit(fn, *arguments, **options)

    with Failing(1) as client:
        assert bytes_of(pl.sweep(GRID, client=client, parts=2)) == bytes_of(pl.sweep(GRID))
    assert tries == [1, 2, 1, 2] or sorted(tries) == [1, 1, 2, 2]
    tries.clear()
    with Failing(1) as client, pytest.raises(ValueError, match="no number"):
        pl.sweep(GRID, client=client, parts=2, retries=0)


def test_progress_may_end_it() -> None:
    with ThreadPoolExecutor(1) as client:
        found = pl.sweep(GRID, client=client, parts=3, progress=lambda done, every: False)
    assert found.interrupted and not found.complete
    statuses = {point["status"] for point in found.points}
    assert "" in statuses and len(statuses) > 1  # some were done, not all
    assert all(point["schedule"] for point in found.points)


def test_what_is_no_client_is_refused() -> None:
    with pytest.raises(pl.InputError, match="dask.distributed.Client"):
        pl.sweep(GRID, client=object())
    with pytest.raises(pl.InputError, match="leave one out"):
        pl.sweep(GRID, client=object(), shard=(1, 2))


@pytest.mark.skipif("ray" not in sys.modules and not os.environ.get("PIPELOOM_RAY"), reason="PIPELOOM_RAY=1 runs it: Ray is no dependency")
def test_ray() -> None:
    import ray

    ray.init(num_cpus=2, include_dashboard=False)
    try:
        assert bytes_of(pl.sweep(LARGE, client=ray, parts=8)) == bytes_of(pl.sweep(LARGE))
    finally:
        ray.shutdown()
