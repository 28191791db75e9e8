#!/usr/bin/env python3
"""Counts files and lines of product code and tests in commits of this repository.

    count_lines.py [COMMIT...]      HEAD if none is given

A line is a line of the file as git keeps it. Lines that hold no more than blanks, a comment or a bracket are counted apart,
so that packing code into longer lines shows: the column `letters` counts what is neither blank nor comment.
"""

import re
import subprocess
import sys

PRODUCT = ("sim/", "schedules/", "study/", "executor/", "gui/", "cli/", "include/", "face/")
TESTS = ("tests/", "bench/")
SOURCES = (".cpp", ".hpp", ".cu", ".cuh", ".def")

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)


def git(*arguments):
    return subprocess.run(["git", *arguments], capture_output=True, check=True).stdout


def contents(commit):
    """Path and text of every source of a commit."""
    listed = git("ls-tree", "-r", "--name-only", commit).decode().split("\n")
    paths = [path for path in listed if path.endswith(SOURCES) and path.startswith(PRODUCT + TESTS)]
    request = "".join(f"{commit}:{path}\n" for path in paths).encode()
    data = subprocess.run(["git", "cat-file", "--batch"], input=request, capture_output=True, check=True).stdout
    at = 0
    for path in paths:
        end = data.index(b"\n", at)
        size = int(data[at:end].split()[2])
        yield path, data[end + 1:end + 1 + size].decode("utf-8", "replace")
        at = end + size + 2


def counted(commit, folders):
    files = lines = code = letters = 0
    for path, text in contents(commit):
        if not path.startswith(folders):
            continue
        bare = COMMENT.sub("", text)
        files += 1
        lines += text.count("\n")
        code += sum(1 for line in bare.split("\n") if line.strip(" \t{}();,"))
        letters += len(re.sub(r"\s", "", bare))
    return files, lines, code, letters


def main():
    print(f"{'commit':12} {'':8} {'files':>6} {'lines':>8} {'code':>8} {'letters':>9}")
    for commit in sys.argv[1:] or ["HEAD"]:
        for name, folders in (("product", PRODUCT), ("tests", TESTS)):
            files, lines, code, letters = counted(commit, folders)
            print(f"{commit[:12]:12} {name:8} {files:6} {lines:8} {code:8} {letters:9}")


if __name__ == "__main__":
    main()
