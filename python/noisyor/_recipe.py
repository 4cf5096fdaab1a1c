"""Parameters of the estimator as a run's options in the library's terms: what `noisyor train` does with its arguments."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ._errors import UsageError

_STEPS: dict[str, dict[str, Any]] = {
    "em": {"rule": "em", "lambda": 1.0},
    "paper": {"rule": "paper", "rate": 0.001, "c": 1000.0, "schedule": "constant"},
    "adam": {"rule": "adam", "rate": 0.02, "schedule": "cosine"},
}
_PARENTS = 8
_MIN_SUPPORT = 3


def layers(topics: int | Sequence[int] | None) -> list[int]:
    """Topics of each layer, the one above the tokens first; empty where they are to be chosen."""
    if topics is None:
        return []
    sizes = [topics] if isinstance(topics, (int, np.integer)) or not isinstance(topics, Iterable) else list(topics)
    if not sizes or not all(isinstance(size, (int, np.integer)) and size > 0 for size in sizes):
        raise UsageError(f"`topics` is a number above 0, or one for each layer; it is {topics!r}")
    return [int(size) for size in sizes]


def network(params: Mapping[str, Any]) -> Any:
    """Where the network comes from, where neither a graph nor a model is given."""
    topics, parents = layers(params["topics"]), params["parents"]
    if parents == "all":
        if not topics:
            raise UsageError("`parents` 'all' needs to know how many topics there are; give `topics`, such as 60")
        return {"complete": {"topics": topics}}
    request: dict[str, Any] = {"topics": topics}
    given = {
        name: params[name] for name in ("parents", "min_support", "min_gain", "max_edges") if params[name] is not None
    }
    request |= given
    request["anchors"] = _groups(params["anchors"])
    request["exclude"] = [{"words": list(words)} for words in params["exclude"] or ()]
    if topics or given:
        return {"learned": request}
    return {"chosen": {"effort": _effort(params["effort"]), "epochs": params["max_epochs"], "known": request}}


def continued(path: str | os.PathLike[str], params: Mapping[str, Any], docs: int | None) -> Any:
    """The network of a model; ``docs``: as how many documents it counts, none: as many as it was trained on."""
    parents = _PARENTS if params["parents"] in (None, "all") else params["parents"]
    min_support = _MIN_SUPPORT if params["min_support"] is None else params["min_support"]
    return {"model": {"path": os.fspath(path), "docs": docs, "parents": parents, "min_support": min_support}}


def config(params: Mapping[str, Any], source: Any, seed: int, by_number: bool) -> dict[str, Any]:
    """All of a run's options."""
    step = _step(params["step"], params["penalty"])
    options: dict[str, Any] = {
        "seed": seed,
        "step": step,
        "valid": params["validation_fraction"],
        "patience": params["n_iter_no_change"] if params["early_stopping"] else 0,
        "estep": {"bound": params["bound"]},
    }
    if params["max_epochs"] is not None:
        options["epochs"] = params["max_epochs"]
    if params["batch_size"] is not None:
        options["batch"] = params["batch_size"] if params["batch_size"] == "full" else {"docs": params["batch_size"]}
    # Smoothing by the documents held out takes the place of a penalty, and both belong to EM.
    if step["rule"] != "em" or params["penalty"] is not None:
        options["smooth"] = False
    if step["rule"] != "em":
        options["condense"] = False
    options = _laid_over(options, params["options"] or {})
    return {
        "network": source,
        "corpus": {"by_number": by_number},
        "options": options,
        "backend": json.loads(backend(params["backend"], params["device"])),
        "memory_mb": params["memory_mb"],
    }


def backend(backend: str, device: str | int | None) -> str:
    """What computes, as JSON."""
    if backend not in ("auto", "cpu", "gpu"):
        raise UsageError(f"`backend` is 'auto', 'cpu' or 'gpu'; it is {backend!r}")
    return json.dumps({"backend": backend, "device": None if device is None else str(device)})


def estep(params: Mapping[str, Any]) -> dict[str, Any]:
    """Options of the E-step that differ from the usual ones."""
    return {"bound": params["bound"], **(params["options"] or {}).get("estep", {})}


def _step(step: str | Mapping[str, Any], penalty: float | None) -> dict[str, Any]:
    if isinstance(step, str):
        if step not in _STEPS:
            raise UsageError(f"`step` is 'em', 'paper', 'adam', or a mapping with its options; it is {step!r}")
        step = _STEPS[step]
    rule = dict(_STEPS.get(step.get("rule", ""), {}), **step)
    if penalty is not None:
        if rule.get("rule") != "em":
            raise UsageError("`penalty` belongs to `step` 'em'")
        rule["lambda"] = penalty
    return rule


def _effort(effort: str | float) -> Any:
    if isinstance(effort, str):
        if effort not in ("quick", "normal", "thorough"):
            raise UsageError(f"`effort` is 'quick', 'normal', 'thorough', or minutes; it is {effort!r}")
        return effort
    if not effort > 0:
        raise UsageError(f"`effort` in minutes must be above 0; it is {effort}")
    return {"minutes": float(effort)}


def _groups(anchors: Mapping[str, Sequence[str]] | Sequence[Sequence[str]] | None) -> list[dict[str, Any]]:
    if anchors is None:
        return []
    if isinstance(anchors, Mapping):
        return [{"name": str(name), "words": list(words)} for name, words in anchors.items()]
    return [{"name": "", "words": list(words)} for words in anchors]


def _laid_over(below: dict[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    all_of = dict(below)
    for name, value in above.items():
        inside = all_of.get(name)
        all_of[name] = _laid_over(inside, value) if isinstance(inside, dict) and isinstance(value, Mapping) else value
    return all_of
