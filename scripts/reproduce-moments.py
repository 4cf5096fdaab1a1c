"""The tables and figures of scripts/reproduce-moments.sh."""
import json
import math
import os
import random
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

import svg

OUT, DOCS = Path(sys.argv[1]), Path(sys.argv[2])
PROGRAM = os.environ["NOISYOR"]
CLIP = 1e-6


def setting(name, default):
    return os.environ.get(name, default)


NETWORKS, STARTS = int(setting("NETWORKS", "64")), int(setting("STARTS", "64"))
SIZES = [int(n) for n in setting("SIZES", "100 1000 10000 100000 1000000").split()]
EM_SIZES = [int(n) for n in setting("EM_SIZES", "100 1000 10000 100000").split()]
EM_NETWORKS, EXACT_STARTS = int(setting("EM_NETWORKS", "16")), int(setting("EXACT_STARTS", "4"))
QMR_SIZES = [int(n) for n in setting("QMR_SIZES", "10000 100000 1000000").split()]
ZIPF_SIZES = [int(n) for n in setting("ZIPF_SIZES", "40000 200000").split()]
RECOVERY_SIZES = [int(n) for n in setting("RECOVERY_SIZES", "1000 10000 100000 1000000").split()]


def run(*arguments):
    """Runs the program with --json; its result, and the seconds it took."""
    start = time.time()
    done = subprocess.run([PROGRAM, *map(str, arguments), "--json", "-q"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout), time.time() - start


class Model:
    """A network of two layers as probabilities: p of topics, f of edges and f0 of tokens."""

    def __init__(self, p, f, f0):
        self.p, self.f, self.f0 = p, f, f0

    def write(self, path):
        lines = [f"{topic}\t{token}\t{-math.log(f):.17g}" for (topic, token), f in self.f.items()]
        lines += [f"\t{topic}\t{-math.log1p(-p):.17g}" for topic, p in self.p.items()]
        lines += [f"\t{token}\t{-math.log(f):.17g}" for token, f in self.f0.items()]
        path.write_text("\n".join(lines) + "\n")

    @staticmethod
    def read(path):
        p, f, leaks = {}, {}, {}
        for line in path.read_text().splitlines():
            fields = line.split("\t")
            if line.startswith("#") or len(fields) != 3 or not re.match(r"^[-+.\deE]+$", fields[2]):
                continue
            parent, child, weight = fields[0], fields[1], float(fields[2])
            if parent:
                f[parent, child] = math.exp(-weight)
            else:
                leaks[child] = weight
        topics = {topic for topic, _ in f}
        for node, weight in leaks.items():
            if node in topics:
                p[node] = -math.expm1(-weight)
        return Model(p, f, {node: math.exp(-w) for node, w in leaks.items() if node not in topics})

    def values(self):
        return {**self.p, **self.f, **self.f0}

    def error(self, truth):
        """Sum of L1 errors, both clipped as in the paper."""
        clip = lambda value: min(max(value, CLIP), 1 - CLIP)
        own = self.values()
        return sum(abs(clip(own[key]) - clip(value)) for key, value in truth.values().items())


EDGES = [("A", "a"), ("A", "b"), ("A", "c"), ("B", "b"), ("B", "c"), ("B", "d"), ("B", "e")]


def figure_1(number):
    draw = random.Random(number)
    between = lambda: draw.uniform(0.2, 0.8)
    return Model({"A": between(), "B": between()}, {edge: between() for edge in EDGES}, {token: 0.99 for token in "abcde"})


def sampled(truth_file, folder, size, seed):
    corpus = folder / f"{size}.noisyor"
    if not corpus.exists():
        run("synth", "--model", truth_file, "--docs", size, "--seed", seed, "--format", "jsonl", "-o", folder / f"synth{size}")
        run("corpus", folder / f"synth{size}/corpus.jsonl", "--vocab", truth_file, "-o", corpus)
        for name in ("corpus.jsonl", "truth.svm", "network.safetensors"):
            (folder / f"synth{size}" / name).unlink()
    return corpus


def exact_em(documents, seed, iterations=300):
    """EM with exact posteriors from a random start: over the states of both topics, and over which edges fire in a present token."""
    draw = random.Random(seed)
    model = Model({t: draw.uniform(0.2, 0.8) for t in "AB"}, {e: draw.uniform(0.2, 0.8) for e in EDGES}, {t: 0.95 for t in "abcde"})
    parents = {token: [t for t, c in EDGES if c == token] for token in "abcde"}
    total, log_p = sum(documents.values()), 0.0
    for _ in range(iterations):
        on, edge_on, edge_fired = dict.fromkeys("AB", 0.0), dict.fromkeys(EDGES, 0.0), dict.fromkeys(EDGES, 0.0)
        leak_fired, log_p = dict.fromkeys("abcde", 0.0), 0.0
        for present, count in documents.items():
            states = []
            for state in ((0, 0), (0, 1), (1, 0), (1, 1)):
                active = {t for t, s in zip("AB", state) if s}
                p = math.prod(model.p[t] if t in active else 1 - model.p[t] for t in "AB")
                for token in "abcde":
                    fails = model.f0[token] * math.prod(model.f[t, token] for t in parents[token] if t in active)
                    p *= 1 - fails if token in present else fails
                states.append((active, p))
            whole = sum(p for _, p in states)
            log_p += count * math.log(max(whole, 1e-300))
            for active, p in states:
                share = count * p / max(whole, 1e-300)
                for topic in active:
                    on[topic] += share
                for token in "abcde":
                    causes = [t for t in parents[token] if t in active]
                    fires = 1 - model.f0[token] * math.prod(model.f[t, token] for t in causes)
                    for topic in causes:
                        edge_on[topic, token] += share
                        if token in present:
                            edge_fired[topic, token] += share * (1 - model.f[topic, token]) / max(fires, 1e-12)
                    if token in present:
                        leak_fired[token] += share * (1 - model.f0[token]) / max(fires, 1e-12)
        clip = lambda value: min(max(value, CLIP), 1 - CLIP)
        model = Model(
            {t: clip(on[t] / total) for t in "AB"},
            {e: clip(1 - edge_fired[e] / max(edge_on[e], 1e-12)) for e in EDGES},
            {t: clip(1 - leak_fired[t] / total) for t in "abcde"},
        )
    return model, log_p



def figure_3():
    rows = {}
    for number in range(NETWORKS):
        folder = OUT / f"figure-1/{number}"
        folder.mkdir(parents=True, exist_ok=True)
        truth, truth_file = figure_1(number), folder / "truth.tsv"
        truth.write(truth_file)
        graph = folder / "graph.tsv"
        graph.write_text("".join(f"{a}\t{b}\n" for a, b in EDGES))
        uniform = Model(dict.fromkeys("AB", 0.5), dict.fromkeys(EDGES, 0.5), dict.fromkeys("abcde", 1.0))
        for size in sorted({*SIZES, *(EM_SIZES if number < EM_NETWORKS else [])}):
            corpus = sampled(truth_file, folder, size, number)
            add = lambda method, error, seconds: rows.setdefault((method, size), []).append((error, seconds))
            add("uniform guess", uniform.error(truth), 0.0)
            for method, weighting in (("moments, pooled", "pooled"), ("moments, averaged", "average"), ("moments, first triplet", "first")):
                model = folder / f"{size}-{weighting}.tsv"
                told, _ = run("moments", corpus, "--graph", graph, "--weighting", weighting, "-o", model)
                add(method, Model.read(model).error(truth), told["counting_seconds"] + told["solving_seconds"])
            if number >= EM_NETWORKS or size not in EM_SIZES:
                continue
            for method, init, starts in (("variational EM", "data", STARTS), ("variational EM from moments", "moments", 1)):
                best, seconds = None, 0.0
                for seed in range(starts):
                    bound, took, model = em(folder / f"{size}-{init}-{seed}", graph, corpus, 100, "--init", init, "--seed", seed)
                    seconds += took
                    if best is None or bound > best[0]:
                        best = bound, model.error(truth)
                add(method, best[1], seconds)
            start = time.time()
            documents = {}
            for doc in documents_of(truth_file, folder, size, number):
                documents[doc] = documents.get(doc, 0) + 1
            tried = [exact_em(documents, seed) for seed in range(EXACT_STARTS)]
            model, _ = max(tried, key=lambda one: one[1])
            add("exact EM", model.error(truth), time.time() - start)
    return rows


def em(made, graph, corpus, epochs, *options):
    """Variational EM, run once and kept in a folder: its bound, seconds and parameters."""
    if not (made / "done.json").exists():
        subprocess.run(["rm", "-rf", made], check=True)
        _, took = run("train", corpus, "--graph", graph, "--valid", 0, "--epochs", epochs, "--backend", "cpu", "-o", made, *options)
        run("model", "convert", made / "model.safetensors", made / "model.tsv")
        scored, _ = run("eval", made / "model.safetensors", corpus, "--backend", "cpu")
        (made / "done.json").write_text(json.dumps({"bound": scored["elbo_mean"], "seconds": took}))
    done = json.loads((made / "done.json").read_text())
    return done["bound"], done["seconds"], Model.read(made / "model.tsv")


def documents_of(truth_file, folder, size, seed):
    made = folder / f"lines{size}"
    run("synth", "--model", truth_file, "--docs", size, "--seed", seed, "--format", "jsonl", "-o", made)
    with open(made / "corpus.jsonl") as lines:
        return [frozenset(json.loads(line)["tokens"]) for line in lines]


def zipf_model(path):
    """570 diseases, 4,075 findings and 45,470 edges; findings are as popular as rank^-0.8, diseases as rare as 0.1 / sqrt(rank)."""
    draw = random.Random(1)
    tokens = [f"w{token}" for token in range(4075)]
    weights = [(rank + 1) ** -0.8 for rank in range(4075)]
    edges = set()
    while len(edges) < 45470:
        for token in draw.choices(range(4075), weights, k=45470 - len(edges)):
            edges.add((draw.randrange(570), token))
    covered = {token for _, token in edges}
    f = {(f"t{topic}", tokens[token]): draw.uniform(0.2, 0.9) for topic, token in sorted(edges)}
    p = {f"t{topic}": 0.1 / math.sqrt(topic + 1) for topic in range(570) if any(e[0] == f"t{topic}" for e in f)}
    Model(p, f, {tokens[token]: 0.99 for token in sorted(covered)}).write(path)


def errors_by_depth(estimates, truth):
    """Mean errors of edges by depth, and of priors and leaks."""
    errors = {}
    values = truth.values()
    for line in estimates.read_text().splitlines()[1:]:
        kind, topic, token, value, se, depth = line.split("\t")[:6]
        if value:
            key = {"prior": topic, "leak": token, "edge": (topic, token)}[kind]
            errors.setdefault(f"edges, depth {depth}" if kind == "edge" else f"{kind}s", []).append(abs(float(value) - values[key]))
    return {kind: (len(all_), statistics.mean(all_)) for kind, all_ in errors.items()}


def qmr(name, sizes, seed=0):
    folder = OUT / name
    folder.mkdir(parents=True, exist_ok=True)
    truth_file = folder / "truth.tsv"
    if not truth_file.exists():
        if name == "zipf":
            zipf_model(truth_file)
        else:
            run("synth", "--preset", "qmr", "--docs", 1, "--seed", seed, "-o", folder / "preset")
            run("model", "convert", folder / "preset/network.safetensors", truth_file)
    truth = Model.read(truth_file)
    certificate, _ = run("moments", "--schedule", truth_file)
    print(f"\n{name}: {certificate['learned']} of {certificate['parameters']} parameters, schedule in {certificate['seconds']:.2f} s")
    triplets, _ = run("moments", "--schedule", truth_file, "--no-pairs")
    for kind, told in (("triplets and pairs", certificate), ("triplets alone", triplets)):
        by_depth = [str(d["by_triplet"] + d["by_pair"] + d["by_anchor"]) for d in told["depths"]]
        print(f"  edges by depth, {kind}: {', '.join(by_depth)}")
    curves = {}
    for size in sizes:
        corpus = sampled(truth_file, folder, size, seed)
        told, seconds = run("moments", corpus, "--graph", truth_file, "-o", folder / f"{size}.tsv", "--estimates", folder / f"{size}-estimates.tsv")
        errors = errors_by_depth(folder / f"{size}-estimates.tsv", truth)
        shown = ", ".join(f"{kind} {error:.5f}" for kind, (_, error) in sorted(errors.items()))
        print(f"  {size} documents: {shown}; counting {told['counting_seconds']:.1f} s, solving {told['solving_seconds']:.1f} s, all {seconds:.1f} s")
        for kind, (_, error) in errors.items():
            curves.setdefault(kind, []).append((size, error))
    return curves


def random_network(number):
    """20 topics, 60 tokens of 3 topics each."""
    draw = random.Random(number)
    topics, tokens = [f"t{topic}" for topic in range(20)], [f"w{token}" for token in range(60)]
    f = {(topic, token): draw.uniform(0.2, 0.8) for token in tokens for topic in sorted(draw.sample(topics, 3))}
    return Model({topic: draw.uniform(0.05, 0.3) for topic in topics}, f, dict.fromkeys(tokens, 0.99))


def recovery(name, network, networks, n_starts):
    """Mean errors of edges and of priors: moments, EM from random starts with either start of the E-step, EM from moments."""
    rows = {}
    for size in RECOVERY_SIZES:
        for number in range(networks):
            folder = OUT / f"{name}/{number}"
            folder.mkdir(parents=True, exist_ok=True)
            truth, truth_file, graph = network(number), folder / "truth.tsv", folder / "graph.tsv"
            truth.write(truth_file)
            graph.write_text("".join(f"{topic}\t{token}\n" for topic, token in truth.f))
            corpus = sampled(truth_file, folder, size, number)

            def add(method, model, seconds):
                mean = lambda own, true: statistics.mean(abs(own[key] - true[key]) for key in true)
                rows.setdefault((method, size), []).append((mean(model.f, truth.f), mean(model.p, truth.p), seconds))

            _, seconds = run("moments", corpus, "--graph", graph, "-o", folder / f"{size}.tsv")
            add("moments", Model.read(folder / f"{size}.tsv"), seconds)
            for method, init, start, starts in (
                ("EM, greedy E-steps", "data", "greedy", n_starts),
                ("EM, plain E-steps", "data", "plain", n_starts),
                ("EM from moments", "moments", "greedy", 1),
            ):
                # Weight steps are a tenth of the documents each, 50,000 at most.
                epochs = min(100, max(5, 2_000_000 // size))
                made = lambda seed: folder / f"{size}-{init}-{start}-{seed}"
                tried = [em(made(seed), graph, corpus, epochs, "--init", init, "--start", start, "--seed", seed) for seed in range(starts)]
                _, _, model = max(tried, key=lambda one: one[0])
                add(method, model, sum(seconds for _, seconds, _ in tried))
        for method in dict.fromkeys(method for method, _ in rows):
            edges, priors, seconds = zip(*rows[method, size])
            told = ", ".join(f"{kind} {statistics.mean(x):.4f} +- {statistics.stdev(x):.4f}" for kind, x in (("edges", edges), ("priors", priors)))
            print(f"  {name}, {size} documents, {method}: {told}, {statistics.mean(seconds):.1f} s", flush=True)


COLOURS = ["#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b", "#7f7f7f"]


def draw(file, curves, y_name):
    """Curves with logarithms on both axes."""
    xs = [x for points in curves.values() for x, _ in points]
    ys = [math.log10(y) for points in curves.values() for _, y in points if y > 0]
    panel = svg.Panel((70, 480, 20, 320), (min(xs) / 1.3, max(xs) * 1.3), (math.floor(min(ys)), math.ceil(max(ys))), log_x=True)
    panel.rows(range(math.floor(min(ys)), math.ceil(max(ys)) + 1), lambda y: f"{10 ** y:g}")
    panel.ticks(sorted(set(xs)), "documents")
    for at, (name, points) in enumerate(curves.items()):
        shown = [(x, math.log10(y)) for x, y in points if y > 0]
        panel.curve(shown, COLOURS[at % len(COLOURS)])
        panel.dots(shown, COLOURS[at % len(COLOURS)])
        panel.text(500, 40 + 18 * at, name, more=f' fill="{COLOURS[at % len(COLOURS)]}"')
    svg.write(DOCS / file, 700, 370, [panel], y_name)


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    if RECOVERY_SIZES:
        recovery("recovery-figure-1", figure_1, 8, 4)
        recovery("recovery-random", random_network, 3, 1)
    if not NETWORKS:
        return
    rows = figure_3()
    methods = list(dict.fromkeys(method for method, _ in rows))
    sizes = sorted({size for _, size in rows})
    print(f"\nFig. 3: sum of L1 errors, mean / standard deviation over networks (networks), mean over the first {EM_NETWORKS}, seconds")
    curves = {}
    for method in methods:
        cells = []
        for size in sizes:
            if (method, size) in rows:
                errors, seconds = zip(*rows[method, size])
                few = errors[:EM_NETWORKS]
                cells.append(
                    f"{size}: {statistics.mean(errors):.3f} / {statistics.pstdev(errors):.3f} ({len(errors)}), "
                    f"first {len(few)}: {statistics.mean(few):.3f}, {statistics.mean(seconds):.2f} s"
                )
                curves.setdefault(method, []).append((size, statistics.mean(few)))
        print(f"  {method}: {'; '.join(cells)}")
    draw("moments-figure-3.svg", curves, "sum of L1 errors")
    large = {}
    for name, sizes in (("qmr", QMR_SIZES), ("zipf", ZIPF_SIZES)):
        if sizes:
            large.update({f"{name}: {kind}": points for kind, points in qmr(name, sizes).items() if kind != "leaks"})
    if large:
        draw("moments-qmr.svg", large, "mean L1 error")


main()
