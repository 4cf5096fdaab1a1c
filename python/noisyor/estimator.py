"""The estimator for scikit-learn."""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from . import _core, _documents, _recipe
from ._errors import TrainingInterrupted, UsageError
from ._listener import Callback, Listener, n_threads
from .corpus import Corpus
from .inference import Inference
from .model import Model, _edges_of, _nodes

if TYPE_CHECKING:
    from typing_extensions import Self

    from .explanation import Explanation

_MATRIX_THRESHOLD = 0.01


class NoisyOr(TransformerMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """A hierarchy of topics above binary data: a noisy-OR Bayesian network, trained as ``noisyor train`` does.

    Documents are a sparse or dense matrix (what is above zero is present), a table with column names, a list of texts, a list of lists
    of tokens, a `Corpus`, or the path of a file in any format of the program. For one seed the model has the same bytes as the program's,
    whatever the number of threads.

    Parameters
    ----------
    topics : int, sequence of int or None
        Topics of each layer, the one above the tokens first. None: as many as the documents held out say are of use (see ``effort``).
    parents : int, "all" or None
        Parents of a token at most (8 where nothing is said); "all": every topic of ``topics`` is linked to everything in the layer below.
    min_support, min_gain, max_edges
        Options of learning a graph, as of ``noisyor train``; with any of them, of ``topics`` or of ``parents`` the size is not searched for.
    anchors : mapping of name to words, or sequence of words, or None
        Topics that there must be.
    exclude : sequence of words, or None
        Groups of words that must not share a topic.
    effort : "quick", "normal", "thorough" or float
        Work to spend on the choice of a network, or minutes on two cores, about.
    graph : Model, path, table or pairs, or None
        A graph to train: a model's, a file, or edges from parent to child; nothing is learned then.
    max_epochs : int or None
        Passes over the training documents at most. None: 40, or what ``effort`` has time for.
    batch_size : int, "full" or None
        Documents per weight step. None: a tenth of the training documents, at most 50,000.
    step : "em", "paper", "adam", or mapping
        The weight step; a mapping has its options, such as ``{"rule": "adam", "rate": 0.05}``.
    penalty : float or None
        EM: penalty on the edge weights, in documents. None: as the documents held out ask for, or 1.
    stop_words, min_df, max_df, max_vocab, phrases
        How texts become tokens, as the program's options; ``stop_words`` may be None.
    vocabulary : sequence of str or None
        Names of the columns of a matrix; of texts and lists of tokens, the only tokens that are kept.
    validation_fraction : float
        Share of the documents held out, to stop by and to choose the best model by.
    early_stopping : bool
        Whether training ends when the bound held out stops gaining, for ``n_iter_no_change`` evaluations.
    output : "q" or "log_odds"
        What `transform` gives: probabilities of topics, or their log-odds.
    sparse_output : bool
        Whether `transform` gives a CSR matrix.
    threshold : float or None
        Topics with a smaller probability are left out of `transform`. None: 0.01 in a sparse matrix, 0 otherwise.
    bound : "tail", "local" or "full"
        Which bound is trained on and scored.
    backend : "auto", "cpu" or "gpu"
        What computes: a GPU where there is one; ``device`` is its number or a part of its name.
    memory_mb : int or None
        Memory to keep to, about: a graph is learned from as many documents as there is room for.
    options : mapping or None
        Any other option of training by its name in ``config.json`` of a run, such as ``{"keep_starts": True, "estep": {"clamp": 4}}``.
    run : path or None
        Folder of the run, new or empty, with checkpoints: ``noisyor train --resume`` and `NoisyOr.resume` continue it. None: a temporary one.
    callbacks : callable, or sequence of callables
        Called after every evaluation with its figures, a dict with the names of ``metrics.jsonl``; a true result ends training.
    random_state : int, RandomState or None
        Seed of everything random. The default is that of the program; None takes another one every time.
    n_jobs : int or None
        Threads. None: all cores, or one where joblib runs several estimators already. Results do not depend on it.
    verbose : int
        1 shows progress, by tqdm where that is installed. Messages go to the logger "noisyor".
    warm_start : bool
        Whether `fit` starts from the weights of the fit before.

    Attributes
    ----------
    model_ : Model
        The trained network.
    history_ : list of dict
        Figures of every evaluation.
    n_iter_ : int
        Weight steps taken.
    ended_ : str
        "finished", "early stop" or "interrupted".
    run_ : Path or None
        The run's folder, where one was asked for.
    n_features_in_, feature_names_in_
        Of matrices and tables.

    Examples
    --------
    >>> from noisyor import NoisyOr
    >>> rows = [["ball", "team"], ["song", "band"]] * 30
    >>> estimator = NoisyOr(topics=2).fit(rows)
    >>> estimator.transform([["ball"]]).shape
    (1, 2)
    """

    model_: Model
    history_: list[dict[str, Any]]

    def __init__(
        self,
        topics: int | Sequence[int] | None = None,
        *,
        parents: int | str | None = None,
        min_support: int | None = None,
        min_gain: float | None = None,
        max_edges: int | None = None,
        anchors: Mapping[str, Sequence[str]] | Sequence[Sequence[str]] | None = None,
        exclude: Sequence[Sequence[str]] | None = None,
        effort: str | float = "normal",
        graph: Any = None,
        max_epochs: int | None = None,
        batch_size: int | str | None = None,
        step: str | Mapping[str, Any] = "em",
        penalty: float | None = None,
        stop_words: str | None = "english",
        min_df: int | float | None = None,
        max_df: int | float | None = None,
        max_vocab: int | None = None,
        phrases: float | None = None,
        vocabulary: Sequence[str] | None = None,
        validation_fraction: float = 0.1,
        early_stopping: bool = True,
        n_iter_no_change: int = 5,
        output: str = "q",
        sparse_output: bool = False,
        threshold: float | None = None,
        bound: str = "tail",
        backend: str = "auto",
        device: str | None = None,
        memory_mb: int | None = None,
        options: Mapping[str, Any] | None = None,
        run: str | os.PathLike[str] | None = None,
        callbacks: Callback | Iterable[Callback] | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.topics = topics
        self.parents = parents
        self.min_support = min_support
        self.min_gain = min_gain
        self.max_edges = max_edges
        self.anchors = anchors
        self.exclude = exclude
        self.effort = effort
        self.graph = graph
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.step = step
        self.penalty = penalty
        self.stop_words = stop_words
        self.min_df = min_df
        self.max_df = max_df
        self.max_vocab = max_vocab
        self.phrases = phrases
        self.vocabulary = vocabulary
        self.validation_fraction = validation_fraction
        self.early_stopping = early_stopping
        self.n_iter_no_change = n_iter_no_change
        self.output = output
        self.sparse_output = sparse_output
        self.threshold = threshold
        self.bound = bound
        self.backend = backend
        self.device = device
        self.memory_mb = memory_mb
        self.options = options
        self.run = run
        self.callbacks = callbacks
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.warm_start = warm_start

    # Training

    def fit(self, X: Any, y: Any = None) -> Self:
        """Trains a network on documents. Ctrl-C ends training with the best model so far, and a warning."""
        before = self.model_ if self.warm_start and hasattr(self, "model_") else None
        # A start and nothing more: what the documents lack is forgotten.
        return self._train(X, before, counts=False)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Goes on with more documents, as ``noisyor train --from``: the model counts as the documents it was trained on.

        Tokens that it lacks are attached to its topics by what they occur with; they need names: texts, lists of tokens, tables.
        """
        return self._train(X, getattr(self, "model_", None), counts=True)

    @classmethod
    def resume(
        cls,
        run: str | os.PathLike[str],
        X: Any = None,
        *,
        max_epochs: int | None = None,
        n_iter_no_change: int | None = None,
        callbacks: Callback | Iterable[Callback] | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> Self:
        """Continues the run of a folder, whether Python or the program began it: the end is the same as if it had never stopped.

        Documents that were in memory are given again; those of a file are read again from where they were.
        """
        listener, threads = Listener(verbose, callbacks), n_threads(n_jobs)
        estimator = cls(run=run, callbacks=callbacks, n_jobs=n_jobs, verbose=verbose)
        corpus = None if X is None else estimator._read(X, None, True, threads, listener)[0]
        changes = json.dumps({"epochs": max_epochs, "patience": n_iter_no_change})
        try:
            network, ended = _core.resume(run, corpus, changes, threads, listener)
        finally:
            listener.close()
        return estimator._keep(network, ended, listener)

    def _train(self, X: Any, before: Model | None, counts: bool) -> Self:
        listener, threads = Listener(self.verbose, self.callbacks), n_threads(self.n_jobs)
        graph = self._graph() if before is None and self.graph is not None else None
        known = _core.graph_names(*graph)[1] if graph is not None else None
        corpus, by_number = self._read(X, known, before is None or not counts, threads, listener)
        with tempfile.TemporaryDirectory(prefix="noisyor-") as temporary:
            if before is not None:
                path = Path(temporary) / "before.safetensors"
                before.save(path)
                source = _recipe.continued(path, self.get_params(deep=False), None if counts else 0)
            elif graph is not None:
                source = "memory"
            else:
                source = _recipe.network(self.get_params(deep=False))
            config = json.dumps(_recipe.config(self.get_params(deep=False), source, self._seed(), by_number))
            folder = Path(temporary) / "run" if self.run is None else Path(self.run)
            try:
                network, ended = _core.train(corpus, config, graph, folder, threads, listener)
            finally:
                listener.close()
        return self._keep(network, ended, listener)

    def _keep(self, network: _core.Network, ended: str, listener: Listener) -> Self:
        told = json.loads(ended)
        self.model_ = Model(network)
        self.history_ = listener.history
        self.n_iter_ = max(1, told["metrics"]["step"]) if told["metrics"] else 1
        self.ended_ = told["ended"]
        self.run_ = None if self.run is None else Path(told["folder"])
        if told["ctrl_c"]:
            message = "training was interrupted; the model is the best so far"
            if self.run_ is not None:
                message += f", and NoisyOr.resume({str(self.run_)!r}) continues"
            warnings.warn(message, TrainingInterrupted, stacklevel=4)
        return self

    def _seed(self) -> int:
        if isinstance(self.random_state, (int, np.integer)):
            if self.random_state < 0:
                raise UsageError(f"`random_state` is a number from 0; it is {self.random_state}")
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _graph(self) -> tuple[str, bytes]:
        """Name and content of a file with the graph to train."""
        if isinstance(self.graph, Model):
            return "graph.safetensors", self.graph.to_bytes()
        if isinstance(self.graph, (str, os.PathLike)):
            path = Path(self.graph)
            path = path / "model.safetensors" if path.is_dir() else path
            return str(path), path.read_bytes()
        parents, children, weights = _edges_of(self.graph)
        if weights is not None:
            return "graph.safetensors", Model.from_edges(self.graph).to_bytes()
        topics, tokens = _nodes(parents, children, None)
        number = {name: at for at, name in enumerate([*topics, *tokens])}
        edges = [[number[parent], number[child]] for parent, child in zip(parents, children, strict=True)]
        content = {"format": "noisyor-model", "version": 1, "topics": topics, "tokens": tokens, "edges": edges}
        return "graph.json", json.dumps(content).encode()

    def _read(
        self, X: Any, known: Sequence[str] | None, reset: bool, threads: int, listener: Listener
    ) -> tuple[_core.Corpus, bool]:
        """Documents of any kind, and whether they are columns without names. ``reset``: they tell what columns there are."""
        if isinstance(X, Corpus):
            return X._core, False
        words = {name: getattr(self, name) for name in ("stop_words", "min_df", "max_df", "max_vocab", "phrases")}
        if isinstance(X, (str, os.PathLike)):
            if self.vocabulary is not None:
                raise UsageError("`vocabulary` is for documents in memory; read a file by Corpus.read(path, vocab=...)")
            reading = {"words": _documents.word_request({} if known is not None else words)}
            return _documents.read(X, reading, known, threads, listener), False
        lists = _documents.as_lists(X)
        if lists is not None:
            vocabulary = known if known is not None else self.vocabulary
            chosen = words if vocabulary is None else {"stop_words": self.stop_words}
            return _documents.from_lists(lists, vocabulary, chosen, threads, listener), False
        if not reset and _has_new_columns(self, X):
            # New tokens come by their names.
            reset = True
        return self._columns(X, reset)

    def _columns(self, X: Any, reset: bool) -> tuple[_core.Corpus, bool]:
        """A matrix or table, checked as scikit-learn does, and whether its columns have no names."""
        _documents.refuse_text(X)
        X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=None, accept_large_sparse=True)
        X = _numbers(X)
        check_non_negative(X, "NoisyOr")
        names = getattr(self, "feature_names_in_", self.vocabulary)
        return _documents.from_matrix(X, None if names is None else [str(name) for name in names]), names is None

    # Documents

    def _infer(self, X: Any, threshold: float, log_odds: bool = False) -> Inference:
        check_is_fitted(self, "model_")
        threads, listener = n_threads(self.n_jobs), Listener(self.verbose)
        corpus, by_number = self._documents(X, threads, listener)
        backend = _recipe.backend(self.backend, self.device)
        options = json.dumps(_recipe.estep(self.get_params(deep=False)))
        try:
            arrays = _core.infer(
                self.model_._core, corpus, options, threshold, by_number, log_odds, backend, threads, listener
            )
        finally:
            listener.close()
        return Inference(*arrays, self.model_.topic_names)

    def _documents(self, X: Any, threads: int, listener: Listener) -> tuple[_core.Corpus, bool]:
        """Documents for the fitted model."""
        if isinstance(X, Corpus):
            return X._core, False
        lists = _documents.as_lists(X)
        if lists is not None:
            return _documents.from_lists(lists, self.model_.token_names, {}, threads, listener), False
        if isinstance(X, (str, os.PathLike)):
            return _documents.read(X, {}, self.model_.token_names, threads, listener), False
        if not hasattr(self, "n_features_in_"):
            return self.model_._corpus(X, threads, listener)
        return self._columns(X, reset=False)

    def transform(self, X: Any) -> Any:
        """Topics of every document: a row per document, a column per topic, float32; probabilities or log-odds, as ``output`` says."""
        if self.output not in ("q", "log_odds"):
            raise UsageError(f"`output` is 'q' or 'log_odds'; it is {self.output!r}")
        threshold = self.threshold
        if threshold is None:
            threshold = _MATRIX_THRESHOLD if self.sparse_output else 0.0
        if not 0.0 <= threshold <= 1.0:
            raise UsageError(f"`threshold` is a probability; it is {threshold}")
        inferred = self._infer(X, threshold, self.output == "log_odds")
        return inferred.to_csr() if self.sparse_output else inferred.to_dense()

    def score_samples(self, X: Any) -> npt.NDArray[np.float64]:
        """The bound of every document: a lower bound of its log-probability, in nats."""
        return self._infer(X, 1.0).elbo

    def score(self, X: Any, y: Any = None) -> float:
        """The mean held-out bound: the mean over the documents of the lower bound (``bound``) of log p(document), in nats; higher is better."""
        scores = self.score_samples(X)
        if len(scores) == 0:
            raise UsageError("there are no documents to score")
        return float(np.mean(scores))

    def sample(self, n_samples: int = 1) -> tuple[sp.csr_matrix, sp.csr_matrix]:
        """Documents sampled from the model, and the topics that were on: two matrices of ones."""
        check_is_fitted(self, "model_")
        sampled = self.model_.sample(n_samples, self._seed())
        return sampled.documents, sampled.topics

    def explain(self, document: Any, why: str | int | None = None) -> Explanation:
        """As `Model.explain`."""
        check_is_fitted(self, "model_")
        return self.model_.explain(document, why, estep=_recipe.estep(self.get_params(deep=False)))

    def report(
        self, path: str | os.PathLike[str], X: Any = None, *, title: str | None = None, max_mb: float = 5.0
    ) -> None:
        """Writes one self-contained page, with the curves of training, and with documents where they are given."""
        check_is_fitted(self, "model_")
        documents = None if X is None else Corpus(self._documents(X, n_threads(self.n_jobs), Listener())[0])
        self.model_.report(path, documents, title=title, max_mb=max_mb, history=self.history_, n_jobs=self.n_jobs)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names of the topics."""
        check_is_fitted(self, "model_")
        return np.asarray(self.model_.topic_names, dtype=object)

    @property
    def vocabulary_(self) -> list[str]:
        """Names of the tokens."""
        return self.model_.token_names

    @property
    def _n_features_out(self) -> int:
        return self.model_.n_topics

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Tokens are present or absent: a value below zero is neither.
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    def _repr_html_inner(self) -> str:
        """In a notebook a fitted estimator is its parameters and its topics."""
        page = str(super()._repr_html_inner())
        return page + (self.model_._repr_html_() if hasattr(self, "model_") else "")


def _has_new_columns(estimator: NoisyOr, X: Any) -> bool:
    columns = getattr(X, "columns", None)
    before = getattr(estimator, "feature_names_in_", None)
    return columns is not None and before is not None and list(columns) != list(before)


def _numbers(X: Any) -> Any:
    """A matrix of objects as numbers."""
    if isinstance(X, np.ndarray) and X.dtype == np.object_:
        return X.astype(np.float64)
    return X
