#!/usr/bin/env python3
"""Finds names that two sources of one library give to things of their own (in namespaces without a name).

    equal_names.py [ROOT]

Joined builds compile a dozen sources of a library as one, and a source more or less regroups them: two equal names stand in peace until
they meet. Functions may share a name if their parameters differ. Sources that are compiled by themselves (PEERS of pipeloom_layer(),
SKIP_UNITY_BUILD_INCLUSION) do not count. Prints a line for each name and exits 1.
"""

import collections
import posixpath
import re
import sys
from pathlib import Path

PRODUCT = ["sim", "schedules", "study", "executor", "gui", "cli", "face"]

LIBRARY = re.compile(r"\b(?:pipeloom_layer|add_library)\((\w+)([^)]*)\)")
ALONE = re.compile(r"\bPEERS\b(.*?)(?=\b[A-Z_]{3,}\b|$)", re.S)
ALONE_BY_PROPERTY = re.compile(r"set_source_files_properties\(([^)]*?)PROPERTIES\s+SKIP_UNITY_BUILD_INCLUSION")
SOURCE = re.compile(r"[\w./-]+\.cpp\b")

# Comments, and literals, whose text may look like anything.
IGNORED = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
NAMESPACE = re.compile(r"^(?:inline )?namespace ?([\w:]*) ?\{$", re.M)
# Things begin at the first column, as clang-format has them.
TYPE = re.compile(r"^(?:class|struct|union|enum class|enum) (\w+)\b(?!::)", re.M)
ALIAS = re.compile(r"^(?:__extension__ )?(?:using|namespace) (\w+) = ([^;]*);", re.M)
# What aliases of other aliases stand for.
MEANINGS = {"TickSum::Wide": "__int128"}
FUNCTION = re.compile(r"^(?!return|else|using|class|struct|enum)[\w:][^\n;={}()]*?\b(?<!::)(\w+)\(", re.M)
CONSTANT = re.compile(r"^(?!using|namespace|__extension__)(?:inline |static |constexpr |const |thread_local )*[\w:][\w:<>,*& ]* \*?(\w+)(?:\[[^\]\n]*\])*(?: = |\{|;)", re.M)


def blanked(text):
    """The text without comments and literals, lines kept."""
    return IGNORED.sub(lambda match: "\n" * match.group().count("\n") if match.group()[0] == "/" else '""', text)


def parameters(text, begin):
    """The types of a function's parameters as they are spelt; `begin` is behind its parenthesis."""
    depth = 1
    end = begin
    while depth > 0 and end < len(text):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
    spelt = re.sub(r"\s+", " ", re.sub(r" = [^,]*", "", text[begin:end - 1]))
    # The last word of a parameter is its name, if there is a type in front of it.
    return ", ".join(re.sub(r"(?<=[\w>&*\]]) ?\b\w+$", "", one.strip()) for one in spelt.split(","))


def own_parts(text):
    """(enclosing namespace, offset, text) of each namespace without a name."""
    outer = ""
    for match in NAMESPACE.finditer(text):
        if match.group(1):
            outer = match.group(1)
            continue
        end = text.find("\n}", match.end())
        yield outer, match.end(), text[match.end():end]


def own_names(text):
    """{(namespace, what): (line, meaning)} of everything that the source keeps to itself; `what` is a name, of functions with its parameters.

    Equal names are the same thing if they have the same meaning, as aliases of one type do, and a meaning.
    """
    text = blanked(text)
    # The body of whatever begins at the first column is indented: "}" there ends it, and only a namespace's stands behind a blank line.
    text = re.sub(r"(?<!\n)\n(\}[;,]?)(?=\n)", r"\n \1", text)
    names = {}
    for outer, begin, part in own_parts(text):
        for pattern in (TYPE, ALIAS, CONSTANT, FUNCTION):
            for match in pattern.finditer(part):
                what = match.group(1)
                if pattern is FUNCTION:
                    what += f"({parameters(part, match.end())})"
                meaning = MEANINGS.get(match.group(2), match.group(2)) if pattern is ALIAS else None
                names.setdefault((outer, what), (text.count("\n", 0, begin + match.start(1)) + 1, meaning))
    return names


def libraries(root):
    """(name, sources by their paths) of each library of the product."""
    for folder in PRODUCT:
        for lists in sorted((root / folder).rglob("CMakeLists.txt")):
            text = re.sub(r"#.*", "", lists.read_text())
            alone = {source for pattern in (ALONE_BY_PROPERTY,) for found in pattern.findall(text) for source in SOURCE.findall(found)}
            for name, content in LIBRARY.findall(text):
                peers = {source for found in ALONE.findall(content) for source in SOURCE.findall(found)}
                base = lists.parent.relative_to(root).as_posix()
                listed = [source for source in SOURCE.findall(content) if source not in alone | peers]
                yield name, [posixpath.normpath(posixpath.join(base, source)) for source in listed]


def violations(root):
    """All violations under `root`, as text."""
    found = []
    for library, sources in libraries(root):
        places = collections.defaultdict(list)
        for source in sources:
            if (root / source).is_file():
                for key, (line, meaning) in own_names((root / source).read_text()).items():
                    places[key].append((f"{source}:{line}", meaning))
        for (_outer, what), held in places.items():
            *others, last = [where for where, _meaning in held]
            meanings = {meaning for _where, meaning in held}
            if others and (len(meanings) > 1 or None in meanings):
                found.append(f"{last}: {what} stands in {' and '.join(others)} too, and joined builds of {library} may compile them as one: "
                             "give it another name, or share it")
    return sorted(found)


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    found = violations(root)
    print("\n".join(found) if found else "no two sources of a library have a name of their own in common")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
