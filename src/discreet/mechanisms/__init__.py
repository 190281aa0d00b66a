"""Mechanisms: frozen values that know their privacy loss, their error, and how to run.

Trust: kernel.

``Laplace`` and ``Gaussian`` add integers (two-sided geometric and discrete Gaussian noise), because
sums of floats leak.  So distances are integers: a fraction counts as the next one, unless a grid
says otherwise.  Prices differ a little from those of the continuous noise of the literature, which
are ``discreet.loss.Laplace`` and ``discreet.loss.GaussianDP``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import open_door

if TYPE_CHECKING:  # each is loaded when first used, because most questions need two of them
    from discreet.mechanisms.additive import Gaussian, Laplace, discrete_gaussian_sigma
    from discreet.mechanisms.exponential import Exponential, ScoreChange
    from discreet.mechanisms.finite import FiniteMechanism
    from discreet.mechanisms.mechanism import Mechanism
    from discreet.mechanisms.optimal_selection import OptimalKeys
    from discreet.mechanisms.partition_selection import NoisyKeys, ShownKeys
    from discreet.mechanisms.randomized_response import RandomizedResponse
    from discreet.mechanisms.sparse_vector import AboveThreshold, NumericSparse, Sparse
    from discreet.mechanisms.sum_keys import ShownSums, SumKeys

__all__, __getattr__, __dir__ = open_door(__name__, __file__)
