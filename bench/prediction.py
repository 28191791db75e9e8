#!/usr/bin/env python3
"""Simulated against measured makespans, as the tables of docs/accuracy.md.

    prediction.py PIPELOOM [--launch threads|local] [--ranks P] [--microbatches M] [--unit-ms X] [--steps N]
    prediction.py PIPELOOM --layers [--launch threads|local] [--ranks P] [--microbatches M] [--width W] [--rows R] [--steps N] [--tries T]

Busy work: times are per rank, so that all schedules have the same work: F 1, B 2, I 1, W 1.

--layers: real layers, the same model under all schedules. Every schedule runs twice: the first run writes what ops and messages cost, the
simulator predicts the second one from that file. Other programs on the machine disturb either run, so this is done --tries times, and
the quietest pair counts: the one whose medians are nearest to the shortest steps of the same runs (the prediction has no say in it).

Ends with 1 if a measured median is more than 3 % from the simulated makespan, or the two put schedules in different orders whose
predictions are further apart than that.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

BUSY = {"gpipe": 1, "1f1b": 1, "interleaved-1f1b": 2, "dualpipe": 1, "zb-h1": 1, "zbv": 2}
# Without overlapped groups, whose parts would want two cores for a rank.
LAYERS = {"gpipe": 1, "1f1b": 1, "interleaved-1f1b": 2, "looped-bfs": 2, "zb-h1": 1, "zbv": 2}
LINE = re.compile(r"makespan +([\d.]+) ms simulated, ([\d.]+) ms measured .*, ([\d.]+) to ([\d.]+)")
LIMIT = 0.03


def output_of(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout


def shape(arguments, schedule, chunks):
    words = ["--schedule", schedule, "--ranks", str(arguments.ranks)]
    return words + ["--microbatches", str(arguments.microbatches), "--chunks", str(chunks)]


def run(arguments, words):
    """Simulated, median, shortest and longest makespan in ms."""
    command = [arguments.pipeloom, "run", "--launch", arguments.launch, "--steps", str(arguments.steps)] + words
    return [float(number) for number in LINE.search(output_of(command)).groups()]


def busy_makespans(arguments, schedule, chunks):
    words = shape(arguments, schedule, chunks) + ["--unit-ms", str(arguments.unit_ms)]
    for setting in ("per=rank", "forward=1", "backward=2", "backward_input=1", "backward_weight=1"):
        words += ["--set", f"costs.{setting}"]
    return run(arguments, words)


def layer_makespans(arguments, schedule, chunks):
    """The same of the quietest pair of runs; simulated from the costs that the first one of it wrote."""
    most_chunks = max(LAYERS.values())
    words = shape(arguments, schedule, chunks)
    work = ["--work", "layers", "--warmup", str(arguments.warmup), "--width", str(arguments.width)]
    work += ["--rows", str(arguments.rows), "--blocks", str(arguments.blocks * most_chunks // chunks)]
    pairs = []
    with tempfile.TemporaryDirectory() as folder:
        for attempt in range(arguments.tries):
            costs = os.path.join(folder, f"costs-{attempt}.json")
            _, median, shortest, _ = run(arguments, words + work + ["--costs-out", costs])
            unrest = median / shortest
            simulate = [arguments.pipeloom, "simulate"] + words + ["--set", f"costs={costs}", "--json"]
            simulated = json.loads(output_of(simulate))["makespan"]
            _, median, shortest, longest = run(arguments, words + work)
            unrest += median / shortest
            pairs.append((unrest, [simulated, median, shortest, longest]))
    return min(pairs)[1]


def wrong_orders(rows, least):
    """Pairs (faster, slower) whose predictions are at least so far apart, a share, and whose measurements say otherwise."""
    return [(a, b) for a in rows for b in rows
            if rows[a][0] * (1 + least) < rows[b][0] and rows[a][1] >= rows[b][1]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pipeloom")
    parser.add_argument("--layers", action="store_true")
    parser.add_argument("--ranks", type=int)
    parser.add_argument("--microbatches", type=int)
    parser.add_argument("--unit-ms", type=float, default=10)
    parser.add_argument("--steps", type=int, default=9)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--blocks", type=int, default=1, help="of a stage where ranks have two")
    parser.add_argument("--tries", type=int, default=4)
    parser.add_argument("--launch", choices=("threads", "local"), default="threads", help="local: a process per rank")
    parser.add_argument("--only", help="schedules, separated by commas; default all six")
    arguments = parser.parse_args()
    if arguments.ranks is None:
        arguments.ranks = min(os.cpu_count() or 1, 8) if arguments.layers else 8
    if arguments.microbatches is None:
        arguments.microbatches = 4 * arguments.ranks if arguments.layers else 16
    print("| schedule | simulated ms | measured ms | shortest | longest | ratio |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    rows = {}
    for schedule, chunks in (LAYERS if arguments.layers else BUSY).items():
        if arguments.only and schedule not in arguments.only.split(","):
            continue
        measure = layer_makespans if arguments.layers else busy_makespans
        simulated, median, shortest, longest = measure(arguments, schedule, chunks)
        rows[schedule] = (simulated, median)
        print(f"| {schedule} | {simulated:.1f} | {median:.1f} | {shortest:.1f} | {longest:.1f} "
              f"| {median / simulated:.4f} |", flush=True)
    print(f"load average {os.getloadavg()[0]:.1f} at the end, {os.cpu_count()} cores", file=sys.stderr)
    # Equal predictions have no order to get wrong: they may come out either way.
    wrong = wrong_orders(rows, LIMIT if arguments.layers else 0)
    far = [name for name, (simulated, median) in rows.items() if abs(median / simulated - 1) > LIMIT]
    for a, b in wrong:
        print(f"{a} is predicted to be faster than {b}, and is not", file=sys.stderr)
    for name in far:
        print(f"{name} is more than {LIMIT:.0%} from its prediction", file=sys.stderr)
    return 1 if wrong or far else 0


if __name__ == "__main__":
    sys.exit(main())
