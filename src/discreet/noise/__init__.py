"""Exact noise: integer draws whose law is exactly the stated one, at the speed of unsafe floats.

Trust: kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import late_names

if TYPE_CHECKING:  # each is loaded when first used, because most programs need two of them
    from discreet.noise.bernoulli import Bernoulli
    from discreet.noise.bounded import Bounded, Truncated
    from discreet.noise.categorical import Categorical, Uniform
    from discreet.noise.chance import ExpNeg, Logistic, Ratio
    from discreet.noise.distribution import Distribution, Moments
    from discreet.noise.elementwise import gaussian_each, laplace_each
    from discreet.noise.entropy import SYSTEM, Entropy, SystemEntropy
    from discreet.noise.enumeration import ExactLaw, ReplayEntropy, exact_law
    from discreet.noise.gaussian import DiscreteGaussian
    from discreet.noise.grid import DyadicGrid
    from discreet.noise.keyed_entropy import KeyedEntropy
    from discreet.noise.laplace import DiscreteLaplace, Geometric
    from discreet.noise.selection import exponential_weights, permute_and_flip

__all__ = [
    "SYSTEM",
    "Bernoulli",
    "Bounded",
    "Categorical",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Distribution",
    "DyadicGrid",
    "Entropy",
    "ExactLaw",
    "ExpNeg",
    "Geometric",
    "KeyedEntropy",
    "Logistic",
    "Moments",
    "Ratio",
    "ReplayEntropy",
    "SystemEntropy",
    "Truncated",
    "Uniform",
    "exact_law",
    "exponential_weights",
    "gaussian_each",
    "laplace_each",
    "permute_and_flip",
]

if not TYPE_CHECKING:  # to which every name would be one of this room
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "bernoulli": ("Bernoulli",),
            "bounded": ("Bounded", "Truncated"),
            "categorical": ("Categorical", "Uniform"),
            "chance": ("ExpNeg", "Logistic", "Ratio"),
            "distribution": ("Distribution", "Moments"),
            "elementwise": ("gaussian_each", "laplace_each"),
            "entropy": ("Entropy", "SYSTEM", "SystemEntropy"),
            "enumeration": ("ExactLaw", "ReplayEntropy", "exact_law"),
            "gaussian": ("DiscreteGaussian",),
            "grid": ("DyadicGrid",),
            "keyed_entropy": ("KeyedEntropy",),
            "laplace": ("DiscreteLaplace", "Geometric"),
            "selection": ("exponential_weights", "permute_and_flip"),
        },
    )
