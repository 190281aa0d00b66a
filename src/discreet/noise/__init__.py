"""Exact noise: integer draws whose law is exactly the stated one, at the speed of unsafe floats.

Trust: kernel.
"""

from discreet.noise.bernoulli import Bernoulli
from discreet.noise.bounded import Bounded, Truncated
from discreet.noise.chance import ExpNeg, Logistic, Ratio
from discreet.noise.distribution import Distribution, Moments
from discreet.noise.elementwise import gaussian_each, laplace_each
from discreet.noise.entropy import SYSTEM, Entropy, KeyedEntropy, SystemEntropy
from discreet.noise.enumeration import ExactLaw, ReplayEntropy, exact_law
from discreet.noise.finite import Categorical
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.geometric import Geometric
from discreet.noise.grid import DyadicGrid
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.selection import exponential_weights, permute_and_flip
from discreet.noise.uniform import Uniform

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
