"""Writes the files that real training runs: every schedule that PyTorch has a text for, in a few shapes, as computations and lowered.

    training_files.py PIPELOOM FOLDER TARGET

Prints a line for run_files.py per file. What pipeloom cannot write, or says that PyTorch refuses, is counted on standard error.
"""
import collections
import json
import os
import re
import subprocess
import sys


def convert(pipeloom, config, out, arguments):
    return subprocess.run([pipeloom, "convert", config, out, "--force", *arguments], capture_output=True, text=True, check=False)


def main():
    pipeloom, folder, target = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    found = json.loads(subprocess.run([pipeloom, "schedules", "--json"], capture_output=True, text=True, check=True).stdout)
    left_out, written = collections.Counter(), set()
    for name in [schedule["name"] for schedule in found["schedules"]] + ["gpipe-v", "LoopedBFS"]:
        for ranks in (2, 4):
            for microbatches in (4, 8):
                for chunks in (None, 2, 3):
                    config = os.path.join(folder, "run.json")
                    with open(config, "w", encoding="utf-8") as file:
                        json.dump({"schedule": name, "ranks": ranks, "microbatches": microbatches,
                                   **({"chunks": chunks} if chunks else {})}, file)
                    base = os.path.join(folder, f"{name}_p{ranks}_m{microbatches}")
                    run = convert(pipeloom, config, base + ".csv", ["--to", "torch-compute"])
                    if run.returncode != 0 or "refuses this file" in run.stderr:
                        left_out[name] += 1
                        continue
                    text = open(base + ".csv", encoding="utf-8").read()
                    if text in written:
                        continue
                    written.add(text)
                    stages = 1 + max(int(n) for n in re.findall(r"(\d+)F\d", text))
                    count = 1 + max(int(n) for n in re.findall(r"\dF(\d+)", text))
                    path = f"{base}_s{stages}"
                    os.replace(base + ".csv", path + ".compute.csv")
                    lowered = convert(pipeloom, config, path + ".comms.csv", ["--to", "torch-comms", "--target", target])
                    print("compute_only", stages, count, path + ".compute.csv")
                    if lowered.returncode == 0:
                        print("compute_comms", stages, count, path + ".comms.csv")
    print("left out: " + ", ".join(f"{name} {n}" for name, n in sorted(left_out.items())), file=sys.stderr)


if __name__ == "__main__":
    main()
