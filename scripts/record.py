#!/usr/bin/env python3
"""Writes down what a pipeloom prints and writes, so that two builds can be compared byte by byte.

    record.py PIPELOOM OUT [--configs FOLDER] [--only TEXT] [-j N]
    diff -rq OUT_OF_ONE OUT_OF_THE_OTHER

Records every configuration of configs/ (its table, report, pictures, page, timelines and order), every schedule with messages of every
kind, and what compare, sweep, check and validate say about some. A command that refuses is recorded too: where it has an output, an error
text or an exit code other than 0, each is a file of its own. To compare with an older build, give both the older configurations: keys are added
over time.

OUT is made and must not exist. Nothing in it depends on the machine, on time or on where the trees are. Takes about half a minute on two cores.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Of every configuration: name of the output, command; OUT is the file that the command writes.
OF_CONFIG = {
    "table.txt": ["simulate", "FILE", "-v", "--chart"],
    "report.json": ["simulate", "FILE", "-q", "-o", "OUT", "--include", "orders,timeline"],
    "plain.svg": ["convert", "FILE", "OUT", "-q"],
    "all.svg": ["convert", "FILE", "OUT", "-q", "--memory", "--idle-causes", "--critical-path", "--theme", "dark"],
    "page.html": ["report", "FILE", "-q", "-o", "OUT"],
    "page.md": ["report", "FILE", "-q", "-o", "OUT"],
    "timeline.csv": ["convert", "FILE", "OUT", "-q", "--to", "csv"],
    "trace.json": ["convert", "FILE", "OUT", "-q", "--to", "chrome"],
    "order.json": ["convert", "FILE", "OUT", "-q", "--to", "json"],
    "order.csv": ["convert", "FILE", "OUT", "-q", "--to", "torch-compute"],
}
# Of every schedule, 4 ranks and 8 microbatches.
OF_SCHEDULE = {
    "page.txt": ["schedules", "NAME"],
    "graph.dot": ["convert", "FILE", "OUT", "-q", "--to", "dot"],
    "lowered.csv": ["convert", "FILE", "OUT", "-q", "--to", "torch-comms", "--target", "2.13"],
    "validate.txt": ["validate", "FILE"],
    **{
        f"{model}.json": ["simulate", "FILE", "-q", "-o", "OUT", "--include", "timeline", "--set", f"costs.transfer.model={model}",
                          "--set", "costs.transfer.latency=0.25"]
        for model in ("latency", "blocking", "async", "link")
    },
    "recompute.json": ["simulate", "FILE", "-q", "-o", "OUT", "--include", "timeline", "--set", "options.recompute=full"],
    "offload.json": ["simulate", "FILE", "-q", "-o", "OUT", "--include", "timeline", "--set", "options.offload=all",
                     *(word for kind in ("forward", "backward_input", "backward_weight", "offload")
                       for word in ("--set", f"costs.{kind}=1"))],
    "steps.json": ["simulate", "FILE", "-q", "-o", "OUT", "--include", "timeline", "--set", "step.count=3",
                   "--set", "step.rule=post-validation", "--set", "step.optimizer=1"],
}
SEED = [f"seed/{name}.json" for name in ("1f1b", "interleaved-1f1b", "zb-h1", "dualpipe")]
# Of some together.
OF_ALL = {
    "compare/table.txt": ["compare", *SEED],
    "compare/comparison.json": ["compare", *SEED, "--json"],
    "compare/page.html": ["report", *SEED, "-q", "-o", "OUT"],
    "check/table.txt": ["check", "suite.json"],
    "check/junit.xml": ["check", "suite.json", "-q", "--junit", "OUT"],
    "check/findings.sarif": ["check", "suite.json", "-q", "--sarif", "OUT"],
    **{f"refused/{name}.txt": ["validate", f"refused/{name}.csv"] for name in ("runs-twice", "waits-in-a-circle")},
}
# Of some sweeps: the result, then the answers from it.
SWEEPS = ("schedules", "interleaving", "sampled")
OF_RESULT = {
    "report.txt": ["report", "result.jsonl"],
    "page.html": ["report", "result.jsonl", "-q", "-o", "OUT"],
    "page.md": ["report", "result.jsonl", "-q", "-o", "OUT"],
}


class Recorder:
    def __init__(self, pipeloom, configs, out):
        self.pipeloom = pipeloom
        self.configs = configs
        self.out = out

    def run(self, name, command, words, folder):
        """Runs one command in this folder, and records its results: OUT/NAME, OUT/NAME.stderr, OUT/NAME.exit."""
        target = self.out / name
        target.parent.mkdir(parents=True, exist_ok=True)
        words = {"OUT": str(target), **words}
        command = [words.get(word, word) for word in command]
        done = subprocess.run([str(self.pipeloom), *command], cwd=folder, capture_output=True, check=False,
                              env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "COLUMNS": "120"})
        texts = {"" if str(target) not in command else ".stdout": done.stdout, ".stderr": done.stderr}
        if done.returncode != 0:
            texts[".exit"] = f"{done.returncode}\n".encode()
        for suffix, text in texts.items():
            if text:
                (self.out / (name + suffix)).write_bytes(text)

    def of_config(self, config):
        for name, command in OF_CONFIG.items():
            self.run(f"configs/{config.with_suffix('')}/{name}", command, {"FILE": str(config)}, self.configs)

    def of_schedule(self, schedule):
        """Records the schedule; its configuration is in the record, so that no message names another place."""
        folder = self.out / "schedules" / schedule
        folder.mkdir(parents=True)
        (folder / "run.json").write_text(json.dumps({"schedule": schedule, "ranks": 4, "microbatches": 8}))
        for name, command in OF_SCHEDULE.items():
            self.run(f"schedules/{schedule}/{name}", command, {"FILE": "run.json", "NAME": schedule}, folder)

    def of_sweep(self, sweep):
        self.run(f"sweeps/{sweep}/result.jsonl", ["sweep", f"sweeps/{sweep}.json", "-q", "-o", "OUT"], {}, self.configs)
        for name, command in OF_RESULT.items():
            self.run(f"sweeps/{sweep}/{name}", command, {}, self.out / "sweeps" / sweep)

    def of_all(self):
        for name, command in OF_ALL.items():
            self.run(name, command, {}, self.configs)

    def schedules(self):
        done = subprocess.run([str(self.pipeloom), "schedules", "--json"], capture_output=True, check=True)
        return [schedule["name"] for schedule in json.loads(done.stdout)["schedules"] if schedule["name"] != "custom"]

    def jobs(self):
        """(name, function, its arguments) of all that can be recorded by itself; the longest first."""
        configs = [path.relative_to(self.configs) for path in sorted(self.configs.rglob("*.json"))]
        runs = [path for path in configs if path.parts[0] not in ("hardware", "models", "sweeps") and not path.name.startswith("suite.")]
        return [
            ("all", self.of_all),
            *((f"sweeps/{name}.json", self.of_sweep, name) for name in SWEEPS),
            *((str(path), self.of_config, path) for path in runs),
            *((name, self.of_schedule, name) for name in self.schedules()),
        ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pipeloom", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--configs", type=pathlib.Path, default=ROOT / "configs")
    parser.add_argument("--only", default="", metavar="TEXT", help="only what has this in its name")
    parser.add_argument("-j", type=int, default=os.cpu_count(), metavar="N", help="commands at a time")
    arguments = parser.parse_args()
    try:
        arguments.out.mkdir(parents=True)
    except FileExistsError:
        sys.exit(f"{arguments.out} exists; give a name that is free, or remove it")
    recorder = Recorder(arguments.pipeloom.resolve(), arguments.configs.resolve(), arguments.out.resolve())
    with concurrent.futures.ThreadPoolExecutor(arguments.j) as pool:
        running = [pool.submit(*job) for name, *job in recorder.jobs() if arguments.only in name]
        for job in running:
            job.result()
    files = [path for path in arguments.out.rglob("*") if path.is_file()]
    print(f"{len(files)} files, {sum(path.stat().st_size for path in files) / 1e6:.0f} MB in {arguments.out}")


if __name__ == "__main__":
    main()
