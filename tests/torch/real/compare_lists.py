"""Compares lists that PyTorch made (own_lists.py) with what pipeloom writes for the same shapes, cell by cell.

    compare_lists.py PIPELOOM LISTS TARGET
"""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

ONES = "1 for each rank"
LOWERED = ["--to", "torch-comms"]
FORMATS = {
    "compute": ["--to", "torch-compute"],
    "comms": LOWERED,
    "defer": [*LOWERED, "--defer-receives", "--allow-swaps", "-q"],
    "active1": [*LOWERED, "--max-active-stages", "1"],
    "active2": [*LOWERED, "--max-active-stages", "2"],
    "sends1": [*LOWERED, "--max-outstanding-sends", "1"],
    "sends2": [*LOWERED, "--max-outstanding-sends", "2"],
    "sends2_defer": [*LOWERED, "--max-outstanding-sends", "2", "--defer-receives", "--allow-swaps", "-q"],
    "ahead_auto": [*LOWERED, "--unshard-lookahead", "auto"],
    "ahead_one": [*LOWERED, "--unshard-lookahead", ONES],
    "late": [*LOWERED, "--defer-reduce-grad-wait"],
    "all": [*LOWERED, "--max-active-stages", "2", "--max-outstanding-sends", "3", "--unshard-lookahead", ONES,
            "--defer-reduce-grad-wait"],
}


def read_parts(path):
    parts, name = {}, None
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("== "):
                name = line[3:].rstrip("\n")
                parts[name] = []
            else:
                parts[name].append(line.rstrip("\n"))
    return parts


def written(pipeloom, config, arguments):
    run = subprocess.run([pipeloom, "convert", config, "-", *arguments], capture_output=True, text=True, check=False)
    if run.returncode == 2 and "PyTorch 2.15 refuses" in run.stderr:
        return ["refused"]
    if run.returncode != 0:
        return [run.stderr.strip()]
    return [row.replace('""', "") for row in run.stdout.replace("\r", "").splitlines()]


def main():
    pipeloom, lists, target = sys.argv[1:]
    config = os.path.join(tempfile.mkdtemp(prefix="pipeloom-torch-"), "run.json")
    counts, different = collections.Counter(), []
    for name, rows in read_parts(lists).items():
        shape, kind = name.split(" ")[0].rsplit(".", 1)
        if kind == "refused":
            counts["refused by PyTorch"] += 1
            continue
        schedule, ranks, chunks, microbatches = re.fullmatch(r"(\w+)_pp(\d+)_v(\d+)_mb(\d+)", shape).groups()
        with open(config, "w", encoding="utf-8") as file:
            json.dump({"schedule": schedule, "ranks": int(ranks), "chunks": int(chunks), "microbatches": int(microbatches)}, file)
        arguments = [",".join(["1"] * int(ranks)) if one is ONES else one for one in FORMATS[kind]]
        arguments += ([] if kind == "compute" else ["--target", target])
        counts[kind] += 1
        got = written(pipeloom, config, arguments)
        if rows == ["refused"]:
            counts[kind + " refused"] += 1
        if got != rows:
            counts[kind + " different"] += 1
            cell = next(((r, c) for r in range(min(len(rows), len(got)))
                         for c, pair in enumerate(zip(rows[r].split(","), got[r].split(","))) if pair[0] != pair[1]), None)
            different.append(f"{name}: first different cell {cell}: {got[0][:120] if cell is None else ''}")
    print(f"{target}: " + ", ".join(f"{kind} {count}" for kind, count in sorted(counts.items())))
    for line in different[:20]:
        print("  " + line)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
