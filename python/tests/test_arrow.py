"""Columns of Arrow tables as documents, without a cluster."""

import pickle

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow", minversion="16", reason="pyarrow is not installed")

from noisyor import Model  # noqa: E402
from noisyor._arrow import TOPICS, Task, Worker  # noqa: E402

WORDS = ["ball", "team", "song", "rain"]
DOCUMENTS = [["ball", "team"], [], ["song", "unheard"], ["rain", "ball", "rain"]]
NUMBERS = [[WORDS.index(word) for word in dict.fromkeys(tokens) if word in WORDS] for tokens in DOCUMENTS]
DENSE = [[float(at in numbers) for at in range(4)] for numbers in NUMBERS]
VECTOR = pa.struct(
    [("type", pa.int8()), ("size", pa.int32()), ("indices", pa.list_(pa.int32())), ("values", pa.list_(pa.float64()))]
)


def sparse(numbers, size=4):
    return {"type": 0, "size": size, "indices": numbers, "values": [2.0] * len(numbers)}


def dense(row):
    return {"type": 1, "size": None, "indices": None, "values": row}


@pytest.fixture(scope="module")
def model() -> Model:
    edges = [("sport", "ball", 0.9), ("sport", "team", 0.8), ("music", "song", 0.9), ("weather", "rain", 0.7)]
    return Model.from_edges(edges, leak=0.1, tokens=WORDS)


def infer(model, column, keep=("id",), vocabulary=None, threshold=0.01):
    table = pa.table({"id": pa.array([f"d{at}" for at in range(len(column))], pa.string()), "docs": column})
    task = Task.of(model, table.column_names, "docs", keep, threshold, "tail", vocabulary)
    return Worker(pickle.loads(pickle.dumps(model)), task, 1).infer(table)


@pytest.fixture(scope="module")
def expected(model):
    found = model.infer(DOCUMENTS, backend="cpu")
    return [
        {"id": f"d{at}", "elbo": found.elbo[at], "topics": [dict(topic=n, q=q) for n, q in found.topics_of(at)]}
        for at in range(len(DOCUMENTS))
    ]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([" ".join(tokens) for tokens in DOCUMENTS]),
        pa.array([" ".join(tokens) or None for tokens in DOCUMENTS], pa.large_string()),
        pa.array([" ".join(tokens) for tokens in DOCUMENTS]).dictionary_encode(),
        pa.array(DOCUMENTS),
        pa.array([[*tokens, None] or None for tokens in DOCUMENTS], pa.large_list(pa.large_string())),
        pa.array(NUMBERS),
        pa.array([numbers or None for numbers in NUMBERS], pa.list_(pa.uint8())),
        pa.array(DENSE),
        pa.array(DENSE, pa.list_(pa.float32(), 4)),
        pa.array([sparse(numbers) for numbers in NUMBERS], VECTOR),
        pa.array([dense(row) if at % 2 else sparse(n) for at, (row, n) in enumerate(zip(DENSE, NUMBERS))], VECTOR),
        pa.array([sparse(numbers) if numbers else None for numbers in NUMBERS], VECTOR),
        pa.array([{"indices": numbers} for numbers in NUMBERS]),
        pa.array([[9], *NUMBERS]).slice(1),
        pa.array([sparse([3]), *map(sparse, NUMBERS)], VECTOR).slice(1),
        pa.chunked_array([pa.array(NUMBERS[:1]), pa.array(NUMBERS[1:])]),
    ],
    ids=lambda column: str(column.type)[:60],
)
def test_columns_of_every_kind(model, expected, column):
    assert infer(model, column).to_pylist() == expected


def test_a_vocabulary_names_columns(model, expected):
    vocabulary = ["nothing", *reversed(WORDS)]
    numbers = [[vocabulary.index(word) for word in dict.fromkeys(tokens) if word in vocabulary] for tokens in DOCUMENTS]
    assert infer(model, pa.array(numbers), vocabulary=vocabulary).to_pylist() == expected


def test_tokens_that_are_repeated_count_once(model):
    once, often = infer(model, pa.array([[0], [0] * 256])).to_pylist()
    assert (once["elbo"], once["topics"]) == (often["elbo"], often["topics"])


def test_values_that_are_not_above_zero_are_absent(model, expected):
    vectors = [{"indices": [0, 1, 2, 3], "values": [v or -1.0 for v in row]} for row in DENSE]
    assert infer(model, pa.array(vectors)).to_pylist() == expected


def test_no_rows(model):
    found = infer(model, pa.array([], pa.string()))
    assert found.num_rows == 0
    assert found.schema == pa.schema([("id", pa.string()), ("elbo", pa.float64()), ("topics", TOPICS)])


def test_strongest_first_and_threshold(model):
    q = [[pair["q"] for pair in row] for row in infer(model, pa.array(DOCUMENTS), threshold=0.0)["topics"].to_pylist()]
    assert all(len(row) == 3 and row == sorted(row, reverse=True) for row in q)
    assert np.all([row["topics"] == [] for row in infer(model, pa.array([[]], pa.list_(pa.string())), threshold=0.9).to_pylist()])


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array([[0], [4]]), r"column 'docs', row 1 of a batch \(id 'd1'\): index 4, but there are 4 tokens, from 0; name"),
        (pa.array([[0], [-1]]), r"row 1 .*: index -1"),
        (pa.array([[0], [1, None]]), r"row 1 .*: a number is missing"),
        (pa.array([[0.0] * 4, [1.0, float("nan"), 0.0, 0.0]]), r"row 1 .*: a number is missing"),
        (pa.array([[0.0] * 4, [1.0] * 5]), r"row 1 .*: a vector of size 5, but there are 4 tokens"),
        (pa.array([[0.0] * 4, [1.0] * 3]), r"row 1 .*: a vector of size 3, but there are 4 tokens"),
        (pa.array([sparse([0]), sparse([0], size=5)], VECTOR), r"row 1 .*: a vector of size 5, but there are 4 tokens"),
        (
            pa.array([{"indices": [0], "values": [1.0]}, {"indices": [0, 1], "values": [1.0]}]),
            r"row 1 .*: there are not as many values as indices",
        ),
        (pa.array([1, 2]), r"column 'docs' holds int64; documents are text"),
        (pa.array([{"a": 1}]), r"column 'docs' holds struct<a: int64>; documents are text"),
    ],
)
def test_faults_name_column_and_row(model, column, message):
    with pytest.raises(ValueError, match=message):
        infer(model, column)


def test_names_are_checked_before_anything_runs(model):
    with pytest.raises(ValueError, match="there is no column 'text'; there are 'id', 'docs'"):
        Task.of(model, ["id", "docs"], "text", None, 0.01, "tail", None)
    with pytest.raises(ValueError, match="there is no column 'name'"):
        Task.of(model, ["id", "docs"], "docs", ["name"], 0.01, "tail", None)
    with pytest.raises(ValueError, match="the result has a column 'topics' of its own"):
        Task.of(model, ["topics", "docs"], "docs", None, 0.01, "tail", None)
    with pytest.raises(ValueError, match="the model knows none of the words of `vocabulary`"):
        Task.of(model, ["docs"], "docs", None, 0.01, "tail", ["Ball"])
