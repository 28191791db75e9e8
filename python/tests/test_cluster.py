"""Shards of a sweep on workers of Dask, as docs/python.md has it."""

import distributed

import pipeloom as pl

GRID = {"base": {"ranks": 4, "microbatches": 8}, "axes": {"schedule": ["1f1b", "gpipe", "zbv"], "costs.forward": [1, 1.25, 1.5]}}


def test_dask() -> None:
    shards = [(i, 4) for i in range(1, 5)]
    with distributed.Client(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as client:
        parts = client.gather(client.map(lambda shard: pl.sweep(GRID, shard=shard, threads=1), shards))
    assert pl.Sweep.joined(parts).points == pl.sweep(GRID).points
