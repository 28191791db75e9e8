#!/usr/bin/env python3
"""Checks who includes whom: the rooms of docs/architecture.md, as data.

    include_direction.py [ROOT]

Prints every violation as file:line: what was found; what is allowed. Exits 1 if there is any.
"""

import collections
import functools
import posixpath
import re
import sys
from pathlib import Path

# The nouns and what the library promises. Every room may include these headers, written <pipeloom/NAME.hpp>; they include each other and the
# standard library.
FACE = "include/pipeloom"

# Rooms of the house, from the ground up: folder -> rooms it may include besides itself and the face. "sim/*" is sim and every room in it. The longest
# matching folder decides; files outside these folders (tests, benchmarks) may include every room. A new room gets a row here, or every file
# of it is a violation; a row that makes a circle is one too.
MAY_INCLUDE = {
    FACE: [],
    "sim/base": [],
    "sim": ["sim/base"],
    "sim/engine": ["sim", "sim/base"],
    "sim/cost": ["sim", "sim/base", "sim/layout"],
    "sim/estimate": ["sim", "sim/base", "sim/model", "sim/hardware", "sim/layout"],
    "sim/cost/measured": ["sim", "sim/base"],
    "sim/layout": ["sim", "sim/base"],
    "sim/model": ["sim", "sim/base"],
    "sim/hardware": ["sim", "sim/base", "sim/model"],
    "sim/orders": ["sim", "sim/base"],
    "sim/orders/bounds": ["sim", "sim/base", "sim/orders"],
    "sim/orders/exact": ["sim", "sim/base", "sim/orders", "sim/orders/bounds"],
    "sim/orders/blocks": ["sim", "sim/base", "sim/orders"],
    "sim/orders/search": ["sim", "sim/base", "sim/orders", "sim/orders/blocks", "sim/orders/bounds", "sim/orders/exact"],
    "sim/orders/entries": ["sim", "sim/base", "sim/orders", "sim/orders/search"],
    "sim/orders/designs": ["sim", "sim/base", "sim/orders", "sim/orders/entries", "sim/orders/search"],
    "sim/torch": ["sim", "sim/base"],
    "sim/analysis": ["sim", "sim/base", "sim/engine"],
    "sim/roots": ["sim", "sim/base"],
    "sim/messages": ["sim", "sim/base", "sim/engine", "sim/analysis"],
    "sim/messages/plans": ["sim", "sim/base", "sim/engine", "sim/messages", "sim/torch"],
    "sim/tracks": ["sim", "sim/base", "sim/analysis", "sim/messages"],
    "sim/draw": ["sim", "sim/base", "sim/analysis", "sim/tracks"],
    "sim/io/json": ["sim", "sim/base"],
    "sim/io/config": ["sim", "sim/base", "sim/cost", "sim/io/json"],
    "sim/io/links": ["sim", "sim/base", "sim/io/json"],
    "sim/io": ["sim", "sim/base"],
    "sim/io/models": ["sim", "sim/base", "sim/model", "sim/io/json"],
    "sim/io/hardware": ["sim", "sim/base", "sim/model", "sim/hardware", "sim/io/json", "sim/io/config"],
    "sim/io/formats": ["sim", "sim/base", "sim/analysis", "sim/torch", "sim/layout", "sim/draw", "sim/io/json", "sim/io/config"],
    "sim/io/traces/kineto": ["sim", "sim/base", "sim/io/json", "sim/io/traces"],
    "sim/io/traces": ["sim", "sim/base", "sim/analysis", "sim/io/json", "sim/io/formats"],
    "sim/io/without": ["sim", "sim/base", "sim/draw", "sim/io/json", "sim/io/links", "sim/io/pictures", "sim/io/traces"],
    "sim/io/pictures": ["sim", "sim/base", "sim/draw", "sim/io/json", "sim/io/formats"],
    "schedules": ["sim", "sim/base", "sim/engine", "sim/messages", "sim/orders", "sim/orders/blocks", "sim/orders/search"],
    "study/text": ["sim", "sim/base", "sim/analysis", "sim/io/json"],
    "study/run": ["sim/*", "schedules", "study/text"],
    "study/report": ["sim/*", "schedules", "study/run", "study/text"],
    "study/compare": ["sim/*", "study/report", "study/run", "study/text"],
    "study/suite": ["sim/*", "study/report", "study/run", "study/text"],
    "study/estimate": ["sim/*", "schedules", "study/document", "study/report", "study/run", "study/text"],
    "study/targets": ["sim/*", "schedules", "study/run", "study/text"],
    "study/validate": ["sim/*", "schedules", "study/report", "study/run", "study/targets", "study/text"],
    "study/plan": ["sim/*", "schedules", "study/estimate", "study/run", "study/targets", "study/text"],
    "study/plan/shown": ["sim/*", "schedules", "study/plan", "study/answers", "study/document", "study/estimate", "study/run", "study/targets", "study/text"],
    "study/layouts": ["sim/*", "schedules", "study/plan", "study/run", "study/targets", "study/text"],
    "study/layouts/shown": ["sim/*", "schedules", "study/layouts", "study/plan", "study/plan/shown", "study/document", "study/run",
                            "study/targets", "study/text"],
    "study/explain": ["sim", "sim/base", "sim/analysis"],
    "study/explain/shown": ["sim", "sim/base", "sim/io/config", "sim/io/json", "study/explain", "study/text"],
    "study/calibrate": ["sim/*", "schedules", "study/run", "study/explain", "study/text"],
    "study/document": ["sim", "sim/base", "sim/analysis", "sim/draw", "study/text"],
    "study/gate": ["sim", "sim/base", "sim/io/json", "study/suite", "study/document", "study/text"],
    "study/sweep/grid": ["sim/*", "schedules", "study/report", "study/run", "study/text"],
    "study/sweep/result": ["sim", "sim/base", "sim/io/json", "study/sweep/grid", "study/run", "study/text"],
    "study/sweep/run": ["sim/*", "schedules", "study/sweep/grid", "study/sweep/result", "study/report", "study/run", "study/text"],
    "study/sweep/emit": ["sim", "sim/base", "study/text"],
    "study/answers": ["sim", "sim/base", "sim/io/config", "sim/io/json", "study/sweep/result", "study/compare", "study/report", "study/text"],
    "study/plots": ["sim/*", "study/document", "study/answers", "study/sweep/result", "study/run", "study/text"],
    "study/pages": ["sim/*", "study/plots", "study/document", "study/answers", "study/compare", "study/estimate", "study/explain",
                    "study/explain/shown", "study/report", "study/run", "study/text"],
    "face": ["sim/*", "schedules", "study/*"],
    "executor/net": ["sim", "sim/base"],
    "executor/run": ["sim", "sim/base", "sim/messages"],
    "executor/layers": ["sim", "sim/base", "executor/run"],
    "executor/measure": ["sim", "sim/base", "sim/cost/measured", "sim/messages", "executor/run"],
    "executor/process": ["sim", "sim/base", "sim/messages", "executor/run", "executor/net"],
    "executor/cuda/device": ["sim", "sim/base", "executor/run", "executor/layers"],
    "executor/cuda/kernels": ["sim", "sim/base", "executor/layers", "executor/cuda/device"],
    "executor/cuda/exchange": ["sim", "sim/base", "sim/messages", "executor/run", "executor/cuda/device", "executor/cuda/kernels"],
    "executor/cuda/layers": ["sim", "sim/base", "executor/run", "executor/layers", "executor/cuda/device", "executor/cuda/kernels"],
    "executor/cuda/run": ["sim", "sim/base", "sim/messages", "executor/run", "executor/net", "executor/process", "executor/cuda/device",
                          "executor/cuda/kernels", "executor/cuda/exchange"],
    "gui/model/run": ["sim/*", "schedules", "study/*"],
    "gui/model/session": ["sim/*", "schedules", "study/*", "gui/model/run"],
    "gui/model/chart": ["sim/*", "schedules", "study/*", "gui/model/run", "gui/model/session"],
    "gui/model/edit": ["sim/*", "schedules", "study/*", "gui/model/run", "gui/model/session", "gui/model/chart"],
    "gui/model/panels": ["sim/*", "schedules", "study/*", "gui/model/run", "gui/model/session", "gui/model/chart",
                         "gui/model/edit"],
    "gui/model/answer": ["sim/*", "schedules", "study/*", "gui/model/run", "gui/model/session", "gui/model/chart",
                         "gui/model/edit", "gui/model/panels"],
    "gui/model/start": ["sim/*", "schedules", "study/*", "gui/model/run", "gui/model/session", "gui/model/chart",
                        "gui/model/edit", "gui/model/panels"],
    "gui/model/files": ["sim/*", "schedules", "study/*", "gui/model/run", "gui/model/session", "gui/model/chart",
                        "gui/model/edit", "gui/model/panels"],
    "gui/model/find": ["sim/*", "schedules", "study/*", "gui/model/run", "gui/model/session", "gui/model/chart",
                       "gui/model/edit", "gui/model/panels", "gui/model/answer"],
    "gui/model/draw": ["sim/*", "schedules", "study/*", "gui/model/run", "gui/model/session", "gui/model/chart",
                       "gui/model/edit", "gui/model/panels"],
    "gui/model/workspace": ["sim/*", "schedules", "study/*", "gui/model/run", "gui/model/session", "gui/model/chart",
                            "gui/model/edit", "gui/model/panels", "gui/model/answer", "gui/model/files"],
    "gui/model/commands": ["sim/*", "schedules", "study/*", "gui/model/run", "gui/model/session", "gui/model/chart",
                           "gui/model/edit", "gui/model/panels", "gui/model/answer", "gui/model/files", "gui/model/find", "gui/model/workspace", "gui/model/draw",
                           "gui/model/start"],
    # In front of every source of a build for pages, so that it includes none of ours.
    "web/compat": [],
    "web/core": ["sim/*", "schedules", "study/*"],
    "gui/platform": ["sim", "sim/base", "gui/model/session"],
    "gui": ["sim/*", "schedules", "study/*", "gui/model/*", "gui/platform"],
    "gui/views": ["sim/*", "schedules", "study/*", "gui/model/*", "gui"],
    "cli": ["sim/*", "schedules", "study/*"],
    "cli/run": ["sim/*", "schedules", "study/*", "executor/*", "cli"],
    "cli/pages": ["sim/*", "schedules", "study/*", "executor/*", "cli"],
    "cli/sweep": ["sim/*", "schedules", "study/*", "cli", "cli/pages"],
    "cli/serve": ["sim", "sim/base", "sim/io/json", "cli"],
    "cli/commands": ["sim/*", "schedules", "study/*", "executor/*", "cli", "cli/run", "cli/pages", "cli/sweep"],
    # What a program may use is enough for Python.
    "python/bindings": [],
    "cli/cuda": ["sim/*", "study/*", "executor/*", "executor/cuda/*", "cli", "cli/run"],
}

# Where "NAME/*" stops: these are no part of "sim/*", "study/*", "executor/*" or "gui/model/*".
APART = ["executor/cuda"]

# Headers with these endings are one room's own affair.
PRIVATE = ("_inside.hpp", "_impl.hpp", "_setup.hpp", "_builder.hpp", "_drawer.hpp")

# Files a folder may hold. Lists of peers, one file a thing, grow with what there is.
MOST_FILES = 26
LISTS_OF_PEERS = {"schedules", "gui/views", "cli/commands"}

# Headers that cost seconds per inclusion or bind users of ours to them: prefix -> rooms whose .cpp files may include
# it. No header of ours includes them, but for HEAVY_FOLDERS.
HEAVY = {
    "boost/": ["sim/analysis"],
    "cairo": ["sim/io/pictures"],
    "cblas": ["executor/layers"],
    "cublas": ["executor/cuda/*"],
    "cuda": ["executor/cuda/*"],
    "nccl": ["executor/cuda/*"],
    "nvtx3/": ["executor/cuda/*"],
    "nanobind/": ["python/bindings"],
    "nlohmann/": ["sim/io/json"],
    "sqlite3": ["sim/io/traces"],
    "httplib": ["cli/serve"],
    "zlib": ["sim/io/links", "sim/io/traces"],
    "imgui": ["gui", "gui/platform", "gui/views"],
    "GLFW/": ["gui/platform"],
    "EGL/": ["gui/platform"],
    "GL/": ["gui/platform"],
    "catch2/": [],
    "benchmark/": [],
}

# Headers that so few sources include that they are named, tests among them: prefix -> the sources, and what others do instead.
SOURCES = {"CLI/": (["cli/parse.cpp", "gui/program.cpp"], "state options in a cli/option_list.hpp")}

# Folders that nobody includes without these packages: prefix -> folders whose headers may include it too.
OF_CUDA = ["executor/cuda", "tests/executor/cuda"]
HEAVY_FOLDERS = {"cublas": OF_CUDA, "cuda": OF_CUDA, "nanobind/": ["python/bindings"], "nccl": OF_CUDA}

OUTSIDE = ["tests", "bench"]
GENERATED = ["version.hpp"]
# Headers of ours whose purpose is to bring in a heavy one: including them counts as including it.
WRAPPERS = {"sim/analysis/dag_boost.hpp": "boost/", "support/catch.hpp": "catch2/", "tests/support/catch.hpp": "catch2/"}
SKIPPED_TREES = {".git", "build", "out", "tests/install"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
# clang 14 cannot compile view pipelines with libstdc++ 12.
VIEWS = re.compile(r"\bstd::(ranges::)?views::|\branges::views::")


def room_of(path):
    """The folder of MAY_INCLUDE that `path` (relative, with slashes) is in, or None."""
    inside = [folder for folder in MAY_INCLUDE if path.startswith(folder + "/")]
    return max(inside, key=len, default=None)


def covers(entry, room):
    """Whether `room` is meant by `entry`: a room's name, or "NAME/*" for NAME and the rooms in it."""
    if not entry.endswith("/*"):
        return entry == room
    base = entry[:-2]
    inside = room == base or room.startswith(base + "/")
    return inside and not any(room.startswith(apart) and not base.startswith(apart) for apart in APART)


def allows(entries, room):
    return any(covers(entry, room) for entry in entries)


def circles():
    """Rooms of MAY_INCLUDE that stand, over others, on themselves."""
    below = {room: {other for other in MAY_INCLUDE if other != room and allows(entries, other)}
             for room, entries in MAY_INCLUDE.items()}
    grown = True
    while grown:
        grown = False
        for room, others in below.items():
            more = set().union(*(below[other] for other in others)) - others if others else set()
            grown = grown or bool(more)
            others |= more
    return sorted(room for room, others in below.items() if room in others)


def cpp_files(root):
    found = []
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if any(name == tree or name.startswith(tree + "/") for tree in SKIPPED_TREES):
            continue
        if path.suffix in (".hpp", ".cpp", ".cu", ".def") and path.is_file():
            found.append(name)
    return found


def includes_of(text):
    """(line number, is quoted, header) of each include, in order."""
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1) == '"', match.group(2)


def quoted_problem(root, name, header):
    """What is wrong with file `name` saying #include "header", or None."""
    if header in GENERATED:
        return None
    room = room_of(name)
    base = root / "tests" if name.startswith("tests/") and (root / "tests" / header).is_file() else root
    if not (base / header).is_file():
        return f'"{header}" is not a file; write includes from the repository root, packages in <>'
    if room is None or base != root:
        return None
    target = room_of(header)
    if target is None or (target != room and not allows(MAY_INCLUDE[room], target)):
        allowed = " ".join([room] + MAY_INCLUDE[room])
        return f'{room} includes "{header}"; it may include: {allowed}'
    if target != room and header.endswith(PRIVATE):
        return f'"{header}" is inside {target}; include what that room shows to others'
    return None


def face_problem(root, name, quoted, header):
    """What is wrong with file `name` including the face, or with the face including something, or None."""
    if not quoted and header.startswith("pipeloom/"):
        return None if (root / "include" / header).is_file() else f"<{header}> is not a file of {FACE}"
    if quoted and header.startswith("include/"):
        return f'"{header}" is the face; write <pipeloom/...>'
    if room_of(name) == FACE and (quoted or "/" in header or "." in header):
        return f"{header} in the face, which includes <pipeloom/...> and the standard library"
    return None


def heavy_problem(name, header):
    """What is wrong with file `name` including a package's header or a wrapper of one, or None."""
    for start, (sources, instead) in SOURCES.items():
        if header.startswith(start):
            return None if name in sources else f"{header} is for {' and '.join(sources)} alone; {instead}"
    prefix = WRAPPERS.get(header) or next((p for p in HEAVY if header.startswith(p)), None)
    if prefix is None or WRAPPERS.get(name) == prefix:
        return None
    allowed_in_header = any(name.startswith(folder + "/") for folder in HEAVY_FOLDERS.get(prefix, []))
    if not name.endswith((".cpp", ".cu")) and not allowed_in_header:
        return f"{header} in a header; include it in .cpp files only"
    room = room_of(name)
    if room is not None and not allows(HEAVY[prefix], room):
        allowed = " ".join(HEAVY[prefix]) or "tests and benchmarks"
        return f"{header} in {room}; allowed in .cpp files of: {allowed}"
    return None


def check_includes(root, name, text):
    for number, quoted, header in includes_of(text):
        problem = (face_problem(root, name, quoted, header) or (quoted and quoted_problem(root, name, header)) or
                   heavy_problem(name, header))
        if problem:
            yield number, problem


def check_own_header_first(root, name, text):
    stem, _dot, kind = name.rpartition(".")
    own = stem + ".hpp" if kind in ("cpp", "cu") else None
    if own is None or not (root / own).is_file():
        return
    first = next(includes_of(text), (1, True, "nothing"))
    if first[2] != own and "tests/" + first[2] != own:
        yield first[0], f'first include is {first[2]}; a source includes its own header "{own}" first'


def check_views(_root, _name, text):
    for number, line in enumerate(text.splitlines(), 1):
        if VIEWS.search(line):
            yield number, "std::views; clang 14 cannot compile it with libstdc++ 12, write the loop"


@functools.lru_cache
def listed_sources(root):
    """Every source that some CMakeLists.txt names, relative to `root`."""
    listed = set()
    for lists in root.rglob("CMakeLists.txt"):
        text = re.sub(r"#.*", "", lists.read_text())
        names = re.findall(r"[\w./-]+\.(?:cpp|cu)\b", text)
        # Benchmarks and fuzz targets are listed by name: pipeloom_fuzzer(config ...) is fuzz_config.cpp.
        names += [f"bench_{name}.cpp" for name in re.findall(r"pipeloom_bench\((\w+)", text)]
        names += [f"fuzz_{name}.cpp" for name in re.findall(r"pipeloom_fuzzer\((\w+)", text)]
        folder = lists.parent.relative_to(root).as_posix()
        listed.update(posixpath.normpath(posixpath.join(folder, name)) for name in names)
    return listed


def check_listed(root, name, _text):
    """Sources are listed, never globbed: a forgotten one would silently not be built."""
    if name.endswith((".cpp", ".cu")) and name not in listed_sources(root):
        yield 1, "in no CMakeLists.txt; add a line for it"


def check_room(_root, name, _text):
    if room_of(name) is None and name.split("/")[0] not in OUTSIDE:
        yield 1, "in no room; add its folder to MAY_INCLUDE in tests/lint/include_direction.py"


def crowded_folders(names):
    """(folder, files) of each that holds more than it may."""
    counts = collections.Counter(posixpath.dirname(name) for name in names if not name.endswith(".def"))
    return sorted((folder, count) for folder, count in counts.items()
                  if count > MOST_FILES and folder not in LISTS_OF_PEERS and folder.split("/")[0] not in OUTSIDE)


CHECKS = [check_room, check_includes, check_own_header_first, check_views, check_listed]


def violations(root):
    """All violations under `root`, as text."""
    names = cpp_files(root)
    found = [f"tests/lint/include_direction.py:1: {room} includes itself over others; mend MAY_INCLUDE" for room in circles()]
    found += [f"{folder}:1: {count} files, at most {MOST_FILES} in a folder; make a room of some"
              for folder, count in crowded_folders(names)]
    for name in names:
        text = (root / name).read_text()
        for check in CHECKS:
            found += [f"{name}:{number}: {problem}" for number, problem in check(root, name, text)]
    return found


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    found = violations(root)
    print("\n".join(found) if found else f"{len(cpp_files(root))} files, every include in its direction")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
