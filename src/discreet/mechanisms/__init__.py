"""Mechanisms: frozen values that know their privacy loss, their error, and how to run.

Trust: kernel.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:  # each is loaded when first used, because most questions need two of them
    from discreet.mechanisms.above_threshold import AboveThreshold
    from discreet.mechanisms.candidates import ScoreChange
    from discreet.mechanisms.exponential import Exponential
    from discreet.mechanisms.finite import FiniteMechanism
    from discreet.mechanisms.gaussian import Gaussian
    from discreet.mechanisms.geometric import BoundedGeometric, TruncatedGeometric
    from discreet.mechanisms.histogram import Histogram
    from discreet.mechanisms.key_selection_optimal import OptimalKeys
    from discreet.mechanisms.key_selection_threshold import NoisyKeys, ShownKeys
    from discreet.mechanisms.laplace import Laplace
    from discreet.mechanisms.mechanism import Mapped, Mechanism
    from discreet.mechanisms.noisy_max import NoisyMax, Winner
    from discreet.mechanisms.numeric_sparse import NumericSparse
    from discreet.mechanisms.optimal import Optimum, optimal_mechanism
    from discreet.mechanisms.permute_and_flip import PermuteAndFlip
    from discreet.mechanisms.quantile import Quantile
    from discreet.mechanisms.queries import Counting, attributes, counts, points, thresholds
    from discreet.mechanisms.randomized_response import RandomizedResponse
    from discreet.mechanisms.sparse import Sparse
    from discreet.mechanisms.staircase import Staircase
    from discreet.mechanisms.universal import bayes_remap, geometric_on_counts

__all__ = [
    "AboveThreshold",
    "BoundedGeometric",
    "Counting",
    "Exponential",
    "FiniteMechanism",
    "Gaussian",
    "Histogram",
    "Laplace",
    "Mapped",
    "Mechanism",
    "NoisyKeys",
    "NoisyMax",
    "NumericSparse",
    "OptimalKeys",
    "Optimum",
    "PermuteAndFlip",
    "Quantile",
    "RandomizedResponse",
    "ScoreChange",
    "ShownKeys",
    "Sparse",
    "Staircase",
    "TruncatedGeometric",
    "Winner",
    "attributes",
    "bayes_remap",
    "counts",
    "geometric_on_counts",
    "optimal_mechanism",
    "points",
    "thresholds",
]

_FILES: Final = {
    "AboveThreshold": "above_threshold",
    "BoundedGeometric": "geometric",
    "Counting": "queries",
    "Exponential": "exponential",
    "FiniteMechanism": "finite",
    "Gaussian": "gaussian",
    "Histogram": "histogram",
    "Laplace": "laplace",
    "Mapped": "mechanism",
    "Mechanism": "mechanism",
    "NoisyKeys": "key_selection_threshold",
    "NoisyMax": "noisy_max",
    "NumericSparse": "numeric_sparse",
    "OptimalKeys": "key_selection_optimal",
    "Optimum": "optimal",
    "PermuteAndFlip": "permute_and_flip",
    "Quantile": "quantile",
    "RandomizedResponse": "randomized_response",
    "ScoreChange": "candidates",
    "ShownKeys": "key_selection_threshold",
    "Sparse": "sparse",
    "Staircase": "staircase",
    "TruncatedGeometric": "geometric",
    "Winner": "noisy_max",
    "attributes": "queries",
    "bayes_remap": "universal",
    "counts": "queries",
    "geometric_on_counts": "universal",
    "optimal_mechanism": "optimal",
    "points": "queries",
    "thresholds": "queries",
}

if not TYPE_CHECKING:  # to which every name would be one of this room

    def __getattr__(name: str) -> Any:
        """Load the file of a name the first time that it is asked for."""
        if name not in _FILES:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        found = getattr(importlib.import_module(f"{__name__}.{_FILES[name]}"), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    """List what can be asked for, loaded or not."""
    return sorted(__all__)
