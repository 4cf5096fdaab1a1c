"""Documents of any kind as a corpus: matrices, texts, lists of tokens, paths."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import _core
from ._errors import UsageError
from ._listener import Listener


def as_lists(X: Any) -> tuple[list[str] | None, list[list[str]] | None] | None:
    """Texts, or lists of tokens; nothing where X is a matrix."""
    if sp.issparse(X) or isinstance(X, (str, os.PathLike)) or hasattr(X, "columns"):
        return None
    if not isinstance(X, (list, tuple)):
        if getattr(X, "ndim", None) != 1 or getattr(getattr(X, "dtype", None), "kind", "O") in "biufc":
            # Series of polars and arrays of Arrow have no such dimension, but a list.
            to_list = getattr(X, "to_pylist", None) or (getattr(X, "to_list", None) if _is_polars(X) else None)
            if to_list is None:
                return None
            X = to_list()
        X = list(X)
    if not X:
        return None
    if isinstance(X[0], str):
        return [str(text) for text in _all(str, X)], None
    first = next((document for document in X if _is_sequence(document) and len(document) > 0), None)
    if first is None:
        return (None, [[] for _ in X]) if all(_is_sequence(document) for document in X) else None
    if not isinstance(next(iter(first)), str):
        return None
    return None, [[str(token) for token in _all(str, document)] for document in X]


def _is_polars(X: Any) -> bool:
    return type(X).__module__.startswith("polars")


def _is_sequence(document: Any) -> bool:
    return isinstance(document, (list, tuple, set, frozenset)) or (
        isinstance(document, np.ndarray) and document.ndim == 1 and document.dtype.kind in "OUT"
    )


def _all(kind: type, items: Any) -> Any:
    for at, item in enumerate(items):
        if not isinstance(item, kind):
            raise TypeError(f"item {at} must be a {kind.__name__}, as the others are; it is {item!r}")
    return items


def refuse_text(X: Any) -> None:
    """Refuses what holds no numbers, with what to do instead; scikit-learn would quote all of it."""
    if isinstance(X, Iterator):
        raise UsageError("documents are read more than once: give a list of them")
    if isinstance(X, (list, tuple)) and not X:
        raise UsageError("there are no documents")
    for column in getattr(X, "columns", ()):
        values = X[column]
        if len(values) > 0 and isinstance(next(iter(values)), str):
            raise UsageError(f"the column {column!r} is text; give it alone, as frame[{column!r}]")


def from_lists(
    lists: tuple[list[str] | None, list[list[str]] | None],
    vocabulary: Sequence[str] | None,
    words: Mapping[str, Any],
    n_threads: int,
    listener: Listener | None,
) -> _core.Corpus:
    """A corpus of texts or lists of tokens."""
    texts, token_lists = lists
    return _core.Corpus.from_lists(texts, token_lists, vocabulary, json.dumps(word_request(words)), n_threads, listener)


def from_matrix(X: Any, names: Sequence[str] | None) -> _core.Corpus:
    """A corpus of a matrix in which everything above zero is present; that of a canonical CSR matrix is read where it lies."""
    if not sp.issparse(X):
        X = sp.csr_array(np.asarray(X) > 0)
    X = X.tocsr()
    if X.nnz and X.data.min() <= 0:
        X = X.copy()
        X.data = X.data > 0
        X.eliminate_zeros()
    if X.indices.dtype not in (np.int32, np.int64):
        X = sp.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape)
    indices = np.ascontiguousarray(X.indices[: X.indptr[-1]])
    return _core.Corpus.from_csr(np.ascontiguousarray(X.indptr), indices, X.shape[1], names)


def read(
    path: str | os.PathLike[str],
    reading: Mapping[str, Any],
    vocabulary: Sequence[str] | None,
    n_threads: int,
    listener: Listener | None,
) -> _core.Corpus:
    """A corpus of a file or folder, in any format of the program."""
    if isinstance(path, str) and " " in path and not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, "no such file or folder; a single text is given as a list of one", path)
    return _core.Corpus.read(os.fspath(path), json.dumps(dict(reading)), vocabulary, n_threads, listener)


def word_request(words: Mapping[str, Any]) -> dict[str, Any]:
    """How a vocabulary is chosen, in the library's terms: whole numbers are documents, fractions are shares of them."""

    def df(value: float | None) -> dict[str, float] | None:
        if value is None:
            return None
        if isinstance(value, (int, np.integer)):
            return {"docs": int(value)}
        return {"share": float(value)}

    stop_words = words.get("stop_words", "english")
    return {
        "stop_words": "none" if stop_words is None else os.fspath(stop_words),
        "min_df": df(words.get("min_df")),
        "max_df": df(words.get("max_df")),
        "max_vocab": words.get("max_vocab"),
        "phrases": words.get("phrases"),
    }
