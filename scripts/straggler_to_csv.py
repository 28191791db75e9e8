#!/usr/bin/env python3
"""Writes a Parquet trace of the StragglerAnalysis data sets as the table that `pipeloom convert --from straggler` reads.

    straggler_to_csv.py TRACE.parquet OUT.csv [--steps FIRST-LAST]

Needs pyarrow. Columns that are not read are left out; a missing number is an empty field.
"""

import argparse
import csv
import sys

COLUMNS = ("dp_rank", "stage", "rank", "step", "optype", "start_ts", "duration", "seq_id", "mc", "gmc", "mb_id")


def text_of(value):
    """A number that has no decimals is written without them, whatever its column's type."""
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return repr(value) if isinstance(value, float) else str(value)


def step_range(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace")
    parser.add_argument("out")
    parser.add_argument("--steps", type=step_range, help="only these, as 3-5")
    options = parser.parse_args()
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        sys.exit("straggler_to_csv.py: pyarrow is missing; install it, for example with `pip install pyarrow`")
    file = parquet.ParquetFile(options.trace)
    columns = [name for name in COLUMNS if name in file.schema_arrow.names]
    with open(options.out, "x", newline="", encoding="utf-8") as out:
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow(columns)
        for batch in file.iter_batches(columns=columns):
            values = [batch.column(name).to_pylist() for name in columns]
            for row in zip(*values):
                if options.steps is None or int(row[columns.index("step")]) in options.steps:
                    rows.writerow([text_of(value) for value in row])


if __name__ == "__main__":
    main()
