"""Topics of a batch of documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp


@dataclass(frozen=True)
class Inference:
    """Topics of documents in their order, as the rows of a sparse matrix, and the bound of each document."""

    elbo: npt.NDArray[np.float64]
    """Lower bound of the log-probability of each document, in nats."""
    indptr: npt.NDArray[np.int64]
    """Where the row of each document begins, and where the last one ends."""
    indices: npt.NDArray[np.int32]
    """Numbers of topics, ascending in a row."""
    q: npt.NDArray[np.float32]
    """Their probabilities, or log-odds."""
    topic_names: list[str]

    def __len__(self) -> int:
        return len(self.elbo)

    def to_csr(self) -> sp.csr_matrix:
        """A row per document, a column per topic; no copy."""
        shape = (len(self), len(self.topic_names))
        return sp.csr_matrix((self.q, self.indices, self.indptr), shape=shape, copy=False)

    def to_dense(self) -> npt.NDArray[np.float32]:
        """The same with all entries; what was left out is 0."""
        shape = (len(self), len(self.topic_names))
        if len(self.q) == shape[0] * shape[1]:
            # Rows are complete, and so in order.
            return self.q.reshape(shape)
        dense = np.zeros(shape, dtype=np.float32)
        rows = np.repeat(np.arange(len(self)), np.diff(self.indptr))
        dense[rows, self.indices] = self.q
        return dense

    def topics_of(self, doc: int) -> list[tuple[str, float]]:
        """Names and probabilities of a document's topics, strongest first."""
        row = slice(int(self.indptr[doc]), int(self.indptr[doc + 1]))
        pairs = [(self.topic_names[topic], float(q)) for topic, q in zip(self.indices[row], self.q[row], strict=True)]
        return sorted(pairs, key=lambda pair: -pair[1])


@dataclass(frozen=True)
class Sample:
    """Documents sampled from a model, and the topics that were on; a row per document in both."""

    documents: sp.csr_matrix
    topics: sp.csr_matrix


def binary_csr(rows: tuple[Any, Any], n_columns: int) -> sp.csr_matrix:
    """Rows of column numbers as a matrix of ones."""
    indptr, indices = rows
    return sp.csr_matrix((np.ones(len(indices), dtype=np.int8), indices, indptr), shape=(len(indptr) - 1, n_columns))
