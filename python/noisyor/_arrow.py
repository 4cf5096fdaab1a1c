"""Documents in a column of an Arrow table, inferred batch by batch: what `noisyor.spark` and `noisyor.ray` share.

A row is a document. Out come the columns that are kept, `elbo` (the document's bound) and `topics`, strongest first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as types
import scipy.sparse as sp

from ._errors import InputError, UsageError
from .inference import Inference
from .model import Model

TOPICS = pa.list_(pa.struct([("topic", pa.string()), ("q", pa.float32())]))
ADDED = ("elbo", "topics")


@dataclass(frozen=True)
class Task:
    """What is the same for all batches. It travels to the workers without the model."""

    column: str
    keep: tuple[str, ...]
    threshold: float
    bound: str
    tokens: np.ndarray | None
    """Of each column of vectors the model's token; -1 where it knows none. None: columns are the model's tokens."""

    @classmethod
    def of(
        cls,
        model: Model,
        columns: Sequence[str],
        column: str,
        keep: Sequence[str] | None,
        threshold: float,
        bound: str,
        vocabulary: Sequence[str] | None,
    ) -> Task:
        """Checks names before anything runs on a cluster. Without `keep` all columns but the documents are kept."""
        kept = tuple(name for name in columns if name != column) if keep is None else tuple(keep)
        for name in (column, *kept):
            if name not in columns:
                raise UsageError(f"there is no column {name!r}; there are {', '.join(map(repr, columns))}")
        for name in ADDED:
            if name in kept:
                raise UsageError(f"the result has a column {name!r} of its own; rename it, or leave it out of `keep`")
        tokens = None
        if vocabulary is not None:
            number = {name: at for at, name in enumerate(model.token_names)}
            tokens = np.array([number.get(name, -1) for name in vocabulary], np.int64)
            if np.all(tokens < 0):
                raise UsageError("the model knows none of the words of `vocabulary`; mind spelling and lower case")
        return cls(column, kept, threshold, bound, tokens)

    def schema(self, given: pa.Schema) -> pa.Schema:
        """The schema of the result, also where there are no rows."""
        kept = [given.field(name) for name in self.keep]
        return pa.schema([*kept, pa.field("elbo", pa.float64()), pa.field("topics", TOPICS)])


class Worker:
    """A model in the process of a worker."""

    def __init__(self, model: Model, task: Task, n_jobs: int) -> None:
        self.model, self.task, self.n_jobs = model, task, n_jobs
        self.topic_names = pa.array(model.topic_names, pa.string())

    def infer(self, table: pa.Table) -> pa.Table:
        """The topics of a batch. Documents do not depend on each other, so batches of any size give the same."""
        task = self.task
        schema = task.schema(table.schema)
        if table.num_rows == 0:
            return schema.empty_table()
        documents = Column(table, task).documents(self.model.n_tokens)
        inference = self.model.infer(
            documents, threshold=task.threshold, bound=task.bound, backend="cpu", n_jobs=self.n_jobs
        )
        kept = [table.column(name) for name in task.keep]
        return pa.Table.from_arrays([*kept, pa.array(inference.elbo), self.topics(inference)], schema=schema)

    def topics(self, inference: Inference) -> pa.Array:
        """Strongest first, as in the outputs of `noisyor infer`."""
        docs = np.repeat(np.arange(len(inference.elbo)), np.diff(inference.indptr))
        order = np.lexsort((inference.indices, -inference.q, docs))
        names = self.topic_names.take(pa.array(inference.indices[order]))
        pairs = pa.StructArray.from_arrays([names, pa.array(inference.q[order])], fields=list(TOPICS.value_type))
        return pa.ListArray.from_arrays(pa.array(inference.indptr, pa.int32()), pairs, type=TOPICS)


class Column:
    """The documents of a batch: text, lists of tokens, lists of token numbers, or sparse or dense vectors."""

    def __init__(self, table: pa.Table, task: Task) -> None:
        self.table, self.task = table, task

    @cached_property
    def array(self) -> pa.Array:
        array = self.table.column(self.task.column).combine_chunks()
        if isinstance(array, pa.ChunkedArray):
            array = pa.concat_arrays(array.chunks)
        if isinstance(array, pa.ExtensionArray):
            array = array.storage
        return array.dictionary_decode() if types.is_dictionary(array.type) else array

    def fault(self, row: int, what: str) -> InputError:
        values = [f"{name} {self.table.column(name)[row].as_py()!r}" for name in self.task.keep]
        where = f"row {row} of a batch" + (f" ({', '.join(values)})" if values else "")
        return InputError(f"column {self.task.column!r}, {where}: {what}")

    def documents(self, n_tokens: int) -> list[str] | list[list[str]] | sp.csr_matrix:
        """Null is a document without words."""
        kind = self.array.type
        if is_text(kind):
            return self.array.fill_null("").to_pylist()
        if is_list(kind) and is_text(kind.value_type):
            return [[token for token in row or () if token is not None] for row in self.array.to_pylist()]
        return self.matrix(n_tokens)

    def matrix(self, n_tokens: int) -> sp.csr_matrix:
        """A row per document, a column per token of the model; values above zero mean present."""
        tokens = np.arange(n_tokens) if self.task.tokens is None else self.task.tokens
        index, doc, present = self.entries(len(tokens))
        token = tokens[index]
        present &= token >= 0
        shape = (len(self.array), n_tokens)
        matrix = sp.csr_matrix((np.ones(present.sum(), bool), (doc[present], token[present])), shape=shape)
        matrix.sum_duplicates()  # and in ascending order
        return matrix

    def entries(self, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of each entry of the vectors: column, document, whether it is above zero."""
        kind, indices, values = self.array.type, None, None
        if types.is_struct(kind) and kind.get_field_index("indices") >= 0:
            indices = pc.struct_field(self.array, "indices")
            self.check_sizes(width)
            if kind.get_field_index("values") >= 0:
                values = pc.struct_field(self.array, "values")
        elif is_list(kind) and types.is_integer(kind.value_type):
            indices = self.array
        elif is_list(kind) and types.is_floating(kind.value_type):
            values = self.array
        else:
            raise InputError(
                f"column {self.task.column!r} holds {kind}; documents are text, lists of tokens, lists of token numbers, "
                "or vectors: structs with `indices`, and `values` or not, or lists of floats"
            )
        return self.flat(width, indices, values)

    def check_sizes(self, width: int) -> None:
        if self.array.type.get_field_index("size") < 0:
            return
        sizes = pc.struct_field(self.array, "size")  # null in dense vectors
        self.check(pc.not_equal(sizes, width), lambda row: self.wrong_size(sizes[row].as_py(), width))

    def wrong_size(self, size: int, width: int) -> str:
        return f"a vector of size {size}, but there are {width} tokens; {self.remedy()}"

    def flat(
        self, width: int, indices: pa.Array | None, values: pa.Array | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows with indices are sparse, the others dense."""
        lists = values if values is not None else indices
        assert lists is not None
        lengths = list_lengths(lists)
        doc = np.repeat(np.arange(len(lists)), lengths)
        index = np.arange(len(doc)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        sparse = np.zeros(len(lists), bool)
        if indices is not None:
            sparse = np.asarray(indices.is_valid())
            self.check(
                sparse & (list_lengths(indices) != lengths), lambda row: "there are not as many values as indices"
            )
            index[sparse[doc]] = self.numbers(pc.list_flatten(indices), doc[sparse[doc]])
        dense = ~sparse & np.asarray(lists.is_valid())
        self.check(dense & (lengths != width), lambda row: self.wrong_size(lengths[row], width))
        outside = (index < 0) | (index >= width)
        if outside.any():
            at = int(np.argmax(outside))
            raise self.fault(doc[at], f"index {index[at]}, but there are {width} tokens, from 0; {self.remedy()}")
        present = np.ones(len(doc), bool)
        if values is not None:
            present = self.numbers(pc.list_flatten(values), doc) > 0
        return index, doc, present

    def numbers(self, flat: pa.Array, doc: np.ndarray) -> np.ndarray:
        """Numbers of vectors, of which none may be missing."""
        missing = np.asarray(flat.is_null(nan_is_null=True))
        if missing.any():
            raise self.fault(doc[np.argmax(missing)], "a number is missing")
        return np.asarray(flat)

    def check(self, faulty: pa.Array | np.ndarray, what: Callable[[int], str]) -> None:
        if isinstance(faulty, pa.Array):
            faulty = np.asarray(faulty.fill_null(False))
        if faulty.any():
            row = int(np.argmax(faulty))
            raise self.fault(row, what(row))

    def remedy(self) -> str:
        if self.task.tokens is None:
            return "name the vector's columns with `vocabulary`"
        return "is `vocabulary` the one that the vectors were made with?"


def is_text(kind: pa.DataType) -> bool:
    return any(is_kind(kind) for is_kind in (types.is_string, types.is_large_string, types.is_string_view))


def is_list(kind: pa.DataType) -> bool:
    return any(is_kind(kind) for is_kind in (types.is_list, types.is_large_list, types.is_fixed_size_list))


def list_lengths(lists: pa.Array) -> np.ndarray:
    return np.asarray(pc.list_value_length(lists).fill_null(0))
