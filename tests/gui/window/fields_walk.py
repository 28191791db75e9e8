#!/usr/bin/env python3
"""Types into every field of the parameters in a window of Xvfb and leaves it by Enter, by Tab and by a click elsewhere: nothing is lost.

    fields_walk.py PROGRAM --out FOLDER --root FOLDER

Exits 77 where Xvfb or xdotool is not installed.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import xvfb_walk  # noqa: E402
from xvfb_walk import Window, expect, expect_that  # noqa: E402

START = {"schedule": "interleaved-1f1b", "ranks": 4, "microbatches": 8, "chunks": 2, "step": {"count": 1},
         "memory": {"limit_bytes": 90}}
COUNTS = {"ranks": 2, "microbatches": 12, "chunks": 3, "step.count": 2}
TEXTS = {"costs.forward": 1.5, "costs.backward": 2.5, "costs.transfer.latency": 0.25, "memory.activation_bytes": 3,
         "memory.static_bytes": 1, "memory.limit_bytes": 64}
# A click elsewhere: on a name, which is no field.
ELSEWHERE = "params/ranks/label"
REFUSED = "3.5"


def leave(window, how, items):
    if how == "click":
        window.click(items[ELSEWHERE])
    else:
        window.keys(how)


def type_all(window, how, items):
    """Each field gets another value, and is left."""
    for path, value in {**COUNTS, **TEXTS}.items():
        window.click(items[f"params/{path}"])
        window.type(str(value))
        leave(window, how, items)


def walk_through(args, display):
    config = args.out / "start.json"
    config.write_text(json.dumps(START))
    items = Window(args, display, str(config)).end("key")["items"]
    for path in {**COUNTS, **TEXTS}:
        expect_that(f"a field of {path}", f"params/{path}" in items)
    for how in ("Return", "Tab", "click"):
        window = Window(args, display, str(config))
        type_all(window, how, items)
        values = window.end("key")["config"]["values"]
        for path, value in {**COUNTS, **TEXTS}.items():
            expect(f"{path}, left by {how}", values[path], value)

    # A count that is none keeps its text, too, and nothing moves.
    for how in ("Return", "Tab", "click"):
        window = Window(args, display, str(config))
        for path in COUNTS:
            window.click(items[f"params/{path}"])
            window.type(REFUSED)
            leave(window, how, items)
        state = window.end("key")
        for path in COUNTS:
            expect(f"{path}, left by {how}", state["config"]["values"][path], float(REFUSED))
            expect_that(f"a line of {path}", "a whole number" in state["config"]["refusals"][path])
            expect(f"the place of {path}", state["items"][f"params/{path}"], items[f"params/{path}"])
        expect("the picture is dimmed", state["config"]["outdated"], True)


if __name__ == "__main__":
    xvfb_walk.SIZE = "1280x1000"
    sys.exit(xvfb_walk.main(walk_through, __doc__))
