#!/usr/bin/env python3
"""Everything that a machine with a GPU can say about the CUDA back end, in one go.

    gpu_figures.py PIPELOOM_CUDA [--quick] [--gradients-only]

Writes Markdown to standard output: the devices, gradients of every schedule in each precision and arithmetic, predictions beside
measurements of serial work and of busy work, and with more than one GPU the same by NCCL with each layout of communicators. Exits 1 if
a gradient is wrong or serial work is more than 5 % from its prediction, 77 without a GPU. The rest are figures to read: ranks that share a GPU slow each other down.
"""

import argparse
import json
import re
import subprocess
import sys

SKIPPED = 77
SERIAL_LIMIT = 5.0
MAKESPAN = re.compile(r"makespan +([\d.]+) ms simulated, ([\d.]+) ms measured \(([+-][\d.]+) %\)")
LAYERS = ["--work", "layers", "--microbatches", "8", "--steps", "2"]
LARGE = ["--work", "layers", "--width", "2048", "--rows", "2048", "--blocks", "2", "--microbatches", "8"]
SIX = ["gpipe", "1f1b", "interleaved-1f1b", "dualpipe", "zb-h1", "zbv"]


class Gpu:
    def __init__(self, program):
        self.program = program
        self.failures = []

    def run(self, *words):
        return subprocess.run([self.program, *words], capture_output=True, text=True, check=False, timeout=600)

    def doctor(self):
        return json.loads(self.run("doctor", "--json").stdout)

    def schedules(self):
        return [one["name"] for one in json.loads(self.run("schedules", "--json").stdout)["schedules"]]

    def execute(self, *words):
        return self.run("run", "--backend", "cuda", *words)

    def fail(self, what):
        self.failures.append(what)
        return f"WRONG: {what}"


def table(heads, rows):
    print("\n| " + " | ".join(heads) + " |")
    print("| " + " | ".join("---" for _ in heads) + " |")
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)


def gradient_rows(gpu, kinds, quick, launch=()):
    for schedule in gpu.schedules()[:: 4 if quick else 1]:
        verdicts = []
        for kind in kinds:
            ended = gpu.execute("--schedule", schedule, "--ranks", "4", *LAYERS, *kind, "--checksums", *launch)
            if ended.returncode == 0:
                found = re.search(r"gradients +.*, (.*)", ended.stdout)
                verdicts.append(f"right, {found.group(1)}" if found else "none: forward only")
            else:
                verdicts.append(gpu.fail((ended.stderr.strip().splitlines() or ["no word"])[-1]))
        yield [schedule, *verdicts]


def gradients(gpu, quick, launch=()):
    kinds = {"integers, fp32": ["--integers"], "integers, bf16": ["--integers", "--precision", "bf16"],
             "floats, fp32": [], "floats, bf16": ["--precision", "bf16"]}
    print("\n## Gradients of every schedule, 4 ranks" + (" by NCCL" if launch else " on one GPU"))
    table(["schedule", *kinds], gradient_rows(gpu, kinds.values(), quick, launch))


def prediction_row(gpu, name, words, limit=None):
    ended = gpu.execute(*words)
    found = MAKESPAN.search(ended.stdout)
    if ended.returncode != 0 or not found:
        return [name, gpu.fail((ended.stderr.strip().splitlines() or ["no makespan"])[-1]), "", ""]
    if limit is not None and abs(float(found.group(3))) > limit:
        gpu.fail(f"{name}: {found.group(3)} % from its prediction")
    return [name, *found.groups()]


HEADS = ["run", "simulated ms", "measured ms", "difference %"]


def predictions(gpu, quick):
    steps = ["--steps", "3" if quick else "9"]
    print("\n## Serial work: one rank, layers")
    rows = []
    for precision in ("fp32", "bf16"):
        words = ["--schedule", "1f1b", "--ranks", "1", *LARGE, "--precision", precision, *steps]
        rows.append(prediction_row(gpu, f"1f1b, {precision}", words, SERIAL_LIMIT))
    table(HEADS, rows)
    print("\n## Busy work: 4 ranks on one GPU, 1 ms a unit")
    busy = ["--ranks", "4", "--microbatches", "8", "--unit-ms", "1", *steps]
    table(HEADS, (prediction_row(gpu, name, ["--schedule", name, *busy]) for name in SIX))
    print("\n## Layers: 4 ranks that share one GPU")
    shared = ["--ranks", "4", *LARGE, "--precision", "bf16", *steps]
    table(HEADS, (prediction_row(gpu, name, ["--schedule", name, *shared]) for name in SIX))


def by_nccl(gpu, quick):
    launch = ["--launch", "local", "--set", "costs.transfer.model=async"]
    gradients(gpu, quick, launch)
    print("\n## Layers by NCCL: 4 ranks, a GPU each")
    words = ["--ranks", "4", *LARGE, "--precision", "bf16", "--steps", "3" if quick else "9", *launch]
    rows = []
    for queue in ("per-rank", "per-direction", "per-pair"):
        for name in SIX:
            rows.append(prediction_row(gpu, f"{name}, {queue}",
                                       ["--schedule", name, *words, "--set", f"costs.transfer.queue={queue}"]))
    table(HEADS, rows)


def measure(gpu, devices, quick):
    predictions(gpu, quick)
    count = int((re.match(r"(\d+) x ", devices) or [0, 1])[1])
    if count >= 4:
        by_nccl(gpu, quick)
    else:
        print(f"\nNCCL: not measured, it needs 4 GPUs and here is {count}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--quick", action="store_true", help="every fourth schedule, fewer steps")
    parser.add_argument("--gradients-only", action="store_true", help="of every schedule, on one GPU")
    arguments = parser.parse_args()
    gpu = Gpu(arguments.program)
    facts = gpu.doctor()
    devices = facts["gpu back end"]
    if devices.startswith("no "):
        print(f"SKIPPED: {devices}")
        return SKIPPED
    print(f"# {devices}\n\npipeloom {facts['pipeloom']}, {facts['build']} build, {facts['compiler']}")
    gradients(gpu, arguments.quick)
    if not arguments.gradients_only:
        measure(gpu, devices, arguments.quick)
    for failure in gpu.failures:
        print(f"FAILED: {failure}", file=sys.stderr)
    return 1 if gpu.failures else 0


if __name__ == "__main__":
    sys.exit(main())
