"""A standalone master and two workers on this machine; one is killed while it works."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pyspark
import pytest
from conftest import by_id
from pyspark.ml.linalg import SparseVector, Vectors
from pyspark.sql import SparkSession

from noisyor import spark as noisyor_spark

HOST = "127.0.0.1"
N_PARTITIONS = 40


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


class Cluster:
    """Every process leads a group, so that a worker dies with its executor."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.processes = folder, []
        self.environment = os.environ | {
            "SPARK_LOCAL_IP": HOST, "SPARK_HOME": str(Path(pyspark.__file__).parent),
            "PYSPARK_PYTHON": sys.executable, "SPARK_NO_DAEMONIZE": "1", "SPARK_WORKER_DIR": str(folder),
        }  # fmt: skip
        os.environ.update(self.environment)
        port = free_port()
        self.url = f"spark://{HOST}:{port}"
        master = "org.apache.spark.deploy.master.Master"
        self.start("master", master, "--host", HOST, "--port", str(port), "--webui-port", str(free_port()))
        self.wait_for(port)
        self.workers = [self.start_worker(name) for name in ("worker-1", "worker-2")]

    def start(self, name: str, *arguments: str) -> subprocess.Popen:
        log = open(self.folder / f"{name}.log", "w")
        command = [Path(pyspark.__file__).parent / "bin" / "spark-class", *arguments]
        process = subprocess.Popen(
            command, env=self.environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
        self.processes.append(process)
        return process

    def start_worker(self, name: str) -> subprocess.Popen:
        worker = "org.apache.spark.deploy.worker.Worker"
        options = ["--host", HOST, "--cores", "1", "--memory", "2g", "--webui-port", str(free_port())]
        return self.start(name, worker, *options, self.url)

    def wait_for(self, port: int) -> None:
        for _ in range(120):
            with socket.socket() as probe:
                if probe.connect_ex((HOST, port)) == 0:
                    return
            time.sleep(0.5)
        raise TimeoutError((self.folder / "master.log").read_text())

    def kill(self, process: subprocess.Popen) -> None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                self.kill(process)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    cluster = Cluster(tmp_path_factory.mktemp("spark"))
    yield cluster
    cluster.stop()


@pytest.fixture(scope="module")
def session(cluster):
    options = {
        "spark.executor.memory": "1g", "spark.executor.cores": "1", "spark.driver.host": HOST,
        "spark.driver.bindAddress": HOST, "spark.ui.port": "0", "spark.ui.showConsoleProgress": "false", "spark.sql.execution.arrow.maxRecordsPerBatch": "500",
    }  # fmt: skip
    builder = SparkSession.builder.master(cluster.url).appName("noisyor")
    for key, value in options.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    while len(executors(session)) < 2:  # both workers take part
        time.sleep(0.5)
    yield session
    session.stop()


def executors(session) -> list[dict]:
    """All executors that there ever were, without the driver."""
    context = session.sparkContext
    url = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/allexecutors"
    with urllib.request.urlopen(url) as answer:
        return [executor for executor in json.load(answer) if executor["id"] != "driver"]


@pytest.fixture(scope="module")
def frame(session, documents):
    rows = [(doc["id"], doc["text"], doc["tokens"]) for doc in documents]
    rdd = session.sparkContext.parallelize(rows, N_PARTITIONS)
    return session.createDataFrame(rdd, "id string, text string, tokens array<string>")


def test_lists_of_tokens(frame, model, infer):
    found = noisyor_spark.infer(frame, model, "tokens", keep=["id"])
    assert found.columns == ["id", "elbo", "topics"]
    assert by_id(found.collect()) == infer("tokens").rows


def test_vectors(session, model, infer, documents):
    """Sparse and dense vectors, in the order of the model's tokens and of another vocabulary."""
    truth = infer("tokens").rows
    names = model.token_names
    for vocabulary in (None, [*reversed(names), "unheard of"]):
        columns = {name: at for at, name in enumerate(vocabulary or names)}

        def vector(at, tokens, columns=columns):
            sparse = SparseVector(len(columns), {columns[token]: 3.0 for token in tokens if token in columns})
            return Vectors.dense(sparse.toArray()) if at % 3 == 0 else sparse

        rows = [(doc["id"], vector(at, doc["tokens"])) for at, doc in enumerate(documents[:2000])]
        found = noisyor_spark.infer(session.createDataFrame(rows, ["id", "v"]), model, "v", vocabulary=vocabulary)
        assert by_id(found.collect()) == {id: truth[id] for id, _ in rows}


def test_no_rows(session, model):
    empty = session.createDataFrame([], "id string, day date, text string")
    found = noisyor_spark.infer(empty, model, "text")
    assert found.collect() == []
    assert found.schema.simpleString() == (
        "struct<id:string,day:date,elbo:double,topics:array<struct<topic:string,q:float>>>"
    )


def test_nulls_are_documents_without_words(session, model):
    rows = session.createDataFrame([("a", None, None), ("b", "", [])], "id string, text string, tokens array<string>")
    for column in ("text", "tokens"):
        a, b = noisyor_spark.infer(rows, model, column, keep=["id"]).collect()
        assert (a["elbo"], a["topics"]) == (b["elbo"], b["topics"])


def test_errors_name_column_and_row(session, model):
    with pytest.raises(ValueError, match="there is no column 'word'; there are 'id', 'text'"):
        noisyor_spark.infer(session.createDataFrame([], "id string, text string"), model, "word")
    with pytest.raises(ValueError, match="a column 'elbo' of its own"):
        noisyor_spark.infer(session.createDataFrame([], "elbo double, text string"), model, "text")
    rows = session.createDataFrame([("a", Vectors.sparse(3, {0: 1.0}))], ["id", "v"])
    with pytest.raises(Exception, match=r"column 'v', row 0 of a batch \(id 'a'\): a vector of size 3"):
        noisyor_spark.infer(rows, model, "v").collect()


def test_a_worker_is_killed_in_the_middle(cluster, session, frame, model, infer):
    """Last, as one worker is left."""
    found, tracker = [], session.sparkContext.statusTracker()
    job = threading.Thread(
        target=lambda: found.extend(noisyor_spark.infer(frame, model, "text", keep=["id"]).collect())
    )
    seen = set(tracker.getJobIdsForGroup(None))
    began = time.monotonic()
    job.start()

    def n_done() -> int:
        stages = [
            stage
            for id in set(tracker.getJobIdsForGroup(None)) - seen
            for stage in map(tracker.getStageInfo, tracker.getJobInfo(id).stageIds)
            if stage is not None and stage.numTasks == N_PARTITIONS
        ]
        return max((stage.numCompletedTasks for stage in stages), default=0)

    while (n_before := n_done()) < 6:
        assert job.is_alive(), "the job ended before a worker was killed"
        time.sleep(0.05)
    cluster.kill(cluster.workers[0])
    job.join()
    seconds = time.monotonic() - began
    assert n_before < N_PARTITIONS
    lost = [executor for executor in executors(session) if not executor["isActive"]]
    assert len(lost) == 1 and lost[0]["totalTasks"] > 0, "the worker that was killed had a share in the work"
    assert by_id(found) == infer("text").rows
    print(f"Spark: {len(found)} documents in {seconds:.1f} s; a worker killed after {n_before} of {N_PARTITIONS} tasks")
