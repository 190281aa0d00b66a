"""Quantities released with the sum of a step: the count of short contributions, the mean objective.

Trust: kernel.

Definition.  Each quantity is one more coordinate of the noisy sum, to which unit i adds w e_i with
a public weight w and e_i in [-1, 1]:
    clipped:    e_i = 2 - 2 x_i, cut to [-1, 1], where x_i is the norm of its contribution over the
                threshold (the larger of its norm and its span / k, as in clipping): 1 for a
                contribution below half of the threshold, -1 above three halves, and a line between;
    objective:  e_i = 2 o_i / M - 1, where o_i is the mean objective of its rows, cut to [0, M].
Theorem (key ``side-counts``; Andrew, Thakkar, McMahan and Ramaswamy 2021 for a count).  With m
such coordinates one unit moves the sum by at most (C^2 + m w^2)^(1/2) in L2 before slack.  If other
rows in the batch change the norm or the objective of a unit by a share of at most t, its
coordinates move by at most 3 t w each.
    Proof.  Coordinates are orthogonal, and |e_i| <= 1.  If e_i is not constant, x_i <= 3/2 and
    o_i <= M, so 2 x_i moves by at most 3 t and 2 o_i / M by 2 t; cutting moves numbers no further
    apart.
A hard count has no such bound: a norm next to its threshold moves it by 1, however small t is.
The noisy coordinate E gives a share: (1 + E / (w B)) / 2 with the public batch B.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange
from discreet.exact import decimal, float_down, positive
from discreet.torch.clipping import Scales

WEIGHT: Final = Fraction(1, 16)
"""One coordinate needs 0.2 percent more noise, and gives a share within 8 sigma / batch."""
_KNOWN: Final = ("clipped", "objective")
_TARGET: Final = 0.5
_RATE: Final = 0.2  # of Andrew et al. 2021
FURTHEST: Final = 2.0**30


@final
@dataclass(frozen=True, slots=True)
class SideCounts:
    """The quantities released in addition to a sum; all of them are paid for.

    >>> side = SideCounts.of({"objective": 4}, adaptive=True)
    >>> side.names, float(side.squared)
    (('clipped', 'objective'), 0.0078125)
    >>> side.told(np.array([0.0, 16.0]), batch=512)
    {'clipped': 0.5, 'objective': 3.0}
    """

    names: tuple[str, ...] = ()
    most: Fraction | None = None

    @classmethod
    def of(cls, metrics: Mapping[str, object] | None, *, adaptive: bool) -> SideCounts:
        """Read the requested metrics: "objective" with its largest value, "clipped" with True."""
        wanted = dict(metrics) if isinstance(metrics, Mapping) else {}
        if adaptive:
            wanted["clipped"] = True
        known = set(wanted) <= set(_KNOWN) and wanted.get("clipped", True) is True
        if not known or not isinstance(metrics, Mapping | None):
            raise OutOfRange(
                "metrics is not a mapping, has another name than 'clipped' and 'objective', or "
                '\'clipped\' is not True: give, say, metrics={"objective": 5, "clipped": '
                "True}."
            )
        most = None
        if "objective" in wanted:
            most = positive(decimal(wanted["objective"], name="objective"), name="objective")
        return cls(tuple(name for name in _KNOWN if name in wanted), most)

    @property
    def squared(self) -> Fraction:
        """The squared norm of what one unit adds."""
        return len(self.names) * WEIGHT**2

    def centered_objectives(self, values: Scales) -> Scales:
        """Return e of each mean objective; NaN counts as the largest."""
        assert self.most is not None  # noqa: S101  asked for if it is bought
        with np.errstate(all="ignore"):
            cut = np.clip(2 * values / float_down(self.most) - 1, -1.0, 1.0)
        return np.where(np.isnan(cut), 1.0, cut)

    def told(self, noisy: NDArray[np.float64], *, batch: int) -> dict[str, float]:
        """Read noisy coordinates as a share and a mean, which noise may move out of their range."""
        shares = (1 + noisy / (float(WEIGHT) * batch)) / 2
        found = {}
        for name, share in zip(self.names, shares.tolist(), strict=True):
            found[name] = 1 - share if name == "clipped" else share * float(self.most or 0)
        return found

    def spreads(self, *, sigma: Fraction, batch: int) -> dict[str, float]:
        """Return the standard deviation of the noise on each."""
        one = float(sigma / (2 * WEIGHT * batch))
        return {n: one if n == "clipped" else one * float(self.most or 0) for n in self.names}


NOTHING_BESIDE: Final = SideCounts()


def centered_lengths(ratios: Scales) -> Scales:
    """Return e of each norm over its threshold; a non-finite norm counts as long.

    >>> centered_lengths(np.array([0.0, 0.5, 1.0, 1.25, 9.0, np.nan])).tolist()
    [1.0, 1.0, 0.0, -0.5, -1.0, -1.0]
    """
    with np.errstate(all="ignore"):
        cut = np.clip(2.0 - 2.0 * ratios, -1.0, 1.0)
    return np.where(np.isnan(cut), -1.0, cut)


def adapted(factor: float, clipped: float) -> float:
    """Return the next factor of all thresholds, which moves toward the median (Andrew et al. 2021).

    It is made of a noisy share alone.

    >>> adapted(1.0, 0.5), adapted(1.0, 0.0) < 1 < adapted(1.0, 1.0)
    (1.0, True)
    """
    share = min(max(clipped, -1.0), 2.0)
    moved = factor * math.exp(_RATE * (share - _TARGET))
    return min(max(moved, 1 / FURTHEST), FURTHEST)
