"""Exact noise: integer draws whose law is exactly the stated one, at the speed of unsafe floats.

Trust: kernel.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:  # each is loaded when first used, because most programs need two of them
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

_FILES: Final = {
    "Bernoulli": "bernoulli",
    "Bounded": "bounded",
    "Categorical": "finite",
    "DiscreteGaussian": "gaussian",
    "DiscreteLaplace": "laplace",
    "Distribution": "distribution",
    "DyadicGrid": "grid",
    "Entropy": "entropy",
    "ExactLaw": "enumeration",
    "ExpNeg": "chance",
    "Geometric": "geometric",
    "KeyedEntropy": "entropy",
    "Logistic": "chance",
    "Moments": "distribution",
    "Ratio": "chance",
    "ReplayEntropy": "enumeration",
    "SYSTEM": "entropy",
    "SystemEntropy": "entropy",
    "Truncated": "bounded",
    "Uniform": "uniform",
    "exact_law": "enumeration",
    "exponential_weights": "selection",
    "gaussian_each": "elementwise",
    "laplace_each": "elementwise",
    "permute_and_flip": "selection",
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
