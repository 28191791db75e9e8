#!/usr/bin/env python3
"""Replays measured pipelines: their own op times and their links' message times go in, the simulated step comes out.

    replay_measured.py PIPELOOM DIR [--most LIMITS] [--median LIMITS]

DIR holds measured runs as JSON, one data set a file (tests/golden/measured/README.md says what is in them). Prints a line per question: how
many numbers, and their median and largest distance from what was measured. Limits are {"name of the line": percent}; exits 1 where a distance
is larger.
"""

import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile


def simulate(program, config):
    """The report, with times in the time unit of the configuration."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(config, file)
        file.flush()
        report = subprocess.run([program, "simulate", file.name, "--json"], capture_output=True, check=True, text=True)
    return json.loads(report.stdout)


def percent(found, measured):
    """By how much more than was measured was found."""
    return 100 * (found / measured - 1)


def rows_of(kind, place, times):
    """Rows of costs.table: times[place][microbatch]."""
    return [{"kind": kind, place: i, "microbatch": k, "time": time}
            for i, of_place in enumerate(times) for k, time in enumerate(of_place)]


def config_of(schedule, ranks, microbatches, unit, rows, transfer, chunks=1):
    return {"schedule": schedule, "ranks": ranks, "microbatches": microbatches, "chunks": chunks,
            "costs": {"time_unit": unit, "forward": 1, "backward": 1, "table": rows, "transfer": transfer}}


def stragglers(data):
    """Pipelines of production jobs: links from the tenth percentile of their messages."""
    links = []
    for name, link in data["transfer_us"].items():
        way, ends = name.split()
        low, high = (int(rank) for rank in ends.split("-"))
        ends = (low, high) if way == "forward" else (high, low)
        links.append({"from": ends[0], "to": ends[1], "latency": link["p10"], "oneway": True})
    for step in data["steps"]:
        for pipeline in step["pipelines"]:
            rows = rows_of("F", "rank", pipeline["f_us"]) + rows_of("B", "rank", pipeline["b_us"])
            yield (config_of("1f1b", data["ranks"], data["microbatches"], "us", rows, {"links": links}),
                   pipeline["window_ms"] * 1000)


# Half of the time between back-to-back entries, which one message leaves and one enters, and the least time from an end to a start.
RANK_TIME_MS = {"1f1b": 0.78 / 2, "interleaved-1f1b": 0.27 / 2}
HOP_MS = 0.7


def primus(data):
    """8 GPUs: every op's own time."""
    for name, run in data["runs"].items():
        chunks = run["chunks_per_rank"]
        for step in run["steps"]:
            rows = []
            for kind, way, letter in (("F", "forward", "f"), ("B", "backward", "b")):
                for rank in range(run["ranks"]):
                    starts, ends = step[letter + "_start"][rank], step[letter + "_end"][rank]
                    for i, (start, end) in enumerate(zip(starts, ends)):
                        chunk, microbatch = run["op_index"][way][i] if chunks > 1 else (0, i)
                        rows.append({"kind": kind, "stage": chunk * run["ranks"] + rank, "microbatch": microbatch,
                                     "time": round(end - start, 6)})
            transfer = {"latency": HOP_MS, "rank_time": RANK_TIME_MS[name]}
            yield (config_of(run["schedule"], run["ranks"], run["microbatches"], "ms", rows, transfer, chunks),
                   step["window_ms"])


# Of the time of the output layer's three products (logits, the input's gradient, the weights') the part that is S: vocab-2 makes the input's
# gradient in S, the others in T.
OUTPUT_IN_S = {"vocab-1": 1 / 3, "vocab-2": 2 / 3, "interlaced": 1 / 3}


def vocabulary(data):
    """8 GPUs, plain 1F1B and its kin with the vocabulary spread over all ranks: mean op times of each rank against the whole iteration,
    optimizer included. An embedding that is spread too is a part of each rank's forwards and backwards."""
    for row in data["rows"]:
        costs = {"time_unit": "us", "forward": row["forward_us"], "backward": row["backward_us"],
                 "transfer": {"latency": row.get("hop_us", 0)}}
        if "output_us" in row:
            part = OUTPUT_IN_S[row["method"]]
            costs["forward"] = [op + embedding for op, embedding in zip(row["forward_us"], row["embedding_forward_us"])]
            costs["backward"] = [op + embedding for op, embedding in zip(row["backward_us"], row["embedding_backward_us"])]
            costs["output"] = [round(op * part, 3) for op in row["output_us"]]
            costs["output_weight"] = [round(op * (1 - part), 3) for op in row["output_us"]]
        schedule = "vocab-interlaced" if row["method"] == "interlaced" else row["schedule"]
        yield ({"schedule": schedule, "ranks": row["ranks"], "microbatches": row["microbatches"], "costs": costs},
               row["iteration_ms"] * 1000)


def replayed(reader):
    """Distances of simulated steps from the measured ones that `reader` gives with their configurations."""
    def errors(program, data):
        return [percent(simulate(program, config)["makespan"], measured) for config, measured in reader(data)]
    return errors


def costs_of_1f1b(run):
    """The costs file of the 1F1B run of `primus`: median times of each rank, what its first forward took, and the layers that all of it is of."""
    ranks = range(run["ranks"])
    first = [statistics.median(step["f_end"][rank][0] - step["f_start"][rank][0] for step in run["steps"]) for rank in ranks]
    return {"time_unit": "ms", "layers": [run["layers"] // run["ranks"] for _ in ranks],
            "forward": run["forward_median_ms"], "backward": run["backward_median_ms"],
            "exceptions": [{"kind": "F", "stage": rank, "microbatch": 0, "time": round(first[rank], 6)} for rank in ranks],
            "transfer": {"latency": HOP_MS, "rank_time": RANK_TIME_MS["1f1b"]}}


def shape_of(run):
    return {"schedule": run["schedule"], "ranks": run["ranks"], "microbatches": run["microbatches"], "chunks": run["chunks_per_rank"]}


def forecast(program, data):
    """The interleaved run of `primus` from its 1F1B run alone, which the program deals out to two chunks a rank."""
    known, asked = data["runs"]["1f1b"], data["runs"]["interleaved-1f1b"]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(costs_of_1f1b(known), file)
        file.flush()
        report = simulate(program, {**shape_of(asked), "costs": file.name})
    return [percent(report["makespan"], asked["step_window_median_ms"])]


GIB = 2**30


def memory_forecast(program, data):
    """The peak memory of each rank of the interleaved run of `primus`, from its 1F1B run alone.

    Ranks but for the ends, which hold embedding and head, differ in 1F1B by the microbatches that are live: one costs what a rank holds more
    than the next, in the mean. The rest of each rank's peak does not depend on the order.
    """
    known, asked = data["runs"]["1f1b"], data["runs"]["interleaved-1f1b"]
    live = [rank["peak_live"] for rank in simulate(program, shape_of(known))["ranks"]]
    first, last = 1, known["ranks"] - 2
    activation = round(GIB * (known["memory_gib"][first] - known["memory_gib"][last]) / (live[first] - live[last]))
    static = [round(peak * GIB) - activation * passes for peak, passes in zip(known["memory_gib"], live)]
    report = simulate(program, {**shape_of(asked), "memory": {"per": "rank", "activation_bytes": activation, "static_bytes": static}})
    return [percent((rank["peak_activation_bytes"] + held) / GIB, peak)
            for rank, held, peak in zip(report["ranks"], static, asked["memory_gib"])]


def zero_bubble_config(data, row, schedule, factor, rank_time_us):
    """A row of the zero-bubble paper: op times as profiled alone times `factor`, messages that take of both compute lanes."""
    chunks = row["chunks"] if schedule == "interleaved-1f1b" else 1
    costs = {"time_unit": "us", "transfer": {"latency": row["hop_us"], "rank_time": round(rank_time_us, 6)}}
    for kind in ("forward", "backward_input", "backward_weight"):
        costs[kind] = round(row[kind + "_us"] * factor / chunks, 6)
    shares = data["activation_shares"]
    memory = {"activation_bytes": shares["held_until_input"],
              "released_at_input": shares["held_until_input"] - shares["of_it_until_weight"]}
    return {"schedule": schedule, "ranks": row["ranks"], "microbatches": row["microbatches"], "chunks": chunks,
            "costs": costs, "memory": memory}


def fit_zero_bubble(step_of, row, measured):
    """Factor and rank time with which 1F1B and interleaved 1F1B of this row take what was measured: Newton's method on two nearly linear steps."""
    schedules = ("1f1b", "interleaved-1f1b")
    factor, rank_time = 1.0, 200.0
    for _ in range(4):
        now = [step_of(row, schedule, factor, rank_time) for schedule in schedules]
        by_factor = [(step_of(row, schedule, factor + 0.01, rank_time) - step) / 0.01 for schedule, step in zip(schedules, now)]
        by_time = [(step_of(row, schedule, factor, rank_time + 10) - step) / 10 for schedule, step in zip(schedules, now)]
        left = [measured(row, schedule) - step for schedule, step in zip(schedules, now)]
        determinant = by_factor[0] * by_time[1] - by_factor[1] * by_time[0]
        factor += (left[0] * by_time[1] - left[1] * by_time[0]) / determinant
        rank_time += (by_factor[0] * left[1] - by_factor[1] * left[0]) / determinant
    return factor, rank_time


def zero_bubble(program, data):
    """Table 4 of the zero-bubble paper: how much faster than 1F1B its schedules are. Of each model the row with most microbatches gives two
    constants and is left out where it gave them."""
    def step_of(row, schedule, factor, rank_time):
        report = simulate(program, zero_bubble_config(data, row, schedule, factor, rank_time))
        return report["max_window" if schedule.startswith("zb") else "makespan"]

    def measured(row, schedule):
        return 1e6 * row["microbatches"] * row["samples_per_microbatch"] / (row["ranks"] * row["samples_per_gpu_s"][schedule])

    errors = []
    for model in dict.fromkeys(row["model"] for row in data["rows"]):
        rows = [row for row in data["rows"] if row["model"] == model]
        largest = max(rows, key=lambda row: row["microbatches"])
        constants = fit_zero_bubble(step_of, largest, measured)
        for row in rows:
            base = step_of(row, "1f1b", *constants) / measured(row, "1f1b")
            errors += [percent(base, step_of(row, schedule, *constants) / measured(row, schedule))
                       for schedule in ("interleaved-1f1b", "zb-1p", "zb-2p")
                       if not (row is largest and schedule == "interleaved-1f1b")]
    return errors


# Questions to a data set, by the beginning of its file's name: the end of each line's name, and the function of its errors in percent.
QUESTIONS = {
    "stragglers": {"": replayed(stragglers)},
    "primus": {"": replayed(primus), " forecast": forecast, " memory": memory_forecast},
    "vocabulary": {"": replayed(vocabulary)},
    "zero_bubble": {" ratios": zero_bubble},
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--most", type=json.loads, default={},
                        help="largest distances in percent that are fine: {\"primus\": 0.1, ..}")
    parser.add_argument("--median", type=json.loads, default={}, help="the same of medians without their signs")
    arguments = parser.parse_args()
    failed = False
    print(f"{'data set':18} {'numbers':>9} {'median %':>9} {'largest %':>9} {'median |%|':>10}")
    for path in sorted(arguments.folder.glob("*.json")):
        questions = next((QUESTIONS[name] for name in QUESTIONS if path.stem.startswith(name)), {})
        for end, errors_of in questions.items():
            name, errors = path.stem + end, errors_of(arguments.program, json.loads(path.read_text()))
            largest = max(errors, key=abs)
            middle = statistics.median(map(abs, errors))
            print(f"{name:18} {len(errors):9} {statistics.median(errors):9.2f} {largest:9.2f} {middle:10.2f}")
            failed = failed or abs(largest) > arguments.most.get(name, math.inf)
            failed = failed or middle > arguments.median.get(name, math.inf)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
