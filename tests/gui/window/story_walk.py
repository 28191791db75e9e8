#!/usr/bin/env python3
"""Clicks and drags in the timelines of a window of Xvfb: a selection brings its story to the front, and what did not run can be moved.

    story_walk.py PROGRAM --out FOLDER --root FOLDER

Exits 77 where Xvfb or xdotool is not installed.
"""

import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import xvfb_walk  # noqa: E402
from xvfb_walk import Window, expect, expect_that  # noqa: E402

HANG = "tests/gui/fixtures/hang.csv"
END = 33  # of the example, (8 + 4 - 1)(1 + 2): everything is in view


def place(items, row, time, end=END):
    """A point of a rank's row, where the view is from 0 to `end`."""
    left, top, right, bottom = items[f"chart/row/{row}"]
    return left + (right - left) * time / end, (top + bottom) / 2


def click_at(window, point):
    window.click([*point, *point])


def drag(window, start, end):
    window.move(*start)
    window.act("mousedown", "1")
    for share in (0.3, 0.6, 1.0):
        window.move(start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share)
    window.act("mouseup", "1")


def walk_through(args, display):
    items = Window(args, display).end("key")["items"]

    # The gap of rank 0 from 4 to 10; then the op of rank 3 from 4 to 6.
    window = Window(args, display)
    click_at(window, place(items, "0/0", 7))
    state = window.end("key")
    expect_that("the gap is selected", state["details"]["title"].startswith("Gap on rank 0"))
    expect("the tab in front", state["window"]["tabs"]["bottom"], "details")
    window = Window(args, display)
    click_at(window, place(items, "0/3", 5))
    state = window.end("key")
    expect("the story", state["details"]["title"], "B 0 of stage 3")
    expect("the tab in front", state["window"]["tabs"]["bottom"], "details")

    # G does the same from another tab.
    window = Window(args, display)
    window.keys("g")
    expect("the tab in front", window.end("key")["window"]["tabs"]["bottom"], "details")

    # A file that hangs opens with its problems in front; an outlined op is clicked, and dragged while the order is edited.
    opened = Window(args, display, HANG).end("key")
    expect("the tab in front", opened["window"]["tabs"]["bottom"], "problems")
    items = opened["items"]
    end = opened["view"]["end"]
    window = Window(args, display, HANG)
    click_at(window, place(items, "0/1", 3.5, end))
    expect("what is selected", window.end("key")["selection"]["waiting"], "1F2")
    window = Window(args, display, HANG)
    click_at(window, place(items, "0/1", 3.5, end))
    window.keys("e")
    # Not where the click was: two clicks at one place may be a double click.
    drag(window, place(items, "0/1", 3.9, end), place(items, "0/1", 7.2, end))
    state = window.end(signal.SIGTERM)
    expect("edits", state["edit"]["edits"], 1)
    expect("it runs", state["runs"][0]["hang"], None)


if __name__ == "__main__":
    sys.exit(xvfb_walk.main(walk_through, __doc__))
