#!/usr/bin/env python3
"""Commands that pages show and no test runs, as they need a cluster's files or machines: their subcommand and options must exist.

    documented_options.py --program PROGRAM PAGE...

Reads `pipeloom ...` in code spans, in indented lines and in blocks of code; blocks marked console are run whole by transcripts.py. Prints each word
that `pipeloom COMMAND --help` does not know as page:line, and exits 1 if there is any.
"""

import argparse
import re
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

COMMAND = re.compile(r"(?:^|[\s`'(\"])pipeloom ([a-z]+)((?:[^`\n]|\\\n)*)")
OPTION = re.compile(r"(?<![\w-])(--?[a-zA-Z][a-z-]*)")
GIVEN = re.compile(r"(?<!\S)(--?[a-zA-Z][a-z-]*)")
# What other programs' options look like after a pipe or another command.
END = re.compile(r"\s(?:\||&&|;|>>?)\s|#")


@lru_cache(maxsize=None)
def known_options(program, command):
    """The options that the help of a command names; None if there is no such command."""
    done = subprocess.run([program, command, "--help"], capture_output=True, text=True, timeout=60)
    return frozenset(OPTION.findall(done.stdout)) if done.returncode == 0 else None


def unknown_words(program, page):
    """(line, command, word) of each option or command that the program does not have."""
    found = []
    text = re.sub(r"^```console.*?^```", lambda block: "\n" * block.group().count("\n"), page, flags=re.M | re.S)
    for shown in COMMAND.finditer(text):
        command, rest = shown.group(1), END.split(shown.group(2).replace("\\\n", "  "))[0]
        line = text.count("\n", 0, shown.start(1)) + 1
        options = known_options(program, command)
        if options is None:
            # A sentence about the program, not a command.
            if "--" in rest:
                found.append((line, command, command))
            continue
        words = re.sub(r"'[^']*'|\"[^\"]*\"", " ", rest)
        found += [(line, command, option) for option in GIVEN.findall(words) if option not in options]
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("pages", nargs="+", type=Path)
    given = parser.parse_args()
    wrong = [(page.name, *word) for page in given.pages for word in unknown_words(given.program, page.read_text(encoding="utf-8"))]
    for page, line, command, word in wrong:
        print(f"{page}:{line}: `pipeloom {command}` has no {word}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
