"""A real Slurm of one machine, for as long as a test takes: munged, slurmctld and slurmd in the foreground, with keys, ports
and folders of their own, so that several may run side by side and nothing of the machine's own Slurm is touched. No systemd,
no cgroups; root or not.

    with Slurm() as slurm:
        job = slurm.run("sbatch", "--parsable", "job.slurm", cwd=folder)
        slurm.wait(120)
"""

import ctypes
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol", "sinfo")
SBIN = ("/usr/sbin", "/usr/local/sbin")


def missing():
    """What is not installed, as text; "" if all is there."""
    path = os.pathsep.join((os.environ.get("PATH", ""),) + SBIN)
    absent = [program for program in PROGRAMS if shutil.which(program, path=path) is None]
    return ", ".join(absent)


def free_ports(count):
    """Ports that nobody uses now: all are held at once, so that they differ."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def die_with_parent():
    """Of a child, before it runs: a test that is killed outright leaves no daemon behind."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


class Slurm:
    def __init__(self, cpus=2):
        self.cpus = cpus
        self.daemons = []
        # Short and plain: a socket's path holds 107 bytes, and slurm.conf has no quotes.
        self.folder = Path(tempfile.mkdtemp(prefix="pipeloom-slurm-", dir="/tmp"))
        self.env = dict(os.environ, SLURM_CONF=str(self.folder / "slurm.conf"))
        self.env["PATH"] = os.pathsep.join((self.env.get("PATH", ""),) + SBIN)
        for name in list(self.env):
            # Inside somebody's job: its variables would speak to sbatch.
            if re.match(r"(SLURM|SBATCH|SQUEUE)_", name) and name != "SLURM_CONF":
                del self.env[name]

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    # -- life ---------------------------------------------------------------------------------------------------------

    def start(self):
        self.folder.chmod(0o755)  # munged refuses a socket that others cannot reach
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        self.write_configuration()
        at = self.folder
        self.daemon("munged", "--foreground", "--force", f"--key-file={at}/munge.key", f"--socket={at}/munge.sock",
                    f"--pid-file={at}/munged.pid", f"--log-file={at}/munged.log", f"--seed-file={at}/munge.seed",
                    "--num-threads=2")
        self.until(lambda: (at / "munge.sock").exists(), 20, "munged does not answer")
        self.daemon("slurmctld", "-D", "-c")
        self.daemon("slurmd", "-D")
        self.until(self.is_idle, 30, "the node does not become idle")

    def write_configuration(self):
        controller, node = free_ports(2)
        host = socket.gethostname().split(".")[0]
        user = pwd.getpwuid(os.getuid()).pw_name
        at = self.folder
        (at / "slurm.conf").write_text(f"""\
ClusterName=pipeloom
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={at}/munge.sock
CredType=cred/munge
SlurmctldPort={controller}
SlurmdPort={node}
StateSaveLocation={at}/state
SlurmdSpoolDir={at}/spool
SlurmctldPidFile={at}/slurmctld.pid
SlurmdPidFile={at}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={self.cpus} State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
""")
        # Slurm 23.02 and later would look for cgroups although no plugin asks for them; 22.05 does not know the word.
        version = subprocess.run(["sinfo", "--version"], env=self.env, capture_output=True, text=True, check=True).stdout
        if tuple(map(int, re.findall(r"\d+", version)[:2])) >= (23, 2):
            (at / "cgroup.conf").write_text("CgroupPlugin=disabled\n")

    def daemon(self, *command):
        with open(self.folder / f"{command[0]}.out", "wb") as out:
            self.daemons.append(subprocess.Popen(command, env=self.env, cwd=self.folder, stdin=subprocess.DEVNULL,
                                                 stdout=out, stderr=out, start_new_session=True,
                                                 preexec_fn=die_with_parent))

    def stop(self):
        """Ends everything that runs with our configuration: daemons, steps and what the steps started."""
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(5)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        for pid in self.ours():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        shutil.rmtree(self.folder, ignore_errors=True)

    def ours(self):
        """Processes that have our SLURM_CONF: jobs inherit it."""
        mark = f"SLURM_CONF={self.folder}/".encode()
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                try:
                    if any(value.startswith(mark) for value in (entry / "environ").read_bytes().split(b"\0")):
                        yield int(entry.name)
                except OSError:
                    pass

    # -- use ----------------------------------------------------------------------------------------------------------

    def run(self, *command, cwd=None, check=True):
        """Output of a command that speaks to this Slurm, without its last line end."""
        done = subprocess.run(command, env=self.env, cwd=cwd, capture_output=True, text=True, timeout=60)
        if check and done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout.rstrip("\n")

    def is_idle(self):
        return self.run("sinfo", "--noheader", "--format=%T", check=False) == "idle"

    def queue(self):
        """Lines "ID STATE REASON" of what waits or runs. A job whose dependency can never hold waits forever."""
        return self.run("squeue", "--noheader", "--format=%i %T %r").splitlines()

    def wait(self, seconds):
        """Until the queue is empty."""
        self.until(lambda: not self.queue(), seconds, "jobs are left in the queue")

    def until(self, holds, seconds, otherwise):
        end = time.monotonic() + seconds
        while not holds():
            for daemon in self.daemons:
                if daemon.poll() is not None:
                    raise RuntimeError(f"{daemon.args[0]} ended with status {daemon.returncode}\n{self.logs()}")
            if time.monotonic() > end:
                raise RuntimeError(f"{otherwise} after {seconds} s\n{self.logs()}")
            time.sleep(0.1)

    def logs(self):
        """What a failed test shows."""
        queue = self.run("squeue", "--format=%i %j %T %r", check=False) if self.daemons else ""
        tails = [f"== {file.name}\n" + "".join(file.read_text(errors="replace").splitlines(True)[-15:])
                 for file in sorted(self.folder.glob("*.out"))]
        return "\n".join([queue] + tails)
