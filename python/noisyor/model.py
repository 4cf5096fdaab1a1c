"""Trained networks."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from . import _core, _documents, _recipe
from ._errors import UsageError
from ._listener import Listener, n_threads
from .corpus import Corpus
from .explanation import Explanation
from .inference import Inference, Sample, binary_csr
from .topics import Topic, Topics

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

_NATIVE = "model.safetensors"


class Model:
    """A noisy-OR network: graph, weights, names. Immutable; files are those of the program.

    >>> model = Model.from_edges([("sport", "ball", 0.9), ("sport", "team", 0.8), ("music", "song", 0.9)], leak=0.05)
    >>> model.topic_names, model.n_tokens
    (['sport', 'music'], 3)
    >>> model.infer([["ball", "team"]]).topics_of(0)[0][0]
    'sport'
    """

    def __init__(self, core: _core.Network) -> None:
        self._core = core

    # Files

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """From a .safetensors, .json or .tsv file, or from a run folder."""
        path = Path(path)
        return cls(_core.Network.load(path / _NATIVE if path.is_dir() else path))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a .safetensors, .json or .tsv file, as its name says."""
        self._core.save(path)

    @classmethod
    def from_bytes(cls, content: bytes) -> Model:
        """From the content of a .safetensors file."""
        return cls(_core.Network.from_bytes(_NATIVE, content))

    def to_bytes(self) -> bytes:
        """The content of a .safetensors file."""
        return self._core.to_bytes(_NATIVE)

    def __reduce__(self) -> tuple[Any, ...]:
        # A .safetensors file rounds weights to f32, as training does; those of other networks would not stay the same.
        weights = np.concatenate([self._core.edges()[2], self._core.leaks()])
        name = _NATIVE if np.array_equal(weights, weights.astype(np.float32)) else "model.json"
        return _unpickled, (name, self._core.to_bytes(name))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    @classmethod
    def from_edges(
        cls,
        edges: pd.DataFrame | Iterable[tuple[str, str, float]],
        *,
        leak: float | Mapping[str, float] = 0.01,
        tokens: Sequence[str] | None = None,
    ) -> Model:
        """A network of one's own.

        ``edges``: a table with columns parent, child, and probability or weight; or triples of parent, child, probability: that of
        the parent alone switching the child on. A name that is never a parent is a token; ``tokens`` gives their order, and may add
        some without parents. ``leak``: the probability that a node is on without a parent, for all or by name (0.01 where it is not named).
        """
        parents, children, weights = _edges_of(edges)
        if not parents:
            raise UsageError("there are no edges")
        if weights is None:
            raise UsageError("edges need a column 'probability' or 'weight'")
        topics, names = _nodes(parents, children, tokens)
        number = {name: at for at, name in enumerate([*topics, *names])}
        leaks = leak if isinstance(leak, Mapping) else {}
        unknown = next((name for name in leaks if name not in number), None)
        if unknown is not None:
            raise UsageError(f"a leak is given for '{unknown}', which is no node")
        usual = 0.01 if isinstance(leak, Mapping) else leak
        content = {
            "format": "noisyor-model",
            "version": 1,
            "topics": topics,
            "tokens": names,
            "leak": [_weight(leaks.get(name, usual), f"the leak of '{name}'") for name in number],
            "edges": [
                [number[parent], number[child], weight]
                for parent, child, weight in zip(parents, children, weights, strict=True)
            ],
        }
        return cls(_core.Network.from_bytes("edges.json", json.dumps(content).encode()))

    # What it holds

    @property
    def topic_names(self) -> list[str]:
        """Names of the topics, by number."""
        return self._core.topic_names

    @property
    def token_names(self) -> list[str]:
        """Names of the tokens, by number."""
        return self._core.token_names

    @property
    def n_topics(self) -> int:
        """Number of topics."""
        return self._core.n_topics

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return self._core.n_tokens

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return self._core.n_edges

    @property
    def fingerprint(self) -> str:
        """SHA-256 of names, graph, weights and training summary: the same in every file format."""
        return self._core.fingerprint

    @property
    def training(self) -> dict[str, Any]:
        """What the model says of its training; empty where it was not trained."""
        summary = self._core.training
        return dict(json.loads(summary)) if summary else {}

    def edges(self) -> pd.DataFrame:
        """A row per edge: parent, child, weight, probability (that the parent alone switches the child on)."""
        import pandas as pd

        names = np.array([*self.topic_names, *self.token_names], dtype=object)
        parents, children, weights = self._core.edges()
        columns = {
            "parent": names[parents],
            "child": names[children],
            "weight": weights,
            "probability": -np.expm1(-weights),
        }
        return pd.DataFrame(columns)

    def leaks(self) -> pd.DataFrame:
        """A row per node: node, is_topic, weight, probability (that the node is on without a parent)."""
        import pandas as pd

        weights = self._core.leaks()
        names = [*self.topic_names, *self.token_names]
        is_topic = np.arange(len(names)) < self.n_topics
        columns = {"node": names, "is_topic": is_topic, "weight": weights, "probability": -np.expm1(-weights)}
        return pd.DataFrame(columns)

    def topics(self, top: int = 10, depth: int = 64) -> Topics:
        """The hierarchy: ``top`` tokens of each topic, ``depth`` levels. ``str()`` of it is the tree, ``.to_frame()`` a table."""
        roots = [Topic.of(tree) for tree in json.loads(self._core.topic_tree(top, depth))]
        return Topics(roots, self._core.topic_text(top, depth))

    def to_networkx(self, tokens: bool = True) -> nx.DiGraph[str]:
        """The graph with weights and probabilities; without ``tokens`` only the topics."""
        import networkx as nx

        graph: nx.DiGraph[str] = nx.DiGraph()
        for node, is_topic, weight, p in self.leaks().itertuples(index=False):
            if tokens or is_topic:
                graph.add_node(
                    node, kind="topic" if is_topic else "token", leak=float(weight), leak_probability=float(p)
                )
        for parent, child, weight, p in self.edges().itertuples(index=False):
            if child in graph:
                graph.add_edge(parent, child, weight=float(weight), probability=float(p))
        return graph

    def __repr__(self) -> str:
        return f"<Model of {self.n_topics} topics, {self.n_tokens} tokens, {self.n_edges} edges>"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self))}</p>{self.topics(top=8)._repr_html_()}"

    # Documents

    def infer(
        self,
        documents: Any,
        *,
        threshold: float = 0.01,
        log_odds: bool = False,
        bound: str = "tail",
        estep: Mapping[str, Any] | None = None,
        backend: str = "auto",
        device: str | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> Inference:
        """Topics of every document, those with a probability of ``threshold`` or more, as ``noisyor infer`` finds them.

        ``documents``: texts, lists of tokens, a `Corpus`, a path, or a matrix whose columns are the model's tokens; of a table with
        column names, columns are matched by name. Words that the model does not know are left out. ``estep`` has further options of the
        E-step (docs/options.md), such as ``{"clamp": 4}``.
        """
        if not 0.0 <= threshold <= 1.0:
            raise UsageError(f"`threshold` is a probability; it is {threshold}")
        listener = Listener(verbose)
        threads = n_threads(n_jobs)
        core, by_number = self._corpus(documents, threads, listener)
        options = json.dumps({"bound": bound, **(estep or {})})
        used = _recipe.backend(backend, device)
        try:
            arrays = _core.infer(self._core, core, options, threshold, by_number, log_odds, used, threads, listener)
        finally:
            listener.close()
        return Inference(*arrays, self.topic_names)

    def score_samples(self, documents: Any, **options: Any) -> npt.NDArray[np.float64]:
        """The bound of every document, in nats. Options are those of `infer`."""
        return self.infer(documents, threshold=1.0, **options).elbo

    def explain(
        self,
        document: Any,
        why: str | int | None = None,
        *,
        bound: str = "tail",
        estep: Mapping[str, Any] | None = None,
    ) -> Explanation:
        """One document's topics, and which topic explains which token; with ``why``, the terms of that topic's log-odds as well.

        ``document``: a text, a list of tokens, or a row of a matrix.
        """
        topic = self._core.find_topic(str(why)) if why is not None else None
        options = json.dumps({"bound": bound, **(estep or {})})
        text = document if isinstance(document, str) else None
        tokens, unknown = (None, []) if text is not None else self._tokens_of(document)
        told, svg = self._core.explain(text, tokens, topic, options)
        data = json.loads(told)
        data["document"]["unknown"] += unknown
        return Explanation(data, svg)

    def report(
        self,
        path: str | os.PathLike[str],
        documents: Any = None,
        *,
        title: str | None = None,
        max_mb: float = 5.0,
        history: Sequence[Mapping[str, Any]] = (),
        backend: str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        """Writes one self-contained page: topics, weights, and, where documents are given, the documents."""
        threads, listener = n_threads(n_jobs), Listener()
        core = None if documents is None else self._corpus(documents, threads, listener)[0]
        metrics = json.dumps([dict(line) for line in history])
        title = Path(path).stem if title is None else title
        used = _recipe.backend(backend, None)
        page = self._core.report(title, core, metrics, max_mb, used, threads, listener)
        Path(path).write_text(page, encoding="utf-8")

    def sample(self, n_samples: int = 1, random_state: int = 0) -> Sample:
        """Documents sampled from the model, with the topics that were on."""
        tokens, topics = self._core.sample(n_samples, random_state)
        return Sample(binary_csr(tokens, self.n_tokens), binary_csr(topics, self.n_topics))

    def _corpus(self, documents: Any, threads: int, listener: Listener) -> tuple[_core.Corpus, bool]:
        """The documents, and whether columns without names are the model's tokens by number."""
        if isinstance(documents, Corpus):
            return documents._core, False
        if isinstance(documents, (str, os.PathLike)):
            return _documents.read(documents, {}, self.token_names, threads, listener), False
        lists = _documents.as_lists(documents)
        if lists is not None:
            return _documents.from_lists(lists, self.token_names, {}, threads, listener), False
        if hasattr(documents, "columns"):
            names = [str(name) for name in documents.columns]
            return _documents.from_matrix(documents.to_numpy(), names), False
        matrix: Any = documents if sp.issparse(documents) else np.asarray(documents)
        if matrix.ndim == 1 and not sp.issparse(documents) and matrix.size == 0:
            matrix = np.zeros((0, self.n_tokens))
        if matrix.ndim != 2 or matrix.shape[1] != self.n_tokens:
            raise UsageError(
                f"a matrix of documents has a column for each of the model's {self.n_tokens} tokens; this one has the shape {matrix.shape}"
            )
        return _documents.from_matrix(matrix, None), True

    def _tokens_of(self, document: Any) -> tuple[list[int], list[str]]:
        """A document's tokens by number, and those that the model does not know."""
        if sp.issparse(document):
            document = document.toarray()
        row = np.asarray(document)
        if row.dtype.kind in "OUT":
            number = {name: at for at, name in enumerate(self.token_names)}
            known = dict.fromkeys(str(token) for token in document)
            return [number[token] for token in known if token in number], [
                token for token in known if token not in number
            ]
        row = row.ravel()
        if row.size not in (0, self.n_tokens):
            raise UsageError(
                f"a row has a value for each of the model's {self.n_tokens} tokens; this one has {row.size}"
            )
        return np.flatnonzero(row > 0).tolist(), []


def _unpickled(name: str, content: bytes) -> Model:
    return Model(_core.Network.from_bytes(name, content))


def _edges_of(edges: Any) -> tuple[list[str], list[str], list[float] | None]:
    """Parents, children, weights; none where there are no weights."""
    if hasattr(edges, "columns"):
        columns = [str(column) for column in edges.columns]
        missing = next((name for name in ("parent", "child") if name not in columns), None)
        if missing is not None:
            raise UsageError(f"edges need a column '{missing}'; there are {', '.join(columns)}")
        parents, children = ([str(name) for name in edges[column]] for column in ("parent", "child"))
        if "weight" in columns:
            return parents, children, [float(weight) for weight in edges["weight"]]
        if "probability" not in columns:
            return parents, children, None
        probabilities: Iterable[float] = edges["probability"]
    else:
        rows = [tuple(edge) for edge in edges]
        if any(len(row) not in (2, 3) for row in rows) or len({len(row) for row in rows}) > 1:
            raise UsageError("an edge is (parent, child) or (parent, child, probability), all of them alike")
        parents, children = [str(row[0]) for row in rows], [str(row[1]) for row in rows]
        if not rows or len(rows[0]) == 2:
            return parents, children, None
        probabilities = [row[2] for row in rows]
    named = zip(parents, children, probabilities, strict=True)
    return parents, children, [_weight(p, f"the probability of '{parent}' -> '{child}'") for parent, child, p in named]


def _nodes(
    parents: Sequence[str], children: Sequence[str], tokens: Sequence[str] | None
) -> tuple[list[str], list[str]]:
    """Topics and tokens, in the order in which they come."""
    topics = dict.fromkeys(parents)
    names = dict.fromkeys([*(tokens or ()), *(child for child in children if child not in topics)])
    both = next((name for name in names if name in topics), None)
    if both is not None:
        raise UsageError(f"'{both}' is given as a token, and has children")
    return list(topics), list(names)


def _weight(probability: float, what: str) -> float:
    """The weight -log(1 - p) of a probability."""
    if not 0.0 < probability < 1.0:
        raise UsageError(f"{what} is {probability}; it must be above 0 and below 1")
    return float(-np.log1p(-probability))
