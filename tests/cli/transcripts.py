#!/usr/bin/env python3
"""Runs sessions with the real program and compares every byte it prints and every exit code.

    transcripts.py --program PROGRAM [--update] FILE...

A session is a file of commands and what they print:

    # a comment
    $ pipeloom simulate --schedule 1f1bb --ranks 4 --microbatches 8
    ! error: unknown schedule '1f1bb'; ...            standard error
    [exit 2]                                          the exit code unless it is 0

Commands run in bash, one after another in one empty folder that holds a copy of fixtures/ next to the session. `[..]` in an
expected line stands for any text, a line of `...` alone for any lines. A Markdown file (.md) is a session too: of its
```console blocks, in a folder with the repository's configs/; there, as on a terminal, both streams are one text
and exit codes are not shown. A block that begins with ```json NAME is put into the file NAME first.

--update writes what the program printed into the files; lines with wildcards that still match stay. Exits 1 if anything differs.
"""

import argparse
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FIXTURES = Path(__file__).resolve().parent / "fixtures"
CONFIGS = Path(__file__).resolve().parents[2] / "configs"
LEAKS_OF_PACKAGES = Path(__file__).resolve().parents[1] / "support" / "leaks.supp"
TIMEOUT_S = 60


class Terminal:
    """An empty folder and an environment that is the same on every machine."""

    def __init__(self, program, folder, merged):
        self.folder = folder
        self.merged = merged
        inside = folder / ".bin"
        inside.mkdir()
        (inside / "pipeloom").symlink_to(program)
        self.environment = {
            "PATH": f"{inside}:{os.environ['PATH']}",
            "HOME": str(folder),
            "LC_ALL": "C.UTF-8",
            "TERM": "xterm-256color",
            "COLUMNS": "100",
            # Read by programs that were built with the address sanitizer.
            "LSAN_OPTIONS": f"suppressions={LEAKS_OF_PACKAGES}:print_suppressions=0",
        }
        for name, value in os.environ.items():
            if name.startswith(("ASAN_", "UBSAN_", "TSAN_", "LSAN_")):
                self.environment[name] = value

    def run(self, command):
        """The lines that a session shows below this command."""
        done = subprocess.run(
            ["bash", "-c", command], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT if self.merged else subprocess.PIPE,
            timeout=TIMEOUT_S, check=False)
        out = done.stdout.decode("utf-8", "backslashreplace").splitlines()
        if self.merged:
            return out
        out += ["! " + line if line else "!" for line in done.stderr.decode("utf-8", "backslashreplace").splitlines()]
        return out + ([f"[exit {done.returncode}]"] if done.returncode else [])


def line_matches(expected, printed):
    pattern = ".*".join(re.escape(part) for part in expected.split("[..]"))
    return re.fullmatch(pattern, printed) is not None


def matches(expected, printed):
    """Whether printed lines are what was expected, `...` lines standing for any number of lines."""
    if not expected:
        return not printed
    if expected[0] == "...":
        return any(matches(expected[1:], printed[skipped:]) for skipped in range(len(printed) + 1))
    return bool(printed) and line_matches(expected[0], printed[0]) and matches(expected[1:], printed[1:])


def new_lines(expected, printed):
    """What --update writes: the printed lines, or the expected ones where they match as they are."""
    return expected if matches(expected, printed) else printed


def parse_session(lines):
    """Yields ("text", line) for what is copied and ("command", command, expected lines)."""
    index = 0
    while index < len(lines):
        line = lines[index]
        index += 1
        if not line.startswith("$ "):
            yield "text", line
            continue
        command = line[2:]
        while command.endswith("\\") and index < len(lines):
            command += "\n" + lines[index]
            index += 1
        expected = []
        while index < len(lines) and lines[index] and not lines[index].startswith(("$ ", "# ")):
            expected.append(lines[index])
            index += 1
        yield "command", command, expected


def split_markdown(lines):
    """Yields (what the fence above says, lines) in turn: "" for text, to which the fences belong."""
    block, fence = [], ""
    for line in lines:
        if not fence and line.startswith("```"):
            yield "", block + [line]
            block, fence = [], line[3:] or "plain"
        elif fence and line == "```":
            yield fence, block
            block, fence = [line], ""
        else:
            block.append(line)
    yield "", block


def merge_blank_lines(parts):
    """In a session a blank line ends what a command prints; in a console block it may be part of it."""
    merged = []
    for part in parts:
        if merged and merged[-1][0] == "command" and part[0] == "text":
            merged[-1][2].append(part[1])
        else:
            merged.append(part)
    return merged


def replay(lines, terminal, keep_blank_lines):
    """The session as the program would write it now, and the commands that differ."""
    out, differing = [], []
    parts = list(parse_session(lines))
    for part in merge_blank_lines(parts) if keep_blank_lines else parts:
        if part[0] == "text":
            out.append(part[1])
            continue
        _, command, expected = part
        printed = terminal.run(command)
        if not keep_blank_lines:
            # A blank line would end the expectation: it is written as a lone dot.
            printed = ["." if line == "" else line for line in printed]
        if not matches(expected, printed):
            differing.append(command)
        out += ["$ " + command.split("\n")[0], *command.split("\n")[1:], *new_lines(expected, printed)]
    return out, differing


def replay_markdown(lines, terminal):
    out, differing = [], []
    for fence, block in split_markdown(lines):
        if fence == "console":
            block, failed = replay(block, terminal, keep_blank_lines=True)
            differing += failed
        elif fence.startswith("json "):
            (terminal.folder / fence.split()[1]).write_text("\n".join(block) + "\n")
        out += block
    return out, differing


def check(path, program, update):
    """True if the session at `path` holds; differences are printed, or written if `update`."""
    text = path.read_text()
    lines = text.split("\n")
    markdown = path.suffix == ".md"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if markdown:
            shutil.copytree(CONFIGS, folder / "configs")
        else:
            shutil.copytree(FIXTURES, folder, dirs_exist_ok=True)
        terminal = Terminal(program, folder, merged=markdown)
        now, differing = replay_markdown(lines, terminal) if markdown else replay(lines, terminal, False)
    if not differing:
        return True
    if update:
        path.write_text("\n".join(now))
        print(f"{path}: updated")
        return True
    print(f"{path}: {len(differing)} commands differ; run this script with --update if that is what you want")
    print("\n".join(difflib.unified_diff(lines, now, "expected", "printed", lineterm="", n=2)))
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=Path)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    program = arguments.program.resolve()
    results = [check(path, program, arguments.update) for path in arguments.files]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
