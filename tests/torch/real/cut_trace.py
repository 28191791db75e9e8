"""Cuts a trace of torch.profiler down to what a test needs: its head, its metadata, all ranges with names, passes, and the first of everything else.

    cut_trace.py TRACE OUT

Either is packed where its name ends with .gz. tests/golden/kineto holds traces of record_trace.py and record_truth.py that were cut by it.
"""
import gzip
import json
import os
import sys

OTHERS = 12  # of each kind: enough for a reader to have to pass over them


def opened(path, mode):
    return gzip.open(path, mode, encoding="utf-8") if path.endswith(".gz") else open(path, mode, encoding="utf-8")


def main():
    source, target = sys.argv[1:]
    with opened(source, "rt") as file:
        trace = json.load(file)
    trace["traceName"] = os.path.basename(source)
    seen = {}
    kept = []
    for event in trace.pop("traceEvents"):
        kind = (event.get("ph"), event.get("cat"))
        seen[kind] = seen.get(kind, 0) + 1
        if kind in (("X", "user_annotation"), ("M", None)) or event.get("name") == "pipeloom:pass" or seen[kind] <= OTHERS:
            kept.append(event)
    head = json.dumps(trace, indent=0, separators=(",", ": "))[1:-2]
    with opened(target, "wt") as file:
        file.write("{" + head + ',\n"traceEvents": [\n' + ",\n".join(json.dumps(event) for event in kept) + "\n]}\n")


if __name__ == "__main__":
    main()
