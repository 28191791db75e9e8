#!/usr/bin/env python3
"""Replays measured pipelines: their own op times and their links' message times go in, the simulated step comes out.

    replay_measured.py PIPELOOM DIR [--most PERCENT]

DIR holds measured runs as JSON, one data set a file (tests/golden/measured/README.md says what is in them). Prints a line per data set:
how many pipelines, and median and largest distance of the simulated from the measured step. With --most, exits 1 where one is larger.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile


def simulate(program, config):
    """The makespan, in the time unit of the configuration."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(config, file)
        file.flush()
        report = subprocess.run([program, "simulate", file.name, "--json"], capture_output=True, check=True, text=True)
    return json.loads(report.stdout)["makespan"]


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


# Half of what lies between back-to-back entries, which one message leaves and one enters, and the least time from an end to a start.
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


def vocabulary(data):
    """8 GPUs, plain 1F1B: mean op times of each rank against the whole iteration, optimizer included."""
    for row in data["rows"]:
        if row["schedule"] != "1f1b":
            continue
        costs = {"time_unit": "us", "forward": row["forward_us"], "backward": row["backward_us"],
                 "transfer": {"latency": row.get("hop_us", 0)}}
        yield ({"schedule": "1f1b", "ranks": row["ranks"], "microbatches": row["microbatches"], "costs": costs},
               row["iteration_ms"] * 1000)


def forecast(data):
    """The interleaved run of `primus` from its 1F1B run alone, and its measured step in ms.

    Half of a rank's median op times for each chunk; what the last rank takes more than the fastest other is the head and stays whole on
    the last chunk; each rank's first forward takes what it took more than its median.
    """
    known, asked = data["runs"]["1f1b"], data["runs"]["interleaved-1f1b"]
    ranks = known["ranks"]
    durations = {}
    for kind in ("forward", "backward"):
        median = known[kind + "_median_ms"]
        head = median[-1] - min(median[:-1])
        halves = [median[stage % ranks] / 2 for stage in range(2 * ranks)]
        halves[ranks - 1] -= head / 2
        halves[-1] += head / 2
        durations[kind] = halves
    starts = [[end - start for start, end in zip(step["f_start"][rank], step["f_end"][rank])][0]
              for step in known["steps"] for rank in range(ranks)]
    excess = [statistics.median(starts[rank::ranks]) - known["forward_median_ms"][rank] for rank in range(ranks)]
    first = [{"kind": "F", "stage": rank, "microbatch": 0, "time": round(durations["forward"][rank] + excess[rank], 6)}
             for rank in range(ranks)]
    costs = {"time_unit": "ms", "forward": [round(time, 6) for time in durations["forward"]],
             "backward": [round(time, 6) for time in durations["backward"]], "exceptions": first,
             "transfer": {"latency": HOP_MS, "rank_time": RANK_TIME_MS["1f1b"]}}
    return ({"schedule": "interleaved-1f1b", "ranks": ranks, "microbatches": known["microbatches"], "chunks": 2,
             "costs": costs}, asked["step_window_median_ms"])


READERS = {"stragglers": stragglers, "primus": primus, "vocabulary": vocabulary}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--most", type=json.loads, default={},
                        help="largest distances in percent that are fine: {\"primus\": 0.1, ..}")
    arguments = parser.parse_args()
    failed = False
    print(f"{'data set':18} {'pipelines':>9} {'median %':>9} {'largest %':>9}")
    for path in sorted(arguments.folder.glob("*.json")):
        reader = next((READERS[name] for name in READERS if path.stem.startswith(name)), None)
        if reader is None:
            continue
        errors = [100 * (simulate(arguments.program, config) / measured - 1)
                  for config, measured in reader(json.loads(path.read_text()))]
        lines = [(path.stem, errors)]
        if reader is primus:
            config, measured = forecast(json.loads(path.read_text()))
            lines.append(("primus forecast", [100 * (simulate(arguments.program, config) / measured - 1)]))
        for name, of_line in lines:
            largest = max(of_line, key=abs)
            print(f"{name:18} {len(of_line):9} {statistics.median(of_line):9.2f} {largest:9.2f}")
            most = arguments.most.get(name, arguments.most.get(name.split("_")[0])) if arguments.most else None
            failed = failed or (most is not None and abs(largest) > most)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
