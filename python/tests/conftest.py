"""Documents that the tests share, and the program."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

THEMES = [
    "ball team goal match player coach",
    "song band guitar concert singer album",
    "rain wind storm cloud snow sun",
    "bread soup salt oven butter cheese",
]


def make_token_lists(n_docs: int, seed: int) -> list[list[str]]:
    """Documents of one or two themes, and a word in between that says nothing."""
    rng = np.random.default_rng(seed)
    themes = [theme.split() for theme in THEMES]
    documents = []
    for _ in range(n_docs):
        words: set[str] = set()
        for theme in rng.choice(len(themes), size=rng.integers(1, 3), replace=False):
            words.update(rng.choice(themes[theme], size=rng.integers(2, 5), replace=False))
        if rng.random() < 0.5:
            words.add("today")
        documents.append(sorted(words))
    return documents


@pytest.fixture(scope="session")
def token_lists() -> list[list[str]]:
    return make_token_lists(300, 1)


@pytest.fixture(scope="session")
def texts(token_lists) -> list[str]:
    return [" and the ".join(tokens).title() for tokens in token_lists]


@pytest.fixture(scope="session")
def matrix(token_lists) -> tuple[sp.csr_matrix, list[str]]:
    """The same documents as a matrix of ones, and the names of its columns."""
    names = sorted({token for tokens in token_lists for token in tokens})
    number = {name: at for at, name in enumerate(names)}
    dense = np.zeros((len(token_lists), len(names)), dtype=np.int8)
    for row, tokens in enumerate(token_lists):
        dense[row, [number[token] for token in tokens]] = 1
    return sp.csr_matrix(dense), names


@pytest.fixture
def corpus_file(tmp_path, token_lists) -> Path:
    """The documents as the program reads them."""
    path = tmp_path / "documents.jsonl"
    lines = [json.dumps({"id": f"d{at}", "tokens": tokens}) for at, tokens in enumerate(token_lists)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="session")
def program():
    """Runs the program; it must end well."""
    binary = os.environ["NOISYOR"]

    def run(*arguments: object) -> str:
        command = [binary, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout

    return run
