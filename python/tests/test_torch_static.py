"""What pipeloom.torch does without torch: reading and checking lists, costs of recorded times, costs for other stages, predictions."""
from __future__ import annotations

import doctest
import subprocess
import sys
import types
from pathlib import Path

import pipeloom as pl
import pipeloom.torch as pt
import pytest
from pipeloom.torch import _load, _lowering, _record, _source, _timed
from pipeloom.torch._lowered import run_lowered
from pipeloom.torch._timed import Timed

GOOD = "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n"


def check(text: str, ranks: int = 2, microbatches: int = 2, **others: object) -> None:
    pt.check_actions(pt.parse(text), ranks, microbatches, **others)  # type: ignore[arg-type]


def test_import_needs_no_torch() -> None:
    code = "import sys, pipeloom.torch; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --- reading ---


def test_reads_the_shape_of_a_list() -> None:
    listed = pt.parse("0F0,,3F0,(0F1;3B0)OVERLAP_F_B,3F1,3B1,0B0,0B1\r\n1F0,2F0,1F1,2F1,2B0,1B0,2B1,1B1\r\n")
    assert (len(listed.rows), listed.stages, listed.microbatches, listed.form) == (2, 4, 2, "compute_only")
    assert listed.stage_ranks() == [0, 1, 1, 0]
    assert [str(op) for op in listed.rows[0][2].ops] == ["0F1", "3B0"]
    assert listed.rows[0][1].where == "rank 0, action 2 '3F0'"  # a blank counts as a place


def test_reads_lowered_lists() -> None:
    first = "0UNSHARD,0F0,0SEND_F0,0RECV_B0,0B0,0WAIT_SEND_F0,0REDUCE_GRAD,0WAIT_REDUCE_GRAD,0RESHARD\n"
    listed = pt.parse(first + "1RECV_F0,1F0,1B0,1SEND_B0\n")
    assert listed.form == "compute_comms"
    assert [entry.text for entry in listed.rows[0]] == ["0F0", "0B0"]
    assert len(listed.others) == 7 + 2


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ("F0", "not an action"),
        ("0F", "names no microbatch"),
        ("0Q0", "no runtime has an action Q"),
        ("0F0.1", "a slice"),
        ("0S0", "shared output layer"),
        ("(0F0;1F0)OVERLAP_F_B", "a forward and a backward"),
        ("(0F0;1B0)F", "no PyTorch runtime has a group"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_place(cell: str, says: str) -> None:
    with pytest.raises(pt.ScheduleError, match=r"rank 0, action 1 .*" + says):
        pt.parse(f"0F1,{cell}\n")


def test_text_behind_a_number_is_dropped_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="'x' after the number is ignored"):
        assert pt.parse("0F0x,0B0\n").rows[0][0].ops[0].microbatch == 0


# --- checking ---


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0F0,0F1,0B0,0B1\n", "has 1 ranks, the process group has 2"),
        ("0F0,0B0\n1F0,1B0\n", "has 1 microbatches, 2 were asked for"),
        ("0F0,0F1,0B0\n1F0,1B0,1F1,1B1\n", r"stage 0, microbatch 1: a backward \(B, or I and W\) is missing on rank 0"),
        ("0F0,0B0,0B1\n1F0,1B0,1F1,1B1\n", "0F1 has not run before it"),
        ("0F0,0F1,0B0,0B1,0B1\n1F0,1B0,1F1,1B1\n", "0B1 occurs twice, first as action 3"),
        ("0F0,0F1,0I0,0W0,0B1\n1F0,1B0,1F1,1I1\n", "W after I is missing on rank 1"),
        ("0F0,0F1,0B0,0W0,0B1\n1F0,1B0,1F1,1B1\n", "0I0 has not run before it"),
        ("0F0,0F1,0B0,0I0,0B1\n1F0,1B0,1F1,1B1\n", "has run already, in the other form"),
        ("0F0,0F1,1F0,0B0,0B1\n1F1,1B1,1B0\n", "stage 1 is on rank 0 too"),
        ("0F0,0F1,0B0,0B1\n2F0,2B0,2F1,2B1\n", "stage 1 has no action, and stage 2 has"),
        ("0F0,0F1,0B0,0B1\n1F1,1B1,1F0,1B0\n", "the last stage's forwards must be in the order of microbatches, 0 is due"),
    ],
)
def test_refuses(text: str, says: str) -> None:
    with pytest.raises(pt.ScheduleError, match=says):
        check(text)


def test_accepts() -> None:
    check(GOOD)
    check("0F1,0F0,0I0,0I1,0W1,0W0\n1F0,1F1,1B1,1B0\n")  # only the last stage's forwards have an order


def test_says_which_release_has_an_action() -> None:
    with pytest.raises(pt.ScheduleError, match="PyTorch 9 has no action I; torch 2.10 and later have it"):
        check("0F0,0I0,0W0\n1F0,1B0\n", microbatches=1, kinds=("F", "B"), runtime="PyTorch 9")
    with pytest.raises(pt.ScheduleError, match="WAIT_SEND_F; torch 2.15 and later have it; load the computations alone"):
        check("0F0,0SEND_F0,0RECV_B0,0B0,0WAIT_SEND_F0\n1RECV_F0,1F0,1B0,1SEND_B0\n", microbatches=1,
              kinds=("F", "B", "SEND_F", "RECV_F", "SEND_B", "RECV_B"))


# --- sources ---


def test_sources_become_the_same_list() -> None:
    run = pl.simulate("dualpipe-v", ranks=2, microbatches=4)
    by_name = _source.csv_text("dualpipe-v", 2, 4, None)
    assert _source.csv_text(run, 2, 4, None).split() == by_name.split()
    assert _source.csv_text({"schedule": "dualpipe-v"}, 2, 4, None).split() == by_name.split()
    assert _source.csv_text(by_name, 2, 4, None) == by_name
    # PyTorch's own name for it is no cell of a list.
    assert _source.csv_text("1F1B", 2, 4, None) == _source.csv_text("1f1b", 2, 4, None)
    assert "(0F3;3B1)OVERLAP_F_B" in by_name


def test_plans_are_sources() -> None:
    plan = pl.plan({"schedule": "1f1b", "ranks": 2, "microbatches": 4}, budget=0.2, jobs=1, target="torch-2.15")
    check(_source.csv_text(plan, 2, 4, None), microbatches=4)
    assert _source.csv_text(plan, 2, 4, None) == _source.csv_text(plan.best, 2, 4, None)


def test_other_sources_are_refused() -> None:
    with pytest.raises(pt.InputError, match="not int"):
        _source.csv_text(3, 2, 4, None)
    with pytest.raises(pt.InputError, match="nowhere.csv"):
        _source.csv_text("nowhere.csv", 2, 4, None)


# --- releases ---


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("2.15.0", ("2.15", True)),
        ("2.15.0+cu130", ("2.15", True)),
        ("2.15.0.dev20260801", ("2.15", False)),  # a build between releases may have passes of its own
        ("2.14.1", ("2.14", True)),
        ("2.12.0", ("2.10", False)),
        ("2.16.0", ("2.15", False)),
        ("3.0.0", ("2.15", False)),
        ("2.9.1", ("legacy", False)),
    ],
)
def test_releases(version: str, release: tuple[str, bool]) -> None:
    assert _lowering.release_of(version) == release


def test_first_difference() -> None:
    assert _lowering.first_difference([["0F0", "0B0"]], [["0F0", "0B0"]]) is None
    assert _lowering.first_difference([["0F0"], ["1F0", "1B0"]], [["0F0"], ["1F0"]]) == "rank 1, action 1: 1B0, not nothing"


# --- medians ---


def timed(rank: int, op: str, start: float, end: float, step: int = 0) -> Timed:
    return Timed(step, rank, int(op[0]), op[1], int(op[2]), start, end)


# Two ranks, a stage each, one microbatch: F 10, latency 2, F 10, B 20, latency 2, B 21.
STEP = [timed(0, "0F0", 0, 10), timed(1, "1F0", 12, 22), timed(1, "1B0", 22, 42), timed(0, "0B0", 44, 65)]


def test_costs_of_a_recording_are_those_of_calibrate(tmp_path: Path) -> None:
    file = tmp_path / "recorded.jsonl"
    file.write_text(_timed.timeline_text(STEP))
    said = dict(pl.calibrate(file, first_stage="torch", layers=[4, 3]).costs)
    assert _timed.costs_of(STEP, [4, 3]) == said
    assert (said["forward"], said["backward"], said["layers"]) == ([10, 10], [21, 20], [4, 3])
    assert "stage_ranks" not in said  # stage s ran on rank s
    assert (said["measured"]["ranks"], said["measured"]["microbatches"]) == (2, 1)
    assert (said["first_stage"], said["overlapped"]) == ("torch", "sequential")
    assert pl.simulate("1f1b", ranks=2, microbatches=1, costs=said).makespan == 65


def test_first_stage_is_split_as_the_others_are() -> None:
    # Stage 1: I 6, W 4, so 0.6 of a backward is I. PyTorch ran stage 0 as I 0, W 20: 12 and 8.
    rows = [timed(0, "0F0", 0, 9), timed(1, "1F0", 9, 18), timed(1, "1I0", 18, 24), timed(1, "1W0", 24, 28), timed(0, "0I0", 24, 24),
            timed(0, "0W0", 25, 45)]
    costs = _timed.costs_of(rows)
    assert (costs["backward_input"], costs["backward_weight"], costs["first_stage"]) == ([12, 6], [8, 4], "torch")


def test_pairs_of_a_function_of_ones_own() -> None:
    costs = {"time_unit": "ms", "forward": 10, "backward": 20, "backward_input": 12, "backward_weight": 8, "overlapped": 25}
    run = pl.simulate("dualpipe-v", ranks=2, microbatches=6, costs=costs)
    columns = [run.timeline[name].tolist() for name in ("rank", "stage", "kind", "microbatch", "start", "end")]
    scale = run.ticks_per_unit
    rows = [Timed(0, rank, stage, pl.KINDS[kind], k, start / scale, end / scale) for rank, stage, kind, k, start, end in zip(*columns)]
    # Every stage's forward runs in pairs of 25, with whichever backward: a number for each.
    found = _timed.costs_of(rows)
    assert (found["overlapped"], found["stage_ranks"]) == ([25, 25, 25, 25], [0, 1, 1, 0])


def test_steps_without_backward_are_refused() -> None:
    with pytest.raises(pt.InputError, match="stage 0 ran no backward"):
        _timed.costs_of([timed(0, "0F0", 0, 1)])


def test_a_stage_that_ran_nowhere_is_named() -> None:
    with pytest.raises(pt.InputError, match="stage 0 ran no op"):
        _timed.stage_ranks_of([timed(1, "1F0", 0, 1)])


def test_the_step_time_is_the_median_over_steps() -> None:
    assert _timed.step_time([timed(0, "0F0", 5, 10), timed(0, "0B0", 10, 25), timed(0, "0F0", 1, 31, 1)]) == 25  # of 20 and 30


# --- hooks ---


class FakeStage:
    """As much of a stage as the hooks stand in for."""

    def __init__(self, stage_index: int, last: bool) -> None:
        self.stage_index, self.is_last = stage_index, last

    def forward_one_chunk(self, microbatch: int, *_: object, **__: object) -> str:
        return f"output {microbatch}"

    def backward_one_chunk(self, microbatch: int, loss: object = None, full_backward: bool = True) -> None:
        pass

    def backward_weight_one_chunk(self, microbatch: int, last_backward: bool = False) -> None:
        pass


class FakeSchedule:
    def __init__(self) -> None:
        self._stages = [FakeStage(0, False), FakeStage(1, True)]
        self._comp_type_to_function_map: dict[object, object] = {}

    def _step_microbatches(self) -> None:
        first, last = self._stages
        first.forward_one_chunk(0)
        last.forward_one_chunk(0)
        self._maybe_compute_loss(last)
        last.backward_one_chunk(0, full_backward=False)
        last.backward_weight_one_chunk(0)
        first.backward_one_chunk(0)

    def _maybe_compute_loss(self, stage: FakeStage) -> None:
        pass


class Ticks:
    """A clock that goes on by one whenever it is looked at."""

    origin = 0.0

    def __init__(self) -> None:
        self.now = 0

    def mark(self) -> int:
        self.now += 1
        return self.now

    def since_origin(self, mark: int) -> float:
        return float(mark)

    def settle(self) -> None:
        pass


def test_hooks_time_what_the_runtime_calls_and_leave_nothing_behind() -> None:
    schedule = FakeSchedule()
    hooks = _record._Hooks(schedule, Ticks(), None)
    schedule._step_microbatches()
    schedule._step_microbatches()
    hooks.remove()
    rows = hooks.rows(3)
    assert [row.op for row in rows[:5]] == ["0F0", "1F0", "1I0", "1W0", "0B0"]
    assert [row.step for row in rows] == [0] * 5 + [1] * 5
    assert {row.rank for row in rows} == {3}
    # Two looks for each op, and a third one behind the loss, which the last stage's forward ends with.
    assert [(row.start, row.end) for row in rows[:3]] == [(1, 2), (3, 5), (6, 7)]
    assert not [name for one in (schedule, *schedule._stages) for name in vars(one) if name in ("forward_one_chunk", "_step_microbatches")]


def test_hooks_take_a_pair_of_ones_own_as_one() -> None:
    schedule = FakeSchedule()
    first, last = schedule._stages

    def overlap(action: object, context: object) -> None:
        first.forward_one_chunk(1)
        last.backward_one_chunk(0)

    class Kind(str):
        value = "OVERLAP_F_B"

    pair = Kind("OVERLAP_F_B")
    schedule._comp_type_to_function_map = {pair: overlap}
    hooks = _record._Hooks(schedule, Ticks(), None)
    parts = [types.SimpleNamespace(stage_index=0, computation_type=types.SimpleNamespace(value="F"), microbatch_index=1),
             types.SimpleNamespace(stage_index=1, computation_type=types.SimpleNamespace(value="B"), microbatch_index=0)]
    schedule._comp_type_to_function_map[pair](types.SimpleNamespace(sub_actions=parts), None)  # type: ignore[operator]
    hooks.remove()
    rows = hooks.rows(0)
    assert [row.op for row in rows] == ["0F1", "1B0"]
    assert (rows[0].start, rows[0].end) == (rows[1].start, rows[1].end)
    assert schedule._comp_type_to_function_map[pair] is overlap


class FakeSingle(FakeSchedule):
    """As classes of one stage a rank have it, which name no order: Schedule1F1B, ScheduleGPipe."""

    def __init__(self) -> None:
        super().__init__()
        self._stage = self._stages[-1]
        del self._stages

    def _step_microbatches(self) -> None:
        self._stage.forward_one_chunk(0)
        self._maybe_compute_loss(self._stage)
        self._stage.backward_one_chunk(0)


def test_schedules_of_one_stage_are_recorded_too() -> None:
    schedule = FakeSingle()
    hooks = _record._Hooks(schedule, Ticks(), None)
    schedule._step_microbatches()
    hooks.remove()
    assert [row.op for row in hooks.rows(1)] == ["1F0", "1B0"]
    with pytest.raises(pt.InputError, match="object is no schedule of torch.distributed.pipelining"):
        _load.stages_of(object())


class FakeProfiler:
    """As much of torch as ranges use: whether a profiler records, and ranges as they open and close."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.on = True
        self.seen: list[str] = []
        seen = self.seen

        class Range:
            def __init__(self, name: str) -> None:
                self.name = name

            def __enter__(self) -> None:
                seen.append(self.name)

            def __exit__(self, *_: object) -> None:
                seen.append("end")

        autograd = types.SimpleNamespace(_profiler_enabled=lambda: self.on)
        inner = types.SimpleNamespace(_autograd=autograd, _profiler=types.SimpleNamespace(_RecordFunctionFast=Range))
        torch = types.SimpleNamespace(_C=inner, profiler=types.SimpleNamespace(record_function=Range))
        monkeypatch.setitem(sys.modules, "torch", torch)


def test_ranges_name_each_pass_where_a_profiler_records(monkeypatch: pytest.MonkeyPatch) -> None:
    profiler, schedule = FakeProfiler(monkeypatch), FakeSchedule()
    pt.ranges(schedule._stages)
    pt.ranges(schedule._stages[0])  # has them already
    schedule._step_microbatches()
    assert profiler.seen == [part for name in ("0F0", "1F0", "1I0", "1W0", "0B0") for part in (f"pipeloom:{name}", "pipeloom:pass", "end", "end")]
    profiler.on = False
    schedule._step_microbatches()
    assert len(profiler.seen) == 20


def test_ranges_of_a_schedule_have_the_loss_in_the_last_forward(monkeypatch: pytest.MonkeyPatch) -> None:
    profiler, schedule = FakeProfiler(monkeypatch), FakeSingle()
    monkeypatch.setattr(schedule, "_loss_fn", len, raising=False)
    monkeypatch.setattr(schedule, "_maybe_compute_loss", lambda stage: profiler.seen.append("loss"))
    pt.ranges(schedule)
    schedule._step_microbatches()
    assert profiler.seen == ["pipeloom:1F0", "pipeloom:pass", "loss", "end", "end", "pipeloom:1B0", "pipeloom:pass", "end", "end"]


def test_ranges_refuse_what_is_no_stage() -> None:
    with pytest.raises(pt.InputError, match="int is no stage and no schedule"):
        pt.ranges(3)


def test_events_of_a_gpu_are_read_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = []

    class Event:
        def __init__(self, enable_timing: bool) -> None:
            assert enable_timing
            self.at = 0.0

        def record(self) -> None:
            self.at = 7.0 + len(waits)

        def elapsed_time(self, other: "Event") -> float:
            return other.at - self.at

    cuda = types.SimpleNamespace(Event=Event, synchronize=lambda: waits.append(1))
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(cuda=cuda))
    clock = _record._CudaClock()
    assert len(waits) == 2  # before and after the origin, and no more until the end
    mark = clock.mark()
    assert len(waits) == 2
    clock.settle()
    assert (len(waits), clock.since_origin(mark)) == (3, 1.0)


# --- costs for other stages ---

# What a record of zbv on 2 ranks says: stages 0 and 3 on rank 0, 1 and 2 on rank 1.
ZBV = {
    "time_unit": "ms", "layers": [12] * 4, "stage_ranks": [0, 1, 1, 0], "forward": [10, 10, 11, 12], "backward": [18, 18, 18, 19],
    "backward_input": [10, 10, 10, 10], "backward_weight": [8, 8, 8, 9], "first_stage": "torch", "overlapped": "sequential",
    "measured": {"ranks": 2, "microbatches": 4},
}


def test_two_chunks_of_a_rank_merge() -> None:
    costs = pt.restage(ZBV, "1f1b")
    assert costs["layers"] == [24, 24]
    # Of stage 3's 12, 2 are more than its layers take on the fastest other stage (10): the head, which goes to the last stage.
    # Rank 0: 10 + (12 - 2) = 20. Rank 1: 10 + 11 = 21, and the head: 23. In all 43, as before.
    assert costs["forward"] == pytest.approx([20, 23])
    assert sum(costs["forward"]) == pytest.approx(sum(ZBV["forward"]))


def test_first_stage_does_nothing_in_input_backwards() -> None:
    equal = {**ZBV, "forward": [10] * 4, "backward": [18] * 4, "backward_weight": [8] * 4}
    costs = pt.restage(equal, "zb-h1")
    assert costs["backward_input"] == [0, 10 + 10]
    assert costs["backward_weight"] == [(10 + 8) + (10 + 8), 8 + 8]  # I and W of both chunks


def test_equal_stages_stay_as_they_are() -> None:
    assert pt.restage(ZBV, "v-half")["forward"] == [10, 10, 11, 12]


def test_other_ranks_are_refused() -> None:
    with pytest.raises(pt.InputError, match="measured on 2 ranks, 4 were asked for"):
        pt.restage(ZBV, "1f1b", ranks=4)


# --- predictions ---


def test_predicts_from_costs() -> None:
    # 1F1B with equal stages: (m + p - 1)(F + B) = (4 + 2 - 1) * 3.
    report = pt.predict("1f1b", ranks=2, microbatches=4, costs={"forward": 1, "backward": 2})
    assert report["makespan"] == 15
    assert report.fits


def test_counts_come_from_the_record() -> None:
    assert pt.predict("zbv", costs=ZBV)["config"]["microbatches"] == 4
    with pytest.raises(pt.InputError, match="do not say how many ranks ran"):
        pt.predict("zbv", costs={"forward": 1, "backward": 2})


def test_ranks_schedules() -> None:
    found = pt.rank(["gpipe", "zbv", "dualpipe-v"], costs=ZBV, microbatches=2)
    assert [row.schedule for row in found] == ["zbv", "gpipe", "dualpipe-v"]
    assert found[-1].error and found[-1].makespan is None  # it needs 2p - 1 microbatches


def test_memory_limit() -> None:
    # 1F1B on rank 0 holds p = 2 activations of 10 bytes, GPipe all 4.
    memory = {"activation_bytes": 10}
    found = pt.rank(["gpipe", "1f1b"], costs=ZBV, memory=memory, memory_limit=25)
    assert [(row.schedule, row.fits) for row in found] == [("1f1b", True), ("gpipe", False)]
    with pytest.raises(pt.InputError, match="these costs say nothing of memory"):
        pt.rank(["gpipe"], costs=ZBV, memory_limit="1GB")


def test_unknown_options_are_refused() -> None:
    with pytest.raises(pt.InputError, match="unknown option defer"):
        pt.predict("zbv", costs=ZBV, defer=True)


# --- lowered lists ---

PAIR = {(0, "F", 0): (0.0, 1.0), (1, "F", 0): (0.0, 1.0), (1, "B", 0): (0.0, 2.0), (0, "B", 0): (0.0, 2.0)}
ROWS = [["0UNSHARD", "0F0", "0SEND_F0", "0RECV_B0", "0B0", "0WAIT_SEND_F0", "0REDUCE_GRAD", "0WAIT_REDUCE_GRAD", "0RESHARD"],
        ["1UNSHARD", "1RECV_F0", "1F0", "1B0", "1SEND_B0", "1REDUCE_GRAD", "1WAIT_REDUCE_GRAD", "1RESHARD", "1WAIT_SEND_B0"]]


def test_runs_a_lowered_list() -> None:
    # F 1, message 0.5, F 1, B 2, message 0.5, B 2.
    found = run_lowered(ROWS, PAIR, 0.5, [0, 0], [0, 0])
    assert found["makespan"] == 7
    assert found["waits"][0]["receive"] == 0.5 + 1 + 2 + 0.5


def test_parameters_are_waited_for() -> None:
    found = run_lowered(ROWS, PAIR, 0, [3, 0], [0, 4])
    assert found["waits"][0]["parameters"] == 3  # before its first forward, so the step is not longer
    assert found["makespan"] == 6
    assert found["waits"][1]["gradients"] == 4
    assert found["step_time"] == 3 + 1 + 1 + 2 + 4  # gather, F, F, B, and rank 1's reduction while rank 0 runs its B


def test_a_wait_for_a_send_holds_its_rank() -> None:
    # Rank 1 posts its receive behind an op of 5, which rank 0 waits for before its own next op.
    times = {(0, "F", 0): (0.0, 1.0), (0, "F", 1): (0.0, 1.0), (1, "W", 9): (0.0, 5.0), (1, "F", 0): (0.0, 1.0)}
    early = run_lowered([["0F0", "0SEND_F0", "0WAIT_SEND_F0", "0F1"], ["1W9", "1RECV_F0", "1F0"]], times, 0, [0] * 2, [0] * 2)
    assert early["waits"][0]["send"] == 4


def test_a_hang_is_said() -> None:
    with pytest.raises(pt.ScheduleError, match="hangs: rank 0 at 0B0, rank 1 at 1F0"):
        run_lowered([["0F0", "0RECV_B0", "0B0"], ["1RECV_F0", "1F0", "1B0"]], PAIR, 0, [0, 0], [0, 0])


@pytest.mark.parametrize("schedule", ["gpipe", "zb-h1", "interleaved-1f1b", "zbv", "v-half"])
def test_lowered_lists_run_as_the_simulator_runs_pytorchs_plan(schedule: str) -> None:
    costs = {"forward": 10, "backward": 20, "first_stage": "torch", "transfer": {"latency": 0.5}}
    lowered = pt.predict(schedule, ranks=4, microbatches=8, costs=costs, unshard=0)
    costs["transfer"] = {"latency": 0.5, "model": "async", "plan": "at-sender", "queue": "per-pair"}
    assert lowered["makespan"] == pytest.approx(pl.simulate(schedule, ranks=4, microbatches=8, costs=costs).makespan)


def test_options_of_the_runtime_change_the_step() -> None:
    costs = {"forward": 10, "backward": 20, "transfer": {"latency": 4}}

    def step(**options: object) -> float:
        return float(pt.predict("interleaved-1f1b", ranks=2, microbatches=4, chunks=2, costs=costs, reduce_grad=30, **options)["makespan"])

    assert step(max_outstanding_sends=1) >= step(max_outstanding_sends=8)
    assert step(defer_reduce_grad_wait=True) <= step()
    assert pt.predict("zbv", ranks=2, microbatches=4, costs=costs, max_outstanding_sends=2)["lowered"]["waits"][0]["send"] >= 0


def test_a_sharded_model_gathers_and_reduces_where_its_actions_stand() -> None:
    costs = {"model": "llama3-8b", "hardware": "h100", "seq": 4096, "dp": 8, "zero": 3}
    asked = {"ranks": 4, "microbatches": 8, "chunks": 2, "costs": costs}
    stages = pl.estimate("llama3-8b", hardware="h100", ranks=8, microbatches=8, dp=8, zero=3, seq=4096)["stages"]
    gathers, reductions = ([stage[key] for stage in stages] for key in ("unshard_ms", "reduce_grad_ms"))
    bare = pt.predict("interleaved-1f1b", **asked, unshard=0, reduce_grad=0)
    whole = pt.predict("interleaved-1f1b", **asked)
    assert whole["lowered"] == pt.predict("interleaved-1f1b", **asked, unshard=gathers, reduce_grad=reductions)["lowered"]
    # Rank 0 cannot start before its first stage is there, and ends behind its last reduction, that of stage 0; in between it waits for stage 4's.
    assert whole["lowered"]["waits"][0]["parameters"] == pytest.approx(gathers[0])
    assert whole["lowered"]["waits"][0]["gradients"] == pytest.approx(reductions[0] + reductions[4])
    # What the simulator puts behind the step is the optimizer alone here: without gathers and reductions the step ends with it.
    optimizer = bare["step_time"] - bare["makespan"]
    assert whole["step_time"] == pytest.approx(whole["lowered"]["step_time"] + optimizer)
    [origin] = [text for key, text in pl.simulate("interleaved-1f1b", **asked).config["origin"].items() if key == "step.optimizer"]
    assert optimizer == pytest.approx(float(origin.split("optimizer ")[1].split(" ")[0]), abs=0.1)


def test_page() -> None:
    page = Path(__file__).parents[2] / "docs" / "pytorch.md"
    text = page.read_text().replace("\n```", "\n\n```")
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    assert len(test.examples) >= 6
    runner.run(test)
    assert runner.failures == 0


def test_gradients_that_are_no_numbers_differ() -> None:
    from pipeloom.torch import _gradients

    assert _gradients._known(float("nan")) == float("inf")
    found = _gradients.GradientCheck(1.0, 1.0, 0.0, max(_gradients._known(float("nan")), 1e-9), "0.weight", 2, 1e-4)
    assert not found
