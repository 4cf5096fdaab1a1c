from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, final

import numpy as np
import numpy.typing as npt

__all__ = ["Corpus", "Network", "__version__", "bench", "devices", "graph_names", "infer", "resume", "train"]

__version__: str

_Listener = Callable[[str, str], object]
_Path = str | PathLike[str]
_Rows = tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]

@final
class Corpus:
    @staticmethod
    def from_csr(
        indptr: npt.NDArray[Any], indices: npt.NDArray[Any], n_tokens: int, names: Sequence[str] | None = None
    ) -> Corpus: ...
    @staticmethod
    def from_lists(
        texts: Sequence[str] | None,
        token_lists: Sequence[Sequence[str]] | None,
        known: Sequence[str] | None,
        words: str,
        n_threads: int,
        listener: _Listener | None = None,
    ) -> Corpus: ...
    @staticmethod
    def read(
        path: _Path | None, reading: str, known: Sequence[str] | None, n_threads: int, listener: _Listener | None = None
    ) -> Corpus: ...
    def save(self, path: _Path) -> None: ...
    def rows(self) -> _Rows: ...
    def tokens(self, doc_ix: int) -> list[int]: ...
    @property
    def n_docs(self) -> int: ...
    @property
    def n_tokens(self) -> int: ...
    @property
    def n_occurrences(self) -> int: ...
    @property
    def token_names(self) -> list[str] | None: ...
    @property
    def ids(self) -> list[str]: ...
    @property
    def labels(self) -> list[str | None]: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def has_unknown(self) -> bool: ...

@final
class Network:
    @staticmethod
    def load(path: _Path) -> Network: ...
    @staticmethod
    def from_bytes(name: _Path, content: bytes) -> Network: ...
    def to_bytes(self, name: _Path) -> bytes: ...
    def save(self, path: _Path) -> None: ...
    @property
    def topic_names(self) -> list[str]: ...
    @property
    def token_names(self) -> list[str]: ...
    @property
    def n_topics(self) -> int: ...
    @property
    def n_tokens(self) -> int: ...
    @property
    def n_edges(self) -> int: ...
    @property
    def training(self) -> str: ...
    @property
    def fingerprint(self) -> str: ...
    def edges(self) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.float64]]: ...
    def leaks(self) -> npt.NDArray[np.float64]: ...
    def topic_tree(self, top: int, depth: int) -> str: ...
    def topic_text(self, top: int, depth: int) -> str: ...
    def find_topic(self, wanted: str) -> int: ...
    def explain(
        self, text: str | None, tokens: Sequence[int] | None, why: int | None, options: str
    ) -> tuple[str, str]: ...
    def sample(self, n_docs: int, seed: int) -> tuple[_Rows, _Rows]: ...
    def report(
        self,
        title: str,
        corpus: Corpus | None,
        metrics: str,
        max_mb: float,
        backend: str,
        n_threads: int,
        listener: _Listener | None = None,
    ) -> str: ...

def bench(
    network: Network,
    corpus: Corpus,
    by_number: bool,
    backends: Sequence[str],
    repeat: int,
    n_threads: int,
    listener: _Listener | None = None,
) -> str: ...
def devices() -> str: ...
def graph_names(name: str, content: bytes) -> tuple[list[str], list[str]]: ...
def infer(
    network: Network,
    corpus: Corpus,
    options: str,
    threshold: float,
    by_number: bool,
    log_odds: bool,
    backend: str,
    n_threads: int,
    listener: _Listener | None = None,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.float32]]: ...
def train(
    corpus: Corpus,
    config: str,
    graph: tuple[str, bytes] | None,
    folder: _Path,
    n_threads: int,
    listener: _Listener | None = None,
) -> tuple[Network, str]: ...
def resume(
    folder: _Path,
    corpus: Corpus | None,
    changes: str,
    n_threads: int,
    listener: _Listener | None = None,
) -> tuple[Network, str]: ...
