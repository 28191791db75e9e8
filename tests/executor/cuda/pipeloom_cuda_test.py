#!/usr/bin/env python3
"""pipeloom-cuda as it is linked: what it says without a GPU, and that pipeloom finds it.

    pipeloom_cuda_test.py --pipeloom PROGRAM --pipeloom-cuda PROGRAM

The GPUs of the machine are hidden, so that the test is the same everywhere.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

RUN = ["run", "--backend", "cuda", "--schedule", "1f1b", "--ranks", "2", "--microbatches", "2"]


def run(program, *words, path=""):
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "PATH": path}
    return subprocess.run([program, *words], capture_output=True, text=True, check=False, env=environment, timeout=60)


def require(holds, what, ended):
    if not holds:
        sys.exit(f"FAILED: {what}\nexit code {ended.returncode}\n{ended.stdout}{ended.stderr}")


def says_no_device(ended):
    words = ended.stderr
    return (ended.returncode == 3 and ended.stdout == "" and words.startswith("error: no CUDA device: ")
            and words.endswith("use --backend cpu\n") and words.count("\n") == 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pipeloom", required=True)
    parser.add_argument("--pipeloom-cuda", required=True)
    arguments = parser.parse_args()
    pipeloom, cuda = arguments.pipeloom, arguments.pipeloom_cuda

    version = run(cuda, "--version")
    require(version.returncode == 0 and version.stdout == run(pipeloom, "--version").stdout, "one version", version)
    ended = run(cuda, *RUN)
    require(says_no_device(ended), "no device: one line and exit code 3", ended)
    doctor = run(cuda, "doctor", "--json")
    require(json.loads(doctor.stdout)["gpu back end"].startswith("no CUDA device: "), "doctor says why", doctor)
    ended = run(cuda, "run", "--schedule", "1f1b", "--ranks", "2", "--microbatches", "2", "--unit-ms", "1", "--steps", "1")
    require(ended.returncode == 0, "the other back end is there too", ended)
    ended = run(cuda, *RUN, "--precision", "fp16", "--work", "layers")
    require(ended.returncode == 2 and "fp32, bf16" in ended.stderr, "wrong input comes first", ended)

    # Next to it.
    ended = run(pipeloom, *RUN)
    require(says_no_device(ended), "pipeloom becomes pipeloom-cuda", ended)
    # Elsewhere: along PATH, or not at all.
    with tempfile.TemporaryDirectory() as folder:
        alone = Path(folder) / "bin" / "pipeloom"
        alone.parent.mkdir()
        alone.write_bytes(Path(pipeloom).read_bytes())
        alone.chmod(0o755)
        ended = run(alone, *RUN)
        require(ended.returncode == 3 and "pipeloom-cuda is neither next to this program nor on PATH; build it" in ended.stderr
                and ended.stderr.endswith("or use --backend cpu\n"), "not installed", ended)
        ended = run(alone, *RUN, path=str(Path(cuda).parent))
        require(says_no_device(ended), "found on PATH", ended)
    return 0


if __name__ == "__main__":
    sys.exit(main())
