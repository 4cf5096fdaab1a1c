"""Time and memory of the Python package beside the program; see bench-python.sh."""

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from noisyor import Corpus, Model, NoisyOr

PROGRAM = os.environ["NOISYOR"]
REPEATS = 3
SHORT = 10  # tokens of a short document, at most
FIT_LIMIT = 1.10
MEMORY_LIMIT = 2.0
TRANSFORM_LIMIT = 1e6


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus")
    parser.add_argument("--topics", default="100,10")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument(
        "--rows", type=int, default=1_000_000, help="documents of the matrix for memory, and of transform"
    )
    parser.add_argument("--fit-of", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.fit_of:
        fit_in_a_process_of_its_own(Path(args.fit_of))
        return
    with tempfile.TemporaryDirectory() as folder:
        holds = measure(args, Path(folder))
    print("all within their limits" if all(holds) else "NOT within their limits")
    sys.exit(not all(holds))


def measure(args: argparse.Namespace, folder: Path) -> list[bool]:
    native = folder / "documents.corpus"
    corpus = Corpus.read(args.corpus)
    corpus.save(native)
    X = corpus.to_csr()
    print(f"{X.shape[0]:,} documents, {X.shape[1]:,} tokens, {X.nnz:,} entries, {os.cpu_count()} cores")

    # Fit: the program on the native corpus, Python on the matrix, in turns. The last ratio is of CPU time, which a busy machine leaves
    # as it is.
    topics = [int(size) for size in args.topics.split(",")]
    options = ["--topics", args.topics, "--epochs", str(args.epochs), "--patience", "0", "-q"]
    times: dict[str, list[tuple[float, float]]] = {"program": [], "python": []}
    for repeat in range(REPEATS):
        run = folder / f"run{repeat}"
        begin = clocks()
        subprocess.run([PROGRAM, "train", native, "-o", run, *options], check=True, stdout=subprocess.DEVNULL)
        times["program"].append(since(begin))
        estimator = NoisyOr(topics, max_epochs=args.epochs, early_stopping=False, vocabulary=corpus.token_names)
        begin = clocks()
        estimator.fit(X)
        times["python"].append(since(begin))
        assert estimator.model_.to_bytes() == (run / "model.safetensors").read_bytes(), "other bytes"
    for at, clock in enumerate(["wall", "CPU"]):
        program, python = (min(time[at] for time in times[name]) for name in ("program", "python"))
        print(
            f"fit, {clock} time: program {program:.2f} s, Python {python:.2f} s, ratio {python / program:.3f}; the same bytes"
        )

    # Transform of short documents.
    model, rows = estimator.model_, args.rows
    starts = X.indptr[:-1]
    lengths = np.minimum(np.diff(X.indptr), SHORT)
    within = np.arange(X.nnz) - np.repeat(starts, np.diff(X.indptr)) < SHORT
    short = sp.csr_matrix((X.data[within], X.indices[within], np.concatenate([[0], np.cumsum(lengths)])), shape=X.shape)
    short = sp.vstack([short] * -(-rows // short.shape[0]), format="csr")[:rows]
    estimator.set_params(sparse_output=True)
    begin = clocks()
    estimator.transform(short)
    wall, cpu = since(begin)
    per_minute = 60 * rows / wall
    print(
        f"transform: {per_minute:,.0f} documents of at most {SHORT} tokens a minute; {60 * rows / cpu:,.0f} a minute of CPU time"
    )

    # Memory of a fit of a large matrix, with the graph given: peak over what the process had with the matrix alone.
    model.save(folder / "model.safetensors")
    large = sp.vstack([X] * -(-rows // X.shape[0]), format="csr")[:rows].astype(np.float64)
    memory = 0.0
    for kind in (np.int32, np.int64):
        big = folder / "large"
        big.mkdir(exist_ok=True)
        np.save(big / "indptr.npy", large.indptr.astype(kind))
        np.save(big / "indices.npy", large.indices.astype(kind))
        np.save(big / "data.npy", large.data)
        told = subprocess.run(
            [sys.executable, __file__, args.corpus, "--fit-of", folder], check=True, capture_output=True, text=True
        )
        start, matrix, peak = (int(number) for number in told.stdout.split())
        ratio = (peak - start) / matrix
        print(
            f"memory of fit, {kind.__name__}: matrix {matrix / 1e6:,.0f} MB; peak {peak / 1e6:,.0f} MB, of which {start / 1e6:,.0f} MB "
            f"are the interpreter; without that {ratio:.2f} times the matrix"
        )
        memory = max(memory, ratio)

    # Ctrl-C.
    sent = []
    threading.Timer(2.0, lambda: (sent.append(time.perf_counter()), os.kill(os.getpid(), signal.SIGINT))).start()
    NoisyOr(graph=model, max_epochs=10**6, early_stopping=False, vocabulary=corpus.token_names).fit(X)
    stopped = time.perf_counter() - sent[0]
    print(f"Ctrl-C: fit returned after {stopped:.2f} s")
    return [python / program <= FIT_LIMIT, per_minute >= TRANSFORM_LIMIT, memory < MEMORY_LIMIT, stopped < 1.0]


def clocks() -> tuple[float, float]:
    """Wall time, and CPU time of this process and of those that ended below it."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return time.perf_counter(), sum(usage.ru_utime + usage.ru_stime for usage in used)


def since(begin: tuple[float, float]) -> tuple[float, float]:
    now = clocks()
    return now[0] - begin[0], now[1] - begin[1]


def fit_in_a_process_of_its_own(folder: Path) -> None:
    """Prints the memory of the process without the matrix, the bytes of the matrix, and the peak."""
    model = Model.load(folder / "model.safetensors")
    start = status("VmRSS")
    indptr, indices, data = (np.load(folder / "large" / f"{name}.npy") for name in ("indptr", "indices", "data"))
    X = sp.csr_array((len(indptr) - 1, model.n_tokens))
    # The constructor would narrow indices of 64 bits.
    X.data, X.indices, X.indptr = data, indices, indptr
    NoisyOr(graph=model, max_epochs=1, vocabulary=model.token_names).fit(X)
    print(start, X.data.nbytes + X.indices.nbytes + X.indptr.nbytes, status("VmHWM"))


def status(name: str) -> int:
    """A figure of this process in bytes: what it has, or had at most."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


if __name__ == "__main__":
    main()
