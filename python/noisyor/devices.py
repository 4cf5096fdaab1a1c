"""What computes, and how fast."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from . import _core
from ._listener import Listener, n_threads

if TYPE_CHECKING:
    from .model import Model


def devices() -> list[dict[str, Any]]:
    """The GPUs there are, as ``noisyor devices`` lists them; ``auto`` says which one ``backend="auto"`` takes, else it is the CPU."""
    return list(json.loads(_core.devices())["devices"])


def bench(
    model: Model, documents: Any, *, backends: tuple[str, ...] = ("cpu",), repeat: int = 3, n_jobs: int | None = None
) -> dict[str, Any]:
    """E-step throughput of backends ("cpu", "gpu") side by side on the same documents, as ``noisyor bench --json`` has it."""
    threads, listener = n_threads(n_jobs), Listener()
    core, by_number = model._corpus(documents, threads, listener)
    return dict(json.loads(_core.bench(model._core, core, by_number, list(backends), repeat, threads, listener)))
