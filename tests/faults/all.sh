#!/usr/bin/env bash
# Every fault of CONTRIBUTING.md, those that are a matter of chance many times: some ten minutes.
#   all.sh PIPELOOM FAILING_MALLOC   (the program, and the library of failing_malloc.cpp)
set -u
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
# shellcheck source=tests/faults/faults.sh
source "$here/faults.sh"
# shellcheck source=tests/faults/scenarios.sh
source "$here/scenarios.sh"

closed_descriptors
lost_outputs
signals_while_writing 60
killed_sweeps 100
full_disks
little_memory
few_threads
failing_memory 1
killed_ranks 100
killed_launchers 100
odd_inputs
hostile_names
end
