#!/usr/bin/env python3
"""Reads back the tables that commands write as CSV, and compiles those that they write as LaTeX where there is a pdflatex.

    page_tables.py --program PIPELOOM

CSV is read by Python's own reader in strict mode. Every cell must be that of the same table in Markdown, all lines must have as many
fields, and end as RFC 4180 says. LaTeX must have a row for each row of the CSV.
"""

import argparse
import csv
import io
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

COMMANDS = [
    ["simulate", "--schedule", "zb-h1", "--ranks", "4", "--microbatches", "8"],
    ["compare", "1f1b, \"mine\".json", "zb_h1 50%.json"],
    ["estimate", "llama3-8b", "--hardware", "h100", "--ranks", "4", "--global-batch", "8"],
    ["plan", "zb_h1 50%.json", "--vary", "schedule", "-j", "1"],
    ["report", "1f1b, \"mine\".json", "zb_h1 50%.json"],
    ["report", "zb_h1 50%.json"],
]


def printed(program, folder, command, format_name):
    return subprocess.run([program, *command, "--format", format_name], cwd=folder, check=True, capture_output=True).stdout.decode()


def markdown_rows(text):
    """Cells of all rows of tables, without marks of tone and escapes."""
    rows = []
    for line in text.splitlines():
        if not line.startswith("| ") or re.fullmatch(r"\|( ---:? \|)+", line):
            continue
        cells = re.split(r"(?<!\\)\|", line.strip()[1:-1])
        rows.append([re.sub(r"^(✅|❌|⚠️) ?", "", re.sub(r"\\(.)", r"\1", cell.strip())).replace("&lt;", "<").replace("&amp;", "&")
                     for cell in cells])
    return [row for row in rows if any(row)]


def check_csv(name, text, markdown):
    assert "\n" not in text.replace("\r\n", ""), f"{name}: a line does not end as RFC 4180 says"
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert rows, f"{name}: there is no table"
    widths = {len(row) for row in rows}
    assert len(widths) == 1, f"{name}: lines have {sorted(widths)} fields"
    cells = [[cell.strip() for cell in row[1:]] for row in rows if any(row[1:])]
    shown = [[re.sub(r"^\*\*(.*)\*\*$", r"\1", cell) for cell in row] for row in markdown_rows(markdown)]
    width = widths.pop() - 1
    shown = [row + [""] * (width - len(row)) for row in shown]
    assert cells == shown, f"{name}: CSV has\n{cells}\nand Markdown\n{shown}"
    return len(cells)


def check_latex(name, text, rows, folder):
    found = sum(line.endswith(" \\\\") for line in text.splitlines())
    assert found == rows, f"{name}: LaTeX has {found} rows and CSV {rows}"
    latex = shutil.which("pdflatex")
    if latex is None:
        return False
    (folder / "tables.tex").write_text(text, encoding="utf-8")
    (folder / "paper.tex").write_text("\\documentclass{article}\n\\begin{document}\n\\input{tables}\n\\end{document}\n")
    run = subprocess.run([latex, "-interaction=nonstopmode", "-halt-on-error", "paper.tex"], cwd=folder, capture_output=True)
    assert run.returncode == 0, f"{name}: pdflatex says\n{run.stdout.decode(errors='replace')[-2000:]}"
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    program = pathlib.Path(parser.parse_args().program).resolve()
    compiled = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for file, schedule in (("1f1b, \"mine\".json", "1f1b"), ("zb_h1 50%.json", "zb-h1")):
            (folder / file).write_text(json.dumps({"schedule": schedule, "ranks": 4, "microbatches": 8}))
        for command in COMMANDS:
            title = " ".join(command)
            text = printed(program, folder, command, "csv")
            rows = check_csv(title, text, printed(program, folder, command, "markdown"))
            compiled += check_latex(title, printed(program, folder, command, "latex"), rows, folder)
    print(f"{len(COMMANDS)} commands: tables read back from CSV, {compiled} compiled by pdflatex")
    return 0


if __name__ == "__main__":
    sys.exit(main())
