#!/usr/bin/env python3
"""What a command takes with one build next to another: least CPU time and most memory of some runs, taken in turns.

    command_pairs.py OLD NEW [--runs N] [--only NAME]

OLD and NEW are pipeloom programs. CPU time is user and system time of the process from start to end; other load on the machine disturbs the least of
several runs least, and what disturbs one program also disturbs the other. Prints a line per job and how NEW compares with OLD.
"""

import argparse
import os
import subprocess
import sys

# name: schedule, ranks, microbatches. The four large ones have 8.4 and about 20 million ops.
JOBS = {
    "small": ("1f1b", 64, 512),
    "p64": ("1f1b", 64, 65_536),
    "p512": ("1f1b", 512, 8_192),
    "zbv": ("zbv", 64, 52_000),
    "dualpipe": ("dualpipe", 64, 130_000),
}


def measure(pipeloom, schedule, ranks, microbatches):
    """(CPU seconds, bytes) of one run."""
    command = [pipeloom, "simulate", "-q", "-o", "/dev/null", "--schedule", schedule,
               "--ranks", str(ranks), "--microbatches", str(microbatches)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    with process.stderr:
        text = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{text}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def pair(old, new, job, runs):
    """[(least CPU seconds, most bytes)] of both."""
    taken = {old: [], new: []}
    for run in range(runs):
        for pipeloom in (old, new) if run % 2 == 0 else (new, old):
            taken[pipeloom].append(measure(pipeloom, *job))
    return [(min(seconds for seconds, _ in taken[program]), max(size for _, size in taken[program]))
            for program in (old, new)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--only", choices=JOBS, action="append", help="repeatable")
    arguments = parser.parse_args()
    print(f"{'job':10}{'CPU ms old':>12}{'new':>10}{'new/old':>9}{'MB old':>10}{'new':>10}{'new/old':>9}")
    for name in arguments.only or JOBS:
        old, new = pair(arguments.old, arguments.new, JOBS[name], arguments.runs)
        print(f"{name:10}{old[0] * 1e3:12.1f}{new[0] * 1e3:10.1f}{new[0] / old[0]:9.3f}"
              f"{old[1] / 1e6:10.1f}{new[1] / 1e6:10.1f}{new[1] / old[1]:9.3f}", flush=True)


if __name__ == "__main__":
    main()
