"""Corpora as the usual Python tools write them (--write), and our outputs as they read them (--check).

scripts/interop.sh installs the tools and runs both."""

import argparse
import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import scipy.io
import scipy.sparse as sp

# "never" is in no document; the last document is empty, as are the ends of what readers count from entries alone.
WORDS = ["apple", "bread", "чай", "crème", "never", "flour", "καφές", "müsli", "pear", "salt", "zoë"]
# A repeated word counts once.
DOCS = [
    "apple bread", "", "чай чай crème", "pear", "apple pear salt salt salt", "zoë", "flour bread salt", "καφές crème",
    "müsli apple pear crème zoë", "", "salt", "apple bread чай crème flour καφές müsli pear salt zoë", "",
]  # fmt: skip
IDS = [101 + i for i in range(len(DOCS))]
LABELS = [i % 3 for i in range(len(DOCS))]


def counts():
    """Documents by words, with one stored zero, which is no occurrence."""
    column = {word: j for j, word in enumerate(WORDS)}
    rows = [{column[word]: doc.split().count(word) for word in doc.split()} for doc in DOCS]
    rows[3][0] = 0
    entries = [(i, j, n) for i, row in enumerate(rows) for j, n in sorted(row.items())]
    i, j, n = map(np.array, zip(*entries))
    matrix = sp.csr_matrix((n.astype(np.int64), (i, j)), shape=(len(DOCS), len(WORDS)))
    assert matrix.nnz == len(entries)
    return matrix


def write_truth(folder):
    docs = [
        {"id": str(id), "label": str(label), "tokens": [word for word in WORDS if word in doc.split()]}
        for id, label, doc in zip(IDS, LABELS, DOCS)
    ]
    lines = ",\n ".join(json.dumps(doc, ensure_ascii=False) for doc in docs)
    (folder / "expected.json").write_text(f"[{lines}]\n", encoding="utf-8")
    (folder / "words.txt").write_text("".join(word + "\n" for word in WORDS), encoding="utf-8")


def write_scipy(folder):
    matrix = counts()
    sp.save_npz(folder / "csr-int64.npz", matrix)
    sp.save_npz(folder / "csr-int8-stored.npz", matrix.astype(np.int8), compressed=False)
    sp.save_npz(folder / "csr-float64.npz", matrix.astype(np.float64) / 4)
    sp.save_npz(folder / "csr-bool.npz", matrix.astype(bool))
    sp.save_npz(folder / "csr-array.npz", sp.csr_array(matrix))
    unsorted = matrix.copy()
    for begin, end in zip(unsorted.indptr, unsorted.indptr[1:]):
        for array in (unsorted.indices, unsorted.data):
            array[begin:end] = array[begin:end][::-1].copy()
    sp.save_npz(folder / "csr-unsorted.npz", unsorted)
    sp.save_npz(folder / "csc-int64.npz", matrix.tocsc())
    sp.save_npz(folder / "coo-int64.npz", matrix.tocoo())

    scipy.io.mmwrite(folder / "integer-rows.mtx", matrix, comment=" rows are documents")
    scipy.io.mmwrite(folder / "integer-columns.mtx", matrix.tocsc())
    scipy.io.mmwrite(folder / "real.mtx", matrix.astype(np.float64) / 4)
    nonzero = matrix.copy()
    nonzero.eliminate_zeros()
    scipy.io.mmwrite(folder / "pattern.mtx", nonzero, field="pattern")
    packed = gzip.compress((folder / "integer-rows.mtx").read_bytes(), mtime=0)
    (folder / "integer-rows.mtx.gz").write_bytes(packed)


def write_sklearn(folder):
    from sklearn.datasets import dump_svmlight_file

    def dump(name, **options):
        dump_svmlight_file(counts(), np.array(LABELS), str(folder / name), **options)

    dump("from-one.svm", zero_based=False)
    dump("from-zero.svm", zero_based=True)
    dump("comment.svm", zero_based=False, comment="A comment of\ntwo lines: 1:1")
    dump("query-id.svm", zero_based=False, query_id=np.array(IDS))


def write_gensim(folder):
    from gensim.corpora import MmCorpus, SvmLightCorpus, UciCorpus

    matrix = counts()
    matrix.eliminate_zeros()
    bags = [list(zip(map(int, row.indices), map(int, row.data))) for row in matrix]
    words = dict(enumerate(WORDS))
    UciCorpus.serialize(str(folder / "docword.gensim.txt"), bags, id2word=words)
    MmCorpus.serialize(str(folder / "gensim.mtx"), bags, id2word=words)
    SvmLightCorpus.serialize(str(folder / "gensim.svm"), bags, labels=LABELS)
    for index in folder.glob("*.index"):
        index.unlink()  # a pickle, for gensim alone


def write_parquet(folder):
    tokens = [doc.split() for doc in DOCS]
    labels = pa.array([str(label) for label in LABELS])

    def write(name, id, column, values, **options):
        pq.write_table(pa.table({"id": id, "label": labels, column: values}), folder / f"{name}.parquet", **options)

    string_ids = pa.array([str(id) for id in IDS])
    lists = pa.array(tokens, pa.list_(pa.string()))
    for codec in ["snappy", "zstd", "gzip", "none"]:
        write(f"tokens-{codec}", string_ids, "tokens", lists, compression=codec)
    write("tokens-no-dictionary", string_ids, "tokens", lists, use_dictionary=False)
    write("tokens-row-groups", string_ids, "tokens", lists, row_group_size=3, data_page_version="2.0")
    large = pa.array(tokens, pa.large_list(pa.large_string()))
    write("tokens-large", string_ids.cast(pa.large_string()), "tokens", large)
    dictionary = pa.array(tokens, pa.list_(pa.dictionary(pa.int32(), pa.string())))
    write("tokens-dictionary", string_ids, "tokens", dictionary)
    with_nulls = [[*doc, None] if i % 2 else doc or None for i, doc in enumerate(tokens)]
    write("tokens-nulls", string_ids, "tokens", pa.array(with_nulls, pa.list_(pa.string())))

    int_ids = pa.array(IDS, pa.int64())
    text = pa.array(DOCS)
    for codec in ["snappy", "zstd", "gzip", "none"]:
        write(f"text-{codec}", int_ids, "text", text, compression=codec)
    write("text-large", int_ids, "text", text.cast(pa.large_string()))
    write("text-dictionary", int_ids, "text", text.dictionary_encode(), row_group_size=5)
    write("text-nulls", int_ids, "text", pa.array([doc or None for doc in DOCS]))


def write_csv(folder):
    dense = (counts().toarray() > 0).astype(np.int8)
    header = ",".join(WORDS)
    np.savetxt(folder / "dense-numpy.csv", dense, fmt="%d", delimiter=",", header=header, comments="", encoding="utf-8")
    table = pa.table({word: dense[:, j] for j, word in enumerate(WORDS)})
    pa.csv.write_csv(table, folder / "dense-pyarrow.csv")


def write(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for step in [write_truth, write_scipy, write_sklearn, write_gensim, write_parquet, write_csv]:
        step(folder)


def check_outputs(folder, name, topics):
    """`name`.jsonl, .parquet and .npz hold the same f32 numbers."""
    docs = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    rows = [(doc["doc"], topic, np.float32(q)) for doc in docs for topic, q in doc["topics"].items()]

    table = pq.read_table(folder / f"{name}.parquet")
    assert table.schema.names == ["doc", "topic", "q"], table.schema
    assert table.schema.types == [pa.string(), pa.string(), pa.float32()], table.schema
    assert table.schema.metadata[b"noisyor.docs"] == str(len(docs)).encode(), table.schema.metadata
    # A document without topics has a row without the two.
    padded = [row for doc in docs for row in (
        [(doc["doc"], topic, float(np.float32(q))) for topic, q in doc["topics"].items()] or [(doc["doc"], None, None)])]
    assert list(zip(*(table[column].to_pylist() for column in table.schema.names))) == padded

    matrix = sp.load_npz(folder / f"{name}.npz")
    assert (matrix.format, matrix.dtype, matrix.shape) == ("csr", np.float32, (len(docs), len(topics))), matrix
    assert matrix.has_sorted_indices and matrix.has_canonical_format
    column = {topic: j for j, topic in enumerate(topics)}
    expected = np.zeros(matrix.shape, np.float32)
    for i, doc in enumerate(docs):
        for topic, q in doc["topics"].items():
            expected[i, column[topic]] = q
    assert matrix.nnz == len(rows)
    names, ids = ((folder / f"{name}.npz").with_suffix(f".npz.{what}.txt") for what in ["topics", "ids"])
    assert names.read_text(encoding="utf-8").splitlines() == topics, names
    assert len(ids.read_text(encoding="utf-8").splitlines()) == len(docs), ids
    assert np.array_equal(matrix.toarray(), expected)
    return len(rows)


def check_model(folder):
    """model.safetensors is model.json; returns the topics."""
    from safetensors import safe_open
    from safetensors.numpy import load_file

    model = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    tensors = load_file(folder / "model.safetensors")
    with safe_open(folder / "model.safetensors", "numpy") as file:
        assert json.loads(file.metadata()["names"]) == [model["topics"], model["tokens"]]
    offsets = tensors["edge_offsets"].astype(np.int64)
    children = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    edges = list(zip(tensors["edge_parents"].tolist(), children.tolist(), tensors["edge_weights"].tolist()))
    assert sorted(edges) == sorted((parent, child, weight) for parent, child, weight in model["edges"])
    assert tensors["leak"].tolist() == model["leak"]
    return model["topics"]


def check_events(run):
    """TensorBoard reads from the run's event file what metrics.jsonl says."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    metrics = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(metrics) > 1
    events = EventAccumulator(str(run / "tensorboard"), size_guidance={"scalars": 0})
    events.Reload()
    tags = {
        "bound/train": "train_elbo",
        "bound/held_out": "valid_elbo",
        "speed/documents_per_s": "docs_per_s",
        "speed/edges_per_s": "edges_per_s",
        "graph/edges": "n_edges",
        "progress/epoch": "epoch",
    }
    assert sorted(events.Tags()["scalars"]) == sorted(tags), events.Tags()
    for tag, key in tags.items():
        read = [(event.step, np.float32(event.value)) for event in events.Scalars(tag)]
        assert read == [(line["step"], np.float32(line[key])) for line in metrics], (tag, read)
    times = np.diff([event.wall_time for event in events.Scalars("bound/train")])
    assert np.allclose(times, np.diff([line["seconds"] for line in metrics]), atol=1e-4), times


def check(folder):
    check_events(folder / "run")
    topics = check_model(folder)
    assert check_outputs(folder, "some", topics) > 0
    assert check_outputs(folder, "all", topics) > len(topics)
    assert check_outputs(folder, "empty", topics) == 0
    print("pyarrow, SciPy, safetensors and TensorBoard read what noisyor wrote")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, metavar="DIR", help="write corpora into a folder")
    parser.add_argument("--check", type=Path, metavar="DIR", help="check the outputs in a folder")
    arguments = parser.parse_args()
    if arguments.write:
        write(arguments.write)
    if arguments.check:
        check(arguments.check)
