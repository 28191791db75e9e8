#!/usr/bin/env python3
"""The programs of a page, for whoever compiles and runs them.

    page_programs.py PAGE FOLDER    writes FOLDER/1.cpp, FOLDER/1.txt, ...: each block of C++ that has a main, and what the block of text
                                    behind it says that it prints
"""

import re
import sys
from pathlib import Path

BLOCK = re.compile(r"^```(cpp|text)\n(.*?)^```$", re.S | re.M)


def programs(page):
    """(source, what it prints) of each program, in the page's order."""
    blocks = BLOCK.findall(page)
    for (language, text), (after, printed) in zip(blocks, blocks[1:] + [("", "")]):
        if language == "cpp" and "int main()" in text:
            if after != "text":
                raise SystemExit("a program without a block of text that says what it prints")
            yield text, printed


def main():
    page, folder = Path(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for number, (source, printed) in enumerate(programs(page.read_text()), 1):
        for name, text in ((f"{number}.cpp", source), (f"{number}.txt", printed)):
            file = folder / name
            if not file.is_file() or file.read_text() != text:
                file.write_text(text)


if __name__ == "__main__":
    main()
