#!/usr/bin/env python3
"""Runs one script headless through pipeloom-gui, as CTest does.

    walk.py PROGRAM SCRIPT --out FOLDER --root FOLDER [--no-drawing | --every-size]

The program works in the root of the sources, so that scripts name configs/...; what a script writes lands in FOLDER, which is emptied
first and is ${PIPELOOM_OUT} in scripts. Exits 77 where EGL has no OpenGL 3.3, else as the program does. Without drawing, which is how a thread
sanitizer that does not know the drivers sees our own threads, the lines about pictures are left out. Files that a script's first line
names, `# files: A B`, stand on the program's command line. With --every-size each picture is taken in both themes and three sizes, the
last of a display with twice as many pixels: for people to look at.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

NO_EGL = "nothing to draw on without a display"


def environment(out, drawing=True):
    """The user's, with a home of its own: neither settings nor recent files of whoever runs the tests."""
    home = out / "home"
    home.mkdir(parents=True, exist_ok=True)
    found = dict(os.environ, PIPELOOM_OUT=str(out), HOME=str(home))
    for name in ("CONFIG", "STATE", "DATA", "CACHE"):
        found[f"XDG_{name}_HOME"] = str(home)
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        found.pop(name, None)
    if drawing:
        # Drivers are unloaded before leaks are looked for, so theirs have no name to be excused by. Walks without drawing look for ours.
        found["ASAN_OPTIONS"] = ":".join(filter(None, [found.get("ASAN_OPTIONS"), "detect_leaks=0"]))
    return found


def without_pictures(script, out):
    """The same walk for a platform that draws nothing."""
    lines = script.read_text().splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith("screenshot") and "/window/platform" not in line]
    copy = out / script.name
    copy.write_text("".join(kept))
    return copy


NO_OVERLAP = "expect /window/overlaps size 0"


def with_overlap_checks(script, out):
    """The same walk; wherever it takes a picture, no two texts may lie over each other."""
    lines = []
    for line in script.read_text().splitlines():
        lines.append(line)
        if line.startswith("screenshot"):
            lines.append(NO_OVERLAP)
    copy = out / script.name
    copy.write_text("\n".join(lines) + "\n")
    return copy


SIZES = (("1280x720", 1280, 720, 1), ("1920x1080", 1920, 1080, 1), ("3840x2160", 3840, 2160, 2))


def in_every_size(script, out):
    """The same walk with each picture in all sizes and themes; then the window is again as the script had it."""
    size, scale, theme = (1280, 720), 1, "dark"
    lines = []
    for line in script.read_text().splitlines():
        words = line.split()
        if words[:1] == ["size"]:
            size = (int(words[1]), int(words[2]))
        if words[:1] == ["scale"]:
            scale = words[1]
        if words[:1] == ["theme"]:
            theme = words[1]
        if words[:1] != ["screenshot"]:
            lines.append(line)
            continue
        for name, width, height, factor in SIZES:
            for shade in ("dark", "light"):
                lines += [f"scale {factor}", f"size {width} {height}", f"theme {shade}", "wait idle"]
                lines.append(f"screenshot {words[1].removesuffix('.png')}-{shade}-{name}.png")
        lines += [f"scale {scale}", f"size {size[0]} {size[1]}", f"theme {theme}", "wait idle"]
    copy = out / script.name
    copy.write_text("\n".join(lines) + "\n")
    return copy


def named_files(script):
    """What the first line says to open."""
    first = script.read_text().split("\n", 1)[0]
    marker = "# files: "
    return first[len(marker):].split() if first.startswith(marker) else []


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("script", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--no-drawing", action="store_true")
    parser.add_argument("--every-size", action="store_true")
    args = parser.parse_args()
    shutil.rmtree(args.out, ignore_errors=True)
    surroundings = environment(args.out, drawing=not args.no_drawing)
    script = args.script
    if args.no_drawing:
        script = without_pictures(script, args.out)
    elif args.every_size:
        script = in_every_size(script, args.out)
    else:
        script = with_overlap_checks(script, args.out)
    mode = "--no-drawing" if args.no_drawing else "--headless"
    command = [args.program, mode, "--no-session", "--script", str(script), "--state", str(args.out / "state.json")]
    command += named_files(args.script)
    ran = subprocess.run(command, env=surroundings, cwd=args.root, stderr=subprocess.PIPE, text=True, check=False)
    sys.stderr.write(ran.stderr)
    if ran.returncode == 3 and NO_EGL in ran.stderr:
        print("skipped: " + ran.stderr.strip())
        return 77
    if ran.returncode < 0:
        print(f"the program ended by signal {-ran.returncode}")
        return 1
    return ran.returncode


if __name__ == "__main__":
    sys.exit(main())
