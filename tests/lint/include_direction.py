#!/usr/bin/env python3
"""Checks who includes whom: the layers of docs/architecture.md, as data.

    include_direction.py [ROOT]

Prints every violation as file:line: what was found; what is allowed. Exits 1 if there is any.
"""

import functools
import posixpath
import re
import sys
from pathlib import Path

# folder -> folders it may include besides itself. The longest matching folder decides; files outside these folders
# (tests, benchmarks) may include every layer. A new layer gets a row here, or every file of it is a violation.
MAY_INCLUDE = {
    "sim": ["sim/cost"],
    "sim/cost": ["sim"],
    "sim/draw": ["sim", "sim/cost"],
    "sim/io": ["sim", "sim/cost", "sim/draw"],
    "schedules": ["sim", "sim/cost"],
    "study": ["sim", "sim/cost", "sim/draw", "sim/io", "schedules"],
    "executor": ["sim", "sim/cost", "executor/net"],
    "executor/net": ["sim"],
    "executor/cuda": ["executor", "executor/net", "executor/process", "sim", "sim/cost"],
    "gui/model": ["sim", "sim/cost", "sim/draw", "sim/io", "schedules", "study"],
    "gui": ["sim", "sim/cost", "sim/draw", "sim/io", "schedules", "study", "gui/model"],
    "cli": ["sim", "sim/cost", "sim/draw", "sim/io", "schedules", "study", "executor", "executor/net"],
    "cli/cuda": ["cli", "executor", "executor/cuda", "executor/net", "executor/process", "sim", "sim/cost", "sim/io", "study"],
}

# Headers that cost seconds per inclusion or bind users of ours to them: prefix -> layers whose .cpp files may include
# it. No header of ours includes them, but for HEAVY_FOLDERS.
HEAVY = {
    "boost/": ["sim"],
    "cairo": ["sim/io"],
    "cblas": ["executor"],
    "cublas": ["executor/cuda"],
    "cuda": ["executor/cuda"],
    "nccl": ["executor/cuda"],
    "nvtx3/": ["executor/cuda"],
    "nlohmann/": ["sim/io", "study", "gui/model", "cli"],
    "CLI/": ["cli", "gui"],
    "imgui": ["gui"],
    "GLFW/": ["gui"],
    "EGL/": ["gui"],
    "GL/": ["gui"],
    "catch2/": [],
    "benchmark/": [],
}

# Folders that nobody includes without these packages: prefix -> folders whose headers may include it too.
OF_CUDA = ["executor/cuda", "tests/executor/cuda"]
HEAVY_FOLDERS = {"cublas": OF_CUDA, "cuda": OF_CUDA, "nccl": OF_CUDA}

OUTSIDE = ["tests", "bench"]
GENERATED = ["version.hpp"]
# Headers of ours whose purpose is to bring in a heavy one: including them counts as including it.
WRAPPERS = {"sim/analysis/dag_boost.hpp": "boost/", "support/catch.hpp": "catch2/", "tests/support/catch.hpp": "catch2/"}
SKIPPED_TREES = {".git", "build", "out", "tests/install"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
# clang 14 cannot compile view pipelines with libstdc++ 12.
VIEWS = re.compile(r"\bstd::(ranges::)?views::|\branges::views::")


def layer_of(path):
    """The folder of MAY_INCLUDE that `path` (relative, with slashes) is in, or None."""
    inside = [folder for folder in MAY_INCLUDE if path.startswith(folder + "/")]
    return max(inside, key=len, default=None)


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
    layer = layer_of(name)
    base = root / "tests" if name.startswith("tests/") and (root / "tests" / header).is_file() else root
    if not (base / header).is_file():
        return f'"{header}" is not a file; write includes from the repository root, packages in <>'
    if layer is None or base != root:
        return None
    target = layer_of(header)
    if target is None or (target != layer and target not in MAY_INCLUDE[layer]):
        allowed = " ".join([layer] + MAY_INCLUDE[layer])
        return f'{layer} includes "{header}"; it may include: {allowed}'
    return None


def heavy_problem(name, header):
    """What is wrong with file `name` including a package's header or a wrapper of one, or None."""
    prefix = WRAPPERS.get(header) or next((p for p in HEAVY if header.startswith(p)), None)
    if prefix is None or WRAPPERS.get(name) == prefix:
        return None
    allowed_in_header = any(name.startswith(folder + "/") for folder in HEAVY_FOLDERS.get(prefix, []))
    if not name.endswith((".cpp", ".cu")) and not allowed_in_header:
        return f"{header} in a header; include it in .cpp files only"
    layer = layer_of(name)
    if layer is not None and layer not in HEAVY[prefix]:
        allowed = " ".join(HEAVY[prefix]) or "tests and benchmarks"
        return f"{header} in {layer}; allowed in .cpp files of: {allowed}"
    return None


def check_includes(root, name, text):
    for number, quoted, header in includes_of(text):
        problem = (quoted and quoted_problem(root, name, header)) or heavy_problem(name, header)
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


def check_layer(_root, name, _text):
    if layer_of(name) is None and name.split("/")[0] not in OUTSIDE:
        yield 1, "in no layer; add its folder to MAY_INCLUDE in tests/lint/include_direction.py"


CHECKS = [check_layer, check_includes, check_own_header_first, check_views, check_listed]


def violations(root):
    """All violations under `root`, as text."""
    found = []
    for name in cpp_files(root):
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
