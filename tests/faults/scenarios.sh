# shellcheck shell=bash
# faults.sh has the variables; "$0" is for the shells that are started here.
# shellcheck disable=SC2016,SC2034,SC2154
# The faults, each a function that takes how many rounds to go; CONTRIBUTING.md has the table.

grid='{"base": {"schedule": "1f1b", "costs": {"forward": 1, "backward": 2}}, "metrics": ["makespan"],
  "axes": {"ranks": [2, 4, 8, 16], "microbatches": {"from": 16, "to": 216, "step": 1}}}'

# A sweep of half a second to seconds, and its whole result.
make_sweep() {
  [[ -e whole.jsonl ]] && return
  printf '%s' "$grid" >g.json
  status "$pipeloom" sweep g.json -o whole.jsonl -q
  check status_is 0
}

# Descriptors that whoever starts us has closed.
closed_descriptors() {
  begin "standard descriptors that are closed"
  make_sweep
  local closed
  for closed in 0 1 2; do
    rm -f r.jsonl
    timeout 60 bash -c "exec $closed>&-; exec \"\$0\" sweep g.json -o r.jsonl" "$pipeloom" >out 2>err
    status=$?
    check status_is 0
    check cmp whole.jsonl r.jsonl
  done
  # What cannot be said is no success.
  timeout 60 bash -c 'exec 1>&-; exec "$0" simulate --schedule 1f1b --ranks 2 --microbatches 2' "$pipeloom" 2>err
  status=$?
  check status_is 3
}

# The result of a sweep is taken away while it is written.
lost_outputs() {
  begin "a result that is removed, renamed, replaced or cut while it is written"
  make_sweep
  local way pid
  for way in "rm r.jsonl" "mv r.jsonl elsewhere" "truncate -s 0 r.jsonl" "cp whole.jsonl n && mv n r.jsonl"; do
    rm -f r.jsonl elsewhere n
    slow_grid >slow.json
    "$pipeloom" sweep slow.json -o r.jsonl -j 1 >out 2>err &
    pid=$!
    wait_for r.jsonl 2000 || { check false "the sweep has begun"; return; }
    check bash -c "$way"
    wait "$pid"
    status=$?
    check status_is 3
    check says "while the sweep wrote it"
  done
}

# Long enough to be disturbed.
slow_grid() {
  printf '%s' "$grid" | sed 's/"to": 216/"to": 6016/'
}

# run_json MICROBATCHES: a configuration whose picture takes a while to write.
run_json() {
  printf '{"schedule": "1f1b", "ranks": 32, "microbatches": %d}' "$1"
}

# Signals that end a program in the middle of a file.
signals_while_writing() {
  local round signal pid
  begin "signals while a picture is written, $1 rounds"
  run_json 400 >run.json
  for ((round = 0; round < $1; ++round)); do
    for signal in INT TERM HUP KILL; do
      rm -f p.svg p.svg.??????
      # A shell in the background has its children ignore SIGINT; python does not.
      python3 -c 'import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])' \
        "$pipeloom" convert run.json p.svg >out 2>err &
      pid=$!
      sleep "0.$((RANDOM % 9))$((RANDOM % 10))"
      kill -s "$signal" "$pid" 2>/dev/null
      wait "$pid" 2>/dev/null
      status=$?
      # Either it was done before, or nothing is there. SIGKILL alone may leave a file under another name.
      if [[ -e p.svg ]]; then check grep -q '</svg>' p.svg; fi
      [[ $signal == KILL ]] || check no_leftovers p.svg
    done
  done
}

# Sweeps that are killed go on to the same bytes.
killed_sweeps() {
  local round pid
  begin "sweeps that are killed and go on, $1 rounds"
  make_sweep
  for ((round = 0; round < $1; ++round)); do
    rm -f r.jsonl
    "$pipeloom" sweep g.json -o r.jsonl -q &
    pid=$!
    sleep "0.0$((RANDOM % 10))"
    kill -KILL "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    status "$pipeloom" sweep g.json -o r.jsonl --resume -q
    check status_is 0
    check cmp whole.jsonl r.jsonl
  done
}

# Files that may not grow: the limit of ulimit -f, in KiB; a device that is full.
full_disks() {
  begin "a limit on files, and a full device"
  make_sweep
  run_json 100 >run.json
  local kib
  for kib in 1 8 64; do
    # What a SIGKILL of the signals above may have left goes too.
    rm -f r.jsonl p.svg p.svg.??????
    status bash -c "ulimit -f $kib; exec \"\$0\" sweep g.json -o r.jsonl -q" "$pipeloom"
    check status_is 3
    check says "cannot write"
    status "$pipeloom" sweep g.json -o r.jsonl --resume -q
    check status_is 0
    check cmp whole.jsonl r.jsonl
    status bash -c "ulimit -f $kib; exec \"\$0\" convert run.json p.svg" "$pipeloom"
    check status_is 3
    check says "cannot write"
    check is_absent p.svg
    check no_leftovers p.svg
  done
  [[ -e /dev/full ]] || return 0
  status "$pipeloom" simulate --schedule 1f1b --ranks 2 --microbatches 2 --json -o /dev/full
  check status_is 3
}

# Memory: of the address space, and of what --max-memory allows.
little_memory() {
  begin "little memory"
  status bash -c 'ulimit -v 100000; exec "$0" --version' "$pipeloom"
  check status_is 0
  status bash -c 'ulimit -v 300000; exec "$0" simulate --schedule gpipe --ranks 64 --microbatches 160000 --max-memory 1TB' "$pipeloom"
  check status_is 3
  check says "out of memory"
  status "$pipeloom" run --schedule 1f1b --ranks 4 --microbatches 8 --work layers --width 16384 --rows 16384
  check status_is 2
  check says "would need about"
  status "$pipeloom" run --schedule 1f1b --ranks 4 --microbatches 8 --work layers --width 256 --rows 64 --max-memory 1MB
  check status_is 2
}

# Threads that cannot be started, and more ranks than anybody has.
few_threads() {
  begin "few threads"
  local mib
  for mib in 150 250 400; do
    status bash -c "ulimit -v $((mib * 1024)); exec \"\$0\" run --schedule 1f1b --ranks 64 --microbatches 4 --steps 1 --warmup 0 --unit-ms 0.01" "$pipeloom"
    check status_is 3
  done
  patience=5 status "$pipeloom" run --schedule 1f1b --ranks 5000 --microbatches 8
  check status_is 2
  check says "at most"
}

# failing_memory STEP: allocations fail once, 30 times or for good, from every STEPth on after the ranks' threads began.
failing_memory() {
  begin "allocations that fail while ranks run"
  local from count
  for count in 1 30 1000000; do
    for ((from = 1; from < 1500; from += $1)); do
      status env LD_PRELOAD="$failing_malloc" FAILING_MALLOC_FROM=$from FAILING_MALLOC_COUNT=$count \
        "$pipeloom" run --schedule 1f1b --ranks 16 --microbatches 4 --steps 1 --warmup 0 --unit-ms 0.01
      [[ $status == 0 ]] || check status_is 3
    done
  done
}

# start_ranks: four processes under --launch local, in the background; $launcher
start_ranks() {
  printf '{"schedule": "1f1b", "ranks": 4, "microbatches": 4}' >ranks.json
  "$pipeloom" run --launch local "$folder/ranks.json" --unit-ms 1 --steps 30 --timeout 100 >out 2>err &
  launcher=$!
  sleep "0.0$((RANDOM % 10))$((RANDOM % 10))"
}

# Not of this search itself, whose words hold a bracket.
ranks_left() { grep -qsa "$folder/[r]anks.json" /proc/[0-9]*/cmdline; }

# Waits for at most 10 s.
no_ranks_left() {
  local i
  for ((i = 0; i < 1000; ++i)); do
    ranks_left || return 0
    sleep 0.01
  done
  return 1
}

# A rank that is killed at any moment: while it starts, while the ranks meet, in a step.
killed_ranks() {
  local round victim launcher
  local -a ranks
  begin "ranks that are killed, $1 rounds"
  for ((round = 0; round < $1; ++round)); do
    start_ranks
    read -ra ranks 2>/dev/null <"/proc/$launcher/task/$launcher/children" || ranks=()
    victim=-1
    if ((${#ranks[@]} > 0)); then
      victim=$((RANDOM % ${#ranks[@]}))
      kill -KILL "${ranks[victim]}" 2>/dev/null || victim=-1
    fi
    wait "$launcher" 2>/dev/null
    status=$?
    # It may have been over before.
    if ((status != 0)); then
      check status_is 3
      check says "rank $victim "
    fi
    check no_ranks_left
  done
}

# A launcher that is killed at any moment.
killed_launchers() {
  local round launcher
  begin "launchers that are killed, $1 rounds"
  for ((round = 0; round < $1; ++round)); do
    start_ranks
    kill -KILL "$launcher" 2>/dev/null
    wait "$launcher" 2>/dev/null
    check no_ranks_left
  done
}

# Inputs that never come, or are no input.
odd_inputs() {
  begin "pipes, folders and devices as inputs"
  rm -f pipe
  mkfifo pipe
  printf '{"schedule": "custom", "options": {"file": "pipe"}}' >fifo.json
  patience=10 status "$pipeloom" simulate fifo.json
  check status_is 2
  check says "nobody writes to this pipe"
  printf '{"schedule": "gpipe", "ranks": 2, "microbatches": 2}' >gpipe.json
  patience=10 status "$pipeloom" convert gpipe.json pipe --to svg
  check status_is 3
  check says "nobody reads from this pipe"
  status "$pipeloom" simulate .
  check status_is 2
  status "$pipeloom" simulate /dev/zero
  check status_is 2
  ln -sf loop.json loop.json
  printf '{"schema_version": 1, "baseline": "b.json", "metrics": ["makespan"], "cases": [{"glob": "loop*.json"}]}' >suite.json
  status "$pipeloom" check suite.json
  check status_is 2
}

# Names that a terminal or a CI server would obey.
hostile_names() {
  begin "names with line ends, escape sequences, commands and no UTF-8"
  local escape=$'\x1b' name
  printf '{"schema_version": 1, "baseline": "b.json", "metrics": ["makespan"], "cases": [
    {"name": "::error::x", "config": {"schedule": "1f1b", "ranks": 2, "microbatches": 2}},
    {"name": "a\\n::error::y\\u001b[2J", "config": {"schedule": "1f1b", "ranks": 2, "microbatches": 3}}]}' >hostile.json
  status "$pipeloom" check hostile.json --update
  check status_is 0
  check is_printable out
  check bash -c '! grep -q "^ *::" out'
  printf '{"schema_version": 1, "baseline": "\\n::error::x", "metrics": ["makespan"], "cases": [
    {"name": "a", "config": {"schedule": "1f1b", "ranks": 2, "microbatches": 2}}]}' >hostile.json
  status "$pipeloom" check hostile.json
  check status_is 2
  check bash -c '! grep -q "^ *::" err'
  for name in "x${escape}[2J.json" $'x\n::error::y.json' $'x\xff.json'; do
    status "$pipeloom" simulate "$name"
    check status_is 2
    check is_printable err
    check bash -c '! grep -q "^ *::" err'
  done
  status "$pipeloom" simulate --schedule "1f1b${escape}[2J" --ranks 2 --microbatches 2
  check is_printable err
  status "$pipeloom" simulate --schedule 1f1b --ranks 2 --microbatches 2 --max-memory "${escape}[2J"
  check is_printable err
  status "$pipeloom" check hostile.json --update --only "${escape}[2J"
  check status_is 2
  check is_printable err
  run_json 2 >run.json
  status "$pipeloom" convert run.json --title $'a\xff\x1bb' t.svg
  check status_is 0
  check python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("t.svg")'
}
