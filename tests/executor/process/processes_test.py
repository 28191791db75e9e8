#!/usr/bin/env python3
"""Ranks of `pipeloom run` as real processes: started here, by launchers, in network namespaces, and ended in every way.

    processes_test.py --pipeloom PROGRAM TEST

Exits 77 where what the test needs is not installed or not allowed, saying what.
"""

import argparse
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SKIPPED = 77
# What every process says within this many seconds, however loaded the machine; timeouts of the runs are far below.
PATIENCE = 40
BUSY = ["--schedule", "1f1b", "--microbatches", "8", "--unit-ms", "20"]
LAYERS = ["--schedule", "zb-h1", "--microbatches", "6", "--work", "layers", "--integers", "--steps", "2", "--checksums"]


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


def require(holds, otherwise):
    if not holds:
        raise Failed(otherwise)


def free_port():
    """Below the ports that callers are given, which a call might take before rank 0 listens."""
    for port in random.sample(range(20000, 30000), 100):
        with socket.socket() as listener:
            try:
                listener.bind(("0.0.0.0", port))
                return port
            except OSError:
                continue
    raise Failed("no free port found")


class Run:
    """The processes of one run, each with its environment."""

    def __init__(self, pipeloom):
        self.pipeloom = pipeloom
        self.processes = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()

    def start(self, rank, size, arguments, port, address="127.0.0.1", before=()):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PMI", "SLURM_"))}
        environment.update(RANK=str(rank), WORLD_SIZE=str(size), LOCAL_RANK=str(rank), MASTER_ADDR=address,
                           MASTER_PORT=str(port))
        self.processes.append(subprocess.Popen(
            [*before, self.pipeloom, "run", "--ranks", str(size), *arguments],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))

    def start_all(self, size, arguments, port=None):
        port = port or free_port()
        for rank in range(size):
            self.start(rank, size, arguments, port)

    def wait(self, ranks):
        """[(exit code, standard output, standard error)] of these ranks; fails if one does not end."""
        ended = []
        for rank in ranks:
            try:
                out, error = self.processes[rank].communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired as late:
                raise Failed(f"rank {rank} has not ended after {PATIENCE} s") from late
            ended.append((self.processes[rank].returncode, out, error))
        return ended


def sockets_of(pid):
    """Inodes of the process's sockets: (all, those that listen)."""
    links = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            links.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except OSError:
            continue  # closed meanwhile
    every = {link[len("socket:["):-1] for link in links if link.startswith("socket:[")}
    rows = [line.split() for table in ("tcp", "tcp6") if Path(f"/proc/{pid}/net/{table}").exists()
            for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]]
    return every, {row[9] for row in rows if row[3] == "0A" and row[9] in every}


def wait_until_met(pid, pause=0.3):
    """Until the process has connections and listens no more: the run is under way then. By what /proc says of its sockets."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            every, listening = sockets_of(pid)
        except OSError as gone:
            raise Failed("a rank ended before it began") from gone
        if every and not listening:
            time.sleep(pause)
            return
        time.sleep(0.02)
    raise Failed("the ranks did not meet")


def wait_for_children(launcher, count):
    """The processes that --launch local has started, rank 0 first."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        listed = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text()
        children = [int(pid) for pid in listed.split()]
        if len(children) == count:
            return children
        time.sleep(0.002)
    raise Failed(f"{len(children)} processes were started")


def require_gone(pids):
    end = time.monotonic() + PATIENCE
    while any(is_running(pid) for pid in pids):
        require(time.monotonic() < end, "processes are left")
        time.sleep(0.02)


def require_same_story(ended, parts):
    """Every process ended with 3; those that tell say all of `parts`; at least one tells."""
    told = 0
    for code, out, error in ended:
        require(code == 3, f"exit code {code} instead of 3: {error}")
        require(out == "", f"a failed run printed {out}")
        if error:
            told += 1
            for part in parts:
                require(part in error, f"'{part}' is not in: {error}")
    require(told > 0, "nobody told what happened")


def test_local(pipeloom):
    """--launch local: a process per rank, gradients exact, timeline and costs of all ranks in rank 0's files."""
    with tempfile.TemporaryDirectory() as folder:
        timeline = Path(folder, "t.jsonl")
        done = subprocess.run([pipeloom, "run", "--launch", "local", "--ranks", "3", *LAYERS, "--compare", "-o", timeline],
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        require(done.returncode == 0, done.stderr)
        require("those of the same layers without a pipeline, exactly" in done.stdout, done.stdout)
        ranks = {line.split('"rank":')[1].split(",")[0] for line in timeline.read_text().splitlines() if '"rank":' in line}
        require(ranks == {"0", "1", "2"}, f"the timeline has ranks {ranks}")


def test_many(pipeloom):
    """More ranks than rank 0 may have descriptors, by the soft limit; each is connected to the ranks it exchanges tensors with, and rank 0."""
    ranks = 24
    with subprocess.Popen([pipeloom, "run", "--launch", "local", "--ranks", str(ranks), *BUSY, "--steps", "500"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (20, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
                          ) as launcher:
        children = wait_for_children(launcher, ranks)
        for child in children:
            wait_until_met(child, pause=0)
        counts = [len(sockets_of(child)[0]) for child in children]
        # A chain: rank 0 has 23 lines and a neighbour, the last a line and a neighbour, those between a line and two.
        require(counts == [24, *[3] * 22, 2], f"the ranks have {counts} sockets")
        launcher.terminate()
        launcher.communicate(timeout=PATIENCE)
        require_gone(children)


def test_by_hand(pipeloom):
    """RANK, WORLD_SIZE, MASTER_ADDR: rank 0 reports, the others are silent."""
    with Run(pipeloom) as run:
        run.start_all(3, LAYERS)
        ended = run.wait(range(3))
        require(all(code == 0 for code, _, _ in ended), str(ended))
        require("exactly" in ended[0][1], ended[0][1])
        require(all(out == "" and error == "" for _, out, error in ended[1:]), str(ended[1:]))


def killed(pipeloom, victim):
    with Run(pipeloom) as run:
        run.start_all(3, [*BUSY, "--steps", "500"])
        wait_until_met(run.processes[victim].pid)
        run.processes[victim].kill()
        others = [rank for rank in range(3) if rank != victim]
        require_same_story(run.wait(others), [f"rank {victim} failed in step ", "its process ended", f"rank {others[0]}: step "])


def test_killed(pipeloom):
    """SIGKILL to any rank, the coordinator too."""
    for victim in (2, 0):
        killed(pipeloom, victim)


def stopped(pipeloom, victim):
    with Run(pipeloom) as run:
        run.start_all(3, [*BUSY, "--steps", "500", "--timeout", "1.5"])
        wait_until_met(run.processes[victim].pid)
        run.processes[victim].send_signal(signal.SIGSTOP)
        others = [rank for rank in range(3) if rank != victim]
        require_same_story(run.wait(others), [f"rank {victim} failed in step "])
        run.processes[victim].send_signal(signal.SIGCONT)
        code, _, _ = run.wait([victim])[0]
        require(code == 3, f"the stopped rank went on and ended with {code}")


def test_stopped(pipeloom):
    """SIGSTOP: silence is a failure, and who wakes up later ends too."""
    for victim in (1, 0):
        stopped(pipeloom, victim)


def test_stopped_here(pipeloom):
    """Under --launch local nobody waits for a process that stands still: not rank 0 for its last words, nor the launcher for its end."""
    with subprocess.Popen([pipeloom, "run", "--launch", "local", "--ranks", "2", *BUSY, "--steps", "500", "--timeout", "1.5"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as launcher:
        children = wait_for_children(launcher, 2)
        wait_until_met(children[1])
        os.kill(children[1], signal.SIGSTOP)
        begin = time.monotonic()
        _, error = launcher.communicate(timeout=PATIENCE)
        took = time.monotonic() - begin
        require(launcher.returncode == 3 and "rank 1 failed in step " in error, f"{launcher.returncode} {error}")
        # Rank 0's patience for last words (2 s) and the launcher's with ranks that end by themselves (5 s) would be 8.5 s.
        require(took < 6, f"the run ended {took:.1f} s after the stop, with a timeout of 1.5 s")
        require_gone(children)


def test_killed_early(pipeloom):
    """A rank that dies before the ranks have met: the launcher says which, and does not wait for the others."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "run.json")
        os.mkfifo(config)
        with subprocess.Popen([pipeloom, "run", config, "--launch", "local", "--unit-ms", "1"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as launcher:
            config.write_text('{"schedule": "1f1b", "ranks": 4, "microbatches": 4}')
            children = wait_for_children(launcher, 4)
            with config.open("w"):  # every rank waits for what is written: nobody meets anybody
                os.kill(children[2], signal.SIGKILL)
                _, error = launcher.communicate(timeout=PATIENCE)
        require(launcher.returncode == 3, f"ended with {launcher.returncode}")
        require("rank 2 was ended by signal 9 (Killed) before the ranks had met" in error, error)
        require_gone(children)


def test_orphans(pipeloom):
    """Ranks whose launcher is gone end at once: those that it had started a while ago, and one that was still starting."""
    with Run(pipeloom) as run:
        # The launcher that it was told of is not its parent (any more).
        environment = {**os.environ, "RANK": "1", "WORLD_SIZE": "2", "PIPELOOM_LAUNCHED": "0"}
        run.processes.append(subprocess.Popen([pipeloom, "run", "--ranks", "2", *BUSY, "--timeout", "300"], env=environment,
                                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        code, _, error = run.wait([0])[0]
        require(code == -signal.SIGKILL, f"ended with {code}: {error}")
    for moment in range(0, 20, 4):
        with subprocess.Popen([pipeloom, "run", "--launch", "local", "--ranks", "4", *BUSY, "--steps", "500", "--timeout", "300"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True) as launcher:
            time.sleep(moment / 1000)
            launcher.kill()
        require_gone(processes_of_group(launcher.pid))


def processes_of_group(group):
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and int((entry / "stat").read_text().rsplit(")", 1)[1].split()[2]) == group:
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def test_port(pipeloom):
    """Somebody else has the port: rank 0 says so, the others that nobody of their run answers."""
    with socket.socket() as taken, Run(pipeloom) as run:
        taken.bind(("0.0.0.0", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for rank in range(2):
            run.start(rank, 2, [*BUSY, "--timeout", "2"], port)
        ended = run.wait(range(2))
        require(all(code == 3 for code, _, _ in ended), str(ended))
        require(f"port {port} is taken" in ended[0][2] and "MASTER_PORT" in ended[0][2], ended[0][2])
        require(str(port) in ended[1][2], ended[1][2])


def test_world(pipeloom):
    """Another number of processes than ranks, ranks that disagree, a rank that is not there, numbers that are none."""
    with Run(pipeloom) as run:
        port = free_port()
        for rank in range(2):
            run.start(rank, 2, [*BUSY, "--ranks", "4"], port)
        for code, _, error in run.wait(range(2)):
            require(code == 2 and "WORLD_SIZE: error: found 2 processes; the schedule has 4 ranks" in error, f"{code} {error}")
    with Run(pipeloom) as run:
        port = free_port()
        run.start(0, 2, [*BUSY, "--timeout", "20"], port)
        run.start(1, 2, [*BUSY, "--timeout", "20", "--microbatches", "12"], port)
        for code, _, error in run.wait(range(2)):
            require(code == 3 and "rank 1 has another schedule: 1f1b of 2 ranks, 12 microbatches" in error, f"{code} {error}")
    with Run(pipeloom) as run:
        port = free_port()
        run.start(0, 3, [*BUSY, "--timeout", "2"], port)
        run.start(2, 3, [*BUSY, "--timeout", "2"], port)
        for code, _, error in run.wait(range(2)):
            require(code == 3 and "rank 1 did not come" in error, f"{code} {error}")
    for name, value in (("RANK", "x"), ("RANK", "7"), ("WORLD_SIZE", "0"), ("MASTER_PORT", "99999")):
        environment = {**os.environ, "RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", name: value}
        done = subprocess.run([pipeloom, "run", "--ranks", "2", *BUSY, "--launch", "env"], env=environment,
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        require(done.returncode == 2 and name in done.stderr, f"{name}={value}: {done.returncode} {done.stderr}")


def test_interrupted(pipeloom):
    """SIGTERM to --launch local ends all its processes; so does its death."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with subprocess.Popen([pipeloom, "run", "--launch", "local", "--ranks", "2", *BUSY, "--steps", "500"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as launcher:
            children = wait_for_children(launcher, 2)
            time.sleep(0.5)
            launcher.send_signal(number)
            launcher.communicate(timeout=PATIENCE)
            require(launcher.returncode == -number, f"ended with {launcher.returncode}")
        require_gone(children)


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in ("Z", "X")
    except OSError:
        return False


def test_mpirun(pipeloom):
    """Open MPI starts the ranks."""
    if shutil.which("mpirun") is None:
        raise Skipped("mpirun is not there; install openmpi-bin")
    environment = {**os.environ, "MASTER_PORT": str(free_port()), "OMPI_ALLOW_RUN_AS_ROOT": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(["mpirun", "--oversubscribe", "-n", "3", pipeloom, "run", "--ranks", "3", *LAYERS],
                          env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    require(done.returncode == 0, done.stderr)
    require(done.stdout.count("without a pipeline, exactly") == 1, done.stdout)


class Namespaces:
    """Hosts of our own on a bridge: 10.117.x.1 to .n."""

    def __init__(self, count):
        self.tag = f"pl{os.getpid() % 100000}"
        self.count = count
        self.subnet = f"10.117.{os.getpid() % 250}"

    def name(self, host):
        return f"{self.tag}h{host}"

    def address(self, host):
        return f"{self.subnet}.{host + 1}"

    def __enter__(self):
        if shutil.which("ip") is None:
            raise Skipped("ip is not there; install iproute2")
        done = subprocess.run(["ip", "netns", "add", self.name(0)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Skipped(f"network namespaces are not allowed here: {done.stderr.strip()}")
        try:
            self.connect()
        except Exception:
            self.__exit__()
            raise
        return self

    def connect(self):
        bridge = f"{self.tag}b"
        # The bridge is in the first host's namespace: nothing is left in this machine's own.
        self.ip("-n", self.name(0), "link", "add", bridge, "type", "bridge")
        self.ip("-n", self.name(0), "addr", "add", f"{self.address(0)}/24", "dev", bridge)
        self.ip("-n", self.name(0), "link", "set", bridge, "up")
        self.ip("-n", self.name(0), "link", "set", "lo", "up")
        for host in range(1, self.count):
            self.ip("netns", "add", self.name(host))
            self.ip("-n", self.name(0), "link", "add", f"p{host}", "type", "veth", "peer", "name", "eth0", "netns",
                    self.name(host))
            self.ip("-n", self.name(0), "link", "set", f"p{host}", "master", bridge, "up")
            self.ip("-n", self.name(host), "addr", "add", f"{self.address(host)}/24", "dev", "eth0")
            self.ip("-n", self.name(host), "link", "set", "eth0", "up")
            self.ip("-n", self.name(host), "link", "set", "lo", "up")

    def __exit__(self, *_):
        for host in range(self.count):
            subprocess.run(["ip", "netns", "del", self.name(host)], capture_output=True, check=False)

    @staticmethod
    def ip(*arguments):
        done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Skipped(f"`ip {' '.join(arguments)}` does not work here: {done.stderr.strip()}")


def start_in(hosts, run, arguments):
    for rank in range(hosts.count):
        run.start(rank, hosts.count, arguments, 29500, hosts.address(0), ["ip", "netns", "exec", hosts.name(rank)])


def test_namespaces(pipeloom):
    """Each rank on a host of its own; then a host whose cable is pulled."""
    with Namespaces(3) as hosts:
        with Run(pipeloom) as run:
            start_in(hosts, run, LAYERS)
            ended = run.wait(range(3))
            require(all(code == 0 for code, _, _ in ended), str(ended))
            require("exactly" in ended[0][1], ended[0][1])
        with Run(pipeloom) as run:
            start_in(hosts, run, [*BUSY, "--steps", "500", "--timeout", "4"])
            for process in run.processes:  # rank 0 has met before the others have met each other
                wait_until_met(process.pid)
            hosts.ip("-n", hosts.name(0), "link", "set", "p2", "down")
            ended = run.wait(range(3))
            require(all(code == 3 for code, _, _ in ended), str(ended))
            require("rank 2 failed in step " in ended[0][2], ended[0][2])
            require(ended[2][2] != "", "the rank that was cut off says nothing")


TESTS = {name.removeprefix("test_"): test for name, test in globals().items() if name.startswith("test_")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--pipeloom", required=True)
    parser.add_argument("test", choices=TESTS)
    options = parser.parse_args()
    try:
        TESTS[options.test](str(Path(options.pipeloom).resolve()))
    except Skipped as why:
        print(f"skipped: {why}")
        return SKIPPED
    except Failed as why:
        print(f"{options.test}: {why}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
