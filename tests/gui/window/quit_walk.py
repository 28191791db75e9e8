#!/usr/bin/env python3
"""Edits an order by hand in a window of Xvfb and quits: the window asks, and the next session goes on where this one ended.

    quit_walk.py PROGRAM --out FOLDER --root FOLDER

Exits 77 where Xvfb or xdotool is not installed.
"""

import shutil
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import xvfb_walk  # noqa: E402
from xvfb_walk import expect, expect_that  # noqa: E402

HANG = "tests/gui/fixtures/hang.csv"


class Window(xvfb_walk.Window):
    SESSION = []


def edited(args, display, items, order):
    """A window whose order was repaired by a click."""
    window = Window(args, display, str(order))
    window.click(items["problems/apply"])
    return window


def walk_through(args, display):
    order = args.out / "hang.csv"
    shutil.copy(args.root / HANG, order)
    items = Window(args, display, str(order)).end("key")["items"]

    # Where the buttons of the question are: a signal ends the window while it asks.
    window = edited(args, display, items, order)
    window.keys("ctrl+q")
    asked = window.end(signal.SIGTERM)
    expect("it asks", asked["quit"]["asks"], True)
    items = {**items, **asked["items"]}

    # The next session goes on with the edits, though a signal ended the last one.
    window = Window(args, display)
    window.keys("ctrl+p")
    window.type("go on where")
    window.keys("Return")
    again = window.end(signal.SIGTERM)
    expect_that("the edited run is back", any(run["title"] == "hang.csv (edited)" for run in again["runs"]))
    expect("its order is in no file", again["edit"]["unsaved"], True)

    # Esc stays.
    window = edited(args, display, items, order)
    window.keys("ctrl+q", "Escape")
    expect("nothing is asked", window.end(signal.SIGTERM)["quit"]["asks"], False)

    # Save writes a new file, and quits.
    window = edited(args, display, items, order)
    window.keys("ctrl+q")
    window.last_click(items["quit/save"])
    expect_that("the order is saved", (args.out / "hang-edited.csv").exists())
    expect("the file that was opened", order.read_text(), (args.root / HANG).read_text())

    # Discard quits without it.
    window = edited(args, display, items, order)
    window.keys("ctrl+q")
    window.last_click(items["quit/discard"])
    expect_that("no other file", not (args.out / "hang-edited-2.csv").exists())


if __name__ == "__main__":
    sys.exit(xvfb_walk.main(walk_through, __doc__))
