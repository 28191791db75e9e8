"""A plan of a large workload ends soon after SIGINT or SIGTERM, with the best so far.

What it still does is measured in seconds of CPU, so that other work on the machine does not count, and compared with what the program takes to simulate one
schedule of that size once, so that neither the build nor the machine does. A generator that cannot be ended goes on for many times as long.
"""

import argparse
import os
import signal
import subprocess
import time
from pathlib import Path

WORKLOAD = "--schedule 1f1b --ranks 200 --microbatches 800 --set costs.forward=1 --set costs.backward_input=1.31 --set costs.backward_weight=0.83".split()
# A schedule with two chunks a rank, made, simulated and bounded.
ONCE = ["--schedule", "v-half", *WORKLOAD[2:]]
MOST_TIMES = 2


def seconds_of(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(arguments):
    """The process's CPU seconds."""
    before = os.times()
    subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def interrupted(arguments, number, after):
    """Sends the signal when so many seconds of CPU are used up. Returns the exit status, what was printed, and the CPU seconds behind the signal."""
    before = os.times()
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
    while seconds_of(process.pid) < after:
        assert process.poll() is None, "it ended before it was interrupted"
        time.sleep(0.005)
    used = seconds_of(process.pid)
    process.send_signal(number)
    out, _ = process.communicate(timeout=300)
    now = os.times()
    all_used = now.children_user + now.children_system - before.children_user - before.children_system
    return process.returncode, out, all_used - used


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    program = parser.parse_args().program
    once = min(run([program, "simulate", *ONCE]) for _ in range(2))
    for number, times in [(signal.SIGINT, 2), (signal.SIGINT, 4), (signal.SIGTERM, 6), (signal.SIGINT, 9)]:
        status, out, rest = interrupted([program, "plan", *WORKLOAD, "--budget", "20"], number, times * once)
        print(f"{number.name} after {times * once:.2f} s of CPU: {rest:.2f} s more; one simulation takes {once:.2f} s")
        assert status == -number, status
        assert "1f1b" in out and "not tried" in out, out
        assert rest < MOST_TIMES * once, (rest, once)


main()
