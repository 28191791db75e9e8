"""Plans a grid of workloads for each target and runs what is printed to be pasted (blocks.py): the order that the framework runs is the
planned one op by op, on the planned layers, and holds no more than planned.

    plans.py PIPELOOM FOLDER [--only TEXT] [--jobs N] [--record FILE]

    --only TEXT     workloads whose name contains TEXT: "megatron", "model p4", "searched"
    --jobs N        plans made at the same time as blocks are run; default 1
    --record FILE   the verdicts, one a line

Prints a table, one line per target and kind of workload, and each block that fails. Exits with 1 if one does."""
import argparse
import collections
import concurrent.futures
import importlib.metadata
import json
import logging
import os
import re
import subprocess
import sys

import replaced

replaced.install()

import blocks  # noqa: E402
import orders as texts  # noqa: E402

logging.disable(logging.CRITICAL)

TARGETS = ("torch-2.15", "torchtitan-0.3.0", "areal-1.0.4", "megatron-core-0.19.2")
FILE_TARGETS = TARGETS[:2]  # that take an order from a file
SIZES = [(p, m) for p in (2, 3, 4, 8) for m in range(2, 3 * p + 2)]
SMALL = ["--budget", "0.3", "-j", "1"]
DATE = "2026-11-30"
ORDER = "order.csv"
MOST_OPS = 300  # of an order that is recorded whole
OPS = re.compile(r"\d+[FBIW]\d+|\(.*\)OVERLAP_F_B")
COLUMNS = ("blocks", "refused", "other order", "other layers", "over peak", "no answer", "no plan")

# Models of many kinds, spread in many ways: what `plan` is told, and what Megatron's own arguments have to say of the model.
EXPERTS = ["--num-experts", "64", "--moe-router-topk", "2"]
MODELS = (
    ("experts", 4, 8, ["mixtral-8x7b", "--hardware", "h200", "--ep", "8", "--dp", "8", "--seq", "4096"], EXPERTS),
    ("experts beside tp", 4, 9, ["mixtral-8x7b", "--hardware", "h200", "--ep", "4", "--tp", "2", "--dp", "4", "--seq", "4096"], EXPERTS),
    ("experts on replicas", 4, 8, ["mixtral-8x7b", "--hardware", "h200", "--ep", "8", "--dp", "8", "--zero", "0", "--seq", "1024"], EXPERTS),
    ("experts and mtp", 8, 16, ["deepseek-v3", "--hardware", "gb200", "--ep", "64", "--dp", "64", "--seq", "4096"], EXPERTS),
    ("qwen experts", 4, 13, ["qwen3-30b-a3b", "--hardware", "h200", "--ep", "8", "--dp", "8", "--seq", "4096"], EXPERTS),
    ("full recomputation", 8, 15, ["llama3-70b", "--hardware", "h100", "--tp", "8", "--seq", "8192", "--recompute", "full"], []),
    ("selective recomputation", 8, 23, ["llama3-70b", "--hardware", "h100", "--tp", "8", "--seq", "8192", "--recompute", "selective"], []),
    ("modules again", 4, 8, ["llama3-8b", "--hardware", "h100", "--seq", "8192", "--recompute", "layernorm,mlp"], []),
    ("many chunks", 16, 32, ["llama3-70b", "--hardware", "h100", "--tp", "8", "--seq", "8192"], []),
    ("context", 4, 9, ["llama3-8b", "--hardware", "h100", "--cp", "2", "--dp", "2", "--seq", "8192"], []),
    ("uneven context", 2, 5, ["llama3-8b", "--hardware", "h100", "--cp", "4", "--dp", "2", "--seq", "4100"], []),
    ("zero 0", 4, 9, ["llama3-8b", "--hardware", "h200", "--dp", "2", "--zero", "0", "--seq", "2048", "--micro-batch", "2"], []),
    ("zero 3", 4, 9, ["llama3-8b", "--hardware", "h100", "--dp", "4", "--zero", "3", "--seq", "4096"], []),
    ("two samples", 3, 7, ["zb-1.5b", "--hardware", "h100", "--seq", "1024", "--micro-batch", "2"], []),
    ("shared weights", 4, 10, ["zb-6.2b", "--hardware", "h100", "--seq", "1024", "--micro-batch", "4"], []),
    ("hybrid", 4, 9, ["nemotron-h-8b", "--hardware", "h100", "--tp", "2", "--seq", "4096"], []),
    ("hybrid in a line", 4, 4, ["nemotron-nano-v2-9b", "--hardware", "h100", "--tp", "2", "--seq", "4096"], []),
    ("one rank", 1, 4, ["zb-1.5b", "--hardware", "h100", "--dp", "2", "--seq", "1024"], []),
)

# `own`: what Megatron's arguments have to say of the model; `model`, `devices`: of a model that frameworks have themselves.
Workload = collections.namedtuple("Workload", "kind name target ranks microbatches arguments own model devices", defaults=([], None, None))


def costs_alone(p, m, costs, schedule="1f1b", **more):
    return json.dumps({"schedule": schedule, "ranks": p, "microbatches": m, "costs": {"time_unit": "ms", "per": "rank", **costs}, **more})


def workloads():
    for target in TARGETS:
        for p, m in SIZES:
            yield Workload("costs", f"{target} costs p{p} m{m}", target, p, m, [costs_alone(p, m, {"forward": 4, "backward": 8}), *SMALL])
            tensor = 2 if p == 2 or (p + m) % 2 else 1
            name, hardware = ("qwen3-30b-a3b", "mi355x") if target.startswith("areal") else ("llama3-8b", "h100")  # AReaL has no Llama
            yield Workload("model", f"{target} model p{p} m{m}", target, p, m,
                           [name, "--hardware", hardware, "--ranks", str(p), "--microbatches", str(m), "--seq", "4096", "--tp",
                            str(tensor), "--dp", str(1 + m % 2), *SMALL])
        for name, p, m, arguments, own in MODELS:
            yield Workload("models", f"{target} models {name}", target, p, m,
                           [*arguments, "--ranks", str(p), "--microbatches", str(m), *SMALL], own)
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
    """The plan as JSON; nothing where nothing fits; RuntimeError where the program refuses. The order is in FOLDER/order.csv where one is named there."""
    os.makedirs(folder, exist_ok=True)
    if os.path.exists(os.path.join(folder, ORDER)):
        os.remove(os.path.join(folder, ORDER))
    arguments = [*workload.arguments]
    if arguments[0].startswith("{"):
        with open(os.path.join(folder, "run.json"), "w", encoding="utf-8") as file:
            file.write(arguments[0])
        arguments[0] = "run.json"
    command = [pipeloom, "plan", *arguments, "--json", "--include", "orders"]
    if workload.target:
        command += ["--target", workload.target]
    if workload.target in FILE_TARGETS:
        command += ["--schedule-out", ORDER]
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
        if not os.path.exists(os.path.join(folder, name)):  # nobody asked for the file: what --schedule-out would write there
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.writelines(",".join(row) + "\n" for row in wanted)
    try:
        rows, held = blocks.run(block["target"], block["text"], folder, workload, layers)
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


def checked(pipeloom, folder, only, jobs):
    """(workload, plan, block, what failed, a sentence) of each block; a plan without one once, with nothing as block."""
    chosen = [workload for workload in workloads() if only in workload.name]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        folders = [os.path.join(folder, f"{number:04}") for number in range(len(chosen))]
        plans = [pool.submit(planned, pipeloom, *pair) for pair in zip(folders, chosen)]
        for workload, place, made in zip(chosen, folders, plans):
            try:
                plan = made.result()
            except RuntimeError as error:
                yield workload, None, None, "no answer", str(error)
                continue
            if plan is None or not plan["to_run"]:
                yield workload, plan, None, "no plan", ""
                continue
            for block in plan["to_run"]:
                yield workload, plan, block, *check(block, plan["candidates"][0], place, workload)


def record(path, verdicts):
    """One line a block: what was planned, the text, and what the framework did with it."""
    head = {"format": "plan-verdicts/1", "date": DATE,
            "versions": {package: importlib.metadata.version(package).partition("+")[0]
                         for package in ("torch", "torchtitan", "areal", "megatron-core")}}
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(head)[:-1] + ', "cases": [\n' + ",\n".join(json.dumps(case) for case in verdicts) + "\n]}\n")


def case_of(workload, winner, block, failure):
    """The order is the planned one where the verdict is "runs". Of the text and of long orders only hashes are kept."""
    rows = [ops(row) for row in winner["orders"]]
    config = {"chunks": winner["chunks"], **{key: value for key, value in winner["config"].items() if key != "options.file"}}
    case = {"name": workload.name, "target": block["target"], "verdict": failure or "runs", "candidate": winner["name"], "config": config,
            "order": texts.digest(rows), "text": texts.digest([[block["text"]]])}
    if winner["schedule"] == "custom" and sum(map(len, rows)) <= MOST_OPS:
        case["rows"] = [" ".join(row) for row in rows]
    return case


def arguments_of(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pipeloom", type=os.path.abspath)
    parser.add_argument("folder", type=os.path.abspath)
    parser.add_argument("--only", default="", metavar="TEXT")
    parser.add_argument("--jobs", type=int, default=1, metavar="N")
    parser.add_argument("--record", metavar="FILE")
    return parser.parse_args(words)


def main(words):
    asked = arguments_of(words)
    counts, searched, verdicts = collections.defaultdict(collections.Counter), 0, []
    for workload, plan, block, failure, sentence in checked(asked.pipeloom, asked.folder, asked.only, asked.jobs):
        if block is None:
            counts[workload.target, workload.kind][failure] += 1
            if sentence:
                print(sentence, flush=True)
            continue
        winner = plan["candidates"][0]
        searched += winner["schedule"] == "custom"
        row = counts[block["target"], workload.kind]
        row["blocks"] += 1
        verdicts.append(case_of(workload, winner, block, failure))
        if failure:
            row[failure] += 1
            print(f"{workload.name}: {winner['name']} on {block['target']}: {failure}: {sentence}", flush=True)
    print(f"{'target':<22}{'workload':<10}" + "".join(f"{column:>14}" for column in COLUMNS))
    for (target, kind), row in counts.items():
        print(f"{target:<22}{kind:<10}" + "".join(f"{row[column]:>14}" for column in COLUMNS))
    print(f"searched orders among them: {searched}")
    if asked.record:
        record(asked.record, verdicts)
    return int(any(row[column] for row in counts.values() for column in COLUMNS[1:6]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
