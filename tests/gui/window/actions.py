#!/usr/bin/env python3
"""Fails where a task takes more than three actions: tests/gui/scripts/task_*.script.

    actions.py SCRIPT...

An action is what a user does with hand or keyboard: a click, a drag, a key, a text that is typed, a value that is set, a command. Resting the pointer
somewhere and looking is none. A value is set in one: a field is clicked, typed into and left.
"""

import sys
from pathlib import Path

ACTIONS = {"set", "do", "key", "type", "click", "double", "drag", "wheel", "open"}
MOST = 3


def actions_of(script):
    """Lines of the script in which a user does something."""
    lines = (line.split(maxsplit=1) for line in script.read_text().splitlines())
    return [words[0] for words in lines if words and words[0] in ACTIONS]


def main():
    scripts = [Path(name) for name in sys.argv[1:]]
    if not scripts:
        sys.exit("no scripts")
    failed = False
    for script in scripts:
        count = len(actions_of(script))
        print(f"{script.name}: {count}")
        failed = failed or not 1 <= count <= MOST
    sys.exit(f"a task takes one to {MOST} actions" if failed else 0)


if __name__ == "__main__":
    main()
