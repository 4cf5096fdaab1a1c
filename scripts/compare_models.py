#!/usr/bin/env python3
"""How good is noisyor as a model of documents? Held-out likelihood, cost and labels beside simpler models and published figures.

Called by scripts/compare-models.sh, which makes the Python environment and builds noisyor. All models get the same documents: they
are fitted to the training part, choose by the validation part, and are judged by the test part. Rows of a Markdown table go to
standard output as they come, the rest to standard error.
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
from side_by_side import CORPUS_ARGS, Corpus, Failed, accuracy, cpu_seconds, lda, run

PARTS = ("train", "valid", "test")
TEST_SHARE = "0.3"
# Sets with labels, which are split by seed. The others have parts of their own.
LABELLED = ("debian", "tiny20")
SETS = (*LABELLED, "bbc", "baudio", "plants")

# Nats a document of the test part, as others report them: model, figure, what it is.
PUBLISHED = {
    "tiny20": [
        ("Ji et al. 2019, VI", -14.50, "bound"),
        ("Dedieu et al. 2023, max-product then VI", -14.34, "bound"),
    ],
    "bbc": [
        ("LearnSPN", -250.69, "exact"),
        ("ID-SPN", -248.93, "exact"),
        ("CVB-SPN", -251.23, "exact"),
        ("best known, EXPC ensemble", -237.96, "exact"),
    ],
    "baudio": [
        ("LearnSPN", -40.50, "exact"),
        ("ID-SPN", -39.79, "exact"),
        ("CVB-SPN", -40.36, "exact"),
        ("best known, VAE", -38.67, "bound"),
    ],
    "plants": [
        ("LearnSPN", -12.99, "exact"),
        ("ID-SPN", -12.54, "exact"),
        ("CVB-SPN", -12.86, "exact"),
        ("best known", -11.99, ""),
    ],
}

# Labels are guessed from log-odds of probabilities of this at least: unlikely topics tell much. Chosen on held-out training documents
# of Debian, seed 3: 0.632 of the labels are right with 1e-6, 0.679 with 1e-12.
FLOOR = 1e-12
# Documents whose likelihood is estimated by sampling, and the samples of each.
SAMPLED_DOCS, SAMPLES = 500, 5
# Pseudo-documents of a component among which the validation part chooses.
SMOOTHINGS = (1, 5, 20, 80)


# ------------------------------------------------------------------------------------------------------------ table


class Table:
    """A Markdown table on standard output and a file with JSON lines, which grow by a row at a time."""

    COLUMNS = {
        "set": ("set", "{}"),
        "seed": ("seed", "{}"),
        "model": ("model", "{}"),
        "nats": ("held-out nats a document", "{:.3f}"),
        "what": ("what it is", "{}"),
        "train_cpu": ("training, CPU-s", "{:,.1f}"),
        "docs_per_cpu": ("inference, documents per CPU-s", "{:,.0f}"),
        "accuracy": ("accuracy of the labels", "{:.3f}"),
    }
    NOTES = """
- *Bound*: a lower bound of the log-likelihood; *estimate*: by sampling; *exact*: the log-likelihood.
- Published figures are the papers' own; those of tiny20 have splits of their own.
- Labels: a linear SVM fitted to the training part; C is chosen on a fifth of it. So is the form of the features: probabilities
  of all topics or their log-odds (noisyor), shares or their logarithms (LDA), words as they are or with tf-idf. Mixtures have
  the logarithms of their responsibilities.
- LDA is a model of how often words occur, not of which do: it has no likelihood to compare.
- CPU-seconds of noisyor are those of the whole program: reading, choosing the size, writing."""

    def __init__(self, path):
        self.file = open(path, "w")
        self.line(head for head, _ in self.COLUMNS.values())
        self.line("---" for _ in self.COLUMNS)

    @staticmethod
    def line(cells):
        print("| " + " | ".join(cells) + " |", flush=True)

    def row(self, **figures):
        """Adds a row. Figures without a column go to the file alone."""
        values = ((figures.get(key), form) for key, (_, form) in self.COLUMNS.items())
        self.line("" if value is None else form.format(value) for value, form in values)
        print(json.dumps(figures), file=self.file, flush=True)


# ------------------------------------------------------------------------------------------------------------- sets


def sources(data, name):
    """The files of a set, by part, and the arguments with which `noisyor corpus` reads them."""
    if name == "debian":
        return {"all": f"{data}/debian/packages.tsv.gz"}, shlex.split(CORPUS_ARGS)
    if name == "tiny20":
        return {"all": f"{data}/tiny20/tiny20.svm.gz"}, ["--vocab", f"{data}/tiny20/vocab.txt"]
    return {part: f"{data}/debd/{name}.{part}.csv.gz" for part in PARTS}, ["--format", "dense"]


def read(name, args, say):
    """Makes native corpora of a set's files; their paths by part."""
    folder = os.path.join(args.work, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    files, reading = sources(args.data, name)
    paths = {part: os.path.join(folder, part + ".corpus") for part in files}
    for part, file in files.items():
        run([args.noisyor, "corpus", file, *reading, "-o", paths[part], "--quiet", "--json"], say)
    return paths


class Case:
    """One set with one seed: its documents, and where its rows go."""

    def __init__(self, name, seed, paths, args, table, say):
        self.name, self.seed, self.args, self.table, self.say = name, seed, args, table, say
        self.folder = os.path.join(args.work, name, f"seed-{seed}")
        os.makedirs(self.folder)
        self.whole = paths.get("all")
        if self.whole:
            shares = ["--valid", "0.1", "--test", TEST_SHARE, "--seed", str(seed)]
            run([args.noisyor, "corpus", "split", self.whole, *shares, "-o", self.folder, "--quiet"], say)
            paths = {part: os.path.join(self.folder, part + ".corpus") for part in PARTS}
        self.paths = paths
        self.is_classified = name in LABELLED and not args.skip_classification
        self.train, self.valid, self.test = (Corpus(paths[part], labelled=self.is_classified) for part in PARTS)
        self.n_train, self.n_valid, self.n_test = (part.words.shape[0] for part in (self.train, self.valid, self.test))
        say(f"{self.n_train} documents to train on, {self.n_valid} to choose by, {self.n_test} to test")
        if 0 in (self.n_train, self.n_valid, self.n_test):
            raise Failed("a part has no documents; give complete data")

    def base(self):
        """Frequencies of the tokens, as noisyor takes them for independent words: 0.1 documents from none and from all at least."""
        least = 0.1 / self.n_train
        return np.clip(frequencies(self.train), least, 1 - least)

    def row(self, model, **figures):
        self.table.row(set=self.name, seed=self.seed, model=model, **figures)

    def accuracy(self, kind, features):
        """Figures of a row: how well `features(part)` tell the labels; none where there are no labels, or nobody asks."""
        if not self.is_classified:
            return {}
        of_train, of_test = features("train"), features("test")
        return accuracy(kind, of_train, self.train.labels, of_test, self.test.labels, self.say, FLOOR)

    def noisyor(self, command, *rest):
        """Runs noisyor; the figures that it prints, and its CPU-seconds."""
        common = ["--threads", str(self.args.threads), "--backend", "cpu", "--quiet", "--json"]
        printed, _, cpu = run([self.args.noisyor, command, *rest, *common], self.say)
        try:
            return json.loads(printed), cpu
        except ValueError as error:
            raise Failed(f"`noisyor {command}` printed no JSON; is {self.args.noisyor} the right program?") from error


def frequencies(corpus):
    return np.asarray(corpus.words.mean(0, dtype=np.float64)).ravel()


# ----------------------------------------------------------------------------------------------------------- models


def independent(case):
    base, held = case.base(), frequencies(case.test)
    nats = held @ np.log(base) + (1 - held) @ np.log1p(-base)
    case.row("independent tokens", nats=float(nats), what="exact")


class Mixture:
    """A mixture of Bernoullis, from the documents of each component (`sizes`) and how many of those hold each token (`sums`).

    It is smoothed by `n_pseudo` documents a component that hold tokens at their base rates; shares, by one document each.
    """

    BLOCK = 4096

    def __init__(self, sizes, sums, base, n_pseudo):
        # Sums are of 32 bit, and may be more than documents by a rounding.
        on = (np.minimum(sums, sizes) + n_pseudo * base[:, None]) / (sizes + n_pseudo)
        off = np.log1p(-on)
        self.logit = (np.log(on) - off).astype(np.float32)
        self.constant = (np.log((sizes + 1) / (sizes + 1).sum()) + off.sum(0)).astype(np.float32)

    def blocks(self, words):
        """Documents a block at a time, with logarithms of responsibilities, and the documents' log-likelihoods."""
        for at in range(0, words.shape[0], self.BLOCK):
            block = words[at : at + self.BLOCK]
            joint = block @ self.logit + self.constant
            most = joint.max(1, keepdims=True)
            nats = most + np.log(np.exp(joint - most).sum(1, keepdims=True))
            yield block, joint - nats, nats.astype(np.float64).ravel()

    def apply(self, words):
        """Logarithms of responsibilities for all documents, and their mean log-likelihood."""
        _, logs, nats = zip(*self.blocks(words))
        return np.concatenate(logs), float(np.concatenate(nats).mean())


def fit_mixture(case, n_components):
    """EM from random training documents; then the smoothing that the validation part is most likely with, and the mixture.

    EM is smoothed by 20 pseudo-documents at first, so that components differ little, and then by 5: with 20 throughout most
    components die out in small sets. A fit for each smoothing gains little over one fit that is smoothed anew.
    """
    words, base, rng = case.train.words, case.base(), np.random.default_rng(case.seed)
    # Documents count differently: components that begin with identical ones would stay identical.
    sizes = rng.uniform(0.5, 1.5, n_components)
    sums = words[rng.choice(case.n_train, n_components, replace=False)].T.toarray() * sizes
    for iteration in range(case.args.iterations):
        mixture = Mixture(sizes, sums, base, 5 if iteration else 20)
        sizes, sums, nats = np.zeros(n_components), np.zeros(sums.shape), 0.0
        for block, logs, block_nats in mixture.blocks(words):
            share = np.exp(logs)
            sizes += share.sum(0, dtype=np.float64)
            sums += block.T @ share
            nats += block_nats.sum()
        if (iteration + 1) % 10 == 0:
            mean = nats / case.n_train
            case.say(f"  {iteration + 1} of {case.args.iterations} iterations: {mean:.3f} nats a training document")
    best = (-np.inf, None, None)
    for n_pseudo in SMOOTHINGS:
        mixture = Mixture(sizes, sums, base, n_pseudo)
        nats = mixture.apply(case.valid.words)[1]
        case.say(f"  smoothed by {n_pseudo} documents: {nats:.3f} nats a validation document")
        best = max(best, (nats, n_pseudo, mixture), key=lambda choice: choice[0])
    return best[1:]


def score_mixture(case, n_components):
    if n_components > case.n_train / 4:
        case.say(f"  left out: more components than a fourth of the {case.n_train} training documents")
        return
    cpu = cpu_seconds()
    n_pseudo, mixture = fit_mixture(case, n_components)
    train_cpu, cpu = cpu_seconds() - cpu, cpu_seconds()
    _, nats = mixture.apply(case.test.words)
    figures = {"train_cpu": train_cpu, "docs_per_cpu": case.n_test / max(cpu_seconds() - cpu, 1e-9), "pseudo_docs": n_pseudo}
    figures |= case.accuracy("logarithms", lambda part: mixture.apply(getattr(case, part).words)[0])
    case.row(f"mixture of {n_components} Bernoullis", nats=nats, what="exact", **figures)


def train_noisyor(case):
    """Trains on the training part with everything default; what `train` prints, and its CPU-seconds."""
    documents = [case.whole, "--test", TEST_SHARE] if case.whole else [case.paths["train"]]
    options = ["--seed", str(case.seed), "--effort", case.args.effort, "-o", os.path.join(case.folder, "run")]
    return case.noisyor("train", *documents, *options)


def check_split(case, trained, bound):
    """Fails unless `train` has split the documents as `corpus split` did: as many, and the test part with this bound."""
    counts = trained["held_out_docs"], trained["test_docs"]
    if counts != (case.n_valid, case.n_test) or abs(trained["test_elbo"] - bound) > 1e-3:
        raise Failed(
            f"`train` and `corpus split` do not split alike: {counts} and {(case.n_valid, case.n_test)} documents held out, "
            f"bounds of the test part {trained['test_elbo']} and {bound}; take the program that these scripts came with"
        )


def score_noisyor(case):
    trained, train_cpu = train_noisyor(case)
    model, test = trained["model"], case.paths["test"]
    name = f"noisyor, {trained['topics']:,} topics, {trained['edges']:,} edges"
    bound = case.noisyor("eval", model, test)[0]["elbo_mean"]
    if case.whole:
        check_split(case, trained, bound)

    def probabilities(part):
        output = os.path.join(case.folder, f"q-{part}.npz")
        case.noisyor("infer", model, case.paths[part], "-o", output, "--threshold", "0")
        return sp.load_npz(output).tocsr()

    figures = {"train_cpu": train_cpu}
    try:
        _, infer_cpu = case.noisyor("infer", model, test, "-o", os.path.join(case.folder, "topics.npz"))
        figures["docs_per_cpu"] = case.n_test / infer_cpu
        figures |= case.accuracy("q", probabilities)
    finally:
        # What took long to train is told even if the rest fails.
        case.row(name, nats=bound, what="bound, mean field", **figures)
    # The rest is for networks that are smaller than Debian's.
    if case.name == "debian":
        return
    bound = case.noisyor("eval", model, test, "--clamp", "auto")[0]["elbo_mean"]
    case.row(name, nats=bound, what="bound, `--clamp auto`")
    if case.name == "tiny20":
        estimate_likelihood(case, model, name)


def estimate_likelihood(case, model, name):
    """A row for the first test documents, by sampling."""
    words, path = case.test.words[:SAMPLED_DOCS], os.path.join(case.folder, "first.jsonl")
    with open(path, "w") as file:
        for doc in range(words.shape[0]):
            tokens = words.indices[words.indptr[doc] : words.indptr[doc + 1]]
            print(json.dumps({"tokens": [case.test.names[token] for token in tokens]}), file=file)
    figures, _ = case.noisyor("eval", model, path, f"--likelihood={SAMPLES}")
    name += f", first {words.shape[0]} test documents (their bound {figures['elbo_mean']:.3f})"
    case.row(name, nats=figures["likelihood_mean"], what="estimate", se=figures["likelihood_se"], bound=figures["elbo_mean"])


def score_lda(case, n_topics):
    iterations, threads = case.args.lda_iterations, case.args.threads
    theta, test_theta, _, _, took = lda(case.train.words, case.test.words, n_topics, iterations, threads, case.seed, case.say)
    figures = {"train_cpu": took["train_cpu"], "docs_per_cpu": case.n_test / max(took["infer_cpu"], 1e-9)}
    figures |= case.accuracy("theta", {"train": theta, "test": test_theta}.get)
    case.row(f"tomotopy LDA, {n_topics} topics", **figures)


def score_words(case):
    case.row("raw words", **case.accuracy("words", lambda part: getattr(case, part).words))


def models(case):
    """What makes the rows of a case: a name and a function."""
    yield "independent tokens", lambda: independent(case)
    for n in case.args.mixtures:
        yield f"mixture of {n} Bernoullis", lambda n=n: score_mixture(case, n)
    yield "noisyor", lambda: score_noisyor(case)
    if case.is_classified:
        for n in case.args.lda:
            yield f"LDA, {n} topics", lambda n=n: score_lda(case, n)
        yield "raw words", lambda: score_words(case)


# ------------------------------------------------------------------------------------------------------------- main


def numbers(text):
    return [int(number) for number in text.split(",") if number]


def arguments():
    parser = argparse.ArgumentParser(prog="compare-models.sh", description=__doc__.split("\n")[0])
    parser.add_argument("data", help="folder with the sets: debian, tiny20 and debd")
    parser.add_argument("--sets", default=",".join(SETS), help="sets to compare on [%(default)s]")
    parser.add_argument("--seeds", type=numbers, default="3,4", help="seeds of splits and of training [%(default)s]")
    parser.add_argument("--effort", default="normal", help="noisyor's --effort [%(default)s]")
    parser.add_argument("--mixtures", type=numbers, default="100,400,1000", help="components of mixtures [%(default)s]")
    parser.add_argument("--iterations", type=int, default=40, help="EM iterations of mixtures [%(default)s]")
    parser.add_argument("--lda", type=numbers, default="123,400", help="topics of LDA on sets with labels [%(default)s]")
    parser.add_argument("--lda-iterations", type=int, default=300, help="iterations of LDA [%(default)s]")
    parser.add_argument("--skip-classification", action="store_true", help="leave out labels, and LDA and raw words with them")
    parser.add_argument("--threads", type=int, default=2, help="threads of noisyor and LDA [%(default)s]")
    parser.add_argument("--work", default="target/compare-models", help="folder for rows.jsonl and files on the way [%(default)s]")
    parser.add_argument("--noisyor", default="target/release/noisyor", help="the program [%(default)s]")
    args = parser.parse_args()
    args.sets = args.sets.split(",")
    for name in args.sets:
        if name not in SETS:
            parser.error(f"there is no set '{name}'; --sets takes some of {','.join(SETS)}")
        files, reading = sources(args.data, name)
        # Arguments with a slash are files, too.
        for file in [*files.values(), *reading]:
            if "/" in file and not os.path.isfile(file):
                parser.error(f"{file}: no such file; give the folder with all sets, or leave {name} out of --sets")
    if not args.seeds:
        parser.error("--seeds has no seed; give some, as in --seeds 3,4")
    if min([args.iterations, args.lda_iterations, args.threads, *args.mixtures, *args.lda]) < 1:
        parser.error("iterations, threads, components of mixtures and topics of LDA are numbers from 1")
    return args


def main():
    args = arguments()
    begun, failed = time.time(), []

    def say(text):
        print(f"[{time.time() - begun:6.0f} s] {text}", file=sys.stderr, flush=True)

    def attempt(what, work):
        """What `work` makes. If it fails, that is said, and the rest goes on without it."""
        say(what)
        try:
            return work()
        except (Failed, OSError, MemoryError) as error:
            failed.append(what)
            say(f"error: {what}: {str(error) or type(error).__name__}")

    os.makedirs(args.work, exist_ok=True)
    table = Table(os.path.join(args.work, "rows.jsonl"))
    for name in args.sets:
        paths = attempt(name, lambda: read(name, args, say))
        for seed in args.seeds if paths else ():
            what = f"{name}, seed {seed}"
            case = attempt(what, lambda: Case(name, seed, paths, args, table, say))
            for model, score in models(case) if case else ():
                attempt(f"{what}, {model}", score)
        for model, nats, kind in PUBLISHED.get(name, ()):
            table.row(set=name, model=model, nats=nats, what=", ".join(filter(None, ("published", kind))))
    print(Table.NOTES)
    if failed:
        raise Failed("figures are missing of " + "; ".join(failed) + ". What was wrong is said above")


if __name__ == "__main__":
    try:
        main()
    except Failed as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
