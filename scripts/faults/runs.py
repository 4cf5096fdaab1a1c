"""Runs of the program, what a disturbed one must equal, and the count of what was tried."""
import json
import os
import random
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

TIMES = {"seconds", "docs_per_s", "edges_per_s"}
ON_RANKS = {"ranks", "sent_bytes_per_step", "communication_s_per_step", "waiting_share"}  # what their communication costs
TOO_LONG = 300  # seconds: a run that takes longer hangs


@dataclass(frozen=True)
class Kind:
    """A kind of training run: corpus and options."""

    name: str
    options: str


@dataclass
class Ended:
    """How a process ended, and what it said."""

    status: int
    text: str
    seconds: float

    def __str__(self):
        return f"status {self.status} after {self.seconds:.1f} s: {self.text.strip()[-400:] or 'no message'}"


class Process:
    """A process that is running; what it says goes to a file."""

    def __init__(self, command, said, **options):
        self.said, self.begin = said, time.monotonic()
        with open(said, "w") as file:
            self.popen = subprocess.Popen(
                [str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=file, **options
            )

    def is_running(self):
        return self.popen.poll() is None

    def kill(self):
        self.popen.kill()
        return self.end()

    def end(self, timeout=TOO_LONG):
        """Waits for the end; a process that hangs is killed, which its status shows."""
        try:
            self.popen.wait(timeout)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()
        seconds, text = time.monotonic() - self.begin, self.said.read_text(errors="replace")
        self.said.unlink()
        return Ended(self.popen.returncode, text, seconds)

    def until(self, condition, poll=0.0005):
        """Waits until the condition holds; false if the process ended before."""
        while not condition():
            if not self.is_running():
                return False
            time.sleep(poll)
        return True


class Suite:
    """The program, a folder to work in, chance, and the count."""

    def __init__(self, noisyor, work, seed):
        self.noisyor, self.work, self.random = noisyor, Path(work), random.Random(seed)
        self.tried, self.failed, self.notes, self.n_folders = {}, {}, {}, 0
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)

    def check(self, what, fault=None):
        """Counts a trial; `fault` says how it failed."""
        self.tried[what] = self.tried.get(what, 0) + 1
        if fault:
            self.failed[what] = self.failed.get(what, 0) + 1
            print(f"FAILED: {what}: {fault}", flush=True)
        return not fault

    def note(self, what, text):
        """A figure for the table."""
        self.notes[what] = text

    def folder(self, name):
        """The path of a folder that is not there yet."""
        self.n_folders += 1
        return self.work / f"{self.n_folders:04}-{name.replace(' ', '-')}"

    def copy(self, run, name="copy"):
        copy = self.folder(name)
        shutil.copytree(run, copy)
        return copy

    def start(self, *command, before=(), **options):
        self.n_folders += 1
        said = self.work / f"{self.n_folders:04}.txt"
        return Process([*before, self.noisyor, *command], said, **options)

    def run(self, *command, **options):
        return self.start(*command, **options).end()

    def train(self, kind, run, *more):
        return ["train", *kind.options.split(), "--backend", "cpu", *more, "-o", run]

    def again(self, kind, run, *more):
        """Goes on with a run; from its beginning where the program was killed before it wrote down what it was to do."""
        if has_begun(run):
            return ["train", "--resume", run, "--threads", str(self.random.choice([1, 2])), *more]
        shutil.rmtree(run, ignore_errors=True)
        return self.train(kind, run, *more)


@dataclass
class Reference:
    """The undisturbed run: its files and its seconds, with few checkpoints and with one a step; those of a resume that finds all done."""

    model: bytes
    metrics: list
    seconds: float
    often_seconds: float
    start_up: float

    def difference(self, run):
        """How a run that has ended differs from this one."""
        if not (run / "model.safetensors").exists():
            return f"{run}: no model"
        if (run / "model.safetensors").read_bytes() != self.model:
            return f"{run}: the model differs from the undisturbed run's"
        if metrics(run) != self.metrics:
            return f"{run}: the metrics differ from the undisturbed run's"
        left = aside(run)
        if left:
            return f"{run}: left behind: {', '.join(left)}"
        return None


def has_begun(run):
    return (run / "config.json").exists()


def aside(run):
    """Files written aside that are still there."""
    return [path.name for folder in [run, run / "checkpoint"] for path in folder.glob(".noisyor-*")]


def metrics(run):
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{key: value for key, value in row.items() if key not in TIMES | ON_RANKS} for row in rows]


def checkpoints(run):
    """The checkpoints of a run, oldest first."""
    folder = run / "checkpoint"
    names = sorted(os.listdir(folder)) if folder.exists() else []
    return [folder / name for name in names if name.endswith(".ckpt")]


def undisturbed(suite, kind):
    """Trains twice without a fault: with few checkpoints, and with one after every step."""
    plain, often = suite.folder(kind.name), suite.folder(kind.name)
    ended = suite.run(*suite.train(kind, plain))
    if ended.status != 0:
        raise SystemExit(f"{kind.name}: {ended}")
    model = (plain / "model.safetensors").read_bytes()
    ended_often = suite.run(*suite.train(kind, often, "--checkpoint-steps", "1"))
    resumed = suite.run("train", "--resume", often)
    reference = Reference(model, metrics(plain), ended.seconds, ended_often.seconds, resumed.seconds)
    suite.check("checkpoints change nothing", reference.difference(often))
    shutil.rmtree(plain)
    shutil.rmtree(often)
    return reference
