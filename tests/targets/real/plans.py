"""Plans a grid of workloads for each target and runs what is printed to be pasted (blocks.py): the order that the framework runs is the
planned one op by op, on the planned layers, and holds no more than planned.

    plans.py PIPELOOM FOLDER [--only TEXT]        --only: workloads whose name contains TEXT

Prints a table, one line per target and kind of workload, and each block that fails. Exits with 1 if one does."""
import collections
import json
import logging
import os
import re
import subprocess
import sys

import replaced

replaced.install()

import blocks  # noqa: E402

logging.disable(logging.CRITICAL)

TARGETS = ("torch-2.15", "torchtitan-0.3.0", "areal-1.0.4", "megatron-core-0.19.2")
FILE_TARGETS = TARGETS[:2]  # that take an order from a file
SIZES = [(p, m) for p in (2, 3, 4, 8) for m in range(2, 3 * p + 2)]
SMALL = ["--budget", "0.3", "-j", "1"]
OPS = re.compile(r"\d+[FBIW]\d+|\(.*\)OVERLAP_F_B")
COLUMNS = ("blocks", "refused", "other order", "other layers", "over peak", "no plan")

Workload = collections.namedtuple("Workload", "kind name target ranks microbatches arguments")


def costs_alone(p, m, costs, schedule="1f1b", **more):
    return json.dumps({"schedule": schedule, "ranks": p, "microbatches": m, "costs": {"time_unit": "ms", "per": "rank", **costs}, **more})


def workloads():
    for target in TARGETS:
        for p, m in SIZES:
            yield Workload("costs", f"{target} costs p{p} m{m}", target, p, m, [costs_alone(p, m, {"forward": 4, "backward": 8}), *SMALL])
            tensor = 2 if (p + m) % 2 else 1
            yield Workload("model", f"{target} model p{p} m{m}", target, p, m,
                           ["llama3-8b", "--hardware", "h100", "--ranks", str(p), "--microbatches", str(m), "--seq", "4096", "--tp",
                            str(tensor), "--dp", str(1 + m % 2), *SMALL])
    for p, m in SIZES:
        yield Workload("no target", f"no target p{p} m{m}", "", p, m, [costs_alone(p, m, {"forward": 4, "backward": 8}), *SMALL])
    for target in FILE_TARGETS:
        for p, m in SIZES:
            if p > 4 or m < 3:
                continue
            base, chunks = (("1f1b", 1), ("interleaved-1f1b", 2), ("zbv", 2))[(p + m) % 3]
            config = costs_alone(p, m, {"forward": 10, "backward_input": 13, "backward_weight": 7, "transfer": {"latency": 1}}, base, chunks=chunks,
                                 memory={"activation_bytes": 100, "limit_bytes": 100 * p + 50})
            yield Workload("searched", f"{target} searched {base} p{p} m{m}", target, p, m, [config, "--vary", "order", *SMALL])


def planned(pipeloom, folder, workload):
    """The plan as JSON; nothing where nothing fits. The order is in FOLDER/order.csv where one is named there."""
    csv = os.path.join(folder, "order.csv")
    arguments = [*workload.arguments]
    if arguments[0].startswith("{"):
        with open(os.path.join(folder, "run.json"), "w", encoding="utf-8") as file:
            file.write(arguments[0])
        arguments[0] = "run.json"
    command = [pipeloom, "plan", *arguments, "--json", "--include", "orders"]
    if workload.target:
        command += ["--target", workload.target]
    if workload.target in FILE_TARGETS:
        command += ["--schedule-out", csv, "--force"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    if run.returncode not in (0, 1):
        raise RuntimeError(f"{workload.name}: {run.stderr.strip()}")
    return json.loads(run.stdout) if run.returncode == 0 else None


def most_held(row, weight):
    """The most layers whose forward is done and whose backward is not: let go with B or W."""
    held = most = 0
    for cell in row:
        for stage, kind in re.findall(r"(\d+)([FBIW])\d+", cell):
            held += {"F": weight[int(stage)], "I": 0}.get(kind, -weight[int(stage)])
            most = max(most, held)
    return most


def ops(row):
    cells = row.split() if isinstance(row, str) else row
    return [cell for cell in cells if OPS.fullmatch(cell)]


def check(block, winner, folder, workload):
    """(what failed, or "", a sentence) of one block to paste."""
    layers = winner["layers"]
    wanted = [ops(row) for row in winner["orders"]]
    for name in block["files"]:
        if not os.path.isabs(name):  # nobody asked for the file: what --schedule-out would write there
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.writelines(",".join(row) + "\n" for row in wanted)
    try:
        rows, held = blocks.run(block["target"], block["text"], folder, workload.ranks, workload.microbatches, layers)
    except Exception as refusal:  # pylint: disable=broad-except
        return "refused", f"{type(refusal).__name__}: {' '.join(str(refusal).split())[:400]}"
    if rows != wanted:
        rank = next(rank for rank in range(workload.ranks) if rows[rank] != wanted[rank])
        return "other order", f"rank {rank} runs {' '.join(rows[rank])[:200]}, planned {' '.join(wanted[rank])[:200]}"
    if layers and held != layers:
        return "other layers", f"{held} instead of {layers}"
    weight = layers or [1] * len(held)
    for rank in range(workload.ranks):
        if most_held(rows[rank], held if layers else weight) > most_held(wanted[rank], weight):
            return "over peak", f"rank {rank}"
    return "", ""


def main():
    pipeloom, folder = sys.argv[1:3]
    only = sys.argv[4] if len(sys.argv) > 3 else ""
    os.makedirs(folder, exist_ok=True)
    counts, searched = collections.defaultdict(collections.Counter), 0
    for workload in workloads():
        if only not in workload.name:
            continue
        plan = planned(pipeloom, folder, workload)
        if plan is None or not plan["to_run"]:
            counts[workload.target, workload.kind]["no plan"] += 1
            continue
        winner = plan["candidates"][0]
        searched += winner["schedule"] == "custom"
        for block in plan["to_run"]:
            row = counts[block["target"], workload.kind]
            row["blocks"] += 1
            failure, sentence = check(block, winner, folder, workload)
            if failure:
                row[failure] += 1
                print(f"{workload.name}: {winner['name']} on {block['target']}: {failure}: {sentence}", flush=True)
    print(f"{'target':<22}{'workload':<10}" + "".join(f"{column:>14}" for column in COLUMNS))
    for (target, kind), row in counts.items():
        print(f"{target:<22}{kind:<10}" + "".join(f"{row[column]:>14}" for column in COLUMNS))
    print(f"searched orders among them: {searched}")
    return int(any(row[column] for row in counts.values() for column in COLUMNS[1:5]))


if __name__ == "__main__":
    sys.exit(main())
