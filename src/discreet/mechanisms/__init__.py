"""Mechanisms: frozen values that know their privacy loss, their error, and how to run.

Trust: kernel.

``Laplace`` and ``Gaussian`` add integers (two-sided geometric and discrete Gaussian noise), because
sums of floats leak.  So distances are whole: a fraction counts as the next integer, unless a grid
says otherwise; and prices differ a little from those of the continuous laws of the literature,
which are ``discreet.loss.Laplace`` and ``discreet.loss.GaussianDP``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import late_names

if TYPE_CHECKING:  # each is loaded when first used, because most questions need two of them
    from discreet.mechanisms.candidates import ScoreChange
    from discreet.mechanisms.counting_queries import (
        Counting,
        attributes,
        counts,
        points,
        thresholds,
    )
    from discreet.mechanisms.exponential import Exponential, PermuteAndFlip
    from discreet.mechanisms.finite import FiniteMechanism
    from discreet.mechanisms.gaussian import Gaussian, discrete_gaussian_sigma
    from discreet.mechanisms.geometric import BoundedGeometric, TruncatedGeometric
    from discreet.mechanisms.histogram import Histogram
    from discreet.mechanisms.laplace import Laplace
    from discreet.mechanisms.mechanism import Mapped, Mechanism
    from discreet.mechanisms.noisy_max import NoisyMax, Winner
    from discreet.mechanisms.optimal import (
        Optimum,
        bayes_remap,
        geometric_on_counts,
        optimal_mechanism,
    )
    from discreet.mechanisms.partition_selection.optimal_selection import OptimalKeys
    from discreet.mechanisms.partition_selection.threshold import NoisyKeys, ShownKeys
    from discreet.mechanisms.quantile import Quantile
    from discreet.mechanisms.randomized_response import RandomizedResponse
    from discreet.mechanisms.sparse_vector.above_threshold import AboveThreshold
    from discreet.mechanisms.sparse_vector.sparse import NumericSparse, Sparse
    from discreet.mechanisms.staircase import Staircase

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
    "discrete_gaussian_sigma",
    "geometric_on_counts",
    "optimal_mechanism",
    "points",
    "thresholds",
]

if not TYPE_CHECKING:  # to which every name would be one of this room
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "candidates": ("ScoreChange",),
            "counting_queries": ("Counting", "attributes", "counts", "points", "thresholds"),
            "exponential": ("Exponential", "PermuteAndFlip"),
            "finite": ("FiniteMechanism",),
            "gaussian": ("Gaussian", "discrete_gaussian_sigma"),
            "geometric": ("BoundedGeometric", "TruncatedGeometric"),
            "histogram": ("Histogram",),
            "laplace": ("Laplace",),
            "mechanism": ("Mapped", "Mechanism"),
            "noisy_max": ("NoisyMax", "Winner"),
            "optimal": ("Optimum", "bayes_remap", "geometric_on_counts", "optimal_mechanism"),
            "partition_selection.optimal_selection": ("OptimalKeys",),
            "partition_selection.threshold": ("NoisyKeys", "ShownKeys"),
            "quantile": ("Quantile",),
            "randomized_response": ("RandomizedResponse",),
            "sparse_vector.above_threshold": ("AboveThreshold",),
            "sparse_vector.sparse": ("NumericSparse", "Sparse"),
            "staircase": ("Staircase",),
        },
    )
