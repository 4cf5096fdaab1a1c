"""Two processes on one folder, and files that are replaced between stop and resume."""
import gzip
import json
import shutil
import signal

from damage import refusal, stopped
from runs import Kind, checkpoints, has_begun, undisturbed


def second_processes(suite, kind, n):
    """While one process trains, others are refused, and disturb nothing."""
    reference = undisturbed(suite, kind)
    run = suite.folder("busy")
    process = suite.start(*suite.train(kind, run))
    process.until(lambda: has_begun(run))
    refused(suite, kind, process, run, n)
    process.popen.send_signal(signal.SIGTERM)
    ended = process.end()
    if ended.status not in [0, 130]:
        suite.check("second process", f"the first ended with {ended}")
    process = suite.start("train", "--resume", run)
    process.until(lambda: (run / ".lock").read_text() == str(process.popen.pid))
    refused(suite, kind, process, run, n)
    ended = process.end()
    suite.check("the same end beside others", str(ended) if ended.status else reference.difference(run))


def refused(suite, kind, first, run, n):
    for at, command in enumerate([suite.train(kind, run), ["train", "--resume", run]] * n):
        ended = suite.run(*command)
        if not first.is_running():
            # On a busy machine others may be too slow to try as often as they should.
            if at < 2:
                raise SystemExit(f"{kind.name}: ended before others could try")
            print(f"second processes: {at} tried instead of {2 * n}, the first had ended", flush=True)
            return
        suite.check("second process: " + ("--resume" if "--resume" in command else "-o"), refusal(ended, run))


def replacements(lines):
    """Corpora that are not the one of the run, as JSON lines: what was done, and the lines."""
    documents = [json.loads(line) for line in lines]
    word = documents[0]["tokens"][0]
    renamed = lambda tokens: [token[:-1] + "9" if token == word else token for token in tokens]
    first, second = documents[0]["tokens"], documents[1]["tokens"]
    encode = lambda documents: [json.dumps(document) + "\n" for document in documents]
    yield "another order", lines[1:] + lines[:1]
    yield "a document less", lines[:-1]
    yield "a document more", lines + lines[:1]
    yield "another name", encode({**document, "tokens": renamed(document["tokens"])} for document in documents)
    swapped = [{**documents[0], "tokens": second}, {**documents[1], "tokens": first}]
    yield "two documents exchanged", encode(swapped + documents[2:])
    yield "a word less", encode([{**documents[0], "tokens": first[1:]}] + documents[1:])


def replaced_corpora(suite, options):
    """The corpus of a stopped run is replaced, then put back, then moved."""
    with gzip.open("data/sample/corpus.jsonl.gz", "rt") as sample:
        lines = [next(sample) for _ in range(1000)]
    # The encoding of the sample is not Python's: all are written the same way.
    lines = [json.dumps(json.loads(line)) + "\n" for line in lines]
    corpus = suite.work / "replaced.jsonl"
    write = lambda lines: corpus.write_text("".join(lines))
    write(lines)
    kind = Kind("replaced", f"{corpus} {options}")
    reference = undisturbed(suite, kind)
    run = stopped(suite, kind)
    unbegun = suite.copy(run)
    shutil.rmtree(unbegun / "checkpoint")
    for how, other in replacements(lines):
        write(other)
        for stopped_run, when in [(run, ""), (unbegun, " before the first checkpoint")]:
            before = [path.name for path in checkpoints(stopped_run)]
            fault = refusal(suite.run("train", "--resume", stopped_run), corpus)
            if not fault and before != [path.name for path in checkpoints(stopped_run)]:
                fault = "the checkpoints were changed"
            suite.check(f"replaced corpus{when}", fault and f"{how}: {fault}")
    write(lines)
    for back in [run, unbegun]:
        copy = suite.copy(back)
        ended = suite.run("train", "--resume", copy)
        suite.check("corpus put back", str(ended) if ended.status else reference.difference(copy))
    moved = corpus.rename(suite.work / "moved.jsonl")
    ended = suite.run("train", "--resume", run, moved)
    suite.check("corpus moved", str(ended) if ended.status else reference.difference(run))


def replaced_graphs(suite, kind, corpus, n):
    """The graph that a run started from is damaged, exchanged, or gone."""
    reference = undisturbed(suite, kind)
    run = stopped(suite, kind)
    graph = run / "graph.safetensors"
    good = graph.read_bytes()
    other = suite.work / "other.safetensors"
    suite.run("graph", corpus, "--topics", "20,5", "-o", other)
    bits = [suite.random.randrange(8 * len(good)) for _ in range(n)]
    flips = [(f"bit {bit} flipped", good[: bit // 8] + bytes([good[bit // 8] ^ 1 << bit % 8]) + good[bit // 8 + 1 :]) for bit in bits]
    for how, content in [*flips, ("another graph", other.read_bytes()), ("the trained model", reference.model)]:
        graph.write_bytes(content)
        suite.check("replaced graph", (fault := refusal(suite.run("train", "--resume", run), graph)) and f"{how}: {fault}")
    graph.unlink()
    ended = suite.run("train", "--resume", run)
    suite.check("replaced graph", None if ended.status in [2, 3] and str(graph) in ended.text else f"gone: {ended}")
    graph.write_bytes(good)
    ended = suite.run("train", "--resume", run)
    suite.check("graph put back", str(ended) if ended.status else reference.difference(run))


def folders(suite, kind, longer, corpus, n):
    second_processes(suite, longer, max(2, n // 20))
    replaced_corpora(suite, "--graph data/sample/network.tsv --epochs 3 --patience 0 --paper-estep=2,2,2")
    replaced_graphs(suite, kind, corpus, max(5, n // 10))
    print("folders: done", flush=True)
