"""What goes wrong says where, what is allowed and what to do."""

import pickle
from pathlib import Path

import pytest

import pipeloom as pl


def test_place_in_a_file(tmp_path: Path) -> None:
    config = tmp_path / "run.json"
    config.write_text('{"schedule": "1f1b",\n "ranks": 4,\n "microbatch": 8}\n')
    with pytest.raises(pl.InputError) as caught:
        pl.simulate(config)
    error = caught.value
    assert (error.file, error.line, error.column) == (str(config), 3, 2)
    assert "unknown configuration key 'microbatch'" in error.message
    assert error.hint.startswith("did you mean 'microbatches'?")
    assert str(error).startswith(f"{config}:3:2: ")
    assert error.exit_code == 2


def test_place_in_a_dict() -> None:
    with pytest.raises(pl.InputError) as caught:
        pl.simulate({"schedule": "1f1b", "rank": 4})
    assert caught.value.file == "configuration"
    assert caught.value.line == 1


@pytest.mark.parametrize("work", [
    lambda: pl.simulate("1f1bb", ranks=4, microbatches=8),
    lambda: pl.simulate("1f1b", ranks=0, microbatches=8),
    lambda: pl.simulate("1f1b", ranks=4, microbatches="many"),
    lambda: pl.simulate("1f1b", ranks=4, microbatches=8, costs={"forward": -1}),
    lambda: pl.simulate("1f1b", ranks=4, microbatches=8, costs={"forwards": 1}),
    lambda: pl.simulate("1f1b", ranks=4, microbatches=8, costs={"forward": {1, 2}.__class__}),
    lambda: pl.simulate(7),
    lambda: pl.simulate("no/such/file.json"),
    lambda: pl.simulate("1f1b", ranks=2, microbatches=2).memory(2),
    lambda: pl.simulate("1f1b", ranks=2, microbatches=2).memory(0, step=1),
    lambda: pl.simulate("1f1b", ranks=2, microbatches=2).save("run.xyz"),
    lambda: pl.simulate("1f1b", ranks=2, microbatches=2).to_bytes("xyz"),
    lambda: pl.read("no/such/file.jsonl"),
    lambda: pl.Schedule([]),
    lambda: pl.Schedule([["F0"]]),
    lambda: pl.schedules("1f1bb"),
    lambda: pl.plan("no-such-model"),
    lambda: pl.Schedule([["0F0", "0Q0"]]),
    lambda: pl.estimate("llama3-8b", hardware="h101"),
    lambda: pl.calibrate(),
    lambda: pl.calibrate("no/such/trace"),
    lambda: pl.convert("1f1b", "xyz", ranks=2, microbatches=2),
    lambda: pl.sweep({"base": {}, "axis": {}}),
    lambda: pl.sweep({"base": {"ranks": 2, "microbatches": 2}, "axes": {"schedule": ["1f1b"]}}, shard=(3, 2)),
    lambda: pl.sweep("no/such/grid.json"),
    lambda: pl.compare(),
    lambda: pl.Sweep.joined([]),
])
def test_bad_input_is_an_input_error_of_one_line(work) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(pl.InputError) as caught:
        work()
    assert caught.value.message
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_refused_parameters_are_the_schedules() -> None:
    with pytest.raises(pl.ScheduleError, match="dualpipe"):
        pl.simulate("dualpipe", ranks=3, microbatches=8)


def test_hang_names_the_cycle() -> None:
    # Stage 1 wants B0 of itself before its F1, stage 0 gives F1 only after B0: that runs. The other way round nobody moves.
    hanging = pl.Schedule([["0F0", "0B0", "0F1", "0B1"], ["1F1", "1F0", "1B0", "1B1"]])
    with pytest.raises(pl.HangError) as caught:
        pl.simulate(hanging)
    assert isinstance(caught.value, pl.ScheduleError)
    assert "1F1" in str(caught.value) and "0B0" in str(caught.value)
    # Rank 0 could do 0F1 while it waits for 1B0: moved there, the order runs.
    (note,) = caught.value.__notes__
    assert "step 1  0B0?    1F1?" in note and "move 0F1 from position 2 to 1, in front of 0B0" in note
    assert pl.simulate(pl.Schedule([["0F0", "0F1", "0B0", "0B1"], ["1F1", "1F0", "1B0", "1B1"]])).makespan > 0
    verdict = pl.validate(hanging)
    assert not verdict and verdict.lines


def test_illegal_order_says_where() -> None:
    with pytest.raises(pl.ScheduleError, match="0B0 stands before its forward 0F0"):
        pl.simulate(pl.Schedule([["0B0", "0F0"]]))


def test_too_large_is_refused_before_it_is_tried() -> None:
    with pytest.raises(pl.TooLargeError):
        pl.simulate("1f1b", ranks=65_536, microbatches=1_048_576)


def test_measured_runs_have_times_alone(tmp_path: Path) -> None:
    pl.simulate("1f1b", ranks=2, microbatches=2).save(tmp_path / "run.jsonl")
    measured = pl.read(tmp_path / "run.jsonl")
    for work in (lambda: measured.report, lambda: measured.memory(0), lambda: measured.idle):
        with pytest.raises(pl.InputError, match="times"):
            work()


def test_unknown_names_are_attribute_errors() -> None:
    run = pl.simulate("1f1b", ranks=2, microbatches=2)
    with pytest.raises(AttributeError, match="bubbles"):
        run.bubbles  # noqa: B018
    assert not hasattr(run, "__array__")


def test_errors_travel() -> None:
    with pytest.raises(pl.InputError) as caught:
        pl.simulate({"schedule": "1f1b", "rank": 4})
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is pl.InputError
    assert (str(again), again.line, again.column, again.hint) == (
        str(caught.value), caught.value.line, caught.value.column, caught.value.hint,
    )


@pytest.mark.parametrize(("work", "words"), [
    (lambda: pl.simulate("1f1bb", ranks=4, microbatches=8), "schedule: unknown schedule '1f1bb'"),
    (lambda: pl.plan("llama3-8b", ranks=4), "add it: hardware NAME"),
    (lambda: pl.estimate("llama3-8b", hardware="h100", ranks=4, micro_batch=-1), "micro_batch: costs.micro_batch is -1"),
    (lambda: pl.plan({"schedule": "1f1b", "rank": 4}), "configuration:1:22: unknown configuration key 'rank'"),
])
def test_messages_are_in_pythons_words(work, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(pl.InputError) as caught:
        work()
    assert words in str(caught.value)
    assert "--" not in str(caught.value) and "standard input" not in str(caught.value)


def test_an_unknown_argument_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="rank"):
        pl.plan("llama3-8b", rank=4)  # type: ignore[call-arg]
