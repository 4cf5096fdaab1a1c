"""The sample's network and documents, and what the program `noisyor infer` says of them."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from noisyor import Model

SAMPLE = Path(__file__).parents[2] / "data" / "sample"
N_COPIES = 5  # so that workers are busy for some seconds
PROGRAM = [os.environ["NOISYOR"]] if "NOISYOR" in os.environ else [sys.executable, "-m", "noisyor"]


class Truth(NamedTuple):
    """By id: the bound, and topics with q, strongest first."""

    rows: dict[str, tuple[float, list[tuple[str, float]]]]


@pytest.fixture(scope="session")
def model() -> Model:
    return Model.load(SAMPLE / "network.tsv")


@pytest.fixture(scope="session")
def documents() -> list[dict]:
    with gzip.open(SAMPLE / "corpus.jsonl.gz", "rt") as file:
        tokens = [json.loads(line)["tokens"] for line in file]
    tokens[7], tokens[11] = [], ["nosuchword"]
    copies = [tokens] * N_COPIES
    return [
        {"id": f"{copy}-{at}", "tokens": doc, "text": " ".join(doc)}
        for copy, docs in enumerate(copies)
        for at, doc in enumerate(docs)
    ]


@pytest.fixture(scope="session")
def infer(documents, tmp_path_factory):
    """`infer(key)`: what the program says of the documents' texts or tokens."""
    folder, known = tmp_path_factory.mktemp("infer"), {}

    def run(key: str) -> Truth:
        if key not in known:
            (folder / "docs.jsonl").write_text(
                "".join(json.dumps({"id": doc["id"], key: doc[key]}) + "\n" for doc in documents)
            )
            command = [*PROGRAM, "infer", SAMPLE / "network.tsv", folder / "docs.jsonl"]
            subprocess.run([*command, "-o", folder / f"{key}.jsonl", "--backend", "cpu", "--quiet"], check=True)
            known[key] = Truth(dict(map(row, (folder / f"{key}.jsonl").read_text().splitlines())))
        return known[key]

    def row(line: str):
        doc = json.loads(line)
        return doc["doc"], (doc["elbo"], [(name, float(np.float32(q))) for name, q in doc["topics"].items()])

    return run


def by_id(rows) -> dict[str, tuple[float, list[tuple[str, float]]]]:
    """Rows of Spark or Ray in the form of `Truth`; every id once."""
    found = {}
    for row in rows:
        assert row["id"] not in found, f"{row['id']} came twice"
        found[row["id"]] = (row["elbo"], [(pair["topic"], pair["q"]) for pair in row["topics"]])
    return found
