#!/usr/bin/env python3
"""How good are the topics? noisyor, LDA (tomotopy) and raw words side by side on one labelled corpus.

Called by scripts/topic-quality.sh, which makes the Python environment and builds noisyor. All systems get the same documents,
words and classifier; what is held out no system sees in training. The table goes to standard output, the rest to standard error.
"""

import argparse
import json
import os
import shlex
import shutil
import sys
import time

import numpy as np
import scipy.sparse as sp
from side_by_side import CORPUS_ARGS, LEAST_Q, Corpus, Failed, accuracy, lda, run

TOP = 10

# ---------------------------------------------------------------------------------------------------------- reading


class Model:
    """A model (.safetensors): edges by child, leaks, names; topics are numbered first."""

    def __init__(self, path):
        from safetensors import safe_open

        with safe_open(path, framework="numpy") as file:
            names = json.loads(file.metadata()["names"])
            offsets = file.get_tensor("edge_offsets").astype(np.int64)
            self.parent = file.get_tensor("edge_parents").astype(np.int64)
            self.weight = file.get_tensor("edge_weights").astype(np.float64)
            self.leak = file.get_tensor("leak").astype(np.float64)
        self.topics, self.tokens = names
        self.child = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        self.n_topics, self.n_nodes = len(self.topics), len(self.leak)
        # Height above the tokens: the longest way down. In a layered network this is the layer.
        height = np.zeros(self.n_nodes, int)
        height[: self.n_topics] = 1
        while True:
            higher = height.copy()
            np.maximum.at(higher, self.parent, height[self.child] + 1)
            if (higher == height).all():
                break
            height = higher
        self.height = height

    def layers(self):
        """Topics of each layer, the lowest first."""
        heights = self.height[: self.n_topics]
        return [np.flatnonzero(heights == h) for h in range(1, heights.max() + 1)]

    def marginals(self, topics):
        """P(node on) for all nodes: as it is, and given that one of `topics` was switched on, a column each.

        Probabilities go down the graph as if the parents of a node were independent: P(off) = exp(-leak) times, for each
        parent, 1 - P(parent on) (1 - exp(-weight)).
        """
        on = np.zeros((self.n_nodes, len(topics) + 1))
        fixed = np.zeros((self.n_nodes, len(topics) + 1), bool)
        fixed[topics, np.arange(1, len(topics) + 1)] = True
        strength = -np.expm1(-self.weight)
        for h in range(self.height.max(), -1, -1):
            nodes = np.flatnonzero(self.height == h)
            edges = np.flatnonzero(self.height[self.child] == h)
            off = np.repeat(-self.leak[nodes][:, None], on.shape[1], axis=1)
            if len(edges):
                place = np.zeros(self.n_nodes, int)
                place[nodes] = np.arange(len(nodes))
                into = sp.csr_matrix(
                    (np.ones(len(edges)), (place[self.child[edges]], np.arange(len(edges)))), shape=(len(nodes), len(edges))
                )
                for at in range(0, on.shape[1], 64):
                    part = on[self.parent[edges], at : at + 64]
                    off[:, at : at + 64] += into @ np.log1p(-np.minimum(part * strength[edges, None], 1 - 1e-12))
            on[nodes] = np.where(fixed[nodes], 1.0, -np.expm1(off))
        return on[:, 0], on[:, 1:]

    def top_words(self, topics, rank):
        """The words that each topic, switched on, changes most; by number in `self.tokens`."""
        base, given = self.marginals(topics)
        base, given = base[self.n_topics :, None], given[self.n_topics :]
        return ranked(base, given, rank, True)


def ranked(base, given, rank, is_set):
    """The numbers of the TOP words of each column of `given`, best first.

    `p`: those it brings, by P(word | topic), of which a model of sets of words (`is_set`) takes off P(word), what comes
    without it. `kl`: P(word | topic) log(P(word | topic) / P(word)), a word's share of the divergence: rarer, more telling words.
    """
    if rank == "p":
        score = given - base if is_set else given
    else:
        score = np.where(given > base, given * np.log(np.maximum(given, 1e-30) / np.maximum(base, 1e-30)), 0)
    return np.argsort(-score, axis=0, kind="stable")[:TOP].T


# --------------------------------------------------------------------------------------------------------- measures


def npmi(top, words):
    """Mean NPMI of all pairs of each row of `top`, by co-occurrence in the documents `words`; -1 for words never seen together."""
    n = words.shape[0]
    used, place = np.unique(top, return_inverse=True)
    place = place.reshape(top.shape)
    part = words[:, used].tocsc()
    together = (part.T @ part).tocsr()
    alone = together.diagonal()
    first, second = np.triu_indices(top.shape[1], 1)
    scores = np.empty(len(top))
    for row, at in enumerate(place):
        a, b = at[first], at[second]
        joint = np.asarray(together[a, b]).ravel() / n
        with np.errstate(divide="ignore", invalid="ignore"):
            pair = np.log(joint * n * n / (alone[a] * alone[b])) / -np.log(joint)
        pair[joint == 0] = -1
        pair[joint == 1] = 1
        scores[row] = pair.mean()
    return scores


# ---------------------------------------------------------------------------------------------------------- noisyor


def row(name, **figures):
    return {"name": name, **figures}


def raw_words(train, test, say):
    say("raw words")
    return [row("raw words", **accuracy("words", train.words, train.labels, test.words, test.labels, say))]


def score_lda(train, test, n_topics, args, say):
    say(f"tomotopy LDA, {n_topics} topics, {args.iterations} iterations")
    theta, test_theta, phi, weight, figures = lda(
        train.words, test.words, n_topics, args.iterations, args.threads, args.seed, say
    )
    base = (weight / weight.sum()) @ phi
    for rank in ("p", "kl"):
        figures["npmi_" + rank] = float(npmi(ranked(base[:, None], phi.T, rank, False), test.words).mean())
    say(f"  NPMI {figures['npmi_p']:.4f}, by share of the divergence {figures['npmi_kl']:.4f}")
    figures |= accuracy("theta", theta, train.labels, test_theta, test.labels, say)
    return [row(f"tomotopy LDA, {n_topics} topics", **figures)]


def score_noisyor(train, test, parts, args, say):
    folder = os.path.join(args.work, "run")
    shutil.rmtree(folder, ignore_errors=True)
    common = ["--threads", str(args.threads)]
    backend = ["--backend", args.backend]
    command = [args.noisyor, "train", parts[0], "-o", folder, "--json", *shlex.split(args.train_args)]
    _, seconds, cpu = run(command + common + backend, say)
    say(f"  graph and training took {seconds:.1f} s ({cpu:.1f} CPU-seconds)")
    model_file = os.path.join(folder, "model.safetensors")
    model, q, figures = Model(model_file), [], {}
    for part, path in zip(("train", "test"), parts):
        output = os.path.join(args.work, f"q-{part}.npz")
        command = [args.noisyor, "infer", model_file, path, "-o", output, "--threshold", str(LEAST_Q), "--quiet"]
        _, infer_seconds, infer_cpu = run(command + shlex.split(args.infer_args) + common + backend, say)
        q.append(sp.load_npz(output).tocsc())
    figures = {
        "train_seconds": seconds,
        "train_cpu": cpu,
        "infer_seconds": infer_seconds,
        "infer_cpu": infer_cpu,
        "infer_docs": len(test.labels),
    }
    if model.tokens != test.names:
        raise Failed(f"{model_file} has other words than the corpus; learn its graph from the training part")
    rows = []
    for height, topics in enumerate(model.layers(), 1):
        if len(topics) > args.most_topics:
            say(f"layer {height}: {len(topics)} topics, more than --most-topics {args.most_topics}: left out")
            continue
        mean_on = float(q[0][:, topics].sum() / q[0].shape[0])
        say(f"layer {height}: {len(topics)} topics, {mean_on:.2f} on in a document")
        figures = dict(figures)
        for rank in ("p", "kl"):
            figures["npmi_" + rank] = float(npmi(model.top_words(topics, rank), test.words).mean())
        say(f"  NPMI {figures['npmi_p']:.4f}, by share of the divergence {figures['npmi_kl']:.4f}")
        parts_q = [part[:, topics].tocsr() for part in q]
        figures |= accuracy("q", parts_q[0], train.labels, parts_q[1], test.labels, say)
        rows.append(row(f"noisyor, layer {height}: {len(topics)} topics", **figures))
    return rows


# ------------------------------------------------------------------------------------------------------------ table


def table(rows):
    def cell(form, *values):
        return form.format(*values) if all(value is not None for value in values) else ""

    lines = [
        "| | training, s (CPU-s) | inference, documents/s (per CPU-s) | accuracy of the labels | features | NPMI "
        "| NPMI, telling words |",
        "|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        get = r.get
        rates = [get("infer_docs") and get("infer_docs") / max(get(key), 1e-9) for key in ("infer_seconds", "infer_cpu")]
        cells = [
            r["name"],
            cell("{:.0f} ({:.0f})", get("train_seconds"), get("train_cpu")),
            cell("{:,.0f} ({:,.0f})", *rates),
            cell("{:.3f}", get("accuracy")),
            cell("{}", get("form")),
            cell("{:.3f}", get("npmi_p")),
            cell("{:.3f}", get("npmi_kl")),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


TRAIN_ARGS = "--topics 370,123 --max-edges 90000 --epochs 10"


def arguments():
    parser = argparse.ArgumentParser(prog="topic-quality.sh", description=__doc__.split("\n")[0])
    parser.add_argument("data", help="documents with labels: a file that `noisyor corpus` reads")
    parser.add_argument("--corpus-args", default=CORPUS_ARGS, help="how to read them [%(default)s]")
    parser.add_argument("--train-args", default=TRAIN_ARGS, help="arguments of `noisyor train` [%(default)s]")
    parser.add_argument("--infer-args", default="", help="arguments of `noisyor infer`")
    parser.add_argument("--most-topics", type=int, default=400, help="layers with more topics are not scored [%(default)s]")
    parser.add_argument("--lda-topics", default="123,400", help="sizes of LDA [%(default)s]")
    parser.add_argument("--iterations", type=int, default=300, help="iterations of LDA [%(default)s]")
    parser.add_argument("--skip-lda", action="store_true", help="leave LDA out")
    parser.add_argument("--skip-words", action="store_true", help="leave raw words out")
    parser.add_argument("--skip-noisyor", action="store_true", help="leave noisyor out")
    parser.add_argument("--test", type=float, default=0.3, help="share of the documents to test on [%(default)s]")
    parser.add_argument("--seed", type=int, default=1, help="seed of the split and of LDA [%(default)s]")
    parser.add_argument("--threads", type=int, default=2, help="threads of every system [%(default)s]")
    parser.add_argument("--backend", default="cpu", help="noisyor's backend [%(default)s]")
    parser.add_argument("--work", default="target/topic-quality", help="folder for what is made on the way [%(default)s]")
    parser.add_argument("--noisyor", default="target/release/noisyor", help="the program [%(default)s]")
    return parser.parse_args()


def main():
    args = arguments()
    begun = time.time()

    def say(text):
        print(f"[{time.time() - begun:6.0f} s] {text}", file=sys.stderr, flush=True)

    if not os.path.isfile(args.data):
        raise Failed(f"{args.data}: no such file; give a file with labelled documents")
    os.makedirs(args.work, exist_ok=True)
    corpus, split = os.path.join(args.work, "all.corpus"), os.path.join(args.work, "split")
    run([args.noisyor, "corpus", args.data, *shlex.split(args.corpus_args), "-o", corpus, "--quiet"], say)
    shutil.rmtree(split, ignore_errors=True)
    run([args.noisyor, "corpus", "split", corpus, "--test", str(args.test), "--seed", str(args.seed), "-o", split, "--quiet"], say)
    parts = [os.path.join(split, name + ".corpus") for name in ("train", "test")]
    train, test = (Corpus(part) for part in parts)
    n_labels, n_words = len(set(train.labels)), len(train.names)
    say(f"{len(train.labels)} documents to train on, {len(test.labels)} to test, {n_labels} labels, {n_words} words")
    rows = []
    if not args.skip_noisyor:
        rows += score_noisyor(train, test, parts, args, say)
    if not args.skip_words:
        rows += raw_words(train, test, say)
    if not args.skip_lda:
        for n_topics in args.lda_topics.split(","):
            rows += score_lda(train, test, int(n_topics), args, say)
    with open(os.path.join(args.work, "figures.json"), "w") as file:
        json.dump(rows, file, indent=1)
    print(table(rows))
    if not args.skip_noisyor:
        print(f"\n```sh\nnoisyor train train.corpus {args.train_args} -o run")
        print("noisyor infer run/model.safetensors test.corpus -o q.npz\n```")


if __name__ == "__main__":
    try:
        main()
    except Failed as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
