"""The functions beside simulate()."""

import json
from pathlib import Path

import pytest

import pipeloom as pl


def test_schedules_are_described() -> None:
    rows = pl.schedules()
    assert len(rows) >= 28
    assert pl.schedules("ZBVZeroBubble").name == "zbv"
    assert all(row.summary and row.source and row.requirements for row in rows)


def test_models_and_devices_that_have_names() -> None:
    rows = {row.name: row for row in pl.models()}
    assert rows["mixtral-8x7b"].parameters == 46_702_792_704 and rows["mixtral-8x7b"].layers == 32
    assert pl.models("Mixtral-8x7B") == rows["mixtral-8x7b"]
    assert "h100" in [row.name for row in pl.hardware()]
    assert pl.hardware("h100").matrix_bf16_tflops == 989
    for listed in (pl.models, pl.hardware):
        with pytest.raises(pl.InputError, match="zz"):
            listed("zz")


def test_validate_answers() -> None:
    verdict = pl.validate("zbv", ranks=4, microbatches=8)
    assert verdict and verdict.ok and verdict.lines == []
    assert verdict.num_ops == 3 * 8 * 8
    assert not pl.validate(pl.Schedule([["0B0", "0F0"]]))


def test_validate_says_what_pytorch_does(tmp_path: Path) -> None:
    # Rank 1 computes before it receives: PyTorch loads the file and fails while it runs.
    lowered = tmp_path / "lowered.csv"
    lowered.write_text("0F0,0SEND_F0,0RECV_B0,0B0,0WAIT_SEND_F0,0REDUCE_GRAD,0WAIT_REDUCE_GRAD\n"
                       "1F0,1RECV_F0,1B0,1SEND_B0,1REDUCE_GRAD,1WAIT_REDUCE_GRAD,1WAIT_SEND_B0\n")
    verdict = pl.validate(lowered, target="2.15")
    assert not verdict and any("1F0 stands before 1RECV_F0" in line for line in verdict.lines)
    twice = tmp_path / "twice.csv"
    twice.write_text("0F0,0F0,0B0\n1F0,1B0\n")
    assert any(line.startswith("PyTorch refuses it: AssertionError") for line in pl.validate(twice, target="2.15").lines)


def test_convert() -> None:
    run = pl.simulate("1f1b", ranks=2, microbatches=2)
    text = pl.convert("1f1b", "torch-compute", ranks=2, microbatches=2)
    assert text == run.to_bytes("torch-compute").decode() == pl.convert(run, "torch-compute")
    assert text.splitlines()[1].replace(",,", ",").strip(",") == "1F0,1B0,1F1,1B1"
    assert pl.convert({"schedule": "1f1b"}, "torch-compute", ranks=2, microbatches=2) == text
    comms = pl.convert("1f1b", "torch-comms", ranks=2, microbatches=2, target="2.15")
    assert "0SEND_F0" in comms and "0WAIT_REDUCE_GRAD" in comms


def test_plan_says_how_good_it_is() -> None:
    plan = pl.plan({"schedule": "1f1b", "ranks": 4, "microbatches": 8}, budget=0.3)
    assert plan.baseline.step_time == 33.0
    for row in plan.candidates:
        assert row.run().step_time == pytest.approx(row.step_time)
        assert row.step_time >= row.lower_bound
    assert plan.best.step_time == min(row.step_time for row in plan.candidates)


def test_plan_of_a_model() -> None:
    plan = pl.plan("llama3-8b", hardware="h100", ranks=4, microbatches=8, limit="80GB", budget=0.5)
    assert plan.time_unit == "ms"
    assert max(plan.best.peak_bytes) <= 80e9
    assert plan.best.run().step_time == pytest.approx(plan.best.step_time)


def test_plan_of_layouts() -> None:
    found = pl.plan("llama3-8b", hardware="h100", gpus=8, global_batch=32, seq=4096, target="megatron", fix={"micro_batch": 1}, max_cp=2, top=3)
    assert len(found.candidates) == 3
    for row in found.candidates:
        layout = row["layout"]
        assert layout["tp"] * layout["cp"] * layout["pp"] * layout["dp"] == 8
        assert layout["micro_batch"] == 1 and layout["cp"] <= 2
        assert layout["microbatches"] * layout["dp"] == 32
        assert 0 < row["mfu"] < 1 and sum(row["exposed"].values()) < 1
    assert found["space"]["points"] >= found["space"]["simulated"] > 0
    assert found.best.run().step_time == pytest.approx(found.best.step_time)
    with pytest.raises(pl.InputError, match="tp=3"):
        pl.plan("llama3-8b", hardware="h100", gpus=8, global_batch=32, fix={"tp": 3})


def test_plan_without_an_answer_is_empty() -> None:
    plan = pl.plan({"schedule": "1f1b", "ranks": 4, "microbatches": 8, "memory": {"static_bytes": 5}}, limit=4, budget=0.1)
    assert plan.candidates == [] and plan.rejected
    with pytest.raises(LookupError):
        plan.best  # noqa: B018


def test_estimate_has_the_keys_of_its_json() -> None:
    estimate = pl.estimate("llama3-70b", hardware="h100", ranks=16, tp=8, dp=4, seq=8192, global_batch=1024, schedule="zbv")
    assert estimate.tokens_per_s > 0
    assert 0 < estimate.mfu < 1


def test_calibrate_gives_the_costs_back(tmp_path: Path) -> None:
    config = {"schedule": "1f1b", "ranks": 4, "microbatches": 8, "costs": {"forward": [1, 2, 3, 4], "backward": [2, 4, 6, 8], "time_unit": "ms"}}
    run = pl.simulate(config)
    run.save(tmp_path / "run.jsonl")
    measured = pl.calibrate(tmp_path / "run.jsonl")
    again = pl.simulate("1f1b", ranks=4, microbatches=8, costs=measured.costs)
    assert again.step_time == pytest.approx(run.step_time)
    other = pl.simulate("gpipe", ranks=4, microbatches=8, costs=measured.costs)
    assert other.step_time == pytest.approx(pl.simulate({**config, "schedule": "gpipe"}).step_time)


def test_explain_names_the_slow_rank(tmp_path: Path) -> None:
    config = {"schedule": "1f1b", "ranks": 4, "microbatches": 8, "costs": {"time_unit": "ms"}}
    predicted = pl.simulate(config)
    slow = pl.simulate({**config, "costs": {"time_unit": "ms", "forward": [1, 1, 1.5, 1], "backward": [2, 2, 3, 2]}})
    slow.save(tmp_path / "slow.jsonl")
    answer = predicted.explain(pl.read(tmp_path / "slow.jsonl"))
    assert answer.predicted == 33.0
    assert answer.measured == pytest.approx(slow.step_time)
    assert answer.causes and "rank 2" in json.dumps(answer.causes)


def test_compare() -> None:
    comparison = pl.compare({"schedule": "1f1b", "ranks": 4, "microbatches": 8}, pl.simulate("zb-h1", ranks=4, microbatches=8))
    assert comparison["makespan"] == [33.0, 27.0]
    assert comparison.change("makespan") == pytest.approx(-6 / 33)
    with pytest.raises(KeyError):
        comparison["nothing"]


GRID = {"base": {"ranks": 4, "microbatches": 8}, "axes": {"schedule": ["1f1b", "gpipe", "zb-h1", "zbv"], "costs.forward": [1, 1.25, 1.5]}}


def test_shards_make_the_whole() -> None:
    whole = pl.sweep(GRID)
    parts = [pl.sweep(GRID, shard=(i, 3)) for i in (1, 2, 3)]
    assert sum(sum(1 for point in part.points if point["status"]) for part in parts) == len(whole)
    assert pl.Sweep.joined(parts).points == whole.points
    with pytest.raises(pl.InputError, match="different grids"):
        pl.Sweep.joined([whole, pl.sweep({**GRID, "axes": {"schedule": ["1f1b"]}})])


def test_shards_are_the_programs(tmp_path: Path) -> None:
    from pipeloom import _program

    (tmp_path / "grid.json").write_text(json.dumps(GRID))
    out = tmp_path / "part.jsonl"
    _program.call(["sweep", str(tmp_path / "grid.json"), "--shard", "2/3", "-o", str(out), "-q"])
    lines = [json.loads(line) for line in out.read_text().splitlines()[1:]]
    theirs = [number for number, point in enumerate(pl.sweep(tmp_path / "grid.json", shard=(2, 3)).points) if point["status"]]
    assert [line["point"] for line in lines] == theirs


def test_a_missing_shard_is_missing() -> None:
    parts = [pl.sweep(GRID, shard=(i, 3)) for i in (1, 2)]
    assert not pl.Sweep.joined(parts).complete
    assert pl.Sweep.joined([*parts, pl.sweep(GRID, shard=(3, 3))]).complete
    other = {**GRID, "axes": {**GRID["axes"], "schedule": ["1f1b", "gpipe", "zb-h1", "zb-h2"]}}  # type: ignore[dict-item]
    with pytest.raises(pl.InputError, match="different grids"):
        pl.Sweep.joined([parts[0], pl.sweep(other, shard=(2, 3))])


def test_a_model_in_a_dict(tmp_path: Path) -> None:
    sizes = {
        "model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 16, "num_key_value_heads": 16,
        "intermediate_size": 5632, "vocab_size": 32000, "max_position_embeddings": 4096,
    }
    (tmp_path / "config.json").write_text(json.dumps(sizes))
    by_dict = pl.estimate(sizes, hardware="h100", ranks=4, seq=4096)
    assert by_dict.step_time_ms == pl.estimate(tmp_path / "config.json", hardware="h100", ranks=4, seq=4096).step_time_ms


def test_plan_of_a_configuration_with_a_model() -> None:
    config = {"schedule": "1f1b", "ranks": 4, "microbatches": 8, "costs": {"model": "llama3-8b", "hardware": "h100"}}
    plan = pl.plan(config, budget=0.3)
    assert plan.baseline.step_time == pytest.approx(pl.simulate(config).step_time)


def test_a_run_of_any_source_has_its_page_and_is_explained(tmp_path: Path) -> None:
    folder = tmp_path / "some folder"
    folder.mkdir()
    (folder / "p.json").write_text('{"schedule": "1f1b", "ranks": 2, "microbatches": 4}')
    by_hand = pl.simulate(pl.Schedule([["0F0", "0B0"], ["1F0", "1B0"]]), costs={"forward": 2, "backward": 3})
    for run in (pl.simulate(folder / "p.json"), by_hand, pl.simulate("zbv", ranks=2, microbatches=4)):
        page = run.page()
        assert all(f'id="{section}"' in page for section in ("timeline", "idle", "ranks", "numbers"))
        run.save(tmp_path / "again.jsonl")
        answer = run.explain(pl.read(tmp_path / "again.jsonl"))
        assert (answer.predicted, answer.measured, answer.difference) == (run.makespan, run.makespan, 0)
        assert answer.transfer_model == "latency"


def test_what_cannot_be_is_said(tmp_path: Path) -> None:
    run = pl.simulate("1f1b", ranks=2, microbatches=4)
    run.save(tmp_path / "run.jsonl")
    with pytest.raises(pl.InputError, match="holds times"):
        pl.simulate(tmp_path / "run.jsonl", costs={"forward": 9})
    with pytest.raises(pl.InputError, match="no text"):
        pl.convert(run, "png")
    with pytest.raises(pl.InputError, match="give ranks to simulate"):
        pl.convert(run, "csv", ranks=4)
    with pytest.raises(pl.InputError, match="measured times have no table"):
        pl.read(tmp_path / "run.jsonl").table()
    with pytest.raises(pl.InputError, match="different|costs.time_unit"):
        pl.compare(run, {"schedule": "1f1b", "ranks": 2, "microbatches": 4, "costs": {"time_unit": "ms"}})
    with pytest.raises(pl.DeviceError, match="cannot be written"):
        run.save(tmp_path / "no" / "run.svg")
    with pytest.raises(TypeError):
        pl.validate("1f1b", rank=4)  # type: ignore[call-arg]
    for wrong in (float("nan"), float("inf")):
        with pytest.raises(pl.InputError, match="finite"):
            pl.simulate("1f1b", ranks=2, microbatches=4, costs={"forward": [1, wrong], "backward": 2})
        with pytest.raises(pl.InputError, match="32767"):
            run.svg(width=wrong)


def test_answers_show_themselves_as_the_program_prints_them() -> None:
    import pickle

    verdict = pl.validate("1f1b", ranks=2, microbatches=2)
    assert repr(verdict) == verdict.text == "legal: p=2, m=2, stages=2; 8 ops"
    estimate = pl.estimate("llama3-8b", hardware="h100", ranks=4, seq=4096, global_batch=32)
    assert repr(estimate).startswith("llama3-8b: 8.03 B parameters, on 4 h100\n") and "MFU" in repr(estimate)
    assert repr(pickle.loads(pickle.dumps(estimate))) == repr(estimate)
    plan = pl.plan({"schedule": "1f1b", "ranks": 4, "microbatches": 8}, budget=0.1)
    assert "To run it" in repr(plan)
    # What a plan is, not a thousand ops: (m + p - 1) (F + B) = 33, of which 9 are idle on each rank.
    assert plan.baseline is not None
    shown = repr(plan.baseline).splitlines()
    assert "  step_time     33" in shown and "  bubble_ratio  27.3 %" in shown and "  orders        4 ranks, 64 entries" in shown
    assert len(shown) < 20
    assert "also called  ZBVZeroBubble" in repr(pl.schedules("zbv"))
    assert all(row.name in repr(pl.schedules()) for row in pl.schedules())


def test_a_run_has_its_table_and_equals_itself() -> None:
    run, again = (pl.simulate("1f1b", ranks=4, microbatches=8) for _ in range(2))
    assert run == again and hash(run) == hash(again) and run is not again
    assert run != pl.simulate("1f1b", ranks=4, microbatches=9)
    assert run != pl.simulate("1f1b", ranks=4, microbatches=8, costs={"forward": 1.5, "backward": 2})
    assert run != "1f1b"
    assert "bubble ratio                27.3 %" in run.table()
    # Two rooms say percent: the program and the package.
    for ratio, said in ((run.bubble_ratio, "27.3 %"), (0.0, "0.0 %"), (0.0004, "0.04 %"), (-0.182, "-18.2 %")):
        assert pl._result.percent(ratio) == said


def test_a_comparison_shows_itself_and_says_what_holds_each_back() -> None:
    comparison = pl.compare(pl.simulate("1f1b", ranks=4, microbatches=8), pl.simulate("zb-h1", ranks=4, microbatches=8))
    # 1F1B fills and drains for (p - 1) (F + B) = 9 on each of 4 ranks.
    assert sum(root.amount for root in comparison.roots[0]) == 36
    assert "zb-h1" in repr(comparison) and "is held back" in repr(comparison) and "-18.2 %" in repr(comparison)
