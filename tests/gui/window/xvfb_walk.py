#!/usr/bin/env python3
"""Walks through pipeloom-gui in a window of Xvfb, with xdotool for mouse and keyboard; looks at the state that it writes at its end.

    xvfb_walk.py PROGRAM --out FOLDER --root FOLDER

Exits 77 where Xvfb or xdotool is not installed.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from walk import environment  # noqa: E402

SIZE = "1280x720"
CONFIG = "configs/showcase.json"
# Seconds.
PATIENCE = 60


class Display:
    """An X server of our own, whose number nobody else has."""

    def __enter__(self):
        read_end, write_end = os.pipe()
        self.server = subprocess.Popen(
            ["Xvfb", "-displayfd", str(write_end), "-screen", "0", SIZE + "x24", "-nolisten", "tcp"],
            pass_fds=[write_end], stderr=subprocess.DEVNULL)
        os.close(write_end)
        with os.fdopen(read_end) as answer:
            self.name = ":" + answer.readline().strip()
        return self

    def __exit__(self, *_):
        self.server.terminate()
        self.server.wait()


class Window:
    """The program in its window; xdotool acts on it."""

    # Settings and the last session are left alone; walks about them change it.
    SESSION = ["--no-session"]

    def __init__(self, args, display, *options):
        self.state_file = args.out / "state.json"
        self.state_file.unlink(missing_ok=True)
        self.environment = dict(environment(args.out), DISPLAY=display.name)
        self.program = subprocess.Popen(
            [args.program, *self.SESSION, "--size", SIZE, "--state", str(self.state_file), *options],
            env=self.environment, cwd=args.root)
        found = self.xdotool("search", "--sync", "--onlyvisible", "--name", "Pipeloom")
        self.id = found.split()[-1]
        # There is no window manager that would give it the keyboard.
        self.xdotool("windowfocus", "--sync", self.id)
        self.state()

    def xdotool(self, *words):
        return subprocess.run(["xdotool", *words], env=self.environment, check=True, stdout=subprocess.PIPE, text=True,
                              timeout=60).stdout

    def state(self):
        """The state when the window has done all that it was asked before, and is at rest. Walks wait so, not by time: a busy machine
        passes them too."""
        self.state_file.unlink(missing_ok=True)
        self.program.send_signal(signal.SIGUSR1)
        until = time.monotonic() + PATIENCE
        while not self.state_file.exists():
            expect("exit status of a window that is to stay", self.program.poll(), None)
            expect_that("the window is at rest in time", time.monotonic() < until)
            time.sleep(0.01)
        state = json.loads(self.state_file.read_text())
        expect("texts over each other", state["window"]["overlaps"], [])
        return state

    def act(self, *words):
        """An action of xdotool, and all that it does."""
        self.xdotool(*words)
        return self.state()

    def keys(self, *names):
        for name in names:
            self.act("key", name)

    def type(self, text):
        self.act("type", "--delay", "20", text)

    def move(self, x, y):
        self.act("mousemove", "--window", self.id, str(int(x)), str(int(y)))

    def click(self, rect, button=1):
        self.move((rect[0] + rect[2]) / 2, (rect[1] + rect[3]) / 2)
        self.act("click", str(button))

    def last_click(self, rect):
        """A click that ends the program."""
        self.move((rect[0] + rect[2]) / 2, (rect[1] + rect[3]) / 2)
        self.state_file.unlink(missing_ok=True)
        self.xdotool("click", "1")
        expect("exit status", self.program.wait(timeout=PATIENCE), 0)

    def end(self, how):
        """Ends the program by Ctrl+Q or a signal; its state."""
        self.state_file.unlink(missing_ok=True)
        if how == "key":
            self.xdotool("key", "ctrl+q")
        else:
            self.program.send_signal(how)
        expect("exit status", self.program.wait(timeout=PATIENCE), 0)
        return json.loads(self.state_file.read_text())


def expect(what, found, wanted):
    if found != wanted:
        raise AssertionError(f"{what} is {found!r}; wanted {wanted!r}")


def expect_that(what, holds):
    if not holds:
        raise AssertionError(f"{what} does not hold")


def length(state):
    return state["view"]["end"] - state["view"]["start"]


def walk_through(args, display):
    # The first start shows an example; Ctrl+Q ends the program.
    first = Window(args, display).end("key")
    expect("platform", first["window"]["platform"], "glfw")
    expect("size", [first["window"]["width"], first["window"]["height"]], [1280, 720])
    expect("runs", len(first["runs"]), 1)
    expect("ranks", first["runs"][0]["ranks"], 4)
    items = first["items"]

    # Keys act on what the pointer is at; a signal ends the program as its own command does.
    window = Window(args, display)
    window.click(items["chart/plot"])
    window.keys("w", "w", "w")
    state = window.end(signal.SIGTERM)
    expect_that("w zooms in", length(state) < length(first))

    # The wheel with Ctrl held, in and out again.
    window = Window(args, display)
    window.click(items["chart/plot"])
    window.act("keydown", "ctrl", "click", "--repeat", "3", "4", "keyup", "ctrl")
    window.act("keydown", "ctrl", "click", "--repeat", "2", "5", "keyup", "ctrl")
    state = window.end("key")
    expect_that("three steps in and two out are one in", 0.5 * length(first) < length(state) < length(first))

    # A number typed into a field is simulated.
    window = Window(args, display)
    window.click(items["params/ranks"])
    window.keys("ctrl+a", "8", "Return")
    state = window.end("key")
    expect("ranks", state["runs"][0]["ranks"], 8)

    # The command palette, all by keyboard.
    window = Window(args, display)
    window.keys("ctrl+shift+p")
    window.type("theme light")
    window.keys("Return")
    state = window.end("key")
    expect("theme", state["window"]["theme"], "light")

    # The search box leads to a field by its name; the field takes a number.
    window = Window(args, display)
    window.keys("ctrl+f")
    window.type("microb")
    window.keys("Return", "ctrl+a", "1", "2", "Return")
    state = window.end("key")
    expect("microbatches", state["config"]["values"]["microbatches"], 12)

    # The same box finds ops: Enter goes to the first, F3 to the next.
    window = Window(args, display)
    window.keys("ctrl+p")
    window.type("type:B stage:3")
    window.keys("Return", "Escape", "F3")
    state = window.end("key")
    expect("ops found", state["search"]["count"], 8)
    expect("op", state["selection"]["op"]["op"], "3B1")

    # Export by keyboard: the sheet has the name, Enter writes. Esc closes the list of a field first.
    picture = args.out / "walked.svg"
    window = Window(args, display)
    window.keys("ctrl+e", "ctrl+a")
    window.type(str(picture))
    state = window.state()
    expect("preview", state["export_preview"]["problem"], "")
    window.click(state["items"]["export/size"])
    window.keys("Escape")
    expect_that("the sheet stays", window.state()["export"]["dialog"])
    window.click(state["items"]["export/path"])
    window.keys("Return")
    state = window.end("key")
    expect("files written", state["export"]["written"], 1)
    expect_that("the picture is there", picture.read_text().startswith("<?xml"))

    # A file named on the command line.
    state = Window(args, display, CONFIG).end("key")
    expect_that("the file is open", any(run["file"] == CONFIG for run in state["runs"]))


def main(walk=walk_through, about=__doc__):
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--root", type=Path, required=True)
    args = parser.parse_args()
    missing = [name for name in ("Xvfb", "xdotool") if shutil.which(name) is None]
    if missing:
        print("skipped: not installed: " + " ".join(missing))
        return 77
    shutil.rmtree(args.out, ignore_errors=True)
    args.out.mkdir(parents=True)
    with Display() as display:
        walk(args, display)
    return 0


if __name__ == "__main__":
    sys.exit(main())
