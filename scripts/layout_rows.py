#!/usr/bin/env python3
"""Plans of layouts beside published ones: is the published layout looked at, does it fit, and how far is it from the best forecast?

    layout_rows.py PROGRAM [--rows tests/golden/layouts/rows.json] [--hidden SHARE] [--only TEXT] [--jobs N]

A line for each row: by how many percent the forecast of the published layout is off its published throughput, how much longer its step is than that of
the best layout of the same target, and the place of its split among the splits. Gradients have 16 bits and are reduced beside the backward, SHARE (0.7) of the
layers' exchanges is hidden, as in scripts/forecast_rows.py. Rows of pipelines are planned for Megatron-core, rows of FSDP for PyTorch.
"""

import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import tempfile

SETTINGS = ["--set", "costs.reduction=overlapped", "--set", "costs.gradient_bytes=2"]
# The devices of torchtitan's benchmarks: 95 GiB as PyTorch reports them, 2.4 TB/s (benchmarks/llama3_h100_202412_torchtitan.md). PyTorch's attention of that
# time was FlashAttention 2, forward and backward up to 335 TFLOPs a second on H100 (arXiv 2307.08691, 4.1): 0.677 of the peak over the whole square.
DEVICES = {"h100-96gb-500w": {"like": "h100", "memory": {"capacity": "95GiB", "bandwidth": "2.4TB/s"}, "attention": {"tables": [], "efficiency": 0.677}}}


def plan(program, row, device, options):
    command = [program, "plan", row["model"], "--hardware", device, "--gpus", str(row["gpus"]), "--global-batch", str(row["global_batch"]), "--seq", str(row["seq"]),
               "--precision", row["precision"], "--target", "torch" if row.get("fsdp") else "megatron", "--json", "-q", "-j", "1", *SETTINGS, *options]
    answer = subprocess.run(command, capture_output=True, text=True)
    return json.loads(answer.stdout) if answer.stdout else {"error": answer.stderr.strip(), "candidates": []}


def fixed(row):
    sizes = {"tp": row["tp"], "pp": row["pp"], "cp": row["cp"], "ep": row["ep"], "micro_batch": row["micro_batch"], "chunks": row["v"]}
    if row.get("fsdp"):
        sizes["zero"] = 3
    return ",".join(f"{key}={size}" for key, size in sizes.items())


def split_of(sizes):
    return sizes["tp"], sizes["pp"], sizes["cp"], sizes["ep"]


def compared(program, row, folder, hidden):
    """The row's numbers: error, above, place; each None where it is not known."""
    device = row["system"]
    if device in DEVICES:
        device = str(folder / f"{device}.json")
    share = ["--set", f"costs.hidden_collectives={hidden}"]
    published = plan(program, row, device, [*share, "--fix", fixed(row)])
    best = plan(program, row, device, [*share, "--top", "10"])
    out = {"error": None, "above": None, "place": None, "why": published.get("error") or best.get("error")}
    if not published["candidates"] or not best["candidates"]:
        out["why"] = out["why"] or str(published["space"]["excluded"])
        return out
    found = published["candidates"][0]
    if "tokens_per_s_per_gpu" in row:
        out["error"] = found["tokens_per_s_per_gpu"] / row["tokens_per_s_per_gpu"] - 1
    out["above"] = found["step_time"] / min(one["step_time"] for one in best["candidates"]) - 1
    by_step = sorted(best["candidates"], key=lambda one: one["step_time"])
    places = [i for i, one in enumerate(by_step) if split_of(one["layout"]) == split_of(row)]
    out["place"] = places[0] + 1 if places else None
    return out


def summary(name, rows):
    fitting = [row for row in rows if row["above"] is not None]
    near = [sum(row["above"] <= most for row in fitting) for most in (0.05, 0.1)]
    first = sum(row["place"] is not None and row["place"] <= 5 for row in fitting)
    print(f"{name}: {len(fitting)} of {len(rows)} looked at and fitting; within 5 % of the best {near[0]}, within 10 % {near[1]}; split among the first five {first}")


def text_of(number, form):
    return "-" if number is None else format(number, form)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--rows", type=pathlib.Path, default=pathlib.Path("tests/golden/layouts/rows.json"))
    parser.add_argument("--hidden", default="0.7")
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    rows = [row for row in json.loads(arguments.rows.read_text())["rows"] if {"micro_batch", "v"} <= row.keys()]
    rows = [row for row in rows if arguments.only in f"{row['model']} {row['system']} {row['precision']}"]
    kinds = {"pipelines and experts": [], "FSDP": []}
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        folder = pathlib.Path(name)
        for device, text in DEVICES.items():
            (folder / f"{device}.json").write_text(json.dumps(text))
        for row, found in zip(rows, pool.map(lambda row: compared(arguments.program, row, folder, arguments.hidden), rows)):
            kinds["FSDP" if row.get("fsdp") else "pipelines and experts"].append(found)
            layout = f"tp{row['tp']} pp{row['pp']} cp{row['cp']} ep{row['ep']} v{row['v']} mbs{row['micro_batch']}{' fsdp' if row.get('fsdp') else ''}"
            print(f"{row['model']:16} {row['gpus']:5} {row['system']:14} {row['precision']:6} {layout:36} error {text_of(found['error'], '+7.1%'):>8} "
                  f"above {text_of(found['above'], '+6.1%'):>7} place {text_of(found['place'], '2'):>2} {found['why'] or ''}", flush=True)
    for name, found in kinds.items():
        summary(name, found)


if __name__ == "__main__":
    main()
