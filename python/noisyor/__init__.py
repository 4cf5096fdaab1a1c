"""Noisy-OR Bayesian networks: hierarchical topic models of binary data."""

from ._core import __version__

__all__ = ["__version__"]
