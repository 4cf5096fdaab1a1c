"""The estimator as scikit-learn uses it."""

import json

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator

from noisyor import Corpus, Model, NoisyOr, NoisyOrError, UsageError


def small(**params) -> NoisyOr:
    return NoisyOr(**{"topics": 4, "max_epochs": 4, "n_jobs": 1, **params})


CHECKS = [(type(e).__name__, check) for e, check in estimator_checks_generator(NoisyOr(n_jobs=1), legacy=True)]


@pytest.mark.parametrize("check", [check for _, check in CHECKS], ids=lambda check: check.func.__name__)
def test_check_estimator(check):
    """All checks of scikit-learn, with default parameters; none is expected to fail."""
    check(NoisyOr(n_jobs=1))


def test_all_inputs_are_the_same_documents(token_lists, texts, matrix, corpus_file, tmp_path):
    X, names = matrix
    frame = pd.DataFrame(X.toarray(), columns=names)
    by_name = {name: at for at, name in enumerate(names)}

    def q(model: NoisyOr, documents) -> np.ndarray:
        return model.transform(documents)

    fitted = small().fit(token_lists)
    Corpus.from_tokens(token_lists).save(tmp_path / "documents.corpus")
    same = [
        (small(), corpus_file),
        (small(), tmp_path / "documents.corpus"),
        (small(), Corpus.read(corpus_file)),
        (small(), pd.Series([pd.array(tokens) for tokens in token_lists]).map(list)),
        (small(), pl.Series(token_lists)),
        (small(), [np.array(tokens) for tokens in token_lists]),
    ]
    for estimator, documents in same:
        assert estimator.fit(documents).model_ == fitted.model_, type(documents)
        assert np.array_equal(q(estimator, documents), q(fitted, token_lists))
    of_texts = small().fit(texts)
    for documents in (
        pd.Series(texts),
        pl.Series(texts),
        pa.array(texts),
        np.array(texts),
        np.array(texts, dtype=object),
    ):
        assert small().fit(documents).model_ == of_texts.model_, type(documents)
    # Of a matrix the order of the tokens is that of its columns.
    of_matrix = small().fit(X)
    assert of_matrix.model_.token_names == [str(at) for at in range(len(names))]
    named = small(vocabulary=names).fit(X)
    assert named.model_.token_names == names
    for documents in (
        X.toarray(),
        X.astype(float),
        X.toarray().astype(bool),
        sp.csc_array(X),
        sp.coo_array(X),
        int64(X),
        X * 3,
    ):
        assert small().fit(documents).model_ == of_matrix.model_, type(documents)
        assert np.array_equal(q(of_matrix, documents), q(of_matrix, X))
    of_frame = small().fit(frame)
    assert of_frame.model_ == named.model_ and list(of_frame.feature_names_in_) == names
    assert np.array_equal(q(of_frame, frame), q(named, X))
    # What is learned by names is used by names.
    row = [names[at] for at in X[0].indices]
    assert np.array_equal(q(of_frame, [row]), q(of_frame, frame[:1])) and by_name[row[0]] == X[0].indices[0]


def int64(X: sp.csr_matrix) -> sp.csr_array:
    wide = sp.csr_array(X.shape)
    wide.data, wide.indices, wide.indptr = X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return wide


def test_zeros_that_are_stored_and_repeats_do_not_count(matrix):
    X, _ = matrix
    expected = small().fit(X).model_
    stored = X.copy()
    stored.data[:] = 1
    extra = sp.coo_matrix((np.zeros(50), (np.arange(50), np.arange(50) % X.shape[1])), shape=X.shape)
    zeros = sp.csr_matrix(
        (
            np.concatenate([stored.data, extra.data]),
            (np.concatenate([stored.tocoo().row, extra.row]), np.concatenate([stored.tocoo().col, extra.col])),
        ),
        shape=X.shape,
    )
    zeros.data[zeros.data > 1] = 1
    before = zeros.copy()
    assert small().fit(zeros).model_ == expected
    assert (zeros != before).nnz == 0 and zeros.nnz == before.nnz
    unsorted = stored.copy()
    for row in range(unsorted.shape[0]):
        part = slice(unsorted.indptr[row], unsorted.indptr[row + 1])
        unsorted.indices[part] = unsorted.indices[part][::-1].copy()
    unsorted.has_sorted_indices = False
    assert small().fit(unsorted).model_ == expected
    with pytest.raises(ValueError, match="Negative values"):
        small().fit(-X.toarray())


def test_transform_in_all_shapes(token_lists):
    estimator = small().fit(token_lists)
    q = estimator.transform(token_lists)
    assert q.shape == (300, 4) and q.dtype == np.float32 and (q > 0).all() and (q <= 1).all()
    sparse = clone(estimator).set_params(sparse_output=True).fit(token_lists).transform(token_lists)
    assert sp.issparse(sparse) and np.array_equal(sparse.toarray(), np.where(q >= 0.01, q, 0))
    odds = clone(estimator).set_params(output="log_odds").fit(token_lists).transform(token_lists)
    inside = (q > 1e-3) & (q < 0.999)
    assert np.allclose(odds[inside], np.log(q[inside] / (1 - q[inside])), atol=1e-3) and np.isfinite(odds).all()
    with pytest.raises(UsageError, match="`output`"):
        clone(estimator).set_params(output="p").fit(token_lists).transform(token_lists)
    names = estimator.get_feature_names_out()
    assert len(set(names)) == 4
    for kind, frame in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
        table = clone(estimator).set_output(transform=kind).fit_transform(token_lists)
        assert isinstance(table, frame) and list(table.columns) == list(names)
        assert np.array_equal(table.to_numpy(), q)


def test_scores(token_lists):
    estimator = small().fit(token_lists)
    scores = estimator.score_samples(token_lists)
    assert scores.shape == (300,) and scores.dtype == np.float64 and (scores < 0).all()
    assert estimator.score(token_lists) == pytest.approx(scores.mean(), abs=1e-12)
    # Better than independent words: those of the documents.
    X, _ = estimator.sample(500)
    assert X.shape == (500, estimator.model_.n_tokens)
    held_out = estimator.model_.training["valid_elbo"]
    assert held_out == max(line["valid_elbo"] for line in estimator.history_)
    assert scores.mean() > held_out - 2


def test_sample(token_lists):
    estimator = small(random_state=5).fit(token_lists)
    X, topics = estimator.sample(2000)
    frequencies = np.asarray(X.mean(axis=0)).ravel()
    tokens = estimator.model_.token_names
    known = np.array([np.mean([token in document for document in token_lists]) for token in tokens])
    assert np.abs(frequencies - known).max() < 0.1
    assert topics.shape == (2000, estimator.model_.n_topics) and topics.data.min() == 1
    assert (estimator.sample(10)[0] != estimator.sample(10)[0]).nnz == 0


def test_seeds_and_threads(token_lists):
    fits = [small(random_state=7, n_jobs=n_jobs).fit(token_lists).model_ for n_jobs in (1, 2, 3)]
    assert fits[0] == fits[1] == fits[2]
    other = small(random_state=8).fit(token_lists).model_
    assert other != fits[0]
    rng = np.random.RandomState(3)
    assert small(random_state=rng).fit(token_lists).model_ != small(random_state=rng).fit(token_lists).model_


def test_callbacks_history_and_early_stopping(token_lists):
    seen = []
    estimator = small(max_epochs=6, early_stopping=False, callbacks=seen.append).fit(token_lists)
    assert seen == estimator.history_ and estimator.ended_ == "finished"
    assert [line["epoch"] for line in seen] == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    stopped = small(max_epochs=50, early_stopping=False, callbacks=[lambda line: line["epoch"] >= 2]).fit(token_lists)
    assert stopped.ended_ == "interrupted" and stopped.history_[-1]["epoch"] == 2.0
    early = small(max_epochs=500, n_iter_no_change=1, validation_fraction=0.3).fit(token_lists)
    assert early.ended_ == "early stop" and len(early.history_) < 500
    assert early.model_.training["options"]["valid"] == 0.3

    def fails(line):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        small(callbacks=fails).fit(token_lists)


def test_partial_fit_goes_on_with_new_words(token_lists):
    estimator = small().partial_fit(token_lists[:200])
    first = estimator.model_
    new = [[*document, "umbrella"] if "rain" in document else document for document in token_lists[200:]]
    estimator.partial_fit(new)
    assert estimator.model_.token_names == [*first.token_names, "umbrella"]
    assert estimator.model_.topic_names == first.topic_names
    assert estimator.model_.training["docs"] > first.training["docs"]
    parents = estimator.model_.edges().query("child == 'umbrella'").parent.tolist()
    assert parents and set(parents) <= set(first.edges().query("child == 'rain'").parent)
    # Tables bring new words by their names, matrices without names cannot.
    frame = pd.DataFrame(np.eye(3, dtype=int).repeat(20, axis=0), columns=["a", "b", "c"])
    of_frame = small(topics=1).partial_fit(frame).partial_fit(frame.rename(columns={"c": "d"}))
    assert of_frame.model_.token_names == ["a", "b", "c", "d"]
    with pytest.raises(ValueError, match="features"):
        small(topics=1).partial_fit(frame.to_numpy()).partial_fit(np.ones((4, 5)))


def test_warm_start_begins_where_fit_ended(token_lists):
    cold = small(max_epochs=1, early_stopping=False).fit(token_lists)
    warm = small(max_epochs=1, early_stopping=False, warm_start=True).fit(token_lists).fit(token_lists)
    assert warm.history_[0]["valid_elbo"] > cold.history_[0]["valid_elbo"]
    assert warm.model_.topic_names == cold.model_.topic_names


def test_graphs_of_ones_own(token_lists, tmp_path):
    edges = [
        (f"theme {at}", token) for at, theme in enumerate(["ball team goal", "song band"]) for token in theme.split()
    ]
    estimator = small(graph=edges, topics=None).fit(token_lists)
    assert estimator.model_.topic_names == ["theme 0", "theme 1"] and estimator.model_.n_tokens == 5
    frame = pd.DataFrame(edges, columns=["parent", "child"])
    path = tmp_path / "graph.tsv"
    path.write_text("".join(f"{parent}\t{child}\n" for parent, child in edges))
    for graph in (frame, path, estimator.model_):
        assert small(graph=graph, topics=None).fit(token_lists).model_ == estimator.model_
    anchored = small(anchors={"weather": ["rain", "wind"]}, exclude=[["ball", "song"]]).fit(token_lists)
    assert "weather" in anchored.model_.topic_names
    complete = small(topics=2, parents="all", penalty=5.0).fit(token_lists)
    assert complete.model_.n_edges == 2 * complete.model_.n_tokens


def test_options_are_refused_by_name(token_lists):
    for params, told in [
        ({"options": {"keep_start": True}}, "there is no option `keep_start`"),
        ({"options": {"estep": {"clmap": 1}}}, "there is no option `clmap`"),
        ({"step": "sgd"}, "`step`"),
        ({"effort": "much", "topics": None}, "`effort`"),
        ({"parents": "all", "topics": None}, "`topics`"),
        ({"validation_fraction": 1.5}, "validation share"),
        ({"penalty": 1.0, "step": "adam"}, "`penalty`"),
        ({"topics": 4000}, "4000 topics"),
        ({"topics": 2.5}, "`topics` is a number above 0"),
        ({"topics": "a"}, "`topics`"),
        ({"topics": [3, -1]}, "`topics`"),
        ({"random_state": -1}, "`random_state`"),
        ({"backend": "tpu"}, "`backend`"),
        ({"stop_words": "klingon"}, "klingon"),
    ]:
        with pytest.raises((NoisyOrError, OSError), match=told):
            small(**params).fit(token_lists)
    assert (
        small(options={"keep_starts": True, "batch": "full"}).fit(token_lists).model_.training["options"]["keep_starts"]
    )


def test_pipelines_grids_and_cross_validation(texts, token_lists):
    labels = ["ball" in document or "team" in document or "goal" in document for document in token_lists]
    for vectorizer in (CountVectorizer(), CountVectorizer(binary=True), TfidfVectorizer(binary=True)):
        pipeline = make_pipeline(vectorizer, small(), LogisticRegression())
        assert cross_val_score(pipeline, texts, labels, cv=3).mean() > 0.9
    grid = GridSearchCV(small(), {"topics": [1, 4]}, cv=2).fit(token_lists)
    assert grid.best_params_ == {"topics": 4} and grid.best_score_ < 0
    pipeline = make_pipeline(CountVectorizer(), small())
    parallel = GridSearchCV(pipeline, {"noisyor__topics": [1, 4]}, cv=2, n_jobs=2).fit(texts)
    assert parallel.best_params_ == {"noisyor__topics": 4}
    scores = cross_val_score(small(), token_lists, cv=3)
    assert len(scores) == 3 and (scores < 0).all()


def test_joblib_dump(token_lists, tmp_path):
    estimator = small().fit(token_lists)
    joblib.dump(estimator, tmp_path / "estimator.joblib")
    again = joblib.load(tmp_path / "estimator.joblib")
    assert again.model_ == estimator.model_ and again.history_ == estimator.history_
    assert np.array_equal(again.transform(token_lists), estimator.transform(token_lists))
    assert json.dumps(again.model_.training) == json.dumps(estimator.model_.training)
    assert isinstance(again.model_, Model)


def test_empty_input(token_lists):
    estimator = small().fit(token_lists)
    assert estimator.transform([[]]).shape == (1, 4) and np.isfinite(estimator.score_samples([["unheard"], []])).all()
    assert estimator.model_.infer([]).to_csr().shape == (0, 4)
    with pytest.raises(UsageError, match="no documents to score"):
        estimator.score([])
    with pytest.raises(UsageError, match="no documents"):
        small().fit([])
    with pytest.raises(ValueError):
        small().fit(np.zeros((0, 3)))
    with pytest.raises(ValueError, match="tokens"):
        small().fit([[], []])


def test_what_is_no_list_of_documents(token_lists, texts):
    estimator = small().fit(token_lists)
    for documents, told in [
        ((text for text in texts), "give a list"),
        (pd.DataFrame({"body": texts}), "frame\\['body'\\]"),
        ([*texts, 3], "item 300 must be a str"),
        ([*token_lists, ["a", 3]], "item 1 must be a str"),
    ]:
        with pytest.raises((UsageError, TypeError), match=told):
            small().fit(documents)
    with pytest.raises(UsageError, match="`vocabulary`"):
        small(vocabulary=["ball"]).fit("documents.jsonl")
    with pytest.raises(FileNotFoundError, match="a list of one"):
        estimator.transform("the team scored")
    for threshold in (-0.1, 2):
        with pytest.raises(UsageError, match="`threshold`"):
            estimator.model_.infer(token_lists, threshold=threshold)


def test_repr_in_notebooks(token_lists):
    estimator = small().fit(token_lists)
    page = estimator._repr_html_()
    assert all(name in page for name in estimator.get_feature_names_out())
