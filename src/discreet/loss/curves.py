"""What has a curve: many points of delta(epsilon) at once, and pictures.

Trust: kernel.  Every point is asked for, and rounded, by itself.

``loss.plots`` is loaded when first used, because most programs draw nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet import loss
from discreet.doors import Explainable
from discreet.errors import WrongKind
from discreet.notebook import Shown

if TYPE_CHECKING:  # for annotations alone: drawn rarely
    from discreet.loss.plots import CurvePlot


class PrivacyCurve(Explainable, Shown, ABC):
    """A loss, or the price of a tree: whatever answers for an epsilon or a delta.

    >>> from discreet.loss import GaussianDP
    >>> GaussianDP(mu=1).deltas([0, 1]).round(4).tolist()
    [0.3829, 0.1269]
    """

    __slots__ = ()

    @abstractmethod
    def delta(self, epsilon: object) -> float:
        """Return the chance of failure at an epsilon, rounded up."""

    @abstractmethod
    def epsilon(self, delta: object) -> float:
        """Return the least epsilon at a delta, rounded up."""

    @abstractmethod
    def tradeoff(self, false_alarm: object) -> float:
        """Return the least chance of a missed detection, rounded down."""

    def deltas(self, epsilons: Iterable[object]) -> NDArray[np.float64]:
        """Return the chance of failure at each epsilon, rounded up."""
        return np.array([self.delta(value) for value in several(epsilons, "epsilons")], float)

    def epsilons(self, deltas: Iterable[object]) -> NDArray[np.float64]:
        """Return the least epsilon at each delta, rounded up."""
        return np.array([self.epsilon(value) for value in several(deltas, "deltas")], float)

    def tradeoffs(self, false_alarms: Iterable[object]) -> NDArray[np.float64]:
        """Return the least chance of a missed detection for each false alarm, rounded down."""
        alarms = several(false_alarms, "false_alarms")
        return np.array([self.tradeoff(value) for value in alarms], float)

    def plot(self, kind: str = "delta") -> CurvePlot:
        """Plot delta(epsilon), or with ``kind="tradeoff"`` misses against false alarms.

        The result shows itself in notebooks; ``svg()`` is its text, ``draw(axes)`` draws it with
        matplotlib.  ``loss.plot`` draws several curves in one picture.
        """
        return loss.plot({"": self}, kind)


def several(values: Iterable[object], name: str) -> list[object]:
    """Return a list of what must be several values.

    >>> several(range(2), "epsilons")
    [0, 1]
    """
    if isinstance(values, str | bytes) or not np.iterable(values):
        raise WrongKind(
            f"{name} is a {type(values).__name__}, not several numbers; give {name} as a list or "
            "an array; for one number, ask for one point."
        )
    return list(values)
