#!/usr/bin/env python3
"""Counts phrases that make a reader guess, in the product's comments, messages and pages. A count may only fall.

    phrases.py [ROOT]

Prints each phrase that occurs more often than MOST allows, with its places, and each that occurs less often, so that MOST is lowered in the same
change. Exits 1 if there is any, 77 where ROOT is no git checkout.
"""

import re
import sys
from pathlib import Path

from text_rules import listed_files

# The rules that name phrases, recorded output, and the history would count themselves.
LEFT_OUT = ("tests/", "findings/", "bench/", "python/tests/", "CHANGELOG.md")
SUFFIXES = (".cpp", ".hpp", ".cu", ".def", ".py", ".md", ".sh")

COMMENT = r'(?:^\s*(?://[/!<]*|#:?)|""")\s*'

# phrase, what is counted, the most that is allowed, what says it better
MOST = [
    ("a comment that begins with 'What'", COMMENT + r"What\b", 141, "the thing's noun: 'The bytes of ..'"),
    ("a comment that begins with 'Whether'", COMMENT + r"Whether\b", 49, "'True if ..'"),
    ("nobody", r"\b[Nn]obody\b", 27, "the subject, or 'no caller', 'no rank'"),
    ("whoever", r"\b[Ww]hoever\b", 10, "'the caller', 'the reader', 'a user who'"),
    ("come to", r"\bcomes? to\b", 9, "'is', 'gives', 'reaches'"),
    ("stand", r"\bstands?\b", 127, "'is', 'waits', 'has'"),
    ("behind", r"\bbehind\b", 125, "'after' in time, 'later in the queue'"),
    ("besides", r"\b[Bb]esides\b", 19, "'and', 'also', 'other than'"),
    ("so many", r"\bso many\b", 31, "'that number of', or name the number"),
    ("what comes of it", r"\bwhat comes? of\b", 1, "'the result'"),
]


def product_texts(root):
    """name: text, of every file that is counted."""
    return {name: (root / name).read_text(encoding="utf-8", errors="replace") for name in listed_files(root) or []
            if not name.startswith(LEFT_OUT) and name.endswith(SUFFIXES) and (root / name).is_file()}


def places(texts, pattern):
    """file:line of every occurrence, as text."""
    return [f"{name}:{text.count(chr(10), 0, found.end()) + 1}"
            for name, text in texts.items() for found in re.finditer(pattern, text, re.M)]


def violations(texts, most):
    """Phrases whose count is not what the table says, as text."""
    out = []
    for phrase, pattern, allowed, better in most:
        found = places(texts, pattern)
        if len(found) > allowed:
            out.append(f"{phrase}: {len(found)} times, {allowed} are allowed; write {better}\n  " + "\n  ".join(found))
        elif len(found) < allowed:
            out.append(f"{phrase}: {len(found)} times, and the table still allows {allowed}; lower it to {len(found)}")
    return out


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    if listed_files(root) is None:
        print("phrases.py: no git checkout, nothing to count")
        return 77
    found = violations(product_texts(root), MOST)
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
