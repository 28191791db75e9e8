#!/usr/bin/env python3
"""Counts the product files that name a thing which stands once: a row of a table (a metric, a configuration key, a kind of op), a tool.

    counted_names.py [ROOT]

A name that stands in more files than its row allows is stated in more places than one: prints a line for it and exits 1.
"""

import re
import sys
from pathlib import Path

PRODUCT = ["sim", "schedules", "study", "executor", "gui", "cli"]
KINDS = {".hpp", ".cpp", ".cu", ".def", ".in", ".json", ".txt"}

# what: a regular expression that finds a name in the text of a file, comments and strings included. limit: files that may hold it.
# name: what messages call it, if not by `what`.
# but: folders that are not counted, for a reason that the comment gives.
#
# Metrics: sim/analysis/metrics.{hpp,cpp} work the number out, and the row in study/report/metric.cpp says everything else about it. Closed
# forms of schedules are statements about metrics, each in its schedule's file. steady_period(..) is the algorithm, not the metric.
#
# Keys: the member of the configuration, the row in sim/io/config/keys.cpp, and the code that the key is about.
#
# JSON: sim/io/json/json_parse.cpp reads with nlohmann's parser and everything else with what it makes; texts are spelt by
# json_text.{hpp,cpp}, and TextWriter::quoted() is what writers call. A helper of one's own beside them will differ from them one day.
#
# Kinds of ops: sim/kinds.hpp is their table. Beside it they are named where code makes ops of the kind, or runs a layer for them.
#
# Tools: a helper that every file would like to have has one definition. Its header and its source may hold its name at the beginning of a
# line, where functions are declared. lower(schedule), which makes actions of ops, is no operation on text.


def tool(names, limit, parameters=""):
    """The row of a function of one of these names, or of a lambda, that is declared and not called. Members do not count."""
    what = rf"(?m)^(?:[^\s/#}}].*[\s&*>])?(?:{names})\({parameters}|\bauto (?:{names}) = \["
    return {"what": what, "limit": limit, "name": f"a function {names}"}


COUNTED = [
    {"what": r"\bwaves\b", "limit": 4},
    {"what": r"\bmin_gap\b", "limit": 5},
    {"what": r"\bstash_bytes\b", "limit": 4},
    {"what": r"\bOpKind::Recompute\b", "limit": 8},
    {"what": r"\bOpKind::Offload\b", "limit": 8},
    {"what": r"\bOpKind::Reload\b", "limit": 8},
    {"what": r"\bwindow_bubble_ratio\b", "limit": 3},
    {"what": r"\bideal_time\b", "limit": 3},
    {"what": r"\bbubble_overhead\b", "limit": 3, "but": ["schedules"]},
    {"what": r"\bmax_window\b", "limit": 6, "but": ["schedules"]},
    {"what": r"\bsteady_period\b(?!\()", "limit": 3},
    {"what": r"<nlohmann/", "limit": 1},
    {"what": r"\bjson_string\(std::string_view", "limit": 2},
    {"what": r"\b(?:TextWriter&|std::string|auto) quoted(?:\(std::string_view| = \[)", "limit": 1},
    tool("cycle_of", 1),
    tool("lower|lowered|lowercase", 2, r"(?:const )?(?:char|std::string)"),
    tool("join|joined", 2),
    tool("split", 2),
    tool("trim|trimmed", 2),
    tool("nearest_name", 2),
    tool("shell_quoted|shell_word", 2),
]


def product_files(root):
    for folder in PRODUCT:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in KINDS and path.is_file():
                yield path.relative_to(root).as_posix(), path.read_text()


def holders(files, row):
    """The files, by name, that hold what the row counts."""
    pattern = re.compile(row["what"])
    skipped = tuple(folder + "/" for folder in row.get("but", []))
    return [name for name, text in files if not name.startswith(skipped) and pattern.search(text)]


def violations(root, counted=None):
    """All violations under `root`, as text."""
    files = list(product_files(root))
    found = []
    for row in COUNTED if counted is None else counted:
        names = holders(files, row)
        if len(names) > row["limit"]:
            name = row.get("name", row["what"])
            found.append(f"{names[-1]}:1: {len(names)} files name {name}, at most {row['limit']}: use the row, or the tool, that there is; "
                         f"they are {' '.join(names)}")
    return found


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    found = violations(root)
    print("\n".join(found) if found else f"{len(COUNTED)} names, each in as few files as it may be")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
