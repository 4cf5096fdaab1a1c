"""What topic_quality.py and compare_models.py share: corpora, running noisyor, the classifier of the labels, LDA."""

import resource
import shlex
import subprocess
import time

import numpy as np
import scipy.sparse as sp

# How `noisyor corpus` reads a table with ids, labels and texts in its first three columns.
CORPUS_ARGS = "--id-column 1 --label-column 2 --text-column 3 --max-vocab 10000"
# Probabilities are known to this: below it noisyor's are not written, and logarithms have no use for less.
LEAST_Q = 1e-3


class Failed(Exception):
    pass


def run(command, say):
    """Runs a command; its standard output, seconds and CPU-seconds. Its standard error is passed on."""
    say("$ " + shlex.join(command))
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    except OSError as error:
        raise Failed(f"{command[0]}: {error.strerror}") from error
    if done.returncode != 0:
        raise Failed(f"`{shlex.join(command)}` ended with status {done.returncode}; its message is above")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout, time.time() - begun, cpu


class Corpus:
    """A native corpus (.corpus): words by document, labels, names of the words."""

    def __init__(self, path, labelled=True):
        data = np.memmap(path, dtype=np.uint8, mode="r")
        if len(data) < 248 or bytes(data[:8]) != b"noisyorC":
            raise Failed(f"{path}: not a native corpus of noisyor")
        version, n_tokens = (int(x) for x in data[8:16].view("<u4"))
        if version != 1:
            raise Failed(f"{path}: version {version} of the format is not known here")
        n_docs = int(data[16:24].view("<u8")[0])
        places = data[48:240].view("<u8").reshape(8, 3)

        def section(at, dtype):
            begin, length = int(places[at, 0]), int(places[at, 1])
            return np.array(data[begin : begin + length]).view(dtype)

        def strings(at):
            ends, text = section(at, "<u8"), section(at + 1, np.uint8).tobytes()
            begins = np.concatenate([[0], ends[:-1]]).astype(int) if len(ends) else []
            return [text[a:b].decode() for a, b in zip(begins, ends.astype(int))]

        tokens = section(0, "<u4").astype(np.int32)
        ends = section(1, "<u8").astype(np.int64)
        self.words = sp.csr_matrix(
            (np.ones(len(tokens), np.float32), tokens, np.concatenate([[0], ends])), shape=(n_docs, n_tokens)
        )
        self.labels = np.array(strings(4))
        self.names = strings(6)
        if labelled and len(self.labels) == 0:
            raise Failed(f"{path}: the documents have no labels; give `noisyor corpus` a --label-column")


def prepare(kind, form, train, test, floor):
    """Features of the training and the test part in one of their forms; logarithms are of `floor` at least."""
    if kind == "words":
        if form == "binary":
            return train, test
        idf = np.log((1 + train.shape[0]) / (1 + np.asarray(train.sum(0)).ravel())) + 1
        scaled = [part @ sp.diags(idf) for part in (train, test)]
        return [sp.diags(1 / np.maximum(np.sqrt(np.asarray(p.multiply(p).sum(1)).ravel()), 1e-9)) @ p for p in scaled]
    dense = [np.asarray(p.todense() if sp.issparse(p) else p, dtype=np.float64) for p in (train, test)]
    if form == "log-odds":
        dense = [np.log((p + floor) / (1 - p + floor)) for p in dense]
    elif form == "log":
        dense = [np.log(p + floor) for p in dense]
    mean, scale = dense[0].mean(0), np.maximum(dense[0].std(0), 1e-6)
    return [(p - mean) / scale for p in dense]


# Features up to which a Hessian is small.
FEW = 300


class LinearSvm:
    """Linear SVMs, one label against the rest, squared hinge: what scikit-learn's LinearSVC minimises, for all labels at once."""

    def __init__(self, penalty, iterations=100):
        self.penalty, self.iterations = penalty, iterations

    @staticmethod
    def with_one(features):
        if sp.issparse(features):
            return sp.hstack([features, np.ones((features.shape[0], 1))], format="csr").astype(np.float32)
        return np.hstack([features, np.ones((features.shape[0], 1))]).astype(np.float32)

    def fit(self, features, labels):
        from scipy.optimize import minimize

        features = self.with_one(features)
        if not sp.issparse(features) and features.shape[1] <= FEW:
            return self.fit_few(features.astype(np.float64), labels)
        transposed = features.T.tocsr() if sp.issparse(features) else features.T
        self.labels, number = np.unique(labels, return_inverse=True)
        sign = np.full((features.shape[0], len(self.labels)), -1, np.float32)
        sign[np.arange(len(number)), number] = 1
        shape = (features.shape[1], len(self.labels))

        def objective(flat):
            weights = flat.reshape(shape).astype(np.float32)
            miss = np.maximum(1 - sign * (features @ weights), 0)
            value = 0.5 * float(flat @ flat) + self.penalty * float((miss * miss).sum(dtype=np.float64))
            slope = weights - 2 * self.penalty * (transposed @ (miss * sign))
            return value, slope.astype(np.float64).ravel()

        options = {"maxiter": self.iterations, "maxcor": 10, "ftol": 1e-6}
        self.weights = minimize(objective, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options=options).x
        self.weights = self.weights.reshape(shape).astype(np.float32)
        return self

    def fit_few(self, features, labels):
        """The same minimum by Newton's method, label by label: a system of a few equations a step, and few steps."""
        self.labels, number = np.unique(labels, return_inverse=True)
        weights = [self.newton(features, np.where(number == label, 1.0, -1.0)) for label in range(len(self.labels))]
        self.weights = np.array(weights).T.astype(np.float32)
        return self

    def newton(self, features, sign):
        def value(weights):
            return 0.5 * weights @ weights + self.penalty * (np.maximum(1 - sign * (features @ weights), 0) ** 2).sum()

        weights, now = np.zeros(features.shape[1]), np.inf
        for _ in range(self.iterations):
            miss = 1 - sign * (features @ weights)
            active = features[miss > 0]
            slope = weights - 2 * self.penalty * active.T @ (sign * miss)[miss > 0]
            step = np.linalg.solve(np.eye(len(weights)) + 2 * self.penalty * active.T @ active, slope)
            length, before = 1.0, value(weights) if now == np.inf else now
            while (now := value(weights - length * step)) > before - 1e-4 * length * (slope @ step) and length > 1e-6:
                length /= 2
            weights = weights - length * step
            if before - now <= 1e-9 * abs(before):
                break
        return weights

    def score(self, features, labels):
        return float((self.labels[(self.with_one(features) @ self.weights).argmax(1)] == labels).mean())


PENALTIES = (0.001, 0.01, 0.1, 1.0, 10.0)
FORMS = {"words": ("binary", "tf-idf"), "q": ("plain", "log-odds"), "theta": ("plain", "log"), "logarithms": ("plain",)}


def accuracy(kind, train, train_labels, test, test_labels, say, floor=LEAST_Q):
    """Share of the test documents whose label a linear SVM gets right, with the form of the features and the C that it chose.

    Both are chosen within the training part, on a fifth of it that the SVM does not see.
    """
    order = np.random.default_rng(0).permutation(len(train_labels))
    n_held = min(len(order) // 5, 6000)
    held, fit = order[:n_held], order[n_held : n_held + 15000]
    best = (-1.0, "", 0.0)
    for form in FORMS[kind]:
        features, _ = prepare(kind, form, train, test[:1], floor)
        last = -1.0
        for penalty in PENALTIES:
            right = LinearSvm(penalty).fit(features[fit], train_labels[fit]).score(features[held], train_labels[held])
            say(f"  {form}, C = {penalty}: {right:.4f} on held-out training documents")
            best = max(best, (right, form, penalty))
            if right < last - 0.002:
                break
            last = right
    _, form, penalty = best
    features, test_features = prepare(kind, form, train, test, floor)
    right = LinearSvm(penalty, 200).fit(features, train_labels).score(test_features, test_labels)
    say(f"  accuracy {right:.4f} on the test part ({form}, C = {penalty})")
    return {"accuracy": right, "form": form, "C": penalty}


# -------------------------------------------------------------------------------------------------------------- LDA


def cpu_seconds():
    use = resource.getrusage(resource.RUSAGE_SELF)
    return use.ru_utime + use.ru_stime


def lda(train, test, n_topics, iterations, threads, seed, say):
    """Trains LDA and infers the test documents; what came out and how long it took."""
    import tomotopy as tp

    model = tp.LDAModel(k=n_topics, seed=seed)
    # Numbers as words: tomotopy leaves nothing out, and the order of its vocabulary is undone below.
    for row in range(train.shape[0]):
        tokens = train.indices[train.indptr[row] : train.indptr[row + 1]]
        model.add_doc([str(t) for t in tokens] or ["-1"])
    begun, cpu = time.time(), cpu_seconds()
    for done in range(0, iterations, 50):
        model.train(min(50, iterations - done), workers=threads)
        say(f"  LDA, {n_topics} topics: {min(done + 50, iterations)} of {iterations} iterations, {time.time() - begun:.0f} s")
    train_seconds, train_cpu = time.time() - begun, cpu_seconds() - cpu
    theta_train = np.array([doc.get_topic_dist() for doc in model.docs], np.float32)
    say("  inferring the test documents")
    begun, cpu = time.time(), cpu_seconds()
    docs = []
    for row in range(test.shape[0]):
        tokens = test.indices[test.indptr[row] : test.indptr[row + 1]]
        docs.append(model.make_doc([str(t) for t in tokens] or ["-1"]))
    theta_test, _ = model.infer(docs, workers=threads, together=False)
    infer_seconds, infer_cpu = time.time() - begun, cpu_seconds() - cpu
    phi = np.zeros((n_topics, train.shape[1]))
    columns = np.array([int(w) for w in model.used_vocabs])
    for topic in range(n_topics):
        phi[topic, columns[columns >= 0]] = model.get_topic_word_dist(topic)[columns >= 0]
    weight = np.array(model.get_count_by_topics(), float)
    figures = {
        "train_seconds": train_seconds,
        "train_cpu": train_cpu,
        "infer_seconds": infer_seconds,
        "infer_cpu": infer_cpu,
        "infer_docs": test.shape[0],
    }
    return theta_train, np.array(theta_test, np.float32), phi, weight, figures
