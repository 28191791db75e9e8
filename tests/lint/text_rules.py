#!/usr/bin/env python3
"""Checks the text of every file that git tracks or would track.

    text_rules.py [ROOT]

Prints every violation as file:line: what was found. Exits 1 if there is any, 77 where ROOT is no git checkout.
"""

import re
import subprocess
import sys
from pathlib import Path

# Recorded output of this and other programs stands as it was recorded.
VERBATIM = ("tests/golden/", "tests/fuzz/corpus/", "tests/transcripts/")
BINARY = (".png", ".pdf", ".ico", ".woff2")

# Spelt in two halves, or this file would break its own rules.
LINE_RULES = [
    (re.compile(r"(?<![\w.}~$/-])/(" + "home" + "|" + "work" + r")/"), "absolute path of one machine"),
    (re.compile(r"\b(" + "TO" + "DO|" + "FIX" + r"ME)\b"), "unfinished business; do it or open an issue"),
    (re.compile(r"[ \t]+$"), "blanks at the end of the line"),
    (re.compile(r"\r"), "carriage return"),
]

# CTest splits names there.
TEST_NAME = re.compile(r'TEST_CASE\(\s*((?:"[^"\n]*"\s*)+)')

LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.M)


def listed_files(root):
    """Paths that git tracks or would track, relative to `root`; None where git cannot tell."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return sorted(set(filter(None, listed.split("\0"))))


def violations_in(name, data):
    """Violations of one file with the bytes `data`, as text."""
    if name.startswith(VERBATIM) or name.endswith(BINARY) or not data:
        return []
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return [f"{name}:1: not UTF-8 (byte {error.start})"]
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        found += [f"{name}:{number}: {problem}" for rule, problem in LINE_RULES if rule.search(line)]
    if name.endswith("_test.cpp"):
        found += split_test_names(name, text) + bare_helpers(name, text)
    if not text.endswith("\n") or text.endswith("\n\n"):
        found.append(f"{name}:{text.count(chr(10)) + 1}: the file must end with exactly one line feed")
    return found


def split_test_names(name, text):
    """Names of tests that CTest cannot run, as text."""
    return [f"{name}:{text.count(chr(10), 0, found.start()) + 1}: ';' or backslash in the name of a test"
            for found in TEST_NAME.finditer(text) if set(";\\") & set(found.group(1))]


def bare_helpers(name, text):
    """A source of tests outside a namespace with its own name, as text: builds join such sources, whose helpers have equal names."""
    stem = Path(name).stem
    return [] if "TEST_CASE" not in text or re.search(rf"^namespace (\w+::)*{stem} {{$", text, re.M) else [f"{name}:1: stands in no namespace {stem}"]


def anchors(page):
    """What links to parts of a Markdown page may name: its headings as GitHub spells them."""
    text = re.sub(r"^```.*?^```", "", page, flags=re.M | re.S)
    words = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower().strip() for heading in HEADING.findall(text))
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in words}


def broken_links(root, name, text):
    """Links of a Markdown page that lead to no file, or to no heading of a page, as text."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        for target, part in LINK.findall(line):
            page = (root / name).parent.joinpath(target) if target else root / name
            if "://" in target or not (target or part):
                continue
            if not page.exists():
                found.append(f"{name}:{number}: link to {target}, which does not exist")
            elif part and page.suffix == ".md" and part not in anchors(page.read_text(encoding="utf-8")):
                found.append(f"{name}:{number}: link to {target}#{part}, which has no such heading")
    return found


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    names = listed_files(root)
    if names is None:
        print(f"{root} is no git checkout: skipped")
        return 77
    found = []
    for name in names:
        if (root / name).is_file():
            found += violations_in(name, (root / name).read_bytes())
            if name.endswith(".md"):
                found += broken_links(root, name, (root / name).read_text(encoding="utf-8", errors="replace"))
    print("\n".join(found) if found else f"{len(names)} files, no violation")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
