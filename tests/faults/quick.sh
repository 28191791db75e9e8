#!/usr/bin/env bash
# Every fault of CONTRIBUTING.md a few times, in less than two minutes.
#   quick.sh PIPELOOM FAILING_MALLOC   (the program, and the library of failing_malloc.cpp)
set -u
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
# shellcheck source=tests/faults/faults.sh
source "$here/faults.sh"
# shellcheck source=tests/faults/scenarios.sh
source "$here/scenarios.sh"

closed_descriptors
lost_outputs
signals_while_writing 3
killed_sweeps 5
full_disks
little_memory
few_threads
failing_memory 30
killed_ranks 5
killed_launchers 5
odd_inputs
hostile_names
end
