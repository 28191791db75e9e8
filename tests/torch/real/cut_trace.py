"""Cuts a trace of torch.profiler down to what a test needs: its head, its metadata, all ranges with names, passes, and the first of everything else.

    cut_trace.py TRACE OUT

tests/golden/kineto holds traces of record_trace.py that were cut by it.
"""
import json
import os
import sys

OTHERS = 12  # of each kind: enough for a reader to have to pass over them


def main():
    source, target = sys.argv[1:]
    with open(source, encoding="utf-8") as file:
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
    with open(target, "w", encoding="utf-8") as file:
        file.write("{" + head + ',\n"traceEvents": [\n' + ",\n".join(json.dumps(event) for event in kept) + "\n]}\n")


if __name__ == "__main__":
    main()
