"""Two nodes of a Ray cluster on this machine; one is killed while it works."""

import time

import pyarrow as pa
import pytest
import ray
from conftest import by_id
from ray.cluster_utils import Cluster

from noisyor.ray import infer as ray_infer

N_BLOCKS = 50


@pytest.fixture(scope="module")
def nodes():
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    cluster.wait_for_nodes()
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster, nodes
    ray.shutdown()
    cluster.shutdown()


def dataset(documents, *columns):
    """In blocks that the driver owns, so that they outlive a node."""
    rows = {"id": [doc["id"] for doc in documents]}
    rows |= {column: [doc[column] for doc in documents] for column in columns}
    table, size = pa.table(rows), len(documents) // N_BLOCKS
    return ray.data.from_arrow([table.slice(begin, size) for begin in range(0, len(documents), size)])


def test_lists_of_tokens(nodes, documents, model, infer):
    found = ray_infer(dataset(documents, "tokens"), model, "tokens", batch_size=500)
    assert found.schema().names == ["id", "elbo", "topics"]
    assert by_id(found.take_all()) == infer("tokens").rows


def test_vectors(nodes, documents, model, infer):
    columns = {name: at for at, name in enumerate(model.token_names)}
    vectors = [
        {"id": doc["id"], "indices": [columns[token] for token in doc["tokens"] if token in columns]}
        for doc in documents[:2000]
    ]
    rows = [{"id": v["id"], "v": {"indices": v["indices"], "values": [2.0] * len(v["indices"])}} for v in vectors]
    found = ray_infer(ray.data.from_items(rows), model, "v")
    truth = infer("tokens").rows
    assert by_id(found.take_all()) == {row["id"]: truth[row["id"]] for row in rows}


def test_no_rows(nodes, model):
    empty = ray.data.from_arrow(pa.schema([("id", pa.string()), ("text", pa.string())]).empty_table())
    found = ray_infer(empty, model, "text")
    assert found.take_all() == []
    assert found.schema().names == ["id", "elbo", "topics"]
    assert str(found.schema().types[2]) == "list<item: struct<topic: string, q: float>>"
    assert ray_infer(ray.data.from_items([]), model, "text").schema().names == ["elbo", "topics"]


def test_errors_name_column_and_row(nodes, model):
    rows = ray.data.from_items([{"id": "a", "v": [1, 2]}, {"id": "b", "v": [4, 9999]}])
    with pytest.raises(ValueError, match="there is no column 'word'; there are 'id', 'v'"):
        ray_infer(rows, model, "word")
    with pytest.raises(Exception, match=r"column 'v', row 1 of a batch \(id 'b'\): index 9999"):
        ray_infer(rows, model, "v").take_all()


def nodes_at_work() -> set[str]:
    actors = ray._private.state.actors().values()
    return {actor["Address"]["NodeID"] for actor in actors if actor["State"] == "ALIVE"}


def test_a_node_is_killed_in_the_middle(nodes, documents, model, infer):
    """Last, as one node is left."""
    cluster, (killed, _) = nodes
    source = dataset(documents, "text")
    found, began, n_before = [], time.monotonic(), None
    for batch in ray_infer(source, model, "text", batch_size=500).iter_batches(batch_size=None, batch_format="pyarrow"):
        found += batch.to_pylist()
        if n_before is None and killed.node_id in nodes_at_work():
            n_before = len(found)
            cluster.remove_node(killed, allow_graceful=False)
    seconds = time.monotonic() - began
    assert n_before is not None and n_before < len(documents) // 2, "both nodes worked when one was killed"
    assert by_id(found) == infer("text").rows
    print(f"Ray: {len(found)} documents in {seconds:.1f} s; a node killed after {n_before} documents")
