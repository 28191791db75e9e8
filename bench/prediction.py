#!/usr/bin/env python3
"""Simulated against measured makespans of busy work, as the table of docs/executor.md.

    prediction.py PIPELOOM [--ranks P] [--microbatches M] [--unit-ms X] [--steps N]

Times are per rank, so that all schedules have the same work: F 1, B 2, I 1, W 1. Ends with 1 if a measured median is more than 3 %
from the simulated makespan, or the two put the schedules in different orders.
"""

import argparse
import re
import subprocess
import sys

SCHEDULES = ["gpipe", "1f1b", "interleaved-1f1b", "dualpipe", "zb-h1", "zbv"]
LINE = re.compile(r"makespan +([\d.]+) ms simulated, ([\d.]+) ms measured .*, ([\d.]+) to ([\d.]+)")
LIMIT = 0.03


def makespans(arguments, schedule):
    """Simulated, median, shortest and longest makespan in ms."""
    command = [arguments.pipeloom, "run", "--schedule", schedule, "--ranks", str(arguments.ranks)]
    command += ["--microbatches", str(arguments.microbatches), "--unit-ms", str(arguments.unit_ms)]
    command += ["--steps", str(arguments.steps)]
    for setting in ("per=rank", "forward=1", "backward=2", "backward_input=1", "backward_weight=1"):
        command += ["--set", f"costs.{setting}"]
    printed = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    return [float(number) for number in LINE.search(printed).groups()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pipeloom")
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--microbatches", type=int, default=16)
    parser.add_argument("--unit-ms", type=float, default=10)
    parser.add_argument("--steps", type=int, default=9)
    arguments = parser.parse_args()
    print("| schedule | simulated ms | measured ms | shortest | longest | ratio |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    rows = {}
    for schedule in SCHEDULES:
        simulated, median, shortest, longest = makespans(arguments, schedule)
        rows[schedule] = (simulated, median)
        print(f"| {schedule} | {simulated:.1f} | {median:.1f} | {shortest:.1f} | {longest:.1f} "
              f"| {median / simulated:.4f} |", flush=True)
    # Equal predictions have no order to get wrong: they may come out either way.
    wrong = [(a, b) for a in rows for b in rows if rows[a][0] < rows[b][0] and rows[a][1] >= rows[b][1]]
    far = [name for name, (simulated, median) in rows.items() if abs(median / simulated - 1) > LIMIT]
    for a, b in wrong:
        print(f"{a} is predicted to be faster than {b}, and is not", file=sys.stderr)
    for name in far:
        print(f"{name} is more than {LIMIT:.0%} from its prediction", file=sys.stderr)
    return 1 if wrong or far else 0


if __name__ == "__main__":
    sys.exit(main())
