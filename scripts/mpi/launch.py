"""Jobs: noisyor under mpirun, on this host or on several, and their processes."""
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "faults"))

RANK_OF = {"openmpi": "OMPI_COMM_WORLD_RANK", "mpich": "PMI_RANK"}


@dataclass(frozen=True)
class Launcher:
    """An MPI, its mpirun, and the program that was built with it."""

    mpi: str
    noisyor: Path

    def before(self, n, hosts=None, grace=3):
        """What stands before the program's command; `grace`: seconds between a signal to mpirun and the end of its processes."""
        if self.mpi == "mpich":
            return ["mpirun.mpich", "-n", str(n)]
        return [*(hosts.before() if hosts else ["mpirun.openmpi"]), *OPEN_MPI, "--mca", "odls_base_sigkill_timeout", str(grace), "-n", str(n)]

    def pids(self):
        """Processes of the program that were started in a job, by rank."""
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if (folder / "exe").resolve() != self.noisyor:
                    continue
                variables = dict(line.split("=", 1) for line in (folder / "environ").read_text().split("\0") if "=" in line)
            except OSError:
                continue
            if RANK_OF[self.mpi] in variables:
                found[int(variables[RANK_OF[self.mpi]])] = int(folder.name)
        return found

    def clean(self):
        """Ends processes that a job has left behind; how many there were."""
        pids = self.pids().values()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        return len(pids)


# A lost host is noticed within 14 seconds.
OPEN_MPI = [
    *"--allow-run-as-root --oversubscribe --bind-to none".split(),
    *"--mca oob_tcp_keepalive_time 8 --mca oob_tcp_keepalive_intvl 2 --mca oob_tcp_keepalive_probes 3".split(),
]


class Hosts:
    """Hosts of our own: network namespaces with names and addresses, on one bridge."""

    NETWORK, BRIDGE = "10.213.77", "noisyor-br"

    def __init__(self, n, work):
        self.names = [f"noisyor-host{i}" for i in range(n)]
        self.work = work

    def __enter__(self):
        self.__exit__()
        addresses = "".join(f"{self.NETWORK}.{10 + i} {name}\n" for i, name in enumerate(self.names))
        self.work.mkdir(parents=True, exist_ok=True)
        self.file = self.work / "hosts"
        self.file.write_text("".join(f"{name} slots=1\n" for name in self.names))
        ip(f"link add {self.BRIDGE} type bridge")
        ip(f"link set {self.BRIDGE} up")
        for i, name in enumerate(self.names):
            # `ip netns exec` puts this file in the place of /etc/hosts.
            folder = Path("/etc/netns") / name
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "hosts").write_text(f"127.0.0.1 localhost\n{addresses}")
            ip(f"netns add {name}")
            ip(f"link add noisyor-v{i} type veth peer name eth0 netns {name}")
            ip(f"link set noisyor-v{i} master {self.BRIDGE} up")
            ip(f"-n {name} addr add {self.NETWORK}.{10 + i}/24 dev eth0")
            ip(f"-n {name} link set lo up")
            ip(f"-n {name} link set eth0 up")
        return self

    def __exit__(self, *_):
        for i, name in enumerate(self.names):
            ip(f"netns del {name}", check=False)
            (Path("/etc/netns") / name / "hosts").unlink(missing_ok=True)
        ip(f"link del {self.BRIDGE}", check=False)

    def before(self):
        """mpirun on the first host, which starts the others by our remote shell."""
        agent = Path(__file__).resolve().parent / "remote-shell"
        return [agent, self.names[0], "mpirun.openmpi", "--hostfile", self.file, "--map-by", "node", "--mca", "plm_rsh_agent", agent]

    def cut(self, i):
        ip(f"link set noisyor-v{i} down")

    def mend(self, i):
        ip(f"link set noisyor-v{i} up")

    def daemons(self):
        """Daemons of Open MPI that still run on the hosts."""
        pids = [pid for name in self.names for pid in ip(f"netns pids {name}").split()]
        return [pid for pid in pids if "orted" in read(f"/proc/{pid}/comm")]


def ip(arguments, check=True):
    ended = subprocess.run(["ip", *arguments.split()], capture_output=True, text=True)
    if check and ended.returncode != 0:
        raise SystemExit(f"ip {arguments}: {ended.stderr.strip()}")
    return ended.stdout


def read(path):
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def wait_until(condition, seconds, poll=0.02):
    """Whether the condition holds within so many seconds."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(poll)
    return True
