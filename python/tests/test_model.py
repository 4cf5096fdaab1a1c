"""Trained networks: files, tables, graphs, pages."""

import copy
import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from noisyor import Corpus, Explanation, InputError, Model, NoisyOr, Topics, UsageError, bench, devices

EDGES = [
    ("sport", "ball", 0.9),
    ("sport", "team", 0.8),
    ("music", "song", 0.9),
    ("music", "band", 0.7),
    ("leisure", "sport", 0.5),
    ("leisure", "music", 0.4),
]


@pytest.fixture(scope="module")
def model() -> Model:
    return Model.from_edges(EDGES, leak={"leisure": 0.5, "ball": 0.05})


@pytest.fixture(scope="module")
def estimator(token_lists) -> NoisyOr:
    return NoisyOr(topics=[4, 2], max_epochs=3, n_jobs=1).fit(token_lists)


def test_networks_of_ones_own(model):
    assert model.topic_names == ["sport", "music", "leisure"]
    assert model.token_names == ["ball", "team", "song", "band"]
    edges = model.edges().set_index(["parent", "child"])
    for parent, child, p in EDGES:
        assert edges.probability[parent, child] == pytest.approx(p)
        assert edges.weight[parent, child] == pytest.approx(-np.log1p(-p))
    leaks = model.leaks().set_index("node")
    assert leaks.probability["leisure"] == pytest.approx(0.5) and leaks.probability["team"] == pytest.approx(0.01)
    frame = pd.DataFrame(EDGES, columns=["parent", "child", "probability"])
    by_weight = frame.assign(weight=-np.log1p(-frame.probability)).drop(columns="probability")
    leak = {"leisure": 0.5, "ball": 0.05}
    assert Model.from_edges(frame, leak=leak) == model and Model.from_edges(by_weight, leak=leak) == model
    ordered = Model.from_edges(EDGES, tokens=["band", "drum"])
    assert ordered.token_names == ["band", "drum", "ball", "team", "song"]


def test_networks_that_are_refused():
    for edges, options, told in [
        ([("a", "b", 1.5)], {}, "'a' -> 'b' is 1.5"),
        ([("a", "b")], {}, "column 'probability'"),
        ([], {}, "no edges"),
        ([("a", "b", 0.5), ("b", "a", 0.5)], {}, "cycle"),
        ([("a", "b", 0.5)], {"leak": {"c": 0.1}}, "'c', which is no node"),
        ([("a", "b", 0.5)], {"leak": 0.0}, "leak of 'a' is 0.0"),
        ([("a", "b", 0.5)], {"tokens": ["a"]}, "'a' is given as a token"),
        (pd.DataFrame({"parent": ["a"]}), {}, "column 'child'"),
    ]:
        with pytest.raises((UsageError, InputError), match=told):
            Model.from_edges(edges, **options)


def test_files_and_pickles(estimator, tmp_path):
    model = estimator.model_
    for name in ("model.safetensors", "model.json", "model.tsv"):
        model.save(tmp_path / name)
    assert (tmp_path / "model.safetensors").read_bytes() == model.to_bytes()
    for name in ("model.safetensors", "model.json"):
        assert Model.load(tmp_path / name) == model
    assert Model.load(tmp_path / "model.tsv").edges().equals(model.edges())
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), Model.from_bytes(model.to_bytes())):
        assert again == model and hash(again) == hash(model) and again.to_bytes() == model.to_bytes()
    assert model.training["docs"] == 270 and "valid_elbo" in model.training


def test_errors_are_exceptions(estimator, tmp_path):
    with pytest.raises(FileNotFoundError):
        Model.load(tmp_path / "none.safetensors")
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(InputError, match="bad.json"):
        Model.load(tmp_path / "bad.json")
    content = bytearray(estimator.model_.to_bytes())
    content[-1] ^= 1
    with pytest.raises(ValueError, match="checksum"):
        Model.from_bytes(bytes(content))
    (tmp_path / "bad.svm").write_text("1 2:1\n1 x:1\n")
    with pytest.raises(InputError, match="bad.svm:2"):
        Corpus.read(tmp_path / "bad.svm")
    with pytest.raises(UsageError, match="column for each of the model's"):
        estimator.model_.infer(np.ones((2, 3)))
    with pytest.raises(UsageError, match="ends in 'xyz'"):
        estimator.model_.save(tmp_path / "model.xyz")
    with pytest.raises(ValueError, match="tail"):
        estimator.model_.infer([["ball"]], bound="loose")


def test_topics_as_tree_and_table(model, estimator):
    topics = model.topics(top=2)
    assert isinstance(topics, Topics) and [root.name for root in topics] == ["leisure"]
    (leisure,) = topics
    assert leisure.p == pytest.approx(0.5) and [below.name for below in leisure.topics] == ["sport", "music"]
    assert [token for token, _ in leisure.topics[0].tokens] == ["ball", "team"]
    assert str(topics).splitlines() == ["leisure", "├─ sport: ball, team", "└─ music: song, band"]
    frame = topics.to_frame()
    assert frame.topic.tolist() == ["leisure", "sport", "music"] and frame.level.tolist() == [0, 1, 1]
    assert frame.parent.tolist()[1:] == ["leisure", "leisure"] and frame.tokens[1] == ["ball", "team"]
    assert len(estimator.model_.topics().to_frame()) == estimator.model_.n_topics
    page = model._repr_html_()
    assert page.count("<li>") == 3 and "<summary><b>leisure</b>" in page
    assert "&lt;b&gt;" in Model.from_edges([("<b>", "x", 0.5)])._repr_html_()


def test_explanations(model):
    explanation = model.explain("Ball and TEAM, snow", why="sport")
    assert isinstance(explanation, Explanation) and explanation.unknown == ["snow"]
    topics = explanation.topics.set_index("topic")
    assert topics.on["sport"] and topics.q["sport"] > 0.9 and "music" not in topics.index
    tokens = explanation.tokens
    assert tokens.groupby("token").share.sum().tolist() == pytest.approx([1.0, 1.0])
    assert tokens.query("token == 'team' and topic == 'sport'").share.item() > 0.9
    why = explanation.why
    assert why.value.sum() == pytest.approx(topics.log_odds["sport"], abs=1e-6)
    assert explanation.elbo == pytest.approx(model.score_samples([["ball", "team"]])[0], rel=1e-4)
    assert explanation._repr_html_().startswith("<svg")
    by_tokens = model.explain(["ball", "team", "snow", "ball"])
    assert by_tokens.data["topics"] == explanation.data["topics"] and by_tokens.why is None
    assert by_tokens.unknown == ["snow"]
    row = model.explain(np.array([1, 1, 0, 0]))
    assert row.data["tokens"] == explanation.data["tokens"]
    with pytest.raises(UsageError, match="chess"):
        model.explain("ball", why="chess")


def test_reports(estimator, token_lists, tmp_path):
    estimator.report(tmp_path / "report.html", token_lists, title="Four themes")
    page = (tmp_path / "report.html").read_text()
    assert (
        page.startswith("<!doctype html>") and "Four themes" in page and "http" + "://" not in page.split("<script")[0]
    )
    estimator.model_.report(tmp_path / "model.html")
    assert len((tmp_path / "model.html").read_text()) < len(page)


def test_networkx(model):
    graph = model.to_networkx()
    assert nx.is_directed_acyclic_graph(graph) and graph.number_of_edges() == len(EDGES)
    assert graph.edges["sport", "ball"]["probability"] == pytest.approx(0.9)
    assert graph.nodes["ball"]["kind"] == "token" and graph.nodes["leisure"]["leak_probability"] == pytest.approx(0.5)
    assert set(model.to_networkx(tokens=False)) == {"sport", "music", "leisure"}


def test_inference_by_hand(model):
    """Two topics and one token: the posterior in closed form is within what mean field can do."""
    small = Model.from_edges([("a", "x", 0.8)], leak={"a": 0.3, "x": 0.1})
    inferred = small.infer([["x"], []], threshold=0.0)
    p_x = 0.3 * (1 - 0.9 * 0.2) + 0.7 * 0.1
    exact = 0.3 * (1 - 0.9 * 0.2) / p_x
    assert inferred.to_dense()[0, 0] == pytest.approx(exact, abs=0.05)
    assert inferred.elbo[0] <= np.log(p_x) + 1e-6 and inferred.elbo[0] > np.log(p_x) - 0.1
    absent = 0.3 * 0.2 / (0.3 * 0.2 + 0.7)
    assert inferred.to_dense()[1, 0] == pytest.approx(absent, abs=0.01)
    assert model.infer([["ball", "team"]]).topics_of(0)[0][0] == "sport"


def test_samples(model):
    sample = model.sample(5000, random_state=2)
    assert sample.documents.shape == (5000, 4) and sample.topics.shape == (5000, 3)
    assert np.asarray(sample.topics.mean(axis=0)).ravel()[2] == pytest.approx(0.5, abs=0.03)
    assert (model.sample(5, 2).documents != sample.documents[:5]).nnz == 0


def test_corpora(tmp_path, token_lists):
    corpus = Corpus.from_tokens(token_lists)
    corpus.save(tmp_path / "c.corpus")
    again = Corpus.read(tmp_path / "c.corpus")
    assert again.fingerprint == corpus.fingerprint and len(again) == 300 and again[-1] == corpus[299]
    assert set(again[0]) == set(token_lists[0])
    with pytest.raises(IndexError):
        again[300]
    table = tmp_path / "t.csv"
    table.write_text("id,body,kind\n7,rain and wind,w\n8,wind,w\n9,rain,s\n")
    read = Corpus.read(table, text_column="body", id_column="id", label_column="kind", min_df=1)
    assert read.ids == ["7", "8", "9"] and read.labels == ["w", "w", "s"] and read[1] == ["wind"]
    named = Corpus.from_matrix(np.array([[1, 0], [1, 1]]), names=["a", "b"])
    assert [named[0], named[1]] == [["a"], ["a", "b"]]
    with pytest.raises(ValueError, match="two tokens"):
        Corpus.from_matrix(np.eye(2), names=["a", "a"])


def test_bench_and_devices(estimator, token_lists):
    figures = bench(estimator.model_, token_lists, repeat=1, n_jobs=1)
    assert [row["backend"] for row in figures["rows"]] == ["cpu"]
    assert all({"number", "name", "auto"} <= device.keys() for device in devices())
    with pytest.raises(UsageError, match="tpu"):
        bench(estimator.model_, token_lists, backends=("tpu",))
