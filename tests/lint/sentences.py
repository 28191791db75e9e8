#!/usr/bin/env python3
"""Finds sentences of more than 40 words in README.md, CONTRIBUTING.md and docs/*.md.

    sentences.py [ROOT]

Prints each as file:line: its number of words and its beginning. Exits 1 if a page has more of them than LEFT says; a page that is not there may have none.
A code span is one word. Blocks of code, and lines of four blanks outside lists, are not read; an item of a list and a cell of a table are texts of their own.
"""

import re
import sys
from pathlib import Path

LONGEST = 40

# Pages that have long sentences yet: page -> how many. A number may fall only.
LEFT = {}

CODE = re.compile(r"(`+).*?\1", re.S)
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
END = re.compile(r"(?<=[.?!])[)\"'*]*\s+(?=[\"'(*\[]*[A-Z0-9`])")
ITEM = re.compile(r"^\s*(?:[-*]|\d+\.)\s+")


def texts(page):
    """The texts of a page with the number of their first line: paragraphs, items of lists, cells of tables."""
    found, first, lines, fenced = [], 0, [], False

    def close():
        if lines:
            found.append((first, " ".join(lines)))
            lines.clear()

    for number, line in enumerate(page.splitlines(), 1):
        if line.lstrip().startswith("```"):
            close()
            fenced = not fenced
        elif fenced or (line.startswith("    ") and not lines):
            continue
        elif not line.strip() or line.startswith("#"):
            close()
        elif line.startswith("|"):
            close()
            found += [(number, cell.strip()) for cell in re.split(r"(?<!\\)\|", CODE.sub("`c`", line)) if cell.strip()]
        else:
            if ITEM.match(line):
                close()
            if not lines:
                first = number
            lines.append(ITEM.sub("", line, 1).strip())
    close()
    return found


def sentences(text):
    """The sentences of a text, code spans as one word and links as their words."""
    return END.split(LINK.sub(r"\1", CODE.sub("`c`", text)))


def long_sentences(page):
    """(line, words, beginning) of each sentence that is too long."""
    found = []
    for line, text in texts(page):
        for sentence in sentences(text):
            words = [word for word in sentence.split() if re.search(r"\w", word)]
            if len(words) > LONGEST:
                found.append((line, len(words), " ".join(words[:8])))
    return found


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    pages = [path for path in (root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").glob("*.md"))) if path.is_file()]
    failed = False
    for path in pages:
        name = path.relative_to(root).as_posix()
        found = long_sentences(path.read_text(encoding="utf-8"))
        if len(found) > LEFT.get(name, 0):
            failed = True
            for line, words, beginning in found:
                print(f"{name}:{line}: a sentence of {words} words, {LONGEST} are allowed: {beginning} ..")
    if not failed:
        print(f"{len(pages)} pages, no sentence of more than {LONGEST} words" + (f" but {sum(LEFT.values())} older ones" if LEFT else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
