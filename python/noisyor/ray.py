"""Topics of the documents of a Ray dataset.

    import ray
    from noisyor import Model
    from noisyor.ray import infer
    topics = infer(ray.data.read_parquet("documents"), Model.load("run"), "text")
    topics.write_parquet("topics")

Every node needs this package: `pip install noisyor`, or `runtime_env={"pip": [...]}` (docs/guide/spark-ray.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import ray

from ._arrow import Task, Worker
from .model import Model

if TYPE_CHECKING:
    from ray.data import Dataset


def infer(
    dataset: Dataset,
    model: Model,
    column: str,
    *,
    keep: Sequence[str] | None = None,
    threshold: float = 0.01,
    bound: str = "tail",
    vocabulary: Sequence[str] | None = None,
    batch_size: int = 4096,
    n_actors: int | None = None,
    num_cpus: int = 1,
) -> Dataset:
    """The topics of every row of `dataset`, lazily, with the numbers of `noisyor infer`.

    `column` holds text, lists of tokens, lists of token numbers, or structs of `indices` and `values`. Token numbers
    are the model's, or those of `vocabulary`. Null is a document without words.

    The result has the columns named by `keep` (all others by default), `elbo`, the document's bound, and `topics`, a
    list of (`topic`, `q`) with q at least `threshold`, strongest first.

    At most `n_actors` actors of `num_cpus` processors each hold the model: by default as many as the cluster has room
    for. A batch of an actor that dies is computed again and gives the same. Ray need not keep the order of rows: keep
    an id.
    """
    found = dataset.schema()  # none where there are neither rows nor a schema
    given = pa.schema(
        list(zip(found.names, found.types)) if found else [(name, pa.null()) for name in (column, *(keep or ()))]
    )
    task = Task.of(model, given.names, column, keep, threshold, bound, vocabulary)
    most = n_actors or max(1, int(ray.cluster_resources().get("CPU", 1)) // num_cpus)
    inferred = dataset.select_columns(list(dict.fromkeys((*task.keep, column)))).map_batches(
        _Actor,
        fn_constructor_args=(ray.put(model), task, num_cpus),
        batch_format="pyarrow",
        batch_size=batch_size,
        compute=ray.data.ActorPoolStrategy(min_size=1, max_size=most),
        num_cpus=num_cpus,
    )
    # Ray gives a dataset without rows no schema.
    return inferred.union(ray.data.from_arrow(task.schema(given).empty_table()))


class _Actor:
    def __init__(self, model: Any, task: Task, n_jobs: int) -> None:
        self.worker = Worker(ray.get(model), task, n_jobs)

    def __call__(self, batch: pa.Table) -> pa.Table:
        return self.worker.infer(batch)
