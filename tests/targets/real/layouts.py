"""Plans whole layouts of models for a number of devices, and gives the block of every row of the answer to the framework's own code, as models
that the framework has itself: the arguments are accepted, the model is built and spread, and the order and the layers are the planned ones.

    layouts.py PIPELOOM FOLDER [--only TEXT] [--record FILE]

    --only TEXT     grids whose name contains TEXT: "torchtitan", "llama3-70b"
    --record FILE   the verdicts, one a line

Prints a table, one line per target and model, and each row that fails. Exits with 1 if one does."""
import collections
import json
import os
import subprocess
import sys

import replaced

replaced.install()

import models  # noqa: E402
import plans  # noqa: E402

MEGATRON, TORCHTITAN = "megatron-core-0.19.2", "torchtitan-0.3.0"
COLUMNS = ("grids", "rows", *plans.COLUMNS[1:5], "no plan")

Grid = collections.namedtuple("Grid", "model hardware devices batch sequence more", defaults=([],))

# Of each model the devices that it was published to be trained on, or fewer; the last ones ask for what no row of the others has.
GRIDS = (
    Grid("llama3-8b", "h100", 8, 64, 8192),
    Grid("llama3-8b", "h100", 64, 256, 8192),
    Grid("llama3-70b", "h100", 64, 512, 8192),
    Grid("llama3-70b", "h100", 512, 1024, 8192),
    Grid("llama3-405b", "h100", 1024, 1024, 8192),
    Grid("llama3-405b", "gb200", 256, 512, 8192),
    Grid("mixtral-8x7b", "h100", 64, 512, 4096),
    Grid("qwen3-30b-a3b", "h100", 16, 256, 4096),
    Grid("qwen3-235b-a22b", "h100", 64, 512, 4096),
    Grid("qwen3-235b-a22b", "h100", 256, 1024, 4096),
    Grid("deepseek-v3", "gb200", 256, 2048, 4096),
    Grid("deepseek-v3", "h100", 1024, 8192, 4096),
    Grid("gpt-oss-120b", "h100", 64, 512, 8192),
    Grid("llama3-8b", "h100", 16, 64, 32768, ["--fix", "cp=4"]),
    Grid("gpt-oss-120b", "h100", 64, 512, 8192, ["--fix", "cp=2"]),
    Grid("qwen3-30b-a3b", "h100", 16, 256, 4096, ["--fix", "tp=2,ep=8"]),
    Grid("llama3-70b", "h100", 60, 480, 8192, ["--fix", "pp=3"]),
    Grid("llama3-70b", "h100", 512, 1024, 8192, ["--fix", "pp=16,chunks=5"]),
    Grid("deepseek-v3", "h100", 1024, 8192, 4096, ["--fix", "pp=16,cp=2"]),
    Grid("llama3-8b", "h100", 8, 64, 8192, ["--fix", "pp=1,zero=3"]),
    Grid("llama3-8b", "h100", 8, 64, 8192, ["--fix", "pp=1,zero=2"]),
    Grid("qwen3-30b-a3b", "h100", 16, 256, 4096, ["--fix", "pp=1,zero=3"]),
    Grid("llama3-8b", "h100", 32, 64, 8192, ["--fix", "pp=1,zero=3,shards=8"]),
    Grid("qwen3-30b-a3b", "h100", 32, 256, 4096, ["--fix", "pp=1,zero=3,shards=8"]),
)


def name_of(target, grid):
    said = "".join(f" {word}" for word in grid.more if not word.startswith("--"))
    return f"{target} {grid.model} {grid.hardware} x{grid.devices}{said}"


def run(command, folder):
    """What the program printed as JSON, or nothing where it says that nothing fits. RuntimeError where it refuses."""
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode not in (0, 1) or not done.stdout:
        raise RuntimeError(done.stderr.strip())
    return json.loads(done.stdout)


def planned(pipeloom, folder, grid, target):
    os.makedirs(folder, exist_ok=True)
    return run([pipeloom, "plan", grid.model, "--hardware", grid.hardware, "--gpus", str(grid.devices), "--global-batch", str(grid.batch), "--seq",
                str(grid.sequence), "--target", target, "--include", "orders", "-j", "1", *grid.more], folder)


def nested(flat):
    """{"costs.tp": 2} as {"costs": {"tp": 2}}."""
    out = {}
    for path, value in flat.items():
        *parents, key = path.split(".")
        place = out
        for parent in parents:
            place = place.setdefault(parent, {})
        place[key] = value
    return out


def block_of(pipeloom, folder, row, target):
    """What the framework is told of one row: `validate` has it of the row's own configuration."""
    with open(os.path.join(folder, "row.json"), "w", encoding="utf-8") as file:
        json.dump(nested(row["config"]), file)
    told = run([pipeloom, "validate", "row.json", "--target", target], folder)
    if not told["to_run"]:
        raise RuntimeError(f"{row['name']}: {told['not_taken'] or told['diagnostics']}")
    return told["to_run"][0]


def workload_of(grid, target, row):
    own = models.megatron_words(grid.model) if target == MEGATRON else []
    layout = row["layout"]
    return plans.Workload(grid.model, f"{name_of(target, grid)}: {row['name']}", target, layout["pp"], layout["microbatches"], [], own,
                          grid.model, grid.devices)


def checked(pipeloom, folder, only):
    """(grid, target, row, block, what failed, a sentence) of each row; without a row where there is none."""
    number = 0
    for target in (MEGATRON, TORCHTITAN):
        for grid in GRIDS:
            if only not in name_of(target, grid) or (target == TORCHTITAN and grid.model not in models.TORCHTITAN):
                continue
            number += 1
            place = os.path.join(folder, f"{number:04}")
            try:
                plan = planned(pipeloom, place, grid, target)
            except RuntimeError as error:
                yield grid, target, None, None, "no plan", str(error)
                continue
            if not plan["candidates"]:
                yield grid, target, None, None, "no plan", ""
            for row in plan["candidates"]:
                workload = workload_of(grid, target, row)
                block = block_of(pipeloom, place, row, target)
                if row is plan["candidates"][0] and plan["to_run"][0]["text"] != block["text"]:
                    yield grid, target, row, block, "refused", "the plan prints another block than its configuration has"
                    continue
                yield grid, target, row, block, *plans.check(block, row, place, workload)


def main(words):
    asked = plans.arguments_of(words)
    counts, verdicts, grids = collections.defaultdict(collections.Counter), [], set()
    for grid, target, row, block, failure, sentence in checked(asked.pipeloom, asked.folder, asked.only):
        tally = counts[target, grid.model]
        if name_of(target, grid) not in grids:
            grids.add(name_of(target, grid))
            tally["grids"] += 1
        if row is None:
            tally[failure] += 1
            print(f"{name_of(target, grid)}: {failure}: {sentence}", flush=True)
            continue
        tally["rows"] += 1
        verdicts.append(plans.case_of(workload_of(grid, target, row), row, block, failure))
        if failure:
            tally[failure] += 1
            print(f"{name_of(target, grid)}: {row['name']}: {failure}: {sentence}", flush=True)
    print(f"{'target':<22}{'model':<18}" + "".join(f"{column:>14}" for column in COLUMNS))
    for (target, model), tally in counts.items():
        print(f"{target:<22}{model:<18}" + "".join(f"{tally[column]:>14}" for column in COLUMNS))
    if asked.record:
        plans.record(asked.record, verdicts)
    return int(any(tally[column] for tally in counts.values() for column in plans.COLUMNS[1:5]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
