#!/usr/bin/env python3
"""Checks that the window draws its texts by functions that note their places (gui/texts.hpp, gui/widgets.hpp), so that every text over another is found.

    drawn_texts.py [ROOT]

Prints every violation as file:line: what was found. Exits 1 if there is any.
"""

import re
import sys
from pathlib import Path

# Those functions themselves; the labels of the timelines are noted from their list.
FREE = {"gui/texts.cpp", "gui/widgets.cpp", "gui/draw/chart_draw.cpp"}
BARE = re.compile(r"\bImGui::(Text\w*|BulletText|LabelText|SetTooltip|TableHeader\w*|MenuItem|BeginMenu|Button|SmallButton|Checkbox|"
                  r"RadioButton|TreeNode\w*|CollapsingHeader|SliderScalar|ProgressBar)\(|(?:\.|->)(AddText)\(|"
                  r'\bImGui::(Selectable)\((?!"##)')  # one whose label is not shown has none to note
def violations(root):
    found = []
    for path in sorted((root / "gui").rglob("*.[ch]pp")):
        name = path.relative_to(root).as_posix()
        if name in FREE:
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            bare = BARE.search(line.split("//", 1)[0])
            if bare is not None:
                found.append(f"{name}:{number}: {next(filter(None, bare.groups()))} draws a text whose place is not noted")
    return found


def main():
    found = violations(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
