"""What the library reports while it works: log records, progress bars, callbacks."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterable
from typing import Any

logger = logging.getLogger("noisyor")

Metrics = dict[str, Any]
Callback = Callable[[Metrics], object]

_LEVELS = {"detail": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING}


class Listener:
    """Called as ``listener(kind, text)``; a true answer to an evaluation stops training."""

    def __init__(self, verbose: int = 0, callbacks: Callback | Iterable[Callback] | None = None) -> None:
        self.verbose = verbose
        self.callbacks: list[Callback] = (
            [] if callbacks is None else [callbacks] if callable(callbacks) else list(callbacks)
        )
        self.history: list[Metrics] = []
        self._bar: Any = None
        self._in_bytes = False
        self._docs_before = 0
        self._docs = 0

    def __call__(self, kind: str, text: str) -> bool:
        if kind in _LEVELS:
            logger.log(_LEVELS[kind], text)
        elif kind == "evaluated":
            return self._evaluated(json.loads(text))
        elif kind == "progress":
            self._progress(json.loads(text))
        elif kind == "begins":
            told = json.loads(text)
            self._in_bytes = told["stage"] == "reading" and self.verbose > 0
            self._open(told["stage"], told["work"], "B" if self._in_bytes else " docs")
        elif kind == "started":
            told = json.loads(text)
            left = (told["n_steps"] - told["steps_done"]) / max(told["n_batches"], 1)
            self._open("training", round(left), " epochs")
        elif kind == "ended":
            self.close()
        return False

    def _evaluated(self, metrics: Metrics) -> bool:
        self.history.append(metrics)
        held_out = metrics["valid_elbo"] if metrics["valid_elbo"] is not None else metrics["train_elbo"]
        line = f"epoch {metrics['epoch']:.2f}, {metrics['bound']} bound {held_out:.4f}, {metrics['n_edges']} edges"
        logger.debug(line)
        if self._bar is not None:
            self._bar.n = round(metrics["epoch"], 2)
            self._bar.set_postfix_str(f"bound {held_out:.4f}")
        elif self.verbose > 0:
            print(line, file=sys.stderr)
        # Every callback hears of it, whatever another one says.
        return any([bool(callback(dict(metrics))) for callback in self.callbacks])

    def _progress(self, told: dict[str, int]) -> None:
        self._docs = told["docs"]
        if self._bar is not None and self._bar.unit != " epochs":
            self._bar.n = told["bytes"] if self._in_bytes else self._docs - self._docs_before
            self._bar.refresh()

    def _open(self, stage: str, work: int | None, unit: str) -> None:
        self.close()
        self._docs_before = self._docs
        if self.verbose > 0:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                return
            self._bar = tqdm(total=work, desc=stage, unit=unit, unit_scale=unit == "B", leave=False)

    def close(self) -> None:
        """Takes the progress bar off the screen."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def n_threads(n_jobs: int | None) -> int:
    """Threads for ``n_jobs`` as joblib means it; none: all cores, or one inside a worker of joblib."""
    from joblib import effective_n_jobs
    from joblib.parallel import get_active_backend

    if n_jobs is None:
        backend, _ = get_active_backend()
        n_jobs = 1 if (getattr(backend, "nesting_level", None) or 0) > 0 else -1
    return int(effective_n_jobs(n_jobs))
