#!/usr/bin/env python3
"""Validates JSON files against a JSON Schema (draft 2020-12).

    validate_json.py SCHEMA FILE...

Of a .jsonl file every line is a value. Comments (// and /* */) are allowed, as Pipeloom allows them. Prints every violation as file: place: what was found.
Exits 1 if there is any.
"""

import json
import re
import sys
from pathlib import Path

import jsonschema

STRING_OR_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)


def parse_json(text):
    return json.loads(STRING_OR_COMMENT.sub(lambda match: match.group(1) or " ", text))


def read_json(path):
    return parse_json(Path(path).read_text(encoding="utf-8"))


def values_in(path):
    """Yields (name for messages, value)."""
    if not path.endswith(".jsonl"):
        yield path, read_json(path)
        return
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        yield f"{path}:{number}", json.loads(line)


def main():
    schema_path, *files = sys.argv[1:]
    schema = read_json(schema_path)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    violations = 0
    for path in files:
        for name, value in values_in(path):
            for error in validator.iter_errors(value):
                place = "/".join(str(part) for part in error.absolute_path)
                print(f"{name}: /{place}: {error.message[:300]}")
                violations += 1
    print(f"{Path(schema_path).name}: {len(files)} files, {violations} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
