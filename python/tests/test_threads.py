"""Threads, Ctrl-C and pickling."""

import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy
import pytest

import pipeloom as pl

NAMES = ["1f1b", "zb-h1", "zbv", "dualpipe-v", "gpipe", "interleaved-1f1b", "v-half", "zb-auto"]


def step_time(name: str) -> float:
    return float(pl.simulate(name, ranks=8, microbatches=32).step_time)


def test_many_threads_get_what_one_gets() -> None:
    expected = [step_time(name) for name in NAMES]
    with ThreadPoolExecutor(8) as threads:
        for _ in range(5):
            assert list(threads.map(step_time, NAMES)) == expected


def test_threads_share_a_run() -> None:
    run = pl.simulate("zbv", ranks=8, microbatches=64)
    expected = run.to_bytes("svg")
    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(lambda _: run.to_bytes("svg"), range(16))) == {expected}
        columns = list(threads.map(lambda _: run.timeline["start"], range(16)))
    assert all(numpy.shares_memory(columns[0], one) for one in columns)


def test_others_run_while_it_works() -> None:
    counted = 0
    done = threading.Event()

    def count() -> None:
        nonlocal counted
        while not done.is_set():
            counted += 1
            time.sleep(0)

    other = threading.Thread(target=count)
    other.start()
    before = counted
    pl.simulate("zbv", ranks=64, microbatches=2048)  # 786,432 ops: long enough for the other thread to come round
    during = counted - before
    done.set()
    other.join()
    assert during > 10


def interrupted(code: str, after: float = 0.3) -> subprocess.CompletedProcess[str]:
    """Runs `code`, sends it one Ctrl-C `after` seconds after it has printed a line, and waits for its end."""
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(after)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess([], process.returncode, first + out, err)


def test_ctrl_c_ends_a_sweep_with_what_there_is() -> None:
    ended = interrupted("""
        import pipeloom as pl
        print("begins", flush=True)
        grid = {"base": {"ranks": 32, "microbatches": 512}, "axes": {"schedule": ["zbv", "zb-h2"], "costs.transfer.latency": {"from": 1, "to": 2, "steps": 10001}}}
        sweep = pl.sweep(grid, progress=lambda done, every: None)
        done = sum(1 for point in sweep.points if point["status"] == "ok")
        print(sweep.complete, sweep.interrupted, 0 < done < len(sweep), all(point["schedule"] for point in sweep.points))
    """)
    assert ended.stdout.split() == ["begins", "False", "True", "True", "True"], ended.stderr


PLAN_FOR_LONG = """
    import pipeloom as pl
    print("begins", flush=True)
    try:
        plan = pl.plan("llama3-70b", hardware="h100", ranks=16, tp=8, dp=4, seq=8192, microbatches=64, limit="80GB", budget=100)
        print(plan.interrupted, plan.best.step_time > 0)
    except KeyboardInterrupt:
        print("nothing yet")
"""


def test_ctrl_c_ends_a_plan_with_the_best_so_far() -> None:
    # The first rows are there after a tenth of a second of CPU: five seconds hold that many times over.
    ended = interrupted(PLAN_FOR_LONG, after=5)
    assert ended.stdout.split() == ["begins", "True", "True"], ended.stderr


@pytest.mark.parametrize("after", [0, 0.02, 0.05, 0.1, 0.2, 0.4])
def test_ctrl_c_at_any_moment_is_a_plan_or_an_interruption(after: float) -> None:
    ended = interrupted(PLAN_FOR_LONG, after=after)
    assert ended.stdout.split() in (["begins", "True", "True"], ["begins", "nothing", "yet"]), ended.stderr
    assert ended.returncode == 0, ended.stderr


def test_ctrl_c_waits_for_the_last_of_a_text(tmp_path: Path) -> None:
    # A program that ends at once, and whose text comes half a second later: an interrupted wait that is taken for done would miss it.
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\ntrap '(sleep 0.5; echo the best so far) & exit 0' INT\nwhile :; do sleep 0.01; done\n")
    program.chmod(0o755)
    ended = interrupted(f"""
        from pipeloom import _program
        _program.path = lambda: {str(program)!r}
        print("begins", flush=True)
        answer = _program.call([])
        print(answer.interrupted, answer.out)
    """)
    assert ended.stdout.splitlines()[:2] == ["begins", "True the best so far"], ended.stderr


def test_ctrl_c_ends_a_simulation() -> None:
    ended = interrupted("""
        import pipeloom as pl
        print("begins", flush=True)
        try:
            for _ in range(1000):
                pl.simulate("zbv", ranks=64, microbatches=2048)
        except KeyboardInterrupt:
            print("interrupted")
    """)
    assert ended.stdout.split() == ["begins", "interrupted"], ended.stderr


def test_progress_is_told_and_may_stop() -> None:
    told: list[tuple[int, int]] = []

    def watch(done: int, every: int) -> bool:
        told.append((done, every))
        return True

    grid = {"base": {"ranks": 4}, "axes": {"schedule": ["1f1b", "zb-h1"], "microbatches": [4, 8, 16]}}
    assert pl.sweep(grid, progress=watch).complete
    assert told[-1] == (6, 6)

    big = {"base": {"ranks": 32, "microbatches": 512}, "axes": {"schedule": ["zbv"], "costs.transfer.latency": {"from": 1, "to": 2, "steps": 10001}}}
    ended = pl.sweep(big, progress=lambda done, every: False)
    assert not ended.complete and not ended.interrupted

    assert not pl.sweep(big, progress=lambda done, every: numpy.bool_(False)).complete

    def broken(done: int, every: int) -> None:
        raise RuntimeError("the callers own")

    for wide in (grid, big):
        with pytest.raises(RuntimeError, match="the callers own"):
            pl.sweep(wide, progress=broken)


def equal(a: pl.Run, b: pl.Run) -> bool:
    return a.orders == b.orders and all(numpy.array_equal(x, y) for x, y in zip(a.timeline.values(), b.timeline.values()))


def test_runs_are_pickled(tmp_path: Path) -> None:
    by_name = pl.simulate("zbv", ranks=4, microbatches=8, costs={"forward": 1.5, "backward": 3}, memory={"limit_bytes": "1GB"})
    config = tmp_path / "run.json"
    config.write_text('{"schedule": "zb-h1", "ranks": 4, "microbatches": 8}')
    by_file = pl.simulate(config, microbatches=16)
    by_hand = pl.simulate(pl.Schedule([["0F0", "0B0"], ["1F0", "1B0"]]))
    by_name.save(tmp_path / "run.jsonl")
    measured = pl.read(tmp_path / "run.jsonl")
    config.write_text('{"schedule": "zb-h1", "ranks": 2, "microbatches": 8}')  # what it says later is no part of the run
    texts = [pickle.dumps(run) for run in (by_name, by_file, by_hand, measured)]
    config.unlink()
    (tmp_path / "run.jsonl").unlink()
    for run, text in zip((by_name, by_file, by_hand, measured), texts):
        again = pickle.loads(text)
        assert equal(run, again)
        assert repr(again) == repr(run)
        if run.simulated:
            assert again.report == run.report


def test_results_are_pickled() -> None:
    plan = pl.plan({"schedule": "1f1b", "ranks": 4, "microbatches": 8}, budget=0.2)
    again = pickle.loads(pickle.dumps(plan))
    assert again == plan and type(again) is type(plan)
    assert again.best.orders == plan.best.orders and again.best.run().step_time == plan.best.step_time
    sweep = pl.sweep({"base": {"ranks": 4, "microbatches": 8}, "axes": {"schedule": ["1f1b", "gpipe"]}})
    assert pickle.loads(pickle.dumps(sweep)).points == sweep.points
    comparison = pl.compare(pl.simulate("1f1b", ranks=4, microbatches=8), pl.simulate("zb-h1", ranks=4, microbatches=8))
    assert pickle.loads(pickle.dumps(comparison))["makespan"] == [33.0, 27.0]
    estimate = pl.estimate("llama3-8b", hardware="h100", ranks=4, microbatches=8)
    assert pickle.loads(pickle.dumps(estimate)) == estimate


def run_of(name: str) -> pl.Run:
    return pl.simulate(name, ranks=4, microbatches=8)


def test_runs_come_back_from_other_processes() -> None:
    with ProcessPoolExecutor(2) as processes:
        for name, run in zip(NAMES, processes.map(run_of, NAMES)):
            assert equal(run, run_of(name))
