#!/usr/bin/env python3
"""From a run to the prediction of the next one, through files.

    measured_loop.py --program PROGRAM

A run writes its costs; a configuration names that file; the report of its simulation must have these costs and the times that follow from
them, and `compare` lays the two over each other. A run that fails leaves a file that says so. Times are asked for exactly where they
follow from a file, and never where a clock decides.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

RANKS = 2
MICROBATCHES = 4
# Of the kinds that zb-h1 has: keys of the costs file, and their letters.
KINDS = {"forward": "F", "backward_input": "I", "backward_weight": "W"}


class Session:
    def __init__(self, program, folder):
        self.program = program
        self.folder = folder

    def run(self, *words, code=0):
        done = subprocess.run([self.program, *words], cwd=self.folder, capture_output=True, text=True, timeout=60)
        if done.returncode != code:
            sys.exit(f"{' '.join(words)}: exit {done.returncode}, not {code}\n{done.stdout}{done.stderr}")
        return done

    def json_of(self, *words):
        # Times as they stand, without what a binary fraction makes of them.
        return json.loads(self.run(*words).stdout, parse_float=Decimal, parse_int=Decimal)

    def costs(self, name):
        return json.loads((self.folder / name).read_text(), parse_float=Decimal, parse_int=Decimal)


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: {found}, not {wanted}")


def time_of(costs, kind, stage, microbatch):
    """What one op takes by a costs file: its stage's time or that of the last exception that names it, and what every entry takes."""
    time = costs[kind][stage]
    for row in costs.get("exceptions", []):
        if row.get("kind", KINDS[kind]) == KINDS[kind] and row.get("stage", stage) == stage and row["microbatch"] == microbatch:
            time = row["time"] if "time" in row else to_ticks(costs[kind][stage] * row["factor"])
    return time + costs.get("entry", 0)


def to_ticks(time):
    """Milliseconds to the nearest tick, 1e-9 of them, halves up."""
    return time.quantize(Decimal("1e-9"), ROUND_HALF_UP)


def check_loop(session, work):
    """`run --costs-out`, `simulate` with that file, `compare` of the two."""
    shape = {"schedule": "zb-h1", "ranks": RANKS, "microbatches": MICROBATCHES}
    (session.folder / "plain.json").write_text(json.dumps(shape))
    (session.folder / "next.json").write_text(json.dumps({**shape, "costs": "costs.json"}))
    session.run("run", "plain.json", *work, "--steps", "3", "--costs-out", "costs.json", "-o", "measured.jsonl",
                "--force")
    costs = session.costs("costs.json")
    expect("unit of the costs", costs["time_unit"], "ms")

    report = session.json_of("simulate", "next.json", "--json")
    for kind in KINDS:
        effective = report["config"]["costs"][kind]  # one number where all stages have the same
        expect(kind, effective if isinstance(effective, list) else [effective] * RANKS, costs[kind])
    latency = costs.get("transfer", {}).get("latency", Decimal(0))
    expect("latency", report["config"]["costs"]["transfer"]["latency"], latency)
    for key in ("rank_time", "links"):
        wanted = costs.get("transfer", {}).get(key)
        if wanted is not None:
            expect(key, report["config"]["costs"]["transfer"][key], wanted)
    for rank in report["ranks"]:
        stage = int(rank["stages"][0])
        expect(f"busy time of rank {rank['rank']}", rank["busy"],
               sum(time_of(costs, kind, stage, microbatch) for kind in KINDS for microbatch in range(MICROBATCHES)))
    same = session.json_of("simulate", "plain.json", "--set", "costs=costs.json", "--json")
    expect("makespan with --set", same["makespan"], report["makespan"])

    compared = session.json_of("compare", "next.json", "measured.jsonl", "--json")
    expect("runs", compared["runs"], ["next.json", "measured.jsonl"])
    expect("simulated makespan", compared["metrics"]["makespan"][0], report["makespan"])
    if compared["metrics"]["makespan"][1] <= 0:
        sys.exit("the measured makespan is not above 0")
    ops = RANKS * len(KINDS) * MICROBATCHES
    first = session.run("compare", "next.json", "measured.jsonl").stdout
    if f"{ops} ops in both, 0 only in next.json, 0 only in measured.jsonl" not in first:
        sys.exit(f"compare does not see the same ops:\n{first}")


def check_partial(session):
    """An op that lasts longer than the timeout: exit 3, and a file that is marked."""
    shape = ["--schedule", "1f1b", "--ranks", str(RANKS), "--microbatches", str(MICROBATCHES)]
    session.run("run", *shape, "--unit-ms", "1", "--set", "costs.forward=1", "--set", "costs.backward=2000",
                "--timeout", "0.5", "-o", "failed.jsonl", code=3)
    lines = (session.folder / "failed.jsonl.partial").read_text().splitlines()
    header = json.loads(lines[0])
    reason = "rank 1 failed in step 0 at 1B0: no end after 0.5 s, the timeout"
    expect("header", header, {"time_unit": "ms", "partial": reason})
    ended = [json.loads(line)["op"] for line in lines[1:]]
    # Rank 0 runs both of its warm-up forwards, rank 1 its first one before the backward that does not end.
    expect("ops that ended", sorted(ended), ["0F0", "0F1", "1F0"])
    if (session.folder / "failed.jsonl").exists():
        sys.exit("a run that failed wrote its timeline as if it had not")

    drawn = session.run("convert", "failed.jsonl.partial", "failed.svg")
    if reason not in drawn.stderr:
        sys.exit(f"convert does not say that the run failed: {drawn.stderr}")
    picture = (session.folder / "failed.svg").read_text()
    if "<svg" not in picture or "0F1" not in picture:
        sys.exit("the picture lacks an op that ended")
    refused = session.run("compare", "failed.jsonl.partial", "measured.jsonl", code=2)
    if reason not in refused.stderr:
        sys.exit(f"compare does not say why it refuses: {refused.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    program = Path(parser.parse_args().program).resolve()
    with tempfile.TemporaryDirectory() as folder:
        session = Session(str(program), Path(folder))
        check_loop(session, ["--unit-ms", "1"])
        check_loop(session, ["--work", "layers", "--width", "16", "--rows", "8"])
        check_partial(session)
    return 0


if __name__ == "__main__":
    sys.exit(main())
