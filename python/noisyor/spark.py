"""Topics of the documents of a Spark DataFrame.

    from noisyor import Model, spark
    topics = spark.infer(frame, Model.load("run"), "text")
    topics.select("id", explode("topics")).write.parquet("topics")

Every executor needs this package: `pip install noisyor`, or an archive of the environment (docs/guide/spark-ray.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.types import ArrayType, DoubleType, FloatType, StringType, StructField, StructType

from ._arrow import Task, Worker
from .model import Model

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TOPICS = ArrayType(StructType([StructField("topic", StringType()), StructField("q", FloatType())]))


def infer(
    frame: DataFrame,
    model: Model,
    column: str,
    *,
    keep: Sequence[str] | None = None,
    threshold: float = 0.01,
    bound: str = "tail",
    vocabulary: Sequence[str] | None = None,
) -> DataFrame:
    """The topics of every row of `frame`, lazily, with the numbers of `noisyor infer`.

    `column` holds text, lists of tokens, lists of token numbers, or vectors of `pyspark.ml` (sparse or dense). Columns
    of vectors are the model's tokens in their order, or those named by `vocabulary`
    (`CountVectorizerModel.vocabulary`). Null is a document without words.

    The result has the columns named by `keep` (all others by default), `elbo`, the document's bound, and `topics`, an
    array of (`topic`, `q`) with q at least `threshold`, strongest first. A task that is tried again gives the same.
    """
    task = Task.of(model, frame.columns, column, keep, threshold, bound, vocabulary)
    frame = frame.select([f"`{name.replace('`', '``')}`" for name in dict.fromkeys((*task.keep, column))])
    kept = [frame.schema[name] for name in task.keep]
    schema = StructType([*kept, StructField("elbo", DoubleType()), StructField("topics", TOPICS)])
    shared = frame.sparkSession.sparkContext.broadcast(model)  # its bytes; each Python process of Spark reads them once

    def batches(given: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        worker = Worker(shared.value, task, context.cpus() if context else 1)
        for batch in given:
            yield from worker.infer(pa.Table.from_batches([batch])).to_batches()

    return frame.mapInArrow(batches, schema)
