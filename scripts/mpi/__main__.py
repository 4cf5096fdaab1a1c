"""Trains and infers on ranks of MPI; the parts are in same.py and lost.py. Called by scripts/test-mpi.sh.

OPENMPI MPICH PLAIN KILLS SEED [PART...]: the program with either MPI and with none, kills, and what to run of same, lost, mpich and hosts.
"""
import os
import subprocess
import sys
import time
from pathlib import Path

from launch import Hosts, Launcher
from runs import Kind, Suite, undisturbed
import lost
import same

openmpi, mpich, plain, kills, seed = *(Path(path).resolve() for path in sys.argv[1:4]), int(sys.argv[4]), int(sys.argv[5])
begin = time.monotonic()
suite = Suite(openmpi, "target/mpi", seed)
work = suite.work.resolve()
subprocess.run([plain, "synth", "--preset", "tiny", "--docs", "6000", "-o", work / "tiny", "-q"], check=True)
corpus = work / "tiny" / "corpus.svm"

FLAT = Kind("flat", f"{corpus} --topics 12 --epochs 30 --batch 500 --valid 0.2 --seed 1")
DEEP = Kind("two layers, refined", f"{corpus} --topics 12,4 --max-edges 120 --refine --epochs 6 --batch 1000 --valid 0.2 --seed 2")
CHOSEN = Kind("size chosen", f"{corpus} --effort quick --epochs 2 --test 0.2")
by_openmpi, by_mpich = Launcher("openmpi", openmpi), Launcher("mpich", mpich)


def part(name, run):
    print(f"== {name}", flush=True)
    begin = time.monotonic()
    run()
    suite.note(f"minutes: {name}", f"{(time.monotonic() - begin) / 60:.1f}")


def same_bytes():
    same.has_no_feature(suite, plain, by_openmpi)
    for kind in [FLAT, DEEP]:
        same.trains_the_same(suite, by_openmpi, kind, references[kind])
    same.trains_the_same(suite, by_openmpi, CHOSEN, undisturbed(suite, CHOSEN), [3])
    model = suite.folder("model")
    suite.run(*suite.train(FLAT, model))
    same.infers_the_same(suite, by_openmpi, model, corpus)
    same.parts_are_the_whole(suite, by_openmpi, FLAT, corpus, references[FLAT])
    same.differences_are_refused(suite, by_openmpi, FLAT, corpus)


def lost_ranks():
    lost.killed_often(suite, by_openmpi, FLAT, references[FLAT], (kills + 1) // 2)
    lost.killed_often(suite, by_openmpi, DEEP, references[DEEP], kills // 2)
    lost.stopped(suite, by_openmpi, FLAT, references[FLAT])
    lost.asked_to_stop(suite, by_openmpi, DEEP, references[DEEP])


def other_mpi():
    suite.noisyor = mpich
    same.trains_the_same(suite, by_mpich, DEEP, references[DEEP], [3])
    lost.killed_often(suite, by_mpich, FLAT, references[FLAT], 2)
    lost.asked_to_stop(suite, by_mpich, FLAT, references[FLAT])
    suite.noisyor = openmpi


def across_hosts():
    if os.geteuid() != 0:
        print("skipped: hosts of our own need root (ip netns)", flush=True)
        return
    with Hosts(3, work) as hosts:
        lost.cut_off(suite, by_openmpi, FLAT, references[FLAT], hosts)


PARTS = {"same": same_bytes, "lost": lost_ranks, "mpich": other_mpi, "hosts": across_hosts}
references = {kind: undisturbed(suite, kind) for kind in [FLAT, DEEP]}
for name in sys.argv[6:] or PARTS:
    part(name, PARTS[name])

for what, text in suite.notes.items():
    print(f"{what}: {text}")
for what, n in suite.tried.items():
    print(f"{'FAILED' if what in suite.failed else 'ok'}: {what}: {n - suite.failed.get(what, 0)} of {n}")
print(f"{(time.monotonic() - begin) / 60:.1f} minutes")
sys.exit(1 if suite.failed else 0)
