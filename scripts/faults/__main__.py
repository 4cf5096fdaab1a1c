"""The fault suite of scripts/faults.sh: python3 scripts/faults NOISYOR KILLS SEED (no packages needed)."""
import gzip
import shutil
import sys
import time

from damage import damages
from disk import disks
from folders import folders
from kills import kills, signalled, signals
from runs import Kind, Suite

WORK = "target/faults"
GIVEN = "--graph data/sample/network.tsv --patience 0"
LEARNED = "--topics 24,8 --patience 0"
QUICK = "--paper-estep=2,2,2"


def corpora(suite):
    """The sample's first documents, many documents of a small network: more than one slice of a weight step, and a model of these."""
    names = ["few.jsonl", "few.noisyor", "many.noisyor", "tiny", "old"]
    text, native, many, tiny, old = (suite.work / name for name in names)
    network = tiny / "network.safetensors"
    with gzip.open("data/sample/corpus.jsonl.gz", "rt") as sample:
        text.write_text("".join(next(sample) for _ in range(1000)))
    ended = [
        suite.run("corpus", text, "-o", native),
        suite.run("synth", "--preset", "tiny", "--docs", "150000", "-o", tiny),
        suite.run("corpus", tiny / "corpus.svm", "--vocab", network, "-o", many),
        suite.run("train", many, "--graph", network, "--init", "data", "--steps", "3", QUICK, "-o", old),
    ]
    for failed in (end for end in ended if end.status != 0):
        raise SystemExit(str(failed))
    return text, native, many, network, old / "model.safetensors"


def kinds_of_runs(text, native, many, tiny, old):
    of_many = f"--valid 0.01 --patience 0 {QUICK}"
    return [
        Kind("EM, given graph", f"{native} {GIVEN} --epochs 8"),
        Kind("EM, learned graph", f"{native} {LEARNED} --epochs 8 --seed 1"),
        Kind("EM, one thread, text", f"{text} {GIVEN} --epochs 6 --batch 200 --threads 1"),
        Kind("full batch", f"{native} {GIVEN} --epochs 24 --batch full"),
        Kind("Adam", f"{native} {GIVEN} --epochs 6 --step adam --threads 2"),
        Kind("the paper's step", f"{native} {LEARNED} --epochs 6 --step paper --bound local --no-share"),
        Kind("refine, learned graph", f"{native} --topics 12,4 --max-edges 400 --refine --epochs 4 {QUICK}"),
        Kind("refine, given graph", f"{native} --graph data/sample/network.tsv --max-edges 600 --refine --epochs 3 {QUICK} --threads 1"),
        Kind("slices, full batch", f"{many} --graph {tiny} --init data --batch full --valid 0.02 --epochs 8 --patience 0 {QUICK}"),
        Kind("kept counts, test part", f"{many} --graph {tiny} --init data --batch 30000 --test 0.01 --epochs 4 {of_many}"),
        Kind("kept counts, update", f"{many} --from {old} --batch 30000 --epochs 4 {of_many} --threads 1"),
    ]


def large(suite):
    """A network where a step takes long."""
    folder = suite.work / "dblp"
    suite.run("synth", "--preset", "dblp", "--docs", "20000", "-o", folder)
    graph = folder / "network.safetensors"
    return Kind("dblp, 20,000 documents", f"{folder / 'corpus.svm'} --vocab {graph} --graph {graph} --init data --batch full --epochs 3")


def table(suite, seconds):
    print("\n| what | times | failures | |\n|---|---|---|---|")
    for what, times in suite.tried.items():
        print(f"| {what} | {times:,} | {suite.failed.get(what, 0)} | {suite.notes.get(what, '')} |")
    failed = sum(suite.failed.values())
    print(f"\n{seconds / 60:.1f} minutes")
    print(f"{sum(suite.tried.values()) - failed} passed, {failed} failed", flush=True)
    return failed


def main():
    if len(sys.argv) != 4 or not all(arg.isdigit() for arg in sys.argv[2:]) or int(sys.argv[2]) < 1:
        raise SystemExit("usage: scripts/faults.sh [KILLS] [SEED], both whole numbers")
    n, begin = int(sys.argv[2]), time.monotonic()
    suite = Suite(sys.argv[1], WORK, int(sys.argv[3]))
    text, native, many, tiny, old = corpora(suite)
    kinds = kinds_of_runs(text, native, many, tiny, old)
    small = Kind("small", f"{native} {GIVEN} --epochs 2 --batch 700 {QUICK}")
    middle = Kind("middle", f"{native} {LEARNED} --epochs 5 {QUICK}")
    longer = Kind("longer", f"{native} {GIVEN} --epochs 60")
    kills(suite, kinds, n)
    signals(suite, [longer, kinds[1], kinds[6], kinds[8]], max(4, 15 * n // 200))
    signalled(suite, large(suite), "SIGINT", max(1, n // 40))
    disks(suite, small, native, text)
    damages(suite, middle, 5 * n)
    folders(suite, middle, Kind("long", f"{native} {GIVEN} --epochs 600"), native, n)
    failed = table(suite, time.monotonic() - begin)
    if not failed:
        shutil.rmtree(suite.work)
    sys.exit(1 if failed else 0)


main()
