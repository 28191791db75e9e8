"""What Perfetto's trace processor shows of our Chrome traces: shown.py ENGINE_FOLDER TRACE ... (scripts/test_viewers.sh calls it).

A line for each trace, "right" or what is wrong: ops that were dropped or whose times are not the file's, ops drawn inside others, arrows that are
lost or do not join an op and the one that waits for it, lanes without their name. Exits 1 if any is wrong.
"""
import json
import os
import subprocess
import sys

FRONT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "trace_processor.mjs")
NANOSECONDS = {"unit": 1e6, "s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1}

OP = ("select s.id, s.name, s.ts, s.dur, s.depth, t.name as lane, t.upid as rank, extract_arg(s.arg_set_id, 'args.kind') as kind, "
      "extract_arg(s.arg_set_id, 'args.stage') as stage, extract_arg(s.arg_set_id, 'args.microbatch') as microbatch, "
      "extract_arg(s.arg_set_id, 'args.step') as step, cast(extract_arg(s.arg_set_id, 'args.start') as double) as first, "
      "cast(extract_arg(s.arg_set_id, 'args.end') as double) as last, "
      "case when instr(s.name, '.') then substr(s.name, instr(s.name, '.')) else '' end as slice "
      "from slice s join thread_track k on s.track_id = k.id join thread t using (utid)")
FAITHFUL = ("a.rank != b.rank and a.microbatch = b.microbatch and a.step = b.step and a.slice = b.slice and "
            "((a.kind = 'F' and b.kind = 'F' and b.stage = a.stage + 1) or "
            "(a.kind in ('B', 'I') and b.kind in ('B', 'I') and b.stage = a.stage - 1))")


def queries(nanoseconds):
    ends = f"abs(ts - first * {nanoseconds}) > 0.51 or abs(ts + dur - last * {nanoseconds}) > 0.51"
    return {
        "ops": "select count(*) from slice",
        "ops at another time": f"select count(*) from op where {ends}",
        "nested ops": "select count(*) from op where depth > 0 and lane != 'no length'",
        "arrows": "select count(*) from flow",
        "wrong arrows": "select count(*) from flow f left join op a on f.slice_out = a.id left join op b on f.slice_in = b.id "
                        f"where not ({FAITHFUL}) or a.id is null or b.id is null",
        "lanes without a name": "select count(*) from op where lane is null",
        "errors": "select ifnull(sum(value), 0) from stats where severity in ('error', 'data_loss')",
    }


def shown(engine, trace, asked):
    # The table keeps what the functions over arguments found, so that the joins do not look again.
    lines = [f"create perfetto table op as {OP}"] + list(asked.values())
    answer = subprocess.run(["node", "--max-old-space-size=8192", FRONT, engine, trace], input="\n".join(lines), text=True,
                            capture_output=True)
    if answer.returncode != 0:
        sys.exit(f"{trace}: the trace processor failed: {answer.stderr[-400:]}")
    rows = [json.loads(line)["rows"] for line in answer.stdout.splitlines()]
    return {name: row[0][0] for name, row in zip(asked, rows[1:])}


def written(trace):
    ops = arrows = 0
    unit = None
    with open(trace) as lines:
        for line in lines:
            if unit is None:
                unit = line.split('"time_unit":"', 1)[1].split('"', 1)[0]
            ops += '"ph":"X"' in line
            arrows += '"ph":"f"' in line
    return unit, ops, arrows


def main(engine, traces):
    failed = 0
    for trace in traces:
        unit, ops, arrows = written(trace)
        seen = shown(engine, trace, queries(NANOSECONDS[unit]))
        faults = [f"{ops - seen['ops']} of {ops} ops dropped"] if seen["ops"] != ops else []
        faults += [f"{arrows - seen['arrows']} of {arrows} arrows lost"] if seen["arrows"] != arrows else []
        faults += [f"{seen[name]} {name}" for name in seen if name not in ("ops", "arrows") and seen[name]]
        print(f"{os.path.basename(trace)}: {'; '.join(faults) or f'right: {ops} ops, {arrows} arrows'}", flush=True)
        failed += bool(faults)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
