"""Documents that are read once and used often."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import scipy.sparse as sp

from . import _core, _documents
from ._listener import Listener, n_threads
from .inference import binary_csr


class Corpus:
    """Documents: which tokens occur in each. Immutable, cheap to copy; models take it wherever they take documents.

    >>> corpus = Corpus.from_texts(["rain and wind", "wind, sun and rain", "sun"], min_df=1)
    >>> corpus.n_docs, corpus.token_names
    (3, ['rain', 'sun', 'wind'])
    """

    def __init__(self, core: _core.Corpus) -> None:
        self._core = core

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        *,
        vocab: str | os.PathLike[str] | None = None,
        text_column: str | int | None = None,
        id_column: str | int | None = None,
        label_column: str | int | None = None,
        stop_words: str | None = "english",
        min_df: int | float | None = None,
        max_df: int | float | None = None,
        max_vocab: int | None = None,
        phrases: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> Corpus:
        """Reads a file or folder in any format of the program (docs/formats.md), text included; native corpora are mapped, not read."""
        words = dict(stop_words=stop_words, min_df=min_df, max_df=max_df, max_vocab=max_vocab, phrases=phrases)
        reading: dict[str, Any] = {"words": _documents.word_request(words)}
        if vocab is not None:
            reading["vocab"] = os.fspath(vocab)
        columns = {"text": text_column, "id": id_column, "label": label_column}
        if any(column is not None for column in columns.values()):
            columns = {name: _column(column) for name, column in columns.items()}
            reading["read"] = {
                "format": None,
                "columns": {**columns, "header": False, "separator": None},
                "zero_based": False,
            }
        return cls(_documents.read(path, reading, None, n_threads(n_jobs), Listener(verbose)))

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        *,
        vocabulary: Sequence[str] | None = None,
        stop_words: str | None = "english",
        min_df: int | float | None = None,
        max_df: int | float | None = None,
        max_vocab: int | None = None,
        phrases: float | None = None,
        n_jobs: int | None = None,
    ) -> Corpus:
        """Splits texts into words as the program does."""
        words = dict(stop_words=stop_words, min_df=min_df, max_df=max_df, max_vocab=max_vocab, phrases=phrases)
        return cls(_documents.from_lists((list(texts), None), vocabulary, words, n_threads(n_jobs), None))

    @classmethod
    def from_tokens(
        cls,
        documents: Iterable[Iterable[str]],
        *,
        vocabulary: Sequence[str] | None = None,
        min_df: int | float | None = None,
        max_df: int | float | None = None,
        max_vocab: int | None = None,
        n_jobs: int | None = None,
    ) -> Corpus:
        """Of lists of tokens; a token that is repeated counts once."""
        words = dict(min_df=min_df, max_df=max_df, max_vocab=max_vocab)
        lists = (None, [list(document) for document in documents])
        return cls(_documents.from_lists(lists, vocabulary, words, n_threads(n_jobs), None))

    @classmethod
    def from_matrix(cls, X: Any, names: Sequence[str] | None = None) -> Corpus:
        """Of a matrix with a row per document; what is above zero is present. The indices of a CSR matrix stay where they are."""
        return cls(_documents.from_matrix(X, None if names is None else [str(name) for name in names]))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a native corpus, which is mapped in an instant."""
        self._core.save(path)

    def to_csr(self) -> sp.csr_matrix:
        """A matrix of ones: a row per document, a column per token."""
        return binary_csr(self._core.rows(), self.n_tokens)

    @property
    def n_docs(self) -> int:
        """Number of documents, empty ones included."""
        return self._core.n_docs

    @property
    def n_tokens(self) -> int:
        """Size of the vocabulary."""
        return self._core.n_tokens

    @property
    def token_names(self) -> list[str] | None:
        """Names of the tokens; none where they only have numbers."""
        return self._core.token_names

    @property
    def ids(self) -> list[str]:
        """Ids of the documents; their numbers where they have none."""
        return self._core.ids

    @property
    def labels(self) -> list[str | None]:
        """Labels of the documents."""
        return self._core.labels

    @property
    def fingerprint(self) -> str:
        """The same for the same documents and names, in memory or in a file."""
        return self._core.fingerprint

    def __len__(self) -> int:
        return self.n_docs

    def __getitem__(self, doc_ix: int) -> list[str]:
        """The tokens of a document; numbers as text where they have no names."""
        if doc_ix < 0:
            doc_ix += self.n_docs
        names = self.token_names
        return [names[token] if names else str(token) for token in self._core.tokens(doc_ix)]

    def __repr__(self) -> str:
        return f"<Corpus of {self.n_docs} documents, {self.n_tokens} tokens>"


def _column(column: str | int | None) -> Any:
    return column if column is None else {"number": column} if isinstance(column, int) else {"name": column}
