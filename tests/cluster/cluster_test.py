#!/usr/bin/env python3
"""One sweep on the engines that a user has, which must all give the bytes of a single run.

    cluster_test.py --pipeloom PROGRAM shards|kubernetes|mpirun|slurm|no-mpi

Exits 77 where the engine is not installed, saying how to install it.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import slurm_cluster

SKIPPED = 77
SHARDS = 7
# Some 10,000 points of several kinds: fine, illegal, over the limit. Long enough to be killed amid it.
GRID = """{
  "base": {"schedule": "1f1b", "ranks": 4, "microbatches": 8,
           "costs": {"forward": 1, "backward": 2, "backward_input": 1, "backward_weight": 1},
           "memory": {"activation_bytes": 1, "limit_bytes": 40}},
  "axes": {"schedule": ["gpipe", "1f1b", "zb-h1", "interleaved-1f1b", "zbv", "dualpipe-v"],
           "ranks": [4, 6, 8, 16],
           "microbatches": {"from": 8, "to": 320, "step": 4},
           "costs.forward": {"from": 1, "to": 2, "steps": 6}},
  "where": ["microbatches <= 40*ranks"]
}
"""
# A folder that job files must quote.
FOLDER = 'it\'s a "sweep"'
OUT = "my out.jsonl"


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


def require(holds, otherwise):
    if not holds:
        raise Failed(otherwise)


def run(*command, cwd, env=None, timeout=120):
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=env, capture_output=True, text=True, timeout=timeout)
    require(done.returncode == 0, f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Sweep:
    """A folder with the grid, and the result of a single run beside it."""

    def __init__(self, pipeloom, root):
        self.pipeloom = pipeloom
        self.folder = Path(root) / FOLDER
        self.folder.mkdir()
        (self.folder / "grid.json").write_text(GRID)
        run(pipeloom, "sweep", "grid.json", "-o", "single.jsonl", "-q", cwd=self.folder)
        self.single = (self.folder / "single.jsonl").read_bytes()

    def check(self, what, name=OUT):
        """That the file `name` has the bytes of the single run."""
        found = (self.folder / name).read_bytes()
        require(found == self.single, f"{what}: {name} has {len(found)} bytes that are not the {len(self.single)} of a "
                                      "single run")
        print(f"{what}: {len(found.splitlines()) - 1} points, byte for byte as in a single run", flush=True)

    def emit(self, scheduler, *options):
        """Commands that submit the job."""
        return run(self.pipeloom, "sweep", "grid.json", "-o", OUT, "--emit", scheduler, "--shards", SHARDS, "-q", *options,
                   cwd=self.folder)


# ---- shards by hand ---------------------------------------------------------------------------------------------------


def test_shards(sweep, _arguments):
    parts = []
    for i in range(1, SHARDS + 1):
        env = dict(os.environ)
        if i % 2 == 0:  # as a launcher's rank counts, from 0
            env["OMPI_COMM_WORLD_RANK"] = str(i - 1)
        shard = f"{i}/{SHARDS}" if i % 2 else f"auto/{SHARDS}"
        parts.append(f"part.{i}.jsonl")
        run(sweep.pipeloom, "sweep", "grid.json", "-q", "-o", parts[-1], "--shard", shard, cwd=sweep.folder, env=env)
    run(sweep.pipeloom, "merge", *reversed(parts), "-o", OUT, cwd=sweep.folder)
    sweep.check(f"{SHARDS} shards and merge")


# ---- Kubernetes: what the pods' shells would run ----------------------------------------------------------------------


def script_of(manifest):
    """The lines of args, as Kubernetes gives them to the shell: $$ is a $, and $(NAME) is replaced."""
    lines = manifest.split("        args:\n        - |\n")[1].split("        resources:\n")[0]
    text = re.sub(r"^ {10}", "", lines, flags=re.MULTILINE)
    require(re.search(r"(?<!\$)(\$\$)*\$\(\w+\)", text) is None, f"Kubernetes would replace a part of:\n{text}")
    return text.replace("$$", "$")


def pod(script, sweep, index=None):
    env = dict(os.environ, PATH=f"{Path(sweep.pipeloom).parent}{os.pathsep}{os.environ['PATH']}")
    if index is not None:
        env["JOB_COMPLETION_INDEX"] = str(index)
    run("/bin/sh", "-c", script, cwd=sweep.folder, env=env)


def test_kubernetes(sweep, _arguments):
    commands = sweep.emit("k8s", "--directive", "image=registry.example/pipeloom:1", "--at-once", 3)
    shards, merge = ((sweep.folder / f"my out{end}").read_text() for end in (".k8s.yaml", ".merge.k8s.yaml"))
    for part in ("completionMode: Indexed", f"completions: {SHARDS}", "parallelism: 3", "backoffLimitPerIndex: ",
                 'image: "registry.example/pipeloom:1"'):
        require(part in shards, f"'{part}' is not in the manifest:\n{shards}")
    require(commands.splitlines()[0] == "kubectl apply -f 'my out.k8s.yaml'", commands)
    for index in range(SHARDS):
        pod(script_of(shards), sweep, index)
    pod(script_of(shards), sweep, 2)  # a pod that runs once more finds its work done
    pod(script_of(merge), sweep)
    sweep.check("scripts of the indexed Job and of the merge")


# ---- mpirun ---------------------------------------------------------------------------------------------------------


def test_mpirun(sweep, _arguments):
    """Each rank of the job runs the shard of its number."""
    if not shutil.which("mpirun"):
        raise Skipped("mpirun is not installed: scripts/install-deps.sh test")
    version = subprocess.run(["mpirun", "--version"], capture_output=True, text=True, check=False).stdout
    if "Open MPI" not in version:
        raise Skipped(f"mpirun is not Open MPI's: {version.splitlines()[:1]}")
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1",
               OMPI_MCA_hwloc_base_binding_policy="none", PIPELOOM=str(sweep.pipeloom))
    rank = 'exec "$PIPELOOM" sweep grid.json -q -j 1 --shard auto/4 -o "rank.$((OMPI_COMM_WORLD_RANK + 1)).jsonl"'
    run("mpirun", "-n", "4", "bash", "-c", rank, cwd=sweep.folder, env=env)
    run(sweep.pipeloom, "merge", *(f"rank.{i}.jsonl" for i in range(1, 5)), "-o", OUT, cwd=sweep.folder)
    sweep.check("4 ranks of mpirun and merge")


def test_no_mpi(sweep, _arguments):
    loaded = run("ldd", sweep.pipeloom, cwd=sweep.folder)
    found = re.findall(r"\S*(?:mpi|open-rte|open-pal|pmix)\S*\.so\S*", loaded)
    require(not found, f"pipeloom loads {found}")
    print("pipeloom loads no MPI")


# ---- Slurm ------------------------------------------------------------------------------------------------------------


def test_slurm(sweep, _arguments):
    missing = slurm_cluster.missing()
    if missing:
        raise Skipped(f"{missing} not found; apt-get install slurm-wlm munge")
    with slurm_cluster.Slurm() as slurm:
        submit = sweep.emit("slurm", "--directive", "--partition=main", "--directive", "--time=5", "--at-once", 2)
        slurm.run("bash", "-euc", submit, cwd=sweep.folder)
        slurm.wait(90)
        logs = "".join(f"{log.name}: {log.read_text()}" for log in sorted(sweep.folder.glob("*.log")))
        require((sweep.folder / OUT).exists(), f"no result\n{logs}\n{slurm.logs()}")
        sweep.check("the array job and the merge behind it")

        # A node dies amid a shard: its file ends within a line, and the task alone is started once more.
        torn = sweep.folder / f"my out.3-of-{SHARDS}.jsonl"
        os.truncate(torn, torn.stat().st_size // 2)
        job = slurm.run("sbatch", "--parsable", "--array=3", "my out.slurm", cwd=sweep.folder)
        slurm.run("sbatch", f"--dependency=afterok:{job}", "my out.merge.slurm", cwd=sweep.folder)
        (sweep.folder / OUT).unlink()
        slurm.wait(60)
        sweep.check("task 3 alone, after its file was torn, and the merge")

        # A merge that can never run does not wait for ever.
        (sweep.folder / "grid.json").write_text(GRID.replace("320", "80"))
        slurm.run("bash", "-euc", submit, cwd=sweep.folder)
        slurm.wait(60)
        log = (sweep.folder / f"my_out.5-of-{SHARDS}.log").read_text()
        require("another grid" in log, f"a shard of another grid was not refused:\n{log}")
        sweep.check("after a grid that does not fit the files")


TESTS = {"shards": test_shards, "kubernetes": test_kubernetes, "mpirun": test_mpirun,
         "slurm": test_slurm, "no-mpi": test_no_mpi}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pipeloom", required=True)
    parser.add_argument("test", choices=TESTS)
    arguments = parser.parse_args()
    arguments.pipeloom = str(Path(arguments.pipeloom).resolve())
    # So that what is under `with` and `finally` is done.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory(prefix="pipeloom-cluster-") as root:
        try:
            TESTS[arguments.test](Sweep(arguments.pipeloom, root), arguments)
        except Skipped as reason:
            print(f"skipped: {reason}")
            return SKIPPED
        except Failed as reason:
            print(f"failed: {reason}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
