#!/usr/bin/env python3
"""Checks that messages show foreign text by shortened() or printable() (sim/base/text_tools.hpp), and that all text goes to terminals by print(),
print_beside() and say() (cli/console.hpp), which look at it for the last time.

    message_text.py [ROOT]

What a message quotes, '{}' in a format or "'" + text + "'", came from somebody: a name that holds an escape sequence, a line end or a
megabyte must not reach a terminal or a CI server's log as it is. Prints every violation as file:line: what was found. Exits 1 if there is any.
"""

import re
import sys
from pathlib import Path

FOLDERS = ["cli", "executor", "gui", "schedules", "sim", "study"]
SAFE = re.compile(r"\b(shortened|printable|printable_lines|to_text|name_of|letter_of|get_name)\(")

# What is quoted there is a word of the program's own, or was made printable before: file -> arguments.
OWN_WORDS = {
    "cli/usage.cpp": ["nearest"],
    "gui/model/panels/search_parse.cpp": ["relation", "std::string(field->name)", "std::string(name)"],
    "sim/io/config/value_reading.cpp": ["path"],
    "sim/layout/megatron_layout.cpp": ["found"],
    "study/document/document.cpp": ["policy_hash(style)", "policy_hash(code)"],
    "study/sweep/grid/grid_keys.cpp": ["row.path"],
    "study/sweep/result/result.cpp": ["literal"],
}

# Who writes to a terminal itself: the console, and the window's program, which has none.
CONSOLES = {"cli/console.cpp", "gui/main.cpp", "gui/program.cpp"}
DIRECT = re.compile(r"\bstd::(?:cout|cerr|clog)\s*<<|\b(?:std::)?(?:printf|puts|fputs|fprintf)\s*\(|\bfmt::print\(")

LITERAL = r'"(?:[^"\\\n]|\\.)*"'
STRINGS = re.compile(rf"(?:{LITERAL}\s*)+")
CALL = re.compile(r"\bfmt::format(?:_to)?\(")
PLACEHOLDER = re.compile(r"\{\{|\}\}|\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")
JOINED = re.compile(r"'\"\s*\+\s*((?:[^\"+;]|\+(?!\s*\"))+?)\s*\+\s*\"'", re.S)


def arguments_at(text, begin):
    """The arguments of the call whose parenthesis opens before `begin`, as written."""
    depth, start, found, i = 0, begin, [], begin
    while i < len(text):
        c = text[i]
        if c in "\"'":
            end = i + 1
            while end < len(text) and text[end] != c:
                end += 2 if text[end] == "\\" else 1
            i = end
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            if depth == 0:
                return found + [text[start:i].strip()]
            depth -= 1
        elif c == "," and depth == 0:
            found.append(text[start:i].strip())
            start = i + 1
        i += 1
    return found


def quoted_arguments(arguments):
    """Those that a literal format puts between quotation marks."""
    if not arguments or not STRINGS.fullmatch(arguments[0]):
        return
    form = "".join(part[1:-1] for part in re.findall(LITERAL, arguments[0]))
    values = 0
    for match in PLACEHOLDER.finditer(form):
        if match.group() in ("{{", "}}"):
            continue
        values += 1
        if form[match.start() - 1 : match.start()] == "'" and form[match.end() : match.end() + 1] == "'":
            if values < len(arguments):
                yield arguments[values]
        values += match.group().count("{") - 1  # a width of its own takes an argument too


def violations_in(name, text):
    own = OWN_WORDS.get(name, [])
    code = re.sub(r"//[^\n]*", lambda comment: " " * len(comment.group()), text)
    for call in CALL.finditer(code):
        for argument in quoted_arguments(arguments_at(code, call.end())):
            if not SAFE.search(argument) and argument not in own:
                yield call.start(), argument
    for match in JOINED.finditer(code):
        if not SAFE.search(match.group(1)) and match.group(1) not in own:
            yield match.start(), match.group(1)


def direct_writes(name, text):
    """Where a source writes to a terminal without the console."""
    code = re.sub(r"//[^\n]*", lambda comment: " " * len(comment.group()), text)
    return [] if name in CONSOLES else [match.start() for match in DIRECT.finditer(code)]


def violations(root):
    found = []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.cpp")):
            name, text = path.relative_to(root).as_posix(), path.read_text()
            for at in direct_writes(name, text):
                line = text.count("\n", 0, at) + 1
                found.append(f"{name}:{line}: writes to a terminal by itself; take print(), print_beside() or say()")
            for at, argument in violations_in(name, text):
                line = text.count("\n", 0, at) + 1
                found.append(f"{name}:{line}: shows '{argument}' as it is; show it by shortened(.., 80)")
    return found


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    found = violations(root)
    print("\n".join(found) if found else "messages show foreign text by shortened() or printable()")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
