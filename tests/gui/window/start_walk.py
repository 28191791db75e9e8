#!/usr/bin/env python3
"""The first minute in a window of Xvfb: the strip of a start without files, its buttons, and what opening a file does to the example.

    start_walk.py PROGRAM --out FOLDER --root FOLDER

Exits 77 where Xvfb or xdotool is not installed.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import xvfb_walk  # noqa: E402
from xvfb_walk import Window, expect, expect_that  # noqa: E402

HANG = "tests/gui/fixtures/hang.csv"
SENTENCE = "A step of 1F1B on 4 ranks. Change a number, or:"


def walk_through(args, display):
    # The strip covers no op, and is gone after the first edit, for good.
    window = Window(args, display)
    state = window.state()
    items = state["items"]
    expect("the sentence", state["first_minute"], SENTENCE)
    expect_that("the strip is below the rows", items["first/sentence"][1] > items["chart/row/0/3"][3])
    expect("the run that is edited", state["config"]["name"], "1f1b (example)")
    window.click(items["params/ranks"])
    window.type("6")
    window.keys("Tab")
    state = window.state()
    expect("the sentence after an edit", state["first_minute"], None)
    expect("the run that is edited", state["config"]["name"], "1f1b")
    window.keys("ctrl+z")
    state = window.end("key")
    expect("ranks", state["runs"][0]["ranks"], 4)
    expect("the sentence after Ctrl+Z", state["first_minute"], None)

    # A file named in the dialog takes the place of the example.
    window = Window(args, display)
    window.click(items["first/open"])
    window.type(HANG)
    window.keys("Return")
    state = window.end("key")
    expect("runs", [run["title"] for run in state["runs"]], ["hang.csv"])

    # After an edit it does not.
    window = Window(args, display)
    window.click(items["params/ranks"])
    window.type("6")
    window.keys("Return", "ctrl+o")
    window.type(HANG)
    window.keys("Return")
    state = window.end("key")
    expect("runs", [run["title"] for run in state["runs"]][0], "hang.csv")
    expect("number of runs", len(state["runs"]), 2)

    # A model by name, by mouse alone.
    window = Window(args, display)
    window.click(items["first/model"])
    state = window.state()
    expect("schedules", state["model_sheet"]["problem"], "")
    expect_that("the fastest fits", state["model_sheet"]["lines"][0]["fits"])
    window.click(state["items"]["model/take"])
    state = window.end("key")
    expect("the sheet", state["model_sheet"], None)
    expect("model", state["config"]["values"]["costs.model"], "llama3-8b")
    expect("the sentence", state["first_minute"], None)


if __name__ == "__main__":
    sys.exit(xvfb_walk.main(walk_through, __doc__))
