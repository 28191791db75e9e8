#!/usr/bin/env python3
"""Every configuration of configs/ as a link: the link unpacks to the file, and simulates to the same report, byte for byte.

    links.py --program PROGRAM --configs FOLDER

The link is unpacked by Python's own base64 and zlib.
"""

import argparse
import base64
import json
import re
import subprocess
import sys
import zlib
from pathlib import Path

FOLDERS = ("seed", "family", "paper", "estimate")
# Comments of a configuration outside its strings.
COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.S)


def run(program, *words):
    done = subprocess.run([program, *words], capture_output=True, timeout=300)
    assert done.returncode in (0, 1), (words, done.stderr.decode())  # 1: over the memory limit
    return done.stdout.decode()


def unpacked(value):
    version, _, body = value.partition(".")
    assert version == "1", value
    return zlib.decompress(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)), -15).decode()


def check(program, file):
    link = run(program, "link", str(file)).rstrip("\n")
    address, _, value = link.partition("#c=")
    assert address == "http://127.0.0.1:8917/" and len(value) <= 32768, link
    text = unpacked(value)
    # As texts, so that the order of keys and the spelling of numbers count.
    plain = COMMENT.sub(lambda found: found[1] or "", file.read_text())
    spelt = json.dumps(json.loads(plain, parse_float=lambda number: f"~{number}~", parse_int=lambda number: f"~{number}~"), separators=(",", ":"), ensure_ascii=False)
    assert text == spelt.replace('"~', "").replace('~"', ""), file
    of_file, of_link = (run(program, "simulate", name, "--json") for name in (str(file), link))
    assert of_file == of_link, file
    return len(value)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--configs", required=True, type=Path)
    given = parser.parse_args()
    files = [given.configs / "showcase.json", *(file for folder in FOLDERS for file in sorted((given.configs / folder).glob("*.json")))]
    sizes = [check(given.program, file) for file in files]
    assert len(sizes) >= 80, len(sizes)
    print(f"{len(sizes)} configurations, links of {min(sizes)} to {max(sizes)} characters")
    return 0


if __name__ == "__main__":
    sys.exit(main())
