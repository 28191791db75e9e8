#!/usr/bin/env python3
"""Ends sweeps in every bad way there is, resumes them, and compares every byte with a run that nobody touched.

    kill.py --program PIPELOOM [--rounds 60] [--seed N]

A round does one or more bad things to a result file, then `sweep --resume` runs to its end:

    kill     SIGKILL at a random time, or once the file has a random number of bytes
    stop     SIGTERM or SIGINT at a random time: whole lines are kept, and the status is the signal's
    full     the disk is full at a random byte (a small tmpfs where this user may mount one, else a limit on the size of files)
    damage   what a crash of the machine leaves: a cut at a random byte, zeros, noise, a line twice, a line missing, no last line end
    rival    a second sweep on the same file while one is running

Whatever was killed must have left a prefix of the whole result. Exits 1 with the round's folder kept if anything differs.
"""

import argparse
import collections
import json
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TARGET_S = 0.12  # of an undisturbed run: long enough to be hit, short enough for many rounds
TIMEOUT_S = 300


class Failure(Exception):
    pass


def require(condition, what):
    if not condition:
        raise Failure(what)


def grid_text(steps):
    return json.dumps({
        "base": {"chunks": 2, "costs": {"time_unit": "ms"}},
        "axes": {"schedule": ["interleaved-1f1b", "dualpipe-v", "zbv"], "ranks": [2, 3, 4], "microbatches": [4, 7, 8],
                 "costs.forward": {"from": 1, "to": 2, "steps": steps}},
        "where": ["ranks * microbatches != 28"],
    })


class Case:
    """A grid, how it is run, and the bytes that must come out."""

    def __init__(self, program, folder, name, options, steps):
        self.program = program
        self.grid = folder / f"{name}.json"
        self.grid.write_text(grid_text(steps))
        self.options = options
        self.whole_path = folder / f"{name}.whole"
        begin = time.monotonic()
        done = self.run(self.whole_path, ["--force"])
        self.seconds = time.monotonic() - begin
        require(done.returncode == 0, f"the undisturbed run fails: {done.stderr}")
        self.whole = self.whole_path.read_bytes()

    def command(self, out, more):
        return [str(self.program), "sweep", str(self.grid), "-o", str(out), "--progress", "none", *self.options, *more]

    def run(self, out, more, limit=None):
        def set_limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        return subprocess.run(self.command(out, more), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              timeout=TIMEOUT_S, preexec_fn=set_limit if limit is not None else None)

    def start(self, out, more):
        return subprocess.Popen(self.command(out, more), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True)

    def require_prefix(self, out, what, before):
        """What is in the file; `before` is what was, which may still be there, damage and all."""
        found = content(out)
        require(self.whole.startswith(found) or found == before,
                f"{what}: {len(found)} bytes that are no prefix of the {len(self.whole)} expected")
        return found


def size_of(path):
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def content(path):
    return path.read_bytes() if path.exists() else b""


def kill(case, out, dice, disk):
    before = content(out)
    process = case.start(out, ["--resume"])
    if dice.random() < 0.5:
        time.sleep(dice.uniform(0, 1.1 * case.seconds))
    else:
        wanted = dice.randrange(len(case.whole))
        while size_of(out) < wanted and process.poll() is None:
            time.sleep(0.0005)
    process.kill()
    process.communicate()
    return "kill" if len(case.require_prefix(out, "killed", before)) < len(case.whole) else "kill (too late)"


def stop(case, out, dice, disk):
    before = content(out)
    process = case.start(out, ["--resume"])
    which = dice.choice([signal.SIGTERM, signal.SIGINT])
    time.sleep(dice.uniform(0.2 * case.seconds, case.seconds))
    process.send_signal(which)
    _, errors = process.communicate(timeout=TIMEOUT_S)
    found = case.require_prefix(out, "stopped", before)
    if process.returncode == 0:
        require(found == case.whole, "ended with status 0, but not at the end")
        return "stop (too late)"
    require(process.returncode == -which, f"status {process.returncode} after signal {which}: {errors}")
    require(found.endswith(b"\n") or found in (b"", before), "stopped within a line")
    return "stop"


def full(case, out, dice, disk):
    before = content(out)
    have = len(before)
    if have >= len(case.whole) - 4096:
        return "full (nothing left to write)"
    size = dice.randrange(have, len(case.whole) - 4096)
    if disk is None:
        done = case.run(out, ["--resume"], limit=size)
    else:
        disk.resize(have + 4096)
        if have:
            shutil.copyfile(out, disk.path / "r")
        disk.resize(max(size, have))
        done = case.run(disk.path / "r", ["--resume"])
        shutil.copyfile(disk.path / "r", out)
        (disk.path / "r").unlink()
    require(done.returncode == 3, f"status {done.returncode} on a full disk: {done.stderr}")
    lines = done.stderr.splitlines()
    require(len(lines) == 1 and lines[0].startswith("error: cannot write '"), f"on a full disk: {done.stderr}")
    found = case.require_prefix(out, "disk full", before)
    require(found.endswith(b"\n") or not found, "a full disk left half a line")
    return "full"


def damaged(text, dice):
    """A result as a crash of the machine may leave it: sound up to a random byte."""
    at = dice.randrange(len(text) + 1)
    tail = len(text) - at
    lines = text[:at].splitlines(keepends=True)
    kind = dice.randrange(7)
    if kind == 0:
        return text[:at]
    if kind == 1:
        return text[:at] + bytes(dice.randrange(1, 9000))
    if kind == 2:
        # Noise of a few letters could be a number's digits; a byte above 0x7F alone is no letter anywhere.
        return text[:at] + b"\xff" + dice.randbytes(dice.randrange(200))
    if kind == 3:
        flipped = bytearray(text)
        if tail:
            flipped[at] ^= 0x80
        return bytes(flipped)
    if kind == 4 and len(lines) > 2:
        return text[:at] + lines[-1] if text[:at].endswith(b"\n") else b"".join(lines[:-1] + lines[-2:-1])
    if kind == 5 and len(lines) > 4:
        missing = dice.randrange(2, len(lines))
        return b"".join(lines[:missing] + lines[missing + 1:])
    return text.rstrip(b"\n")


def damage(case, out, dice, disk):
    text = damaged(case.whole, dice)
    # A header that is not even the beginning of one is refused: nobody wants a file of something else to be overwritten.
    first = case.whole.index(b"\n") + 1
    if case.options[:2] == ["--format", "csv"]:
        first = case.whole.index(b"\n", first) + 1
    if not text.startswith(case.whole[:first]) and not case.whole.startswith(text):
        text = case.whole[:first] + text[first:]
    out.write_bytes(text)
    return "damage"


def rival(case, out, dice, disk):
    process = case.start(out, ["--resume"])
    while size_of(out) == 0 and process.poll() is None:
        time.sleep(0.0005)
    second = case.run(out, ["--resume"])
    process.communicate(timeout=TIMEOUT_S)
    if second.returncode == 0:
        # The first had closed the file already.
        require(out.read_bytes() == case.whole, "two sweeps wrote one file")
        return "rival (too late)"
    require(second.returncode == 2 and "another sweep is writing this file" in second.stderr,
            f"a rival ended with {second.returncode}: {second.stderr}")
    return "rival"


class SmallDisk:
    """A tmpfs whose size can be set."""

    def __init__(self, path):
        self.path = path
        path.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "pipeloom-kill", str(path)], check=True, capture_output=True)

    def resize(self, size):
        pages = (size + 4095) // 4096
        subprocess.run(["mount", "-o", f"remount,size={max(pages, 1) * 4096}", str(self.path)], check=True, capture_output=True)

    def close(self):
        subprocess.run(["umount", str(self.path)], check=False, capture_output=True)


def small_disk(folder):
    try:
        return SmallDisk(folder / "disk")
    except (subprocess.CalledProcessError, FileNotFoundError):
        print("no small tmpfs (this user may not mount one): files that may not grow take the place of a full disk")
        return None


def calibrated_steps(program, folder):
    """So many values on the last axis that a run takes about TARGET_S on this machine."""
    steps = 4
    while True:
        if Case(program, folder, "calibration", [], steps).seconds > TARGET_S or steps > 4000:
            return steps
        steps *= 2


def play(program, folder, rounds, seed):
    dice = random.Random(seed)
    steps = calibrated_steps(program, folder)
    cases = [Case(program, folder, name, options, steps) for name, options in (
        ("lines", ["-j", "2"]), ("one", ["-j", "1"]), ("csv", ["--format", "csv", "-j", "3"]), ("shard", ["--shard", "2/3"]))]
    print(f"{cases[0].whole.count(10)} lines, {cases[0].seconds:.2f} s undisturbed, seed {seed}")
    disk = small_disk(folder)
    happened = collections.Counter()
    try:
        for number in range(rounds):
            case = dice.choice(cases)
            out = folder / f"round{number}"
            for _ in range(dice.choice([1, 1, 2, 3])):
                happened[dice.choice([kill, kill, kill, kill, stop, full, damage, damage, rival])(case, out, dice, disk)] += 1
            done = case.run(out, ["--resume"])
            require(done.returncode == 0, f"round {number}: resuming ends with {done.returncode}: {done.stderr}")
            require(out.read_bytes() == case.whole, f"round {number}: {out} differs from {case.whole_path}")
            out.unlink()
    finally:
        if disk is not None:
            disk.close()
    print(", ".join(f"{count} {what}" for what, count in sorted(happened.items())))
    require(happened["kill"] > 0 and happened["damage"] > 0 or rounds < 20, "nothing was hit; are the runs too short?")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=Path)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="pipeloom-kill-"))
    try:
        play(arguments.program.resolve(), folder, arguments.rounds, arguments.seed)
    except Failure as failure:
        print(f"FAILED (seed {arguments.seed}, files in {folder}): {failure}")
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
