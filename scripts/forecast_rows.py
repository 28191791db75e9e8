#!/usr/bin/env python3
"""Forecasts runs that others measured from nothing but their model, their devices and how they were cut up: `pipeloom estimate` against the clock.

    forecast_rows.py PIPELOOM PATH.. [--mean LIMITS] [--median LIMITS] [--most LIMITS] [--rows]

PATHs are files of rows, or folders of them (tests/golden/forecast/README.md says where they are from). Prints a line per question: how many numbers, the mean and median of their
distances from what was measured, in percent, and the largest. Limits are {"name of the line": percent}; exits 1 where a distance is larger. --rows prints
every number.
"""

import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

MIB = 1 << 20
GIB = 1 << 30


def estimate(program, model, options, settings=()):
    """The estimate as JSON. `model`: a preset's name, or an object to write as a file of its own."""
    with tempfile.TemporaryDirectory() as folder:
        if not isinstance(model, str):
            path = pathlib.Path(folder) / "model.json"
            path.write_text(json.dumps(model))
            model = str(path)
        command = [program, "estimate", model, "--json", "-q"]
        for name, value in options.items():
            command += ["--" + name, str(value)]
        for setting in settings:
            command += ["--set", setting]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise RuntimeError(" ".join(command) + "\n" + done.stderr)
    return json.loads(done.stdout)


def percent(found, measured):
    return 100 * (found / measured - 1)


def peak(answer):
    return max(rank["peak_bytes"] for rank in answer["ranks"])


# Zero bubble, Table 4: A100 in nodes of 8, no tensor ranks, scores kept, first and last stage one layer less.

def zero_bubble_run(program, row, schedule, microbatches):
    stages = row["ranks"] * (row["chunks"] if schedule == "interleaved-1f1b" else 1)
    each = (row["layers"] + 2) // stages
    layers = [each - 1] + [each] * (stages - 2) + [each - 1]
    options = {"hardware": "a100", "ranks": row["ranks"], "schedule": schedule, "microbatches": microbatches, "micro-batch": row["samples_per_microbatch"],
               "layers": ",".join(map(str, layers)), "zero": 0}
    if schedule == "interleaved-1f1b":
        options["chunks"] = row["chunks"]
    settings = ["costs.flash=false"]
    if schedule.startswith("zb"):
        # Their limit is in microbatches, not in bytes of a device.
        settings += ["step.rule=post-validation", "memory.limit_bytes=null"]
    answer = estimate(program, row["model"], options, settings)
    samples = microbatches * row["samples_per_microbatch"]
    return 1000 * samples / (answer["step_time_ms"] * row["ranks"]), peak(answer)


def zero_bubble(program, data):
    """Throughput, its ratio to 1F1B, and the fullest rank's memory; and throughput where 1F1B with most microbatches gives each model a factor."""
    out = {"throughput": [], "calibrated": [], "ratios": [], "memory": []}
    for row in data["rows"]:
        last = len(row["microbatches"]) - 1
        factor = zero_bubble_run(program, row, "1f1b", row["microbatches"][last])[0] / row["samples_per_gpu_s"]["1f1b"][last]
        for place, microbatches in enumerate(row["microbatches"]):
            found = {schedule: zero_bubble_run(program, row, schedule, microbatches) for schedule in row["memory_gib"]}
            rates = {schedule: rates[place] for schedule, rates in row["samples_per_gpu_s"].items()}
            for schedule, rate in rates.items():
                name = f"{row['model']} m {microbatches} {schedule}"
                out["throughput"].append((name, percent(found[schedule][0], rate)))
                if (schedule, place) != ("1f1b", last):
                    out["calibrated"].append((name, percent(found[schedule][0] / factor, rate)))
                if schedule != "1f1b":
                    ratio = found[schedule][0] / found["1f1b"][0]
                    out["ratios"].append((name, percent(ratio, rate / rates["1f1b"])))
            if place == last:
                out["memory"] += [(f"{row['model']} {schedule}", percent(found[schedule][1] / GIB, gib))
                                  for schedule, gib in row["memory_gib"].items()]
    return out


# SimuMax: one node of 8 B200, Megatron-LM, nothing recomputed or overlapped.

def simumax_model(shape, layers):
    if shape["type"] == "dense":
        part = {"attention": {"heads": shape["heads"], "kv_heads": shape["kv_heads"], "head_dim": shape["head_dim"]},
                "mlp": {"ffn": shape["ffn_hidden"], "gated": True}}
        kinds, count = {"T": part}, {"T": layers}
    else:
        latent = {"heads": shape["heads"], "q_rank": shape["q_lora_rank"], "kv_rank": shape["kv_lora_rank"], "nope_dim": shape["qk_head_dim"],
                  "rope_dim": shape["qk_rope_head_dim"], "v_dim": shape["v_head_dim"]}
        experts = {"experts": shape["experts"], "top_k": shape["topk"], "ffn": shape["moe_ffn_hidden"], "shared_ffn": shape["shared_expert_ffn_hidden"]}
        kinds = {"D": {"latent_attention": latent, "mlp": {"ffn": shape["ffn_hidden"], "gated": True}},
                 "T": {"latent_attention": latent, "experts": experts}}
        count = {"D": shape["dense_layers"], "T": layers - shape["dense_layers"]}
    return {"name": "cut", "hidden": shape["hidden"], "vocabulary": shape["vocab"], "sequence": 4096, "kinds": kinds, "layers": count}


def simumax_run(program, data, row, chunks=1):
    model = simumax_model(data["models"][row["model"]], row["layers"])
    options = {"hardware": "b200", "ranks": row["p"], "tp": row["t"], "dp": row["d"], "cp": row.get("cp", 1), "ep": row.get("ep", 1),
               "seq": row["sequence"], "micro-batch": row["micro_batch"], "microbatches": row["microbatches"],
               "schedule": "interleaved-1f1b" if chunks > 1 else "1f1b"}
    if chunks > 1:
        options["chunks"] = chunks
    return estimate(program, model, options)


def simumax(program, data):
    out = {"time": [], "memory": []}
    for row in data["rows"]:
        answer = simumax_run(program, data, row)
        name = f"{row['configuration']} m {row['microbatches']}"
        out["time"].append((name, percent(answer["step_time_ms"], row["measured_ms"])))
        out["memory"].append((name, percent(peak(answer) / GIB, row["measured_peak_GiB"])))
    for row in data["preview_vpp"]:
        out["time"].append((row["case"], percent(simumax_run(program, data, row, row["v"])["step_time_ms"], row["measured_ms"])))
    return out


# vTrain: GPTs on many nodes of 8 A100 with 100 Gbit/s each, everything recomputed.

def vtrain(program, data):
    table = data["multi_node"]
    out = {"many nodes": []}
    with tempfile.TemporaryDirectory() as folder:
        cluster = pathlib.Path(folder) / "cluster.json"
        cluster.write_text(json.dumps({"like": "a100", "network": {"rate": "100Gbit/s"}}))
        for numbers in table["rows"]:
            row = dict(zip(table["columns"], numbers))
            hidden = row["hidden"]
            model = {"name": "gpt", "hidden": hidden, "vocabulary": 51200, "tied": True, "norm": "layer", "positions": row["sequence"],
                     "sequence": row["sequence"], "layers": {"T": row["layers"]},
                     "kinds": {"T": {"attention": {"heads": row["heads"], "head_dim": hidden // row["heads"]}, "mlp": {"ffn": 4 * hidden}}}}
            options = {"hardware": cluster, "ranks": row["p"], "tp": row["t"], "dp": row["d"], "seq": row["sequence"], "micro-batch": row["micro_batch"],
                       "microbatches": row["microbatches"], "recompute": "full", "zero": 0}
            answer = estimate(program, model, options, ["costs.flash=false", "costs.sequence_parallel=false"])
            name = f"row {row['source_row']} t {row['t']} d {row['d']} p {row['p']} b {row['micro_batch']}"
            out["many nodes"].append((name, percent(answer["step_time_ms"], row["iteration_ms"])))
    return out


# BLOOM's candidates: 384 A100 with 50 Gbit/s each, everything recomputed, ZeRO 1.

HEADROOM = 0.05  # of the device, that `plan` leaves too


def bloom_stages(row):
    """Layers of each stage."""
    layers, p = row["layers"], row["p"]
    if row["date"] >= "2022-02-28" or (layers + 2) % p == 0 and layers % p:
        each = (layers + 2) // p
        return [each - 1, *[each] * (p - 2), each - 1]
    each = -(-layers // p)
    return [each] * (p - 1) + [layers - each * (p - 1)]


def spearman(found, measured):
    places = [{value: place for place, value in enumerate(sorted(values))} for values in (found, measured)]
    gaps = sum((places[0][a] - places[1][b]) ** 2 for a, b in zip(found, measured))
    return 1 - 6 * gaps / (len(found) * (len(found) ** 2 - 1))


def bloom(program, data):
    """Steps of all candidates; of the topologies of 72 layers the steps, how far their order by throughput is from the measured one, and whether those that ran
    out of memory, and no others, are said not to fit."""
    rows = [dict(zip(data["columns"], numbers)) for numbers in data["rows"]]
    out = {"steps": [], "topologies": [], "topologies order": [], "topologies fit": []}
    rates = []
    with tempfile.TemporaryDirectory() as folder:
        cluster = pathlib.Path(folder) / "cluster.json"
        cluster.write_text(json.dumps(data["hardware"]))
        for row in rows:
            hidden = row["hidden"]
            model = {"name": "gpt", "hidden": hidden, "vocabulary": data["setting"]["vocabulary"], "tied": True, "norm": "layer",
                     "sequence": data["setting"]["sequence"], "layers": {"T": row["layers"]},
                     "kinds": {"T": {"attention": {"heads": row["heads"], "head_dim": hidden // row["heads"]}, "mlp": {"ffn": 4 * hidden}}}}
            options = {"hardware": cluster, "ranks": row["p"], "tp": row["t"], "dp": row["d"], "micro-batch": row["micro_batch"],
                       "global-batch": row["global_batch"], "recompute": "full", "schedule": "1f1b", "layers": ",".join(map(str, bloom_stages(row)))}
            settings = ["costs.flash=false", "costs.sequence_parallel=false", f"costs.gradient_bytes={row['gradient_bytes']}"]
            answer = estimate(program, model, options, settings)
            name = f"{hidden} x {row['layers']} a {row['heads']} t {row['t']} d {row['d']} p {row['p']} b {row['micro_batch']} B {row['global_batch']}"
            is_topology = (row["date"], row["layers"]) == ("2022-02-25", 72) and row["global_batch"] > 2000
            if row["seconds"] is not None:
                error = (name, percent(answer["step_time_ms"] / 1000, row["seconds"]))
                out["steps"].append(error)
            if not is_topology:
                continue
            ran = row["seconds"] is not None
            if ran:
                out["topologies"].append(error)
                rates.append((row["global_batch"] / answer["step_time_ms"], row["global_batch"] / row["seconds"]))
            fits = all(rank["headroom_bytes"] >= HEADROOM * (rank["peak_bytes"] + rank["headroom_bytes"]) for rank in answer["ranks"])
            out["topologies fit"].append((name, 0 if fits == ran else 100))
    out["topologies order"].append(("1 - rank correlation", 100 * (1 - spearman(*zip(*rates)))))
    return out


# Vocabulary Parallelism: one node of 8 A100, Megatron-LM in fp16, whose gradients have 16 bits; 1F1B, and three schedules that share the vocabulary.

def vocabulary_run(program, data, row):
    shape = data["model"]
    model = {"name": "gpt", "hidden": shape["hidden"], "vocabulary": row["vocabulary"], "norm": "layer", "positions": row["sequence"],
             "sequence": row["sequence"], "layers": {"T": shape["layers"]},
             "kinds": {"T": {"attention": {"heads": shape["heads"], "head_dim": shape["hidden"] // shape["heads"]}, "mlp": {"ffn": shape["ffn"]}}}}
    options = {"hardware": "a100", "ranks": row["ranks"], "microbatches": row["microbatches"], "zero": 0,
               "schedule": "vocab-interlaced" if row["method"] == "interlaced" else row["schedule"]}
    return estimate(program, model, options, ["costs.gradient_bytes=2"])


def vocabulary(program, data):
    """Steps and the fullest rank with equal stages (redis moves layers), and how steps compare with 1F1B where that was measured too."""
    out = {"time": [], "ratios": [], "memory": []}
    plain = {}
    equal = [row for row in data["rows"] if row["method"] != "redis"]
    for row in sorted(equal, key=lambda row: row["method"] != "baseline"):
        answer, size = vocabulary_run(program, data, row), (row["sequence"], row["vocabulary"])
        found = answer["step_time_ms"]
        name = f"{row['method']} s {size[0]} V {size[1]}"
        out["memory"].append((name, percent(peak(answer) / MIB, row["peak_mib"])))
        out["time"].append((name, percent(found, row["iteration_ms"])))
        if row["method"] == "baseline":
            plain[size] = (found, row["iteration_ms"])
        elif size in plain:
            out["ratios"].append((name, percent(found / plain[size][0], row["iteration_ms"] / plain[size][1])))
    return out


# Primus and torchtitan: the result of another schedule in the same run.

def ratios(program, data):
    """Throughput over 1F1B's. And memory beside the first measured run of the same placement, whose device holds what no tensor accounts for."""
    out = {}
    for row in data["rows"]:
        answers = []
        for schedule, chunks, _ in row["tokens_per_s"]:
            options = row["options"] | {"schedule": schedule} | ({"chunks": chunks} if schedule == "interleaved-1f1b" else {})
            answers.append(estimate(program, row["model"], options, row.get("settings", ())))
        plain, measured_plain = answers[0]["tokens_per_s_per_gpu"], row["tokens_per_s"][0][2]
        first = {}
        for place, (schedule, chunks, measured) in enumerate(row["tokens_per_s"]):
            name = f"{row['name']} {schedule} v {chunks}"
            if place > 0:
                out.setdefault(row["runs"], []).append((name, percent(answers[place]["tokens_per_s_per_gpu"] / plain, measured / measured_plain)))
            if "device_gib" not in row:
                continue
            gib, tensors = row["device_gib"][place], peak(answers[place]) / GIB
            is_v = schedule.startswith(("v-", "zbv"))
            if is_v in first:
                out.setdefault(row["runs"] + " memory", []).append((name, percent(first[is_v] + tensors, gib)))
            else:
                first[is_v] = gib - tensors
    return out


# Megatron-Bridge: pipelines of Llama and Qwen on 16 to 1,024 H100, B200 and GB200, gradients in 16 bits.

def bridge(program, data):
    """Throughput, and by how much the fullest rank of a dense run is over its device, which held it."""
    out = {}
    settings = [f"costs.hidden_collectives={data['hidden_collectives']}", "costs.reduction=overlapped", "costs.gradient_bytes=2"]
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("dense", "experts"):
            for numbers in data[kind]:
                row = dict(zip(data["columns"], numbers))
                device = pathlib.Path(folder) / f"{row['system']}-{row['precision']}.json"
                device.write_text(json.dumps({"like": row["system"], "matrix": {"precision": row["precision"]}}))
                options = {"hardware": device, "ranks": row["pp"], "tp": row["tp"], "cp": row["cp"], "ep": row["ep"],
                           "dp": row["devices"] // (row["pp"] * row["tp"] * row["cp"]), "seq": row["sequence"], "micro-batch": row["micro_batch"],
                           "global-batch": row["global_batch"], "schedule": "interleaved-1f1b", "chunks": row["v"]}
                answer = estimate(program, row["model"], options, settings)
                name = f"{row['release']} {row['model']} {row['system']} {row['precision']}"
                out.setdefault(kind, []).append((name, percent(answer["tokens_per_s_per_gpu"], row["tokens_per_s"])))
                if kind == "dense":
                    over = max(max(rank["peak_bytes"] / (rank["peak_bytes"] + rank["headroom_bytes"]) for rank in answer["ranks"]), 1)
                    out.setdefault("dense over", []).append((name, percent(over, 1)))
    return out


QUESTIONS = {"bloom": bloom, "bridge": bridge, "ratios": ratios, "simumax": simumax, "vocabulary": vocabulary, "vtrain": vtrain, "zero_bubble": zero_bubble}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("paths", type=pathlib.Path, nargs="+")
    for name, what in (("mean", "means"), ("median", "medians"), ("most", "largest distances")):
        parser.add_argument("--" + name, type=json.loads, default={}, help=f"{what} in percent that are fine: {{\"simumax time\": 2.5, ..}}")
    parser.add_argument("--rows", action="store_true", help="print every number")
    arguments = parser.parse_args()
    failed = False
    print(f"{'forecast':24} {'numbers':>8} {'mean |%|':>9} {'median |%|':>10} {'largest %':>10}")
    files = [file for path in arguments.paths for file in (sorted(path.glob("*.json")) if path.is_dir() else [path])]
    for path in files:
        for end, numbers in QUESTIONS[path.stem](arguments.program, json.loads(path.read_text())).items():
            name = f"{path.stem} {end}"
            errors = [error for _, error in numbers]
            sizes = list(map(abs, errors))
            found = {"mean": statistics.mean(sizes), "median": statistics.median(sizes), "most": max(sizes)}
            print(f"{name:24} {len(errors):8} {found['mean']:9.2f} {found['median']:10.2f} {max(errors, key=abs):10.2f}")
            if arguments.rows:
                for what, error in numbers:
                    print(f"    {error:8.2f}  {what}")
            for kind, value in found.items():
                failed = failed or value > getattr(arguments, kind).get(name, math.inf)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
