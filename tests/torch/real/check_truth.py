"""Holds what pipeloom reads from recordings of a real PyTorch against what time.perf_counter measured in the same runs.

    check_truth.py PIPELOOM FOLDER

FOLDER is record_truth.py's. Of each recording: costs of every kind and stage near the measured medians of the steps that count (5 % where layers sleep, 15 % where they
compute, 5 % in ranges of pipeloom.torch), or a warning that passes are short; the
step simulated from these costs (4 % where layers sleep), clocks that agree left alone, a slowed rank as the first cause within 3 points, and clocks
shifted by hand found again within 0.2 ms. Recordings that name nothing must be refused with the ways out. A line per recording, with how far the
largest cost, the step, the slowed rank's factor and the shifted clocks are off; exits 1 if one is wrong, or if a layer, a schedule, a number of ranks
or anything else of NEEDED is in none.
"""
import gzip
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

NEAR = {"sleep": 0.05, "linear": 0.15, "transformer": 0.15, "short": 0.05}
AROUND_MS = {True: 0.005, False: 0.1}  # what a range of pipeloom.torch holds around a pass, and one of PyTorch on a busy machine
STEP_NEAR = 0.04
WARMUP = 2  # record_truth.py's
SHIFTS_MS = [0.0, 35.0, -20.0, 5.0]
SLOW_NEAR = 0.03
CLOCKS_NEAR_MS = 0.2
#: What some recording has to be.
NEEDED = {
    "layers": {"sleep", "linear", "transformer"},
    "schedule": {"1F1B", "GPipe", "Interleaved1F1B", "InterleavedZeroBubble", "ZBVZeroBubble", "DualPipeV"},
    "ranks": {2, 3, 4},
    "replicas": {1, 2},
}


def run(*words):
    return subprocess.run(words, capture_output=True, text=True)


def costs_of(pipeloom, folder, work):
    """The costs file and calibrate's JSON, or the message with which the recording was refused."""
    costs = f"{work}/costs.json"
    answer = run(pipeloom, "calibrate", folder, "--json", "-o", costs, "--force")
    if answer.returncode != 0:
        return None, answer.stderr.strip().splitlines()[-1]
    with open(costs, encoding="utf-8") as file:
        return json.load(file), json.loads(answer.stdout)


def medians_of(truth, calibration):
    """Of the passes in the steps that calibrate did not leave out. Its steps are the profiler's, which counts those before the recorded ones."""
    left_out = {int(step) - WARMUP for line in calibration["warnings"] if "longer than the median step" in line for step in re.findall(r"step (\d+) by", line)}
    times = {}
    for step, stage, kind, _, milliseconds in truth["passes_ms"]:
        if step not in left_out:
            times.setdefault(f"{stage}{kind}", []).append(milliseconds)
    return {key: statistics.median(all_of) for key, all_of in sorted(times.items())}


def wrong_costs(truth, calibration, figures):
    """What is off: "B of stage 0: 40.7 for 20.8 ms". Passes of less than 1 ms have no figure: a part of them says little."""
    near = NEAR[truth["run"]["layers"]]
    medians = medians_of(truth, calibration)
    said = {f"{row['stage']}{row['kind']}": row["time"] for row in calibration["residuals"] if row["kind"] != "group"}
    wrong = []
    for key, median in medians.items():
        if key not in said:
            if truth["run"]["schedule"] != "DualPipeV":  # an op may run in pairs only
                wrong.append(f"{key} is missing")
            continue
        if median >= 1:
            figures["costs"] = max(figures.get("costs", 0), abs(said[key] / median - 1))
        if abs(said[key] - median) > max(near * median, AROUND_MS[truth["run"]["ranges"]]):
            wrong.append(f"{key} {said[key]:.3f} for {median:.3f} ms")
    is_said = any("passes are short" in line for line in calibration["warnings"])
    is_short = truth["run"]["layers"] == "short" and not truth["run"]["ranges"]
    return wrong if is_said == is_short else wrong + [f"that passes are short is {'said' if is_said else 'not said'}"]


def wrong_step(pipeloom, truth, work, calibration, figures):
    """The order that ran, simulated from the costs, against the median step."""
    answer = run(pipeloom, "simulate", f"{work}/order.csv", "--set", f"costs={work}/costs.json", "--json")
    if answer.returncode != 0:
        return [f"the costs do not simulate: {answer.stderr.strip()}"]
    simulated = float(json.loads(answer.stdout)["makespan"])
    off = simulated / statistics.median(calibration["step_times"]) - 1
    figures["step"] = off
    return [f"simulated {off:+.1%}"] if abs(off) > STEP_NEAR and truth["run"]["layers"] == "sleep" else []


def wrong_clocks(calibration, expected, figures):
    found = calibration["clock_offsets"] or [0.0] * len(expected)
    off = max(abs(a - b) for a, b in zip(found, expected))
    figures["clocks"] = max(figures.get("clocks", 0), off)
    return [f"clocks {found} for {expected}"] if off > (CLOCKS_NEAR_MS if any(expected) else 0.0) else []


def predicted_costs(truth):
    """Costs of the run with no rank slowed."""
    slow, ranks = truth["run"]["slow"], truth["run"]["ranks"]
    out = {"time_unit": "ms", "overlapped": "sequential"}
    stages = ranks * truth["run"]["chunks"]
    for key, kind in (("forward", "F"), ("backward", "B"), ("backward_input", "I"), ("backward_weight", "W")):
        values = [truth["op_ms"].get(f"{stage}{kind}") for stage in range(stages)]
        if all(values):
            out[key] = [value["median"] / (truth["slow_factor"] if home_of(truth["run"], stage) == slow else 1) for stage, value in enumerate(values)]
    return out


def home_of(run_of, stage):
    ranks = run_of["ranks"]
    if run_of["schedule"] in ("ZBVZeroBubble", "DualPipeV"):
        return stage if stage < ranks else 2 * ranks - 1 - stage
    return stage % ranks


def wrong_cause(pipeloom, truth, folder, work, figures):
    """The slowed rank is the first cause of explain, within 3 points of what it was slowed by."""
    slow = truth["run"]["slow"]
    if slow is None:
        return []
    with open(f"{work}/predicted.json", "w", encoding="utf-8") as file:
        json.dump({"schedule": "custom", "options": {"file": f"{work}/order.csv"}, "costs": predicted_costs(truth)}, file)
    answer = run(pipeloom, "explain", f"{work}/predicted.json", folder, "--json")
    if answer.returncode != 0:
        return [f"explain: {answer.stderr.strip()}"]
    first = json.loads(answer.stdout)["causes"][0]
    named = first.get("rank") == slow or (first["kind"] == "stage" and home_of(truth["run"], first["stage"]) == slow)
    off = first.get("factor", 1) - truth["slow_factor"]
    figures["slow rank"] = off
    if not named or abs(off) > SLOW_NEAR:
        return [f"first cause is {first['text']!r}, not rank {slow} by {truth['slow_factor'] - 1:.0%}"]
    return []


def shifted_copy(folder, work, ranks):
    """The recording with the clocks of its ranks set apart by SHIFTS_MS."""
    target = f"{work}/shifted"
    shutil.rmtree(target, ignore_errors=True)
    os.makedirs(target)
    for rank in range(ranks):
        with gzip.open(f"{folder}/rank{rank}.json.gz", "rt") as file:
            trace = json.load(file)
        for event in trace["traceEvents"]:
            if "ts" in event:
                event["ts"] += SHIFTS_MS[rank] * 1000
        with gzip.open(f"{target}/rank{rank}.json.gz", "wt", compresslevel=1) as file:
            json.dump(trace, file)
    return target


def wrong_of(pipeloom, truth, folder, work, figures):
    costs, calibration = costs_of(pipeloom, folder, work)
    name, ranks = truth["run"]["name"], truth["run"]["ranks"]
    if name.endswith("_nothing"):
        return [] if costs is None and "pipeloom.torch.ranges" in calibration else [f"not refused with the ways out: {calibration}"]
    if costs is None:
        return [calibration]
    run(pipeloom, "convert", folder, f"{work}/order.csv", "--to", "torch-compute", "--force", "-q")
    wrong = wrong_costs(truth, calibration, figures) + wrong_step(pipeloom, truth, work, calibration, figures)
    wrong += wrong_clocks(calibration, [0.0] * ranks, figures) + wrong_cause(pipeloom, truth, folder, work, figures)
    _, moved = costs_of(pipeloom, shifted_copy(folder, work, ranks), work)
    return wrong + ([moved] if isinstance(moved, str) else wrong_clocks(moved, SHIFTS_MS[:ranks], figures))


def text_of(figures):
    """"costs 2.1%, step -0.3%, slow rank +0.1%, clocks 0.02 ms"."""
    forms = {"costs": "{:.1%}", "step": "{:+.1%}", "slow rank": "{:+.1%}", "clocks": "{:.3f} ms"}
    return ", ".join(f"{name} {form.format(figures[name])}" for name, form in forms.items() if name in figures)


def lacking(runs):
    """What of NEEDED is in no recording, and a slowed rank."""
    out = [f"{key} {value}" for key, values in NEEDED.items() for value in sorted(values - {run[key] for run in runs})]
    return out if any(run["slow"] is not None for run in runs) else out + ["a slowed rank"]


def main():
    pipeloom, root = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    failed = 0
    runs = []
    for name in sorted(os.listdir(root)):
        folder = f"{root}/{name}"
        with open(f"{folder}/truth.json", encoding="utf-8") as file:
            truth = json.load(file)
        runs.append(truth["run"])
        figures = {}
        with tempfile.TemporaryDirectory() as work:
            wrong = wrong_of(pipeloom, truth, folder, work, figures)
        failed += bool(wrong)
        print(f"{'wrong' if wrong else 'right'} {name}: {text_of(figures)}" + "".join(f"; {line}" for line in wrong), flush=True)
    missing = lacking(runs)
    for what in missing:
        print(f"wrong: no recording has {what}")
    sys.exit(failed > 0 or bool(missing))


if __name__ == "__main__":
    main()
