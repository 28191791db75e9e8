#!/usr/bin/env python3
"""How fast long traces are read, and in how much memory.

    bench_traces.py PROGRAM [--size MB] [--folder FOLDER] [FORMAT...]

Writes traces of SIZE megabytes (default 1000) of each format (kineto, straggler, nsys) below FOLDER (default: the folder for temporary files), has PROGRAM
(build/release/cli/pipeloom) convert each, and prints seconds, MB/s and its peak of memory. Files are gone afterwards.
"""
import argparse
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

RANKS = 4
MICROBATCHES = 16
NOISE = 60  # other events for each op


def ops(rank, step):
    """(kind, microbatch, start, end) in ns: 1F1B whose backwards take twice as long as its forwards."""
    forward, length = 10_000, RANKS * 100_000 + MICROBATCHES * 30_000
    order = [("F", k) for k in range(min(RANKS - rank, MICROBATCHES))]
    for k in range(MICROBATCHES):
        order.append(("B", k))
        if k + RANKS - rank < MICROBATCHES:
            order.append(("F", k + RANKS - rank))
    done = step * length + rank * forward
    for kind, k in order:
        if kind == "B":  # not before the later ranks have gone backward
            done = max(done, step * length + (RANKS * 3 - 2 * rank + 3 * k) * forward)
        end = done + (forward if kind == "F" else 2 * forward)
        yield kind, k, done, end
        done = end


def until(size, written, step):
    """True if another step is to be written."""
    return step < 2 or written() < size


def write_kineto(folder, size):
    for rank in range(RANKS):
        with open(f"{folder}/rank{rank}.json", "w", encoding="ascii") as out:
            out.write('{"schemaVersion": 1, "deviceProperties": [], "distributedInfo": {"rank": %d, "world_size": %d}, "traceEvents": [' % (rank, RANKS))
            number, step, between = 0, 0, ""
            steps = max(2, int(size / RANKS / (2 * MICROBATCHES * (NOISE + 1) * 265)))
            for step in range(steps):
                for kind, k, start, end in ops(rank, step):
                    for noise in range(NOISE + 1):
                        number += 1
                        name = f"PP:{rank}{kind}{k}" if noise == 0 else "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_nn"
                        category = "gpu_user_annotation" if noise == 0 else "kernel"
                        out.write('%s{"ph": "X", "cat": "%s", "name": "%s", "pid": 0, "tid": 7, "ts": %d.%03d, "dur": %d.%03d, "args": {"External id": %d, '
                                  '"device": 0, "stream": 7, "correlation": %d, "grid": [128, 1, 1], "block": [256, 1, 1]}}' % (
                                      between, category, name, start // 1000, start % 1000, (end - start) // 1000, (end - start) % 1000, number, number))
                        between = ",\n"
            out.write("]}\n")


def write_straggler(folder, size):
    with open(f"{folder}/trace.csv", "w", encoding="ascii") as out:
        out.write("dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,gmc,mb_id\n")
        step = 0
        while until(size, out.tell, step):
            for rank in range(RANKS):
                for kind, k, start, end in ops(rank, step):
                    name = "forward" if kind == "F" else "backward"
                    row = f"{start / 1e9:.9f},{(end - start) / 1e9:.9f},{k},0,{rank},{k}\n"
                    out.write(f"0,{rank},{rank},{step},{name}-compute,{row}")
                    for _ in range(NOISE):
                        out.write(f"0,{rank},{rank},{step},grads-reduce-scatter,{row}")
            step += 1


def write_nsys(folder, size):
    steps = max(2, int(size / RANKS / (2 * MICROBATCHES * (NOISE + 1) * 90)))
    for rank in range(RANKS):
        database = sqlite3.connect(f"{folder}/rank{rank}.sqlite", isolation_level=None)
        database.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);"
                               "CREATE TABLE NVTX_EVENTS (start INT NOT NULL, end INT, eventType INT NOT NULL, text TEXT, globalTid INT, textId INT); BEGIN;")
        for step in range(steps):
            rows = []
            for kind, k, start, end in ops(rank, step):
                rows.append((start, end, f"PP:{rank}{kind}{k}"))
                rows += [(start, end, "transformer.layer.attention.core.softmax.dropout.bmm")] * NOISE
            database.executemany("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, ?, 83886089, NULL)", rows)
        database.execute("COMMIT")
        database.close()


WRITERS = {"kineto": write_kineto, "straggler": write_straggler, "nsys": write_nsys}


def measure(program, name, size, root):
    folder = tempfile.mkdtemp(prefix=f"bench_traces_{name}_", dir=root)
    try:
        WRITERS[name](folder, size)
        length = sum(os.path.getsize(os.path.join(folder, file)) for file in os.listdir(folder))
        # A process between, so that its children's peak is this program's alone.
        code = ("import resource, subprocess, sys, time\nbegin = time.monotonic()\n"
                "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n"
                "usage = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
                "print(time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)")
        answer = subprocess.run([sys.executable, "-c", code, program, "convert", folder, "-", "--to", "timeline", "-q"],
                                check=True, capture_output=True, text=True)
        seconds, processor, peak = map(float, answer.stdout.split())
        print(f"{name:<10} {length / 1e6:8.0f} MB {seconds:7.2f} s ({processor:.2f} s of processor) {length / 1e6 / seconds:7.0f} MB/s {peak:7.0f} MB of memory")
    finally:
        shutil.rmtree(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--size", type=float, default=1000, help="megabytes of each format")
    parser.add_argument("--folder", help="where to write; default: the folder for temporary files")
    parser.add_argument("formats", nargs="*", metavar="FORMAT", help=", ".join(WRITERS))
    options = parser.parse_intermixed_args()
    for name in options.formats or WRITERS:
        measure(options.program, name, options.size * 1e6, options.folder)


if __name__ == "__main__":
    main()
