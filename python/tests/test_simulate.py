"""Runs and what they know. Expected numbers follow from F = I = W = 1, B = 2 where nothing else is said."""

import json
import subprocess

import numpy
import pytest

import pipeloom as pl
from pipeloom import _program


def program(*arguments: str) -> str:
    return subprocess.run([_program.path(), *arguments], check=True, capture_output=True, text=True).stdout


def test_step_of_1f1b() -> None:
    run = pl.simulate("1f1b", ranks=4, microbatches=8)
    # (m + p - 1) (F + B) = 11 * 3, of which a rank works m (F + B) = 24: the bubble is 9 of 33.
    assert run.makespan == 33.0
    assert run.bubble_ratio == pytest.approx(9 / 33)
    assert [rank.busy for rank in run.ranks] == [24.0] * 4
    # Rank r holds p - r microbatches.
    assert [rank.peak_live for rank in run.ranks] == [4, 3, 2, 1]
    assert (run.num_ranks, run.stages, run.microbatches, run.num_ops) == (4, 4, 8, 2 * 4 * 8)
    assert run.critical_path.length == run.makespan
    assert run.critical_path.ops[:4] == ["0F0", "1F0", "2F0", "3F0"]


@pytest.mark.parametrize("name", [row.name for row in pl.schedules()])
def test_report_is_the_programs(name: str) -> None:
    chunks = pl.schedules(name).default_chunks
    run = pl.simulate(name, ranks=4, microbatches=8, chunks=chunks)
    said = json.loads(program("simulate", "--schedule", name, "--ranks", "4", "--microbatches", "8", "--chunks", str(chunks), "--json"))
    for origin in (said["config"].pop("origin"), run.report["config"].pop("origin")):
        assert origin
    assert run.report == said
    assert set(said) - {"schema_version"} <= set(dir(run))


def test_columns_are_views_of_the_run() -> None:
    run = pl.simulate("zbv", ranks=4, microbatches=8)
    first, again = run.timeline, run.timeline
    assert run.num_ops == 3 * 8 * 8
    for name, column in first.items():
        assert column.shape == (run.num_ops,)
        assert not column.flags.writeable
        assert not column.flags.owndata
        assert numpy.shares_memory(column, again[name])
    assert first["start"].dtype == first["end"].dtype == numpy.int64


def test_columns_keep_the_run_alive() -> None:
    start = pl.simulate("1f1b", ranks=4, microbatches=8).timeline["start"]
    for _ in range(20):
        pl.simulate("gpipe", ranks=4, microbatches=8).timeline
    assert start.min() == 0
    assert start[:3].tolist() == [0, 10**9, 2 * 10**9]


def test_columns_say_what_orders_say() -> None:
    run = pl.simulate("zb-h1", ranks=3, microbatches=5)
    data = run.timeline
    texts = [f"{s}{pl.KINDS[k]}{m}" for s, k, m in zip(data["stage"], data["kind"], data["microbatch"])]
    assert texts == [op for order in run.orders for op in order]
    busy = numpy.bincount(data["rank"], weights=(data["end"] - data["start"]) / run.ticks_per_unit)
    # m (F + I + W) on every rank.
    assert busy.tolist() == [15.0] * 3


def test_steps_follow_each_other() -> None:
    run = pl.simulate("1f1b", ranks=2, microbatches=4, step={"count": 3})
    data = run.timeline
    assert run.steps == 3
    assert all(column.shape == (3 * run.num_ops,) for column in data.values())
    assert run.to_pandas().groupby("step").size().tolist() == [16] * 3


def test_idle_is_what_is_left_of_the_window() -> None:
    run = pl.simulate("1f1b", ranks=4, microbatches=8)
    idle = [0.0] * 4
    for span in run.idle:
        idle[span.rank] += span.end - span.start
    assert idle == [rank.idle for rank in run.ranks] == [9.0] * 4


def test_memory_over_time() -> None:
    run = pl.simulate("1f1b", ranks=4, microbatches=8, memory={"activation_bytes": 100})
    times, held = run.memory(0)
    # Rank 0 takes in four microbatches and then gives one back for each that it takes.
    assert held.max() == run.memory.peak_bytes == 400
    assert held[-1] == 0
    assert times[0] == 0.0
    assert (numpy.diff(times) >= 0).all()
    assert run.memory.peak_rank == 0


def test_costs_of_any_shape() -> None:
    slow_last = pl.simulate("1f1b", ranks=4, microbatches=8, costs={"forward": numpy.array([1, 1, 1, 3]), "backward": 2})
    # The last stage works m (3 + 2) = 40 without a pause, behind 3 forwards and before 3 backwards.
    assert slow_last.makespan == 3 + 40 + 6
    assert pl.simulate("1f1b", ranks=4, microbatches=8, set={"costs.transfer.latency": 0.5}).makespan > 33
    assert pl.simulate({"schedule": "1f1b", "ranks": 4, "microbatches": 8, "costs": {"forward": 2, "backward": 2}}).makespan == 11 * 4


def test_schedule_by_hand() -> None:
    # Rank 0: F0 F1, waits for stage 1's B0 (1 + 1 + 2 = 4), B0 to 6, B1 to 8.
    schedule = pl.Schedule([["0F0", "0F1", "0B0", "0B1"], ["1F0", "1B0", "1F1", "1B1"]])
    run = pl.simulate(schedule)
    assert run.orders == schedule.orders
    assert run.makespan == pl.simulate("1f1b", ranks=2, microbatches=2).makespan == 9.0
    assert pl.validate(schedule)


def test_pair_by_hand_overlaps() -> None:
    schedule = pl.Schedule([["0F0", ("0F1", "0B0"), "0B1"]])
    run = pl.simulate(schedule, costs={"forward": 1, "backward": 2, "overlapped": {"factor": 0.75}})
    # F, then three quarters of F and B, then B.
    assert run.makespan == 1 + 0.75 * 3 + 2


@pytest.mark.parametrize("name", ["dualpipe", "dualpipe-v", "1f1b-overlap", "vocab-1", "seq-1f1b"])
def test_orders_make_the_schedule_again(name: str) -> None:
    run = pl.simulate(name, ranks=4, microbatches=8)
    again = pl.simulate(pl.Schedule(run.orders))
    assert again.orders == run.orders
    assert again.makespan == run.makespan


def test_written_times_are_read_back(tmp_path) -> None:  # type: ignore[no-untyped-def]
    run = pl.simulate("zbv", ranks=4, microbatches=8)
    run.save(tmp_path / "run.jsonl")
    measured = pl.read(tmp_path / "run.jsonl")
    assert not measured.simulated
    assert measured.makespan == run.makespan
    assert measured.orders == run.orders
    for name, column in run.timeline.items():
        assert numpy.array_equal(column, measured.timeline[name])


@pytest.mark.parametrize(("end", "head"), [
    ("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF"), ("csv", b"0F0,"), ("json", b"{"), ("trace.json", b"{"), ("dot", b"digraph"),
])
def test_files_by_extension(tmp_path, end: str, head: bytes) -> None:  # type: ignore[no-untyped-def]
    target = tmp_path / f"run.{end}"
    pl.simulate("1f1b", ranks=2, microbatches=2).save(target)
    assert head in target.read_bytes()[:200]


def test_without_metrics_there_is_the_timeline() -> None:
    run = pl.simulate("1f1b", ranks=4, microbatches=8, metrics=False)
    assert int(run.timeline["end"].max()) == 33 * run.ticks_per_unit
    with pytest.raises(pl.InputError):
        run.report  # noqa: B018


def test_whether_it_fits() -> None:
    memory = {"activation_bytes": 100, "limit_bytes": 250}
    assert not pl.simulate("1f1b", ranks=4, microbatches=8, memory=memory).fits
    assert pl.simulate("1f1b", ranks=2, microbatches=8, memory=memory).fits


def test_measured_steps_have_the_time_of_one(tmp_path) -> None:  # type: ignore[no-untyped-def]
    run = pl.simulate("1f1b", ranks=4, microbatches=8, step={"count": 2})
    run.save(tmp_path / "two.jsonl")
    measured = pl.read(tmp_path / "two.jsonl")
    assert (measured.steps, measured.makespan, measured.step_time) == (2, 33.0, 33.0)
    assert "2 steps, measured, step 33" in repr(measured)
    assert measured.timeline["step"].tolist() == [0] * 64 + [1] * 64


def test_a_timeline_alone_says_so() -> None:
    run = pl.simulate("1f1b", ranks=4, microbatches=8, metrics=False)
    assert "step 33" in repr(run) and run.title == "1f1b"
    with pytest.raises(pl.InputError, match="metrics=False"):
        run.bubble_ratio  # noqa: B018


def test_names_win_over_files(tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "1f1b").write_text("no schedule")
    assert pl.simulate("1f1b", ranks=4, microbatches=8).makespan == 33.0
