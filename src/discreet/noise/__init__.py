"""Exact noise: integer draws from exactly the stated distribution, at the speed of unsafe floats.

Trust: kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import open_door

if TYPE_CHECKING:  # each is loaded when first used, because most programs need two of them
    from discreet.noise.bernoulli import Bernoulli
    from discreet.noise.categorical import Categorical, Uniform
    from discreet.noise.distribution import Distribution, Moments
    from discreet.noise.entropy import SYSTEM, Entropy, SystemEntropy
    from discreet.noise.gaussian import DiscreteGaussian
    from discreet.noise.grid import DyadicGrid
    from discreet.noise.keyed_entropy import KeyedEntropy
    from discreet.noise.laplace import DiscreteLaplace
    from discreet.noise.selection import exponential_weights

__all__, __getattr__, __dir__ = open_door(__name__, __file__)
