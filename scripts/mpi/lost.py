"""Ranks that are killed, stopped or cut off, and requests to stop: the job ends, and goes on with another number of ranks."""
import os
import re
import shutil
import signal
import time

from launch import wait_until
from runs import checkpoints, has_begun

LIMIT = 30  # seconds within which a job ends once a rank is lost
SOME = [2, 3, 4]


def start(suite, launcher, kind, run, n, hosts=None, **options):
    """Begins a run, or goes on with it."""
    goes_on = has_begun(run)
    if not goes_on:
        shutil.rmtree(run, ignore_errors=True)
    command = ["train", "--resume", run] if goes_on else suite.train(kind, run)
    return suite.start(*command, "--checkpoint-steps", "1", before=launcher.before(n, hosts, **options))


def in_mid_epoch(suite, launcher, process, run, n, seconds):
    """Waits until the run has moved on, and then for a while; the ranks' processes, none if it ended before."""
    old = checkpoints(run)[-1:]
    if not process.until(lambda: checkpoints(run)[-1:] > old and len(launcher.pids()) == n, poll=0.01):
        return None
    end = time.monotonic() + suite.random.uniform(0, seconds)
    if not process.until(lambda: time.monotonic() > end):
        return None
    return launcher.pids()


def killed_often(suite, launcher, kind, reference, n_kills):
    """kill -9 of a rank at random moments; then the same end as the undisturbed run."""
    kills, longest = 0, 0.0
    while kills < n_kills:
        run, of_run = suite.folder(kind.name), 0
        while True:
            n = suite.random.choice(SOME)
            process = start(suite, launcher, kind, run, n)
            if kills + of_run >= n_kills:
                break
            pids = in_mid_epoch(suite, launcher, process, run, n, reference.often_seconds / 4)
            if not pids:
                break
            rank = suite.random.choice(sorted(pids))
            killed = time.monotonic()
            os.kill(pids[rank], signal.SIGKILL)
            ended = process.end(LIMIT + 30)
            seconds = time.monotonic() - killed
            longest = max(longest, seconds)
            of_run += 1
            left = launcher.clean()
            # MPICH's mpirun knows the process, and noisyor has said which rank that is.
            names = re.search(rf"rank {rank}\b", ended.text) and (launcher.mpi == "openmpi" or str(pids[rank]) in ended.text)
            fine = ended.status != 0 and seconds <= LIMIT and names and not left and checkpoints(run)
            suite.check("a rank is killed", None if fine else f"{run}: rank {rank}, {left} processes left: {ended}")
        kills += of_run
        ended = process.end()
        fault = f"{run}: {ended}" if ended.status else reference.difference(run)
        suite.check("the same end after kills, with other numbers of ranks", fault and f"{of_run} kills: {fault}")
    suite.note(f"seconds from a kill to the end of the job, at most, {launcher.mpi}: {kind.name}", f"{longest:.1f}")


def stopped(suite, launcher, kind, reference):
    """A rank that lives, and does nothing any more."""
    run = suite.folder(kind.name)
    process = start(suite, launcher, kind, run, 3)
    pids = in_mid_epoch(suite, launcher, process, run, 3, 0.2)
    if not pids:
        suite.check("a rank hangs", f"{run}: the run ended before")
        return
    hung = time.monotonic()
    os.kill(pids[1], signal.SIGSTOP)
    ended = process.end(LIMIT + 30)
    seconds = time.monotonic() - hung
    wait_until(lambda: not launcher.pids(), 5)
    left = launcher.clean()
    names = re.search(r"no sign of life .* rank 1 \(host", ended.text)
    fine = ended.status == 6 and seconds <= LIMIT and names and not left
    suite.check("a rank hangs", None if fine else f"{run}: {seconds:.1f} s, {left} processes left: {ended}")
    suite.note("seconds from a rank that hangs to the end of the job", f"{seconds:.1f}")
    resumes(suite, launcher, kind, run, reference, 2)


def asked_to_stop(suite, launcher, kind, reference):
    """A signal to mpirun, which passes it on only after its grace, or to one rank."""
    for name, to_one in [("SIGTERM", False), ("SIGINT", False), ("SIGTERM", True)]:
        run = suite.folder(kind.name)
        process = start(suite, launcher, kind, run, 3, grace=5)
        pids = in_mid_epoch(suite, launcher, process, run, 3, 0.2)
        what = f"{name} to {'one rank' if to_one else 'mpirun'} of {launcher.mpi}"
        if not pids:
            suite.check(what, f"{run}: the run ended before")
            continue
        asked = time.monotonic()
        os.kill(pids[2] if to_one else process.popen.pid, getattr(signal, name))
        ended = process.end(LIMIT + 30)
        seconds = time.monotonic() - asked
        left = launcher.clean()
        fine = ended.status != 0 and seconds <= LIMIT and "to continue" in ended.text and not left
        suite.check(what, None if fine else f"{run}: {seconds:.1f} s, {left} processes left: {ended}")
        suite.note(f"seconds to the end after {what}", f"{seconds:.1f}")
        resumes(suite, launcher, kind, run, reference, 4)


def resumes(suite, launcher, kind, run, reference, n, hosts=None):
    ended = start(suite, launcher, kind, run, n, hosts).end()
    fault = f"{run}: {ended}" if ended.status else reference.difference(run)
    suite.check("resumed with another number of ranks, the same end", fault)


def cut_off(suite, launcher, kind, reference, hosts):
    """The link of a host is cut: of one that computes, and of the first one, where mpirun runs."""
    run = suite.folder(kind.name)
    ended = start(suite, launcher, kind, run, 3, hosts).end()
    suite.check("trained on three hosts", str(ended) if ended.status else reference.difference(run))
    suite.note("seconds on three hosts", f"{ended.seconds:.1f}")
    for host in [1, 0]:
        what = f"the link of {hosts.names[host]} is cut"
        run = suite.folder(kind.name)
        process = start(suite, launcher, kind, run, 3, hosts)
        if not in_mid_epoch(suite, launcher, process, run, 3, 0.2):
            suite.check(what, f"{run}: the run ended before")
            continue
        cut = time.monotonic()
        hosts.cut(host)
        here = process.end(LIMIT + 30)
        seconds = time.monotonic() - cut
        there = wait_until(lambda: not launcher.pids() and not hosts.daemons(), max(0, LIMIT - seconds))
        seconds_there = time.monotonic() - cut
        launcher.clean()
        hosts.mend(host)
        names = "no sign of life" in here.text and (host == 0 or re.search(r"rank 1 \(host noisyor-host1", here.text))
        fine = here.status != 0 and seconds <= LIMIT and there and names
        suite.check(what, None if fine else f"{run}: {seconds:.1f} s here, {seconds_there:.1f} s there: {here}")
        suite.note(f"seconds to the end after {what}", f"{seconds:.1f}, everywhere {seconds_there:.1f}")
        resumes(suite, launcher, kind, run, reference, 2, hosts)
