"""The same bytes as the program."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

from noisyor import Corpus, Model, NoisyOr

SEED = 3


@pytest.mark.parametrize(
    ("arguments", "params"),
    [
        (["--topics", "4,2"], {"topics": [4, 2]}),
        (["--topics", "3", "--parents", "all", "--lambda", "2"], {"topics": 3, "parents": "all", "penalty": 2.0}),
        (["--topics", "4", "--step", "adam", "--rate", "0.1"], {"topics": 4, "step": {"rule": "adam", "rate": 0.1}}),
        (["--effort", "quick"], {"effort": "quick"}),
    ],
    ids=["learned", "complete", "adam", "chosen"],
)
def test_models_have_the_same_bytes(program, corpus_file, token_lists, tmp_path, arguments, params):
    program("train", corpus_file, "-o", tmp_path / "run", "--seed", SEED, "--epochs", 4, "-q", *arguments)
    expected = (tmp_path / "run" / "model.safetensors").read_bytes()
    for documents in (token_lists, corpus_file):
        estimator = NoisyOr(random_state=SEED, max_epochs=4, **params).fit(documents)
        assert estimator.model_.to_bytes() == expected
    estimator = NoisyOr(random_state=SEED, max_epochs=4, run=tmp_path / "mine", **params).fit(corpus_file)
    assert (tmp_path / "mine" / "model.safetensors").read_bytes() == expected
    assert Model.load(tmp_path / "run").fingerprint == estimator.model_.fingerprint


def test_models_that_go_on_have_the_same_bytes(program, corpus_file, token_lists, tmp_path):
    program("train", corpus_file, "-o", tmp_path / "run", "--topics", 4, "--epochs", 2, "-q")
    more = tmp_path / "more.jsonl"
    documents = [[*tokens, "umbrella"] for tokens in token_lists[:100]]
    more.write_text("".join(json.dumps({"tokens": tokens}) + "\n" for tokens in documents))
    program(
        "train", more, "-o", tmp_path / "updated", "--from", tmp_path / "run" / "model.safetensors", "--epochs", 2, "-q"
    )
    estimator = NoisyOr(topics=4, max_epochs=2).partial_fit(token_lists).partial_fit(documents)
    assert estimator.model_.to_bytes() == (tmp_path / "updated" / "model.safetensors").read_bytes()


def test_inference_is_the_same(program, corpus_file, token_lists, tmp_path):
    run = tmp_path / "run"
    estimator = NoisyOr(topics=4, max_epochs=3, run=run).fit(corpus_file)
    for arguments, params in [
        ([], {"sparse_output": True}),
        (["--threshold", "0"], {"sparse_output": True, "threshold": 0.0}),
        (["--log-odds", "--threshold", "0.2"], {"sparse_output": True, "threshold": 0.2, "output": "log_odds"}),
        (["--bound", "local"], {"sparse_output": True, "bound": "local"}),
    ]:
        program("infer", run, corpus_file, "-o", tmp_path / "out.npz", "-q", *arguments)
        expected = sp.load_npz(tmp_path / "out.npz")
        found = (
            estimator.set_params(output="q", threshold=None, bound="tail").set_params(**params).transform(token_lists)
        )
        for name in ("data", "indices", "indptr"):
            assert np.array_equal(getattr(found, name), getattr(expected, name)), (arguments, name)
    per_doc = tmp_path / "per-doc.tsv"
    program("eval", run, corpus_file, "--per-doc", per_doc, "-q")
    elbo = np.loadtxt(per_doc, skiprows=1, usecols=1)
    estimator.set_params(bound="tail")
    assert np.allclose(estimator.score_samples(token_lists), elbo, rtol=1e-6, atol=0)
    told = json.loads(program("eval", run, corpus_file, "--json", "-q"))
    assert estimator.score(corpus_file) == pytest.approx(told["elbo_mean"], rel=1e-12)


def test_words_are_the_same(program, tmp_path):
    texts = [
        "The cat's 3 naïve friends: e-mail, U.S. and ÜBER-Straße!",
        "Rain; WIND and\tsnow's... über e-mail naïve cats",
        "東京 is not New York, is it? The friends of York e-mail",
        "",
        "new york, New York and the wind",
    ]
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    for arguments, options in [
        ([], {}),
        (["--min-df", "1", "--stop-words", "none"], {"min_df": 1, "stop_words": None}),
        (["--min-df", "1", "--max-df", "0.5", "--max-vocab", "9"], {"min_df": 1, "max_df": 0.5, "max_vocab": 9}),
        (["--min-df", "1", "--phrases=0.1"], {"min_df": 1, "phrases": 0.1}),
    ]:
        native = tmp_path / "texts.corpus"
        native.unlink(missing_ok=True)
        program("corpus", path, "-o", native, "-q", *arguments)
        expected, found = Corpus.read(native), Corpus.from_texts(texts, **options)
        assert found.token_names == expected.token_names and found.n_tokens > 2
        assert [found[at] for at in range(len(texts))] == [expected[at] for at in range(len(texts))]
        assert found.fingerprint == expected.fingerprint


def test_runs_resume_either_way(program, corpus_file, tmp_path):
    arguments = ["--topics", 4, "--epochs", 5, "--patience", 0, "-q"]
    program("train", corpus_file, "-o", tmp_path / "whole", *arguments)
    expected = (tmp_path / "whole" / "model.safetensors").read_bytes()

    def params(run):
        return {"topics": 4, "max_epochs": 5, "early_stopping": False, "run": tmp_path / run}

    def stopped(line):
        return line["epoch"] >= 2

    # Begun in Python, continued by the program; and in Python.
    for run in ("by-program", "by-python"):
        begun = NoisyOr(callbacks=stopped, **params(run)).fit(corpus_file)
        assert begun.ended_ == "interrupted" and begun.model_.to_bytes() != expected
    program("train", "--resume", tmp_path / "by-program", "-q")
    assert (tmp_path / "by-program" / "model.safetensors").read_bytes() == expected
    assert NoisyOr.resume(tmp_path / "by-python").model_.to_bytes() == expected
    # Documents that were in memory are named, as a native corpus, or given again.
    corpus = Corpus.read(corpus_file)
    Corpus.from_tokens([corpus[at] for at in range(len(corpus))]).save(tmp_path / "documents.corpus")
    lists = [corpus[at] for at in range(len(corpus))]
    for run in ("memory", "again"):
        NoisyOr(callbacks=stopped, **params(run)).fit(lists)
    with pytest.raises(ValueError, match="memory"):
        NoisyOr.resume(tmp_path / "memory")
    program("train", tmp_path / "documents.corpus", "--resume", tmp_path / "memory", "-q")
    assert (tmp_path / "memory" / "model.safetensors").read_bytes() == expected
    assert NoisyOr.resume(tmp_path / "again", lists).model_.to_bytes() == expected
    with pytest.raises(ValueError, match="not the documents"):
        NoisyOr.resume(tmp_path / "again", lists[:-1])
    # Begun by the program with fewer epochs, continued in Python.
    program("train", corpus_file, "-o", tmp_path / "short", "--topics", 4, "--epochs", 2, "--patience", 0, "-q")
    assert NoisyOr.resume(tmp_path / "short", max_epochs=5).model_.to_bytes() == expected


def test_topics_and_explanations_are_the_same(program, corpus_file, token_lists, tmp_path):
    run = tmp_path / "run"
    model = NoisyOr(topics=[4, 2], max_epochs=3, run=run).fit(corpus_file).model_
    assert str(model.topics(top=3, depth=2)) == program("topics", run, "--top", 3, "--depth", 2)
    why = model.topic_names[0]
    told = json.loads(program("explain", run, "--tokens", ",".join(token_lists[0]), "--why", why, "--json"))
    found = model.explain(token_lists[0], why=why).data
    del told["document"], found["document"]
    assert found == told
    program("model", "convert", run / "model.safetensors", tmp_path / "model.json")
    assert Model.load(tmp_path / "model.json") == model
