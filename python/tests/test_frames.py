"""Timelines as frames: every kind of frame says the same."""

import numpy
import pandas
import polars
import pyarrow
import pytest

import pipeloom as pl


@pytest.fixture(scope="module")
def run() -> pl.Run:
    return pl.simulate("zb-h1", ranks=4, microbatches=8, step={"count": 2})


def test_pandas(run: pl.Run) -> None:
    frame = run.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame) == 2 * run.num_ops
    # F and I and W of 8 microbatches on 4 stages in 2 steps.
    assert frame.groupby("kind", observed=True).size().to_dict() == {"F": 64, "I": 64, "W": 64}
    assert ((frame.end - frame.start) == 1.0).all()


def test_polars_and_arrow_say_the_same(run: pl.Run) -> None:
    frame, table, expected = run.to_polars(), run.to_arrow(), run.to_pandas()
    assert isinstance(frame, polars.DataFrame)
    assert isinstance(table, pyarrow.Table)
    assert frame.columns == table.column_names == list(expected.columns)
    assert frame["kind"].to_list() == table["kind"].to_pylist() == expected.kind.tolist()
    for name in ("rank", "stage", "microbatch", "slice", "start", "end", "step"):
        assert numpy.array_equal(frame[name].to_numpy(), expected[name])
        assert numpy.array_equal(table[name].to_numpy(), expected[name])


def test_sweeps() -> None:
    grid = {"base": {"ranks": 4}, "axes": {"schedule": ["1f1b", "gpipe"], "microbatches": [4, 8]}}
    frame = pl.sweep(grid).to_pandas()
    # (m + p - 1) (F + B), for both.
    assert frame[["schedule", "microbatches", "makespan"]].values.tolist() == [
        ["1f1b", 4, 21.0], ["1f1b", 8, 33.0], ["gpipe", 4, 21.0], ["gpipe", 8, 33.0],
    ]
    assert pl.sweep(grid).to_polars()["makespan"].to_list() == frame.makespan.tolist()


def test_comparisons() -> None:
    frame = pl.compare(pl.simulate("1f1b", ranks=4, microbatches=8), pl.simulate("zb-h1", ranks=4, microbatches=8)).to_pandas()
    # zb-h1 fills all but p - 1 units: m (F + I + W) + 3.
    assert frame.loc["makespan"].tolist() == [33.0, 27.0]


def test_plans() -> None:
    plan = pl.plan({"schedule": "1f1b", "ranks": 4, "microbatches": 8}, budget=0.2)
    assert plan.to_pandas().step_time.tolist() == [row.step_time for row in plan.candidates]


def test_a_package_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, run: pl.Run) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install pandas, or pipeloom\[frames\]"):
        run.to_pandas()
