#!/usr/bin/env python3
"""How often `explain` names the slow rank of a real run.

    slow_rank.py PIPELOOM [--runs N] [--factor X] [--steps N] [--unit-ms X] [--launch threads|local]

Each run executes a schedule with busy work in which one rank takes X times as long (costs.rank_scale), another one each time, and lays what
was measured over the prediction without it. A run is right if that rank is the largest cause that names a rank: programs beside it may make
every op slower. Ends with 1 if one is not.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

SHAPES = [("1f1b", 1), ("zb-h1", 1), ("interleaved-1f1b", 2), ("zbv", 2)]
RANKS = 4
MICROBATCHES = 8
COSTS = {"time_unit": "ms", "per": "rank", "forward": 1, "backward": 2, "backward_input": 1, "backward_weight": 1}


def output_of(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout


def write_run(folder, schedule, chunks, unit_ms):
    """The configuration, without a slow rank."""
    costs = {key: value * unit_ms if isinstance(value, int) else value for key, value in COSTS.items()}
    if schedule in ("zb-h1", "zbv"):
        costs["backward"] = costs["backward_input"] + costs["backward_weight"]
    path = os.path.join(folder, "run.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schedule": schedule, "ranks": RANKS, "microbatches": MICROBATCHES, "chunks": chunks, "costs": costs}, file)
    return path


def named(arguments, folder, number):
    """Whether the largest cause that names a rank is the slow one."""
    schedule, chunks = SHAPES[number % len(SHAPES)]
    slow = (number + number // len(SHAPES)) % RANKS
    config = write_run(folder, schedule, chunks, arguments.unit_ms)
    measured = os.path.join(folder, "measured.jsonl")
    output_of([arguments.pipeloom, "run", config, "--launch", arguments.launch, "--steps", str(arguments.steps),
               "--set", f"costs.rank_scale.{slow}={arguments.factor}", "-o", measured, "--force", "-q"])
    explanation = json.loads(output_of([arguments.pipeloom, "explain", config, measured, "--json", "-q"]))
    of_ranks = [cause for cause in explanation["causes"] if cause["kind"] == "rank"]
    largest = of_ranks[0] if of_ranks else {"text": "no rank"}
    is_it = largest.get("rank") == slow and "op_kind" not in largest
    print(f"{schedule}, rank {slow} is slow: {largest['text']}, {'right' if is_it else 'WRONG'}", flush=True)
    return is_it


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pipeloom")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--factor", type=float, default=1.3)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--unit-ms", type=float, default=10)
    parser.add_argument("--launch", default="threads")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        right = sum(named(arguments, folder, number) for number in range(arguments.runs))
    print(f"{right} of {arguments.runs} right")
    return 0 if right == arguments.runs else 1


if __name__ == "__main__":
    sys.exit(main())
