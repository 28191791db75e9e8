#!/usr/bin/env python3
"""Calibrates measured pipelines from files as their program wrote them, and simulates with the costs that come out.

    calibrate_measured.py --program PROGRAM --golden DIR

DIR holds primus.json (tests/golden/measured/README.md). Its steps become the folder that Primus writes; the schedule must be named, the median
op times must be those of the file, and the simulated step near the measured one. Where jsonschema is there, the report must satisfy its schema.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

try:
    import jsonschema
except ImportError:
    jsonschema = None

# Distances of the simulated from the measured step, in percent.
MOST = {"1f1b": 0.5, "interleaved-1f1b": 0.4}


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: {found}, not {wanted}")


def write_folder(run, folder):
    """pp_rank_N.json for each rank, and config.json."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"pp_size": run["ranks"], "vp_size": run["chunks_per_rank"]}))
    for rank in range(run["ranks"]):
        steps = {}
        for number, step in enumerate(run["steps"], 1):
            lists = {"total": 0, "memory": 0}
            for name, letter in (("fwd", "f"), ("bwd", "b")):
                lists[name + "_start"] = step[letter + "_start"][rank]
                lists[name + "_end"] = step[letter + "_end"][rank]
                lists[name + "_minibatch"] = []
                lists[name + "_chunk"] = []
            steps[str(number)] = lists
        (folder / f"pp_rank_{rank}.json").write_text(json.dumps(steps))


def check_run(program, name, run, folder):
    write_folder(run, folder / "trace")

    def call(*words):
        return subprocess.run([program, *words], cwd=folder, capture_output=True, check=True, text=True).stdout

    report = json.loads(call("calibrate", "trace", "-o", "costs.json", "--timeline", "run.jsonl", "--json"))
    if jsonschema is not None:
        schema = json.loads(call("schema", "calibration"))
        jsonschema.Draft202012Validator(schema).validate(report)
    expect("schedule", report["schedule"], name)
    expect("steps", report["steps"], len(run["steps"]))
    expect("partial", report["partial"], False)
    measured = statistics.median(step["window_ms"] for step in run["steps"])
    # Aligned by messages, clocks that stand 0.2 ms apart move the step as much.
    if abs(report["unexplained"]["measured"] - measured) > 0.6:
        sys.exit(f"{name}: the measured step is {report['unexplained']['measured']} ms, not {measured}")
    distance = 100 * (report["unexplained"]["simulated"] / report["unexplained"]["measured"] - 1)
    if abs(distance) > MOST[name]:
        sys.exit(f"{name}: simulated {distance:.2f} % from measured")
    costs = json.loads((folder / "costs.json").read_text())
    if run["chunks_per_rank"] == 1:
        for rank in range(run["ranks"]):
            times = [Decimal(str(end)) - Decimal(str(start)) for step in run["steps"]
                     for start, end in zip(step["f_start"][rank], step["f_end"][rank])]
            expect(f"F of rank {rank}", costs["forward"][rank], float(statistics.median(times)))
    again = json.loads(call("simulate", "--schedule", name, "--ranks", str(run["ranks"]), "--microbatches",
                            str(run["microbatches"]), "--chunks", str(run["chunks_per_rank"]), "--set", "costs=costs.json",
                            "--json"))
    expect("simulated with the file", again["makespan"], report["unexplained"]["simulated"])
    # A timeline of it says the same but for its clocks, which it takes for one.
    expect("schedule of the timeline", json.loads(call("calibrate", "run.jsonl", "--json"))["schedule"], name)
    print(f"{name}: {distance:+.2f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--golden", type=Path, required=True)
    arguments = parser.parse_args()
    program = Path(arguments.program).resolve()
    for name, run in json.loads((arguments.golden / "primus.json").read_text())["runs"].items():
        with tempfile.TemporaryDirectory() as folder:
            check_run(program, name, run, Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
