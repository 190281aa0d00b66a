"""Mechanisms: frozen values that know their privacy loss, their error, and how to run.

Trust: kernel.
"""

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
