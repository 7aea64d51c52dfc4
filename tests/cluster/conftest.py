"""A Slurm of two nodes with two GPUs each, all of it on this machine and on loopback; the GPUs are fakes."""

from __future__ import annotations

import os
import platform
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

PROGRAMS = ("munged", "munge", "slurmctld", "slurmd", "sinfo", "sbatch", "scancel", "squeue")
READY_SECONDS = 20.0
SAID = {"capture_output": True, "text": True}
CONF = """\
ClusterName=perflab
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={control}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={home}/munge.socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation={home}/state
SlurmdSpoolDir={home}/spool.%n
SlurmctldPidFile={home}/slurmctld.pid
SlurmdPidFile={home}/slurmd.%n.pid
SlurmctldLogFile={home}/slurmctld.log
SlurmdLogFile={home}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=1,bf_interval=1
GresTypes=gpu
ReturnToService=2
KillWait=2
SlurmdTimeout=15
JobCompType=jobcomp/none
AccountingStorageType=accounting_storage/none
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={first} CPUs=2 RealMemory=1000 Gres=gpu:2 State=UNKNOWN
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={second} CPUs=2 RealMemory=1000 Gres=gpu:2 State=UNKNOWN
PartitionName=gpu Nodes=n1,n2 Default=YES MaxTime=60 OverSubscribe=NO State=UP
"""
GRES = "".join(
    f"NodeName={node} Name=gpu File={{home}}/{node}/gpu{n}\n"
    for node in ("n1", "n2")
    for n in (0, 1)
)


class Slurm:
    """What tests ask of it."""

    def __init__(self, home: Path) -> None:
        """Everything of it is below *home*."""
        self.home = home
        self.environ = {**os.environ, "SLURM_CONF": str(home / "slurm.conf")}

    def __call__(self, *command, check=True):
        """Run a command of Slurm; return what it says, line by line."""
        done = subprocess.run(command, env=self.environ, timeout=60, check=False, **SAID)
        assert not check or done.returncode == 0, done.stderr
        return done.stdout.split("\n")[:-1]

    def until(self, holds, seconds=READY_SECONDS):
        """Wait for it."""
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, f"not within {seconds} s"
            time.sleep(0.1)


@pytest.fixture(scope="session")
def slurm():
    """Start munged, slurmctld and a slurmd for each node; end them, and all that they run."""
    missing = [
        name
        for name in PROGRAMS
        if shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") is None
    ]
    if missing:
        pytest.skip(
            f"no Slurm here ({missing[0]} is missing): make system installs it where root runs it"
        )
    if os.geteuid() != 0:
        pytest.skip("nodes of Slurm are started by root")
    with ExitStack() as held:
        home = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="perflab-slurm-")))
        home.chmod(0o755)
        found = Slurm(home)
        _write(home)
        held.callback(_end, home)
        _start(found)
        yield found
        found("scancel", "--user=root", check=False)
        found.until(lambda: not found("squeue", "--noheader"))


def _write(home):
    for folder in ("state", "spool.n1", "spool.n2", "n1", "n2"):
        (home / folder).mkdir()
    try:
        for name in ("n1/gpu0", "n1/gpu1", "n2/gpu0", "n2/gpu1"):
            os.mknod(home / name, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("devices, which stand for GPUs, cannot be made here")
    control, first, second = _ports(3)
    facts = {
        "home": home,
        "host": platform.node(),
        "control": control,
        "first": first,
        "second": second,
    }
    (home / "slurm.conf").write_text(CONF.format(**facts))
    (home / "gres.conf").write_text(GRES.format(home=home))
    (home / "munge.key").write_bytes(os.urandom(128))
    (home / "munge.key").chmod(0o600)


def _ports(count):
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _start(slurm):
    home, conf = slurm.home, str(slurm.home / "slurm.conf")
    own = [
        f"--{what}={home}/munge.{end}"
        for what, end in {"socket": "socket", "key-file": "key"}.items()
    ]
    own += [f"--{what}-file={home}/munge.{what}" for what in ("pid", "log", "seed")]
    for command in (
        ["munged", "--force", *own],
        ["slurmctld", "-c", "-f", conf],
        ["slurmd", "-N", "n1", "-f", conf],
        ["slurmd", "-N", "n2", "-f", conf],
    ):
        path = shutil.which(command[0], path=f"{os.environ['PATH']}:/usr/sbin")
        done = subprocess.run(
            [path, *command[1:]], env=slurm.environ, timeout=30, check=False, **SAID
        )
        if done.returncode:
            pytest.skip(f"{command[0]} does not start here: {(done.stderr or done.stdout).strip()}")
    end = time.monotonic() + READY_SECONDS
    while slurm("sinfo", "--noheader", "-N", "--format=%T", check=False) != ["idle", "idle"]:
        if time.monotonic() > end:
            pytest.skip("the two nodes of Slurm do not come up here")
        time.sleep(0.1)


def _end(home):
    pids = [
        int(file.read_text())
        for name in ("slurmd.n1", "slurmd.n2", "slurmctld", "munge")
        for file in home.glob(f"{name}.pid")
    ]
    for pid in pids:
        os.kill(pid, signal.SIGTERM)
    end = time.monotonic() + 10.0
    while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < end:
        time.sleep(0.05)
