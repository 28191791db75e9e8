#!/usr/bin/env python3
"""Validates what `pipeloom check` and `validate` write for CI servers against the published schemas.

    gate_schemas.py --program PROGRAM [--schemas FOLDER]

FOLDER holds junit-10.xsd (the xUnit plugin of Jenkins), bmf.json (Bencher) and sarif-schema-2.1.0.json (OASIS); default:
tests/golden/gate. What our own reading of the formats can check is checked in any case. Exits 1 if anything is wrong, 77 where a
validator is absent: the rest has passed then.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from pathlib import Path

try:
    import jsonschema
except ImportError:
    jsonschema = None

ROOT = Path(__file__).resolve().parents[2]

# Names that would break a format whose writer does not escape.
NAMES = ["plain", "<&\"'>", "a/b|c`d", "tab\tline\n::error::x", "\u0001\u007f", "\u00e9\u4e2d\U0001f600", "100%,:"]
RUN = {"schedule": "1f1b", "ranks": 4, "microbatches": 8, "costs": {"time_unit": "ms"}}


def write(path, value):
    path.write_text(value if isinstance(value, str) else json.dumps(value))


def prepare(folder):
    """A suite with every kind of result; its baseline is written before anything differs."""
    write(folder / "run.json", RUN)
    write(folder / "hang.csv", "0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n")
    write(folder / "illegal file #1.csv", "0F0,0F0,0B0\n1F0,1B0\n")
    write(folder / "unreadable.csv", "0F0,0X0\n")
    cases = [{"name": name, "config": "run.json"} for name in NAMES]
    cases += [
        {"name": "refused", "config": {"schedule": "dualpipe", "ranks": 3, "microbatches": 8}},
        {"name": "over", "config": "run.json", "set": {"memory.limit_bytes": 1}},
        {"name": "bad value", "config": "run.json", "set": {"costs.forward": -1}},
        {"name": "hangs", "schedule": "hang.csv"},
        {"name": "illegal", "schedule": "illegal file #1.csv"},
        {"name": "unreadable", "schedule": "unreadable.csv"},
        {"name": "expected", "schedule": "hang.csv", "expect": "deadlock"},
    ]
    write(folder / "suite.json", {"schema_version": 1, "baseline": "b.json",
                                  "metrics": ["makespan", "bubble_ratio", "lower_bound"], "cases": cases})
    write(folder / "broken.json", "{\n  \"schema_version\": 1,\n")


class Gate:
    def __init__(self, program, folder):
        self.program = program
        self.folder = folder
        self.outputs = {}

    def run(self, *arguments, expect):
        done = subprocess.run([self.program, *arguments], cwd=self.folder, capture_output=True, timeout=60, check=False)
        if done.returncode != expect:
            sys.exit(f"{arguments}: exit {done.returncode}, not {expect}\n{done.stderr.decode()}")
        return done.stdout

    def check(self, tag, *arguments, expect):
        files = {kind: f"{tag}.{kind}" for kind in ("junit", "bmf", "benchmark-json", "sarif", "summary")}
        options = [text for kind, name in files.items() for text in (f"--{kind}", name)]
        self.run("check", *arguments, *options, expect=expect)
        first = {kind: (self.folder / name).read_bytes() for kind, name in files.items()}
        # Equal inputs give equal bytes.
        if not arguments[-1] == "--update":
            (self.folder / files["summary"]).unlink()
            self.run("check", *arguments, *options, expect=expect)
            assert first == {kind: (self.folder / name).read_bytes() for kind, name in files.items()}, tag
        self.outputs[tag] = {kind: self.folder / name for kind, name in files.items()}


def make_outputs(gate):
    gate.check("updated", "suite.json", "--update", expect=1)
    gate.check("unexpected", "suite.json", expect=1)
    write(gate.folder / "run.json", dict(RUN, microbatches=12))
    gate.check("changed", "suite.json", expect=1)
    gate.check("broken", "broken.json", expect=2)
    for name, code in (("illegal file #1.csv", 1), ("hang.csv", 1), ("unreadable.csv", 2), ("run.json", 0)):
        gate.run("validate", name, "--sarif", f"validate {name}.sarif", expect=code)
        gate.outputs[f"validate {name}"] = {"sarif": gate.folder / f"validate {name}.sarif"}


def check_readings(outputs):
    """What the formats mean, as far as it does not take a schema."""
    unexpected = outputs["unexpected"]
    root = xml.etree.ElementTree.parse(unexpected["junit"]).getroot()
    suite = root.find("testsuite")
    assert int(suite.get("tests")) == len(NAMES) + 7 == len(suite.findall("testcase"))
    assert int(suite.get("failures")) == 6 == len(suite.findall("testcase/failure"))
    assert xml.etree.ElementTree.parse(outputs["broken"]["junit"]).getroot().get("errors") == "1"
    bmf = json.loads(unexpected["bmf"].read_text())
    assert set(bmf) == {*NAMES, "over"}
    # (m + p - 1)(F + B) = 11 * 3
    assert bmf["plain"]["makespan"] == {"value": 33.0}
    rows = json.loads(unexpected["benchmark-json"].read_text())
    assert {"name": "plain/makespan", "unit": "ms", "value": 33.0} in rows
    # The bound has no direction.
    assert len(rows) == 2 * (len(NAMES) + 1) and all(set(row) == {"name", "unit", "value"} for row in rows)
    results = json.loads(unexpected["sarif"].read_text())["runs"][0]["results"]
    found = {}
    for result in results:
        place = result["locations"][0]["physicalLocation"]
        found.setdefault(result["ruleId"], []).append((place["artifactLocation"]["uri"], place.get("region", {}).get("startLine")))
    # Line 1: the suite of this test is one line. The message of a value that the suite sets has the suite's place.
    assert found["refused"] == [("suite.json", 1)] and found["over-memory"] == [("suite.json", 1)], found
    assert found["hang"] == [("hang.csv", 1)] or found["hang"] == [("hang.csv", 2)], found
    assert ("illegal%20file%20%231.csv", 1) in found["duplicate"], found
    assert ("unreadable.csv", 1) in found["bad-input"] and ("suite.json", 1) in found["bad-input"], found
    assert json.loads(outputs["validate run.json"]["sarif"].read_text())["runs"][0]["results"] == []


def check_json_schema(schema, files):
    content = json.loads(schema.read_text())
    validator = jsonschema.validators.validator_for(content)
    validator.check_schema(content)
    for path in files:
        for error in validator(content).iter_errors(json.loads(path.read_text())):
            sys.exit(f"{path.name}: {list(error.absolute_path)}: {error.message[:300]}")
    print(f"{schema.name}: {len(files)} files")


def check_schemas(outputs, schemas):
    """What could not be validated."""
    def every(kind):
        return [files[kind] for files in outputs.values() if kind in files]

    missing = []
    xsd = schemas / "junit-10.xsd"
    if xsd.exists() and shutil.which("xmllint"):
        subprocess.run(["xmllint", "--noout", "--nonet", "--schema", xsd, *every("junit")], check=True, stderr=subprocess.DEVNULL)
        print(f"{xsd.name}: {len(every('junit'))} files")
    else:
        missing.append(f"{xsd.name} or xmllint")
    for name, kind in (("bmf.json", "bmf"), ("sarif-schema-2.1.0.json", "sarif")):
        if (schemas / name).exists() and jsonschema:
            check_json_schema(schemas / name, every(kind))
        else:
            missing.append(f"{name} or the Python package jsonschema")
    return missing


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=Path)
    parser.add_argument("--schemas", type=Path)
    arguments = parser.parse_args()
    schemas = arguments.schemas or ROOT / "tests/golden/gate"
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        gate = Gate(arguments.program.resolve(), Path(folder))
        make_outputs(gate)
        check_readings(gate.outputs)
        missing = check_schemas(gate.outputs, schemas)
    if missing:
        print("SKIPPED: not there: " + "; ".join(missing))
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
