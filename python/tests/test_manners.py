"""The interpreter while the library works: Ctrl-C, threads, forks, memory, messages."""

import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from joblib import Parallel, delayed

from conftest import make_token_lists
from noisyor import Corpus, Model, NoisyOr, _core
from noisyor._listener import n_threads

PATIENCE = 120  # seconds until a test gives up: a hang, not slowness


def small(**params) -> NoisyOr:
    return NoisyOr(**{"topics": 4, "max_epochs": 2, **params})


def test_indices_of_32_bits_are_read_where_they_lie(matrix):
    X = matrix[0].copy()
    assert X.indices.dtype == np.int32
    corpus = _core.Corpus.from_csr(X.indptr, X.indices, X.shape[1])
    first = corpus.tokens(0)
    X.indices[0] = first[0] + 1 if first[0] + 1 not in first else first[0]
    moved = corpus.tokens(0)
    assert moved == X.indices[: X.indptr[1]].tolist() and (moved != first or X.indices[0] == first[0])
    # An array that nobody else has stays alive.
    indices = X.indices.copy()
    corpus = _core.Corpus.from_csr(X.indptr, indices, X.shape[1])
    expected = indices[: X.indptr[1]].tolist()
    del indices
    junk = [np.full(X.nnz, -1, dtype=np.int32) for _ in range(50)]
    assert corpus.tokens(0) == expected and len(junk) == 50


def test_arrays_that_do_not_belong_together_are_refused():
    def csr(indptr, indices, kind=np.int32):
        return _core.Corpus.from_csr(np.array(indptr, kind), np.array(indices, kind), 3)

    for kind in (np.int32, np.int64):
        for indptr, indices in [
            ([0, 2], [0]),
            ([0, 1], [3]),
            ([0, 1], [-1]),
            ([1, 1], [0]),
            ([0, -1, 1], [0]),
            ([], []),
        ]:
            with pytest.raises(ValueError):
                csr(indptr, indices, kind)
    with pytest.raises(ValueError):
        csr([0, 1], [2**32], np.int64)
    with pytest.raises(TypeError, match="int32 or int64"):
        csr([0, 1], [0], np.uint16)


def test_the_gil_is_released(token_lists):
    model = small().fit(token_lists).model_
    corpus = Corpus.from_tokens(make_token_lists(1000, 2) * 60)
    worker = threading.Thread(target=lambda: model.score_samples(corpus, n_jobs=1))
    worker.start()
    n_turns = 0
    while worker.is_alive():
        time.sleep(0.001)
        n_turns += 1
    # With the GIL held there would be one turn at the beginning and one at the end.
    assert n_turns > 5


INTERRUPTED = """
    import sys, warnings
    sys.path.insert(0, {tests!r})
    from conftest import make_token_lists
    from noisyor import NoisyOr, TrainingInterrupted
    told = lambda line: line["epoch"] >= 2 and print("trains", flush=True)
    estimator = NoisyOr(topics=4, max_epochs=10**9, early_stopping=False, callbacks=told, n_jobs=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(make_token_lists(2000, 3))
    assert any(issubclass(warning.category, TrainingInterrupted) for warning in caught), caught
    assert estimator.ended_ == "interrupted" and estimator.history_[-1]["epoch"] >= 2
    print("score", estimator.score(make_token_lists(10, 4)), flush=True)
"""


def test_ctrl_c_ends_training_with_the_model_so_far():
    script = textwrap.dedent(INTERRUPTED.format(tests=os.path.dirname(__file__)))
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        timer = threading.Timer(PATIENCE, child.kill)
        timer.start()
        assert child.stdout.readline() == "trains\n"
        child.send_signal(signal.SIGINT)
        out, err = child.communicate()
        timer.cancel()
    assert child.returncode == 0, err
    assert out.splitlines()[-1].startswith("score -"), out


def test_ctrl_c_in_work_without_a_result():
    script = textwrap.dedent(
        f"""
        import sys, threading, _thread
        sys.path.insert(0, {os.path.dirname(__file__)!r})
        from conftest import make_token_lists
        from noisyor import Corpus, NoisyOr
        model = NoisyOr(topics=4, max_epochs=1).fit(make_token_lists(200, 1)).model_
        corpus = Corpus.from_tokens(make_token_lists(1000, 2) * 2000)
        threading.Timer(0.2, _thread.interrupt_main).start()
        try:
            model.score_samples(corpus, n_jobs=1)
        except KeyboardInterrupt:
            print("stopped")
        """
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout == "stopped\n", done.stderr


def test_messages_go_to_the_logger(token_lists, caplog):
    with caplog.at_level(logging.DEBUG, logger="noisyor"):
        estimator = small().fit(token_lists)
        estimator.model_.infer([["ball", "unheard"]])
    messages = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert any(level == "INFO" and "300 documents, 4 topics" in message for level, message in messages)
    assert any(level == "WARNING" and "'unheard'" in message for level, message in messages)


def test_progress(token_lists, capsys, monkeypatch):
    small().fit(token_lists)
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err == ""
    small(verbose=1).fit(token_lists)
    assert "training" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    small(verbose=1).fit(token_lists)
    assert "epoch 2.00, tail bound" in capsys.readouterr().err


def test_threads_share_a_model(token_lists):
    estimator = small(n_jobs=2).fit(token_lists)
    expected = estimator.transform(token_lists)
    with ThreadPoolExecutor(4) as pool:
        for q in pool.map(lambda _: estimator.transform(token_lists), range(8)):
            assert np.array_equal(q, expected)
        models = list(pool.map(lambda _: small().fit(token_lists).model_, range(4)))
    assert all(model == estimator.model_ for model in models)


@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
def test_joblib(token_lists, backend):
    estimator = small().fit(token_lists)
    parts = Parallel(n_jobs=2, backend=backend)(delayed(estimator.transform)(token_lists[at::3]) for at in range(3))
    for at, part in enumerate(parts):
        assert np.array_equal(part, estimator.transform(token_lists[at::3]))


def _threads(n_jobs: int | None) -> int:
    return n_threads(n_jobs)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_workers_of_joblib_have_one_thread_each(backend):
    assert n_threads(None) == joblib.cpu_count() and n_threads(3) == 3
    assert Parallel(n_jobs=2, backend=backend)(delayed(_threads)(n_jobs) for n_jobs in (None, None)) == [1, 1]


def _in_child(estimator: NoisyOr, documents: list[list[str]], answers) -> None:
    answers.put((estimator.transform(documents), small(n_jobs=2).fit(documents).model_.fingerprint))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_workers_that_were_forked(token_lists, start):
    """A forked process has none of its parent's threads; work for them would never end."""
    estimator = small(n_jobs=2).fit(token_lists)
    expected = estimator.transform(token_lists)
    context = multiprocessing.get_context(start)
    answers = context.Queue()
    workers = [context.Process(target=_in_child, args=(estimator, token_lists, answers)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for _ in workers:
        q, fingerprint = answers.get(timeout=PATIENCE)
        assert np.array_equal(q, expected) and fingerprint == estimator.model_.fingerprint
    for worker in workers:
        worker.join(PATIENCE)
        assert worker.exitcode == 0
    # The parent goes on, too.
    assert np.array_equal(estimator.transform(token_lists), expected)


def test_a_process_that_ends_while_it_trains():
    """Daemon threads die with the interpreter; nothing hangs."""
    script = textwrap.dedent(
        f"""
        import sys, threading, time
        sys.path.insert(0, {os.path.dirname(__file__)!r})
        from conftest import make_token_lists
        from noisyor import NoisyOr
        documents = make_token_lists(2000, 3)
        fit = lambda: NoisyOr(topics=4, max_epochs=10**9, early_stopping=False, n_jobs=1).fit(documents)
        threading.Thread(target=fit, daemon=True).start()
        time.sleep(0.5)
        print("ends")
        """
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0 and done.stdout == "ends\n", done.stderr


def test_models_are_safe_to_share():
    model = Model.from_edges([("a", "x", 0.5)])
    with pytest.raises(AttributeError):
        model._core.n_topics = 3
