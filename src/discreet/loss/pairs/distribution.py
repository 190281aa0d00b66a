"""What an engine sees of a loss: its distribution on a lattice, and its cumulants along a line.

Trust: kernel.

``PrivacyLossDistribution`` bounds a profile from above or from below by masses on a lattice;
``Transform`` gives ln E[e**(zL); L < inf] on a vertical line of complex orders, with error bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

__all__ = ["Complexes", "CumulantLine", "Floats", "PrivacyLossDistribution", "Transform"]

Floats = NDArray[np.floating[Any]]
Complexes = NDArray[np.complexfloating[Any, Any]]


@final
@dataclass(frozen=True, slots=True)
class PrivacyLossDistribution:
    """Masses at the losses ``(start + k) * step``, for a step that the caller chose.

    A distribution from above bounds the profile at eps by its own at eps - drift, one from below by
    its own at eps + drift.  ``infinite`` is the mass at an infinite loss.
    """

    start: int
    mass: Floats
    infinite: float = 0.0
    drift: float = 0.0


@final
@dataclass(frozen=True, slots=True)
class CumulantLine:
    """Cumulants at the points c + i t_j: the complex values, and a bound on their error.

    The error bounds ``ln(1 + |computed - true| / |computed|)`` of the transform itself, plus the
    rounding of its logarithm; summed over independent losses it bounds the product's error.
    """

    value: Complexes
    error: Floats


class Transform(Protocol):
    """The cumulants of a bundle of pairs, each counted with its multiplicity."""

    def real(self, orders: Floats) -> tuple[Floats, Floats]:
        """Cumulants at real orders above zero (perhaps infinite), and bounds on their errors."""
        ...

    def line(self, order: float, heights: Floats) -> CumulantLine:
        """Cumulants at order + i heights."""
        ...

    def decay(self, order: float, height: float) -> float:
        """Bound ln sup over s >= height of |E e**((order + is)L)| / E e**(order L)."""
        ...
