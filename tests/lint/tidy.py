#!/usr/bin/env python3
"""Runs clang-tidy over every source that a build folder compiles, tests left out.

    tidy.py BUILD [--jobs N] [--cache FOLDER] [FILE...]

Where the build joins sources, a joined source is checked as the whole that it is, which takes a fifth of the time of its parts.
A file is not read again whose text after the preprocessor, flags, .clang-tidy and clang-tidy were found clean before:
the cache keeps one empty file per clean finding. Without FILE all sources are checked. Prints findings; exits 1 if there
are any, 2 if it cannot run.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The analyzer explores paths for as long as one lets it: in shallow mode it takes a third of the time for the sources
# here, and what it then misses the sanitizer builds run through.
ANALYZER = ["-Xclang", "-analyzer-config", "-Xclang", "mode=shallow"]
# As in .clang-tidy.
HEADERS = "(sim|schedules|study|cli)/"


def default_cache():
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "pipeloom-tidy"


def is_ours(path, build):
    """Whether it is a source of the program, tests and benchmarks left out."""
    if not path.is_relative_to(ROOT) or path.is_relative_to(build):
        return False
    return path.relative_to(ROOT).parts[0] not in ("tests", "bench")


def parts_of(path):
    """The sources that a joined source includes; the source itself if it is none."""
    if not path.name.startswith("unity_") or not path.is_file():
        return [path]
    return [Path(name) for name in re.findall(r'^#include "(.*)"$', path.read_text(encoding="utf-8"), re.M)]


def commands_of(build):
    """file -> (compile command as a list, folder it runs in, our sources in it)."""
    with open(build / "compile_commands.json", encoding="utf-8") as file:
        entries = json.load(file)
    commands = {}
    for entry in entries:
        path = Path(entry["file"])
        parts = [part for part in parts_of(path) if is_ours(part, build)]
        if parts:
            commands[path] = (shlex.split(entry["command"]), Path(entry["directory"]), parts)
    return commands


def preprocessed(command, folder):
    """The translation unit with comments, since NOLINT is one, or None if it does not compile.

    Not -CC: comments that macros expand to stop Boost.Preprocessor's computed includes.
    """
    arguments = []
    skip = False
    for argument in command:
        if skip or argument == "-c":
            skip = False
        elif argument == "-o":
            skip = True
        else:
            arguments.append(argument)
    found = subprocess.run([*arguments, "-E", "-C"], cwd=folder, capture_output=True, check=False)
    return found.stdout if found.returncode == 0 else None


def key_of(command, folder, fixed):
    text = preprocessed(command, folder)
    if text is None:
        return None
    digest = hashlib.sha256(fixed)
    # Checkouts in different places find the same.
    digest.update(" ".join(command).replace(str(ROOT), ".").encode())
    digest.update(text.replace(str(ROOT).encode(), b"."))
    return digest.hexdigest()


def check(path, command, folder, parts, build, cache, fixed):
    """(path, findings): "" if there are none."""
    key = key_of(command, folder, fixed)
    mark = cache / key if key else None
    if mark is not None and mark.exists():
        return path, ""
    extra = ["--extra-arg=" + argument for argument in ANALYZER]
    # A joined source stands outside the tree and includes sources, which it may.
    extra += ["--config-file=" + str(ROOT / ".clang-tidy"), "--checks=-bugprone-suspicious-include"]
    if parts != [path]:
        extra.append(f"--header-filter=^{re.escape(str(ROOT))}/(.*\\.cpp$|{HEADERS})")
    run = subprocess.run(["clang-tidy", "-p", str(build), "--quiet", *extra, str(path)],
                         capture_output=True, text=True, check=False)
    if run.returncode == 0:
        if mark is not None:
            mark.touch()
        return path, ""
    return path, run.stdout + run.stderr + f"clang-tidy: exit code {run.returncode}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_intermixed_args()
    build = options.build.resolve()
    try:
        commands = commands_of(build)
        version = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        print(f"tidy: {error}; configure with: cmake --preset tidy", file=sys.stderr)
        return 2
    fixed = version + (ROOT / ".clang-tidy").read_bytes() + " ".join(ANALYZER).encode()
    whole = {part: path for path, (_, _, parts) in commands.items() for part in parts}
    named = {path.resolve() for path in options.files}
    if unknown := named - set(whole):
        print(f"tidy: {min(unknown)} is no source of {options.build}", file=sys.stderr)
        return 2
    wanted = {whole[path] for path in named} or set(commands)
    options.cache.mkdir(parents=True, exist_ok=True)

    dirty = 0
    with concurrent.futures.ThreadPoolExecutor(max(1, options.jobs)) as pool:
        jobs = [pool.submit(check, path, *commands[path], build, options.cache, fixed) for path in sorted(wanted)]
        for job in concurrent.futures.as_completed(jobs):
            path, findings = job.result()
            if findings:
                dirty += 1
                print(f"{path.name}:\n{findings}", flush=True)
    sources = sum(len(commands[path][2]) for path in wanted)
    print(f"clang-tidy: {sources} sources, {dirty} of {len(wanted)} compiled with findings")
    return 1 if dirty else 0


if __name__ == "__main__":
    sys.exit(main())
