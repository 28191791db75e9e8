#!/usr/bin/env python3
"""Runs the script that docs/window.md shows, as it stands there.

    manual.py PROGRAM --out FOLDER --root FOLDER

Its schedule file is one that hangs. Exits 77 where EGL has no OpenGL 3.3.
"""

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from walk import NO_EGL, environment  # noqa: E402


def sample(page):
    """The block that begins by opening a schedule file."""
    return re.search(r"```\n(open orders\.csv\n.*?)```", page.read_text(), re.DOTALL).group(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--root", type=Path, required=True)
    args = parser.parse_args()
    shutil.rmtree(args.out, ignore_errors=True)
    surroundings = environment(args.out)
    (args.out / "manual.script").write_text(sample(args.root / "docs/window.md"))
    shutil.copy(args.root / "tests/gui/fixtures/hang.csv", args.out / "orders.csv")
    ran = subprocess.run([args.program, "--headless", "--no-session", "--script", "manual.script"], env=surroundings,
                         cwd=args.out, stderr=subprocess.PIPE, text=True, check=False)
    sys.stderr.write(ran.stderr)
    if ran.returncode == 3 and NO_EGL in ran.stderr:
        print("skipped: " + ran.stderr.strip())
        return 77
    return ran.returncode


if __name__ == "__main__":
    sys.exit(main())
