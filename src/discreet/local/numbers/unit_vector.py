"""Unit vectors: the mean of many people's directions, by PrivUnit.  Inexact: for study.

Trust: public.  Its law is continuous and drawn in floats, so no promise is made by it; it is no
``Randomizer``, and no wire takes it.  In earnest, sample one coordinate and report it by
``WindowResponse.minimax``.

Definition (Bhowmick, Duchi, Freudiger, Kapoor and Rogers 2018).  Let U be uniform on the sphere of
dimension d, and q the chance that <U, x> >= g.  With chance p = e^eps q / (1 - q + e^eps q) draw V
from the cap <V, x> >= g, otherwise from its complement, and report V / m with m = E<V, x>.
Theorem (key ``unit-vector``; Bhowmick, Duchi, Freudiger, Kapoor and Rogers 2018; Asi, Feldman and
Talwar 2022).  Densities inside and outside the cap differ by the factor e^eps. The report has mean
x and mean squared error 1/m**2 - 1, where m = M (p/q - (1 - p)/(1 - q)) and M = (1 - g**2)**((d -
1)/2) Gamma(d/2) / (sqrt(pi) Gamma((d - 1)/2) (d - 1)).
Proof.  By symmetry E V is a multiple of x.
The density of <U, x> at t is proportional to (1 - t**2)**((d - 3)/2); M is the mean of <U, x> on
the cap, times q.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange
from discreet.exact import whole
from discreet.local.randomizers.randomizer import local_epsilon
from discreet.loss import Pure
from discreet.mechanisms.mechanism import Number
from discreet.noise import SYSTEM, Entropy
from discreet.notebook import Shown

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, init=False)
class UnitVector(Shown):
    """Report a long vector that points roughly the true way.

    >>> study = UnitVector(epsilon=4, dimension=100)
    >>> round(study.mean_squared_error(), 1), study.exact
    (42.8, False)
    """

    exact: ClassVar[bool] = False

    epsilon: Fraction
    dimension: int
    threshold: float

    def __init__(self, *, epsilon: Number, dimension: int) -> None:
        """Take the loss and the dimension; the cap with the least error is found by a search."""
        object.__setattr__(self, "epsilon", local_epsilon(epsilon))
        object.__setattr__(self, "dimension", whole(dimension, name="dimension", low=2))
        from scipy.optimize import minimize_scalar  # type: ignore[import-untyped]  # noqa: PLC0415

        spread = 1 / math.sqrt(self.dimension)

        def error(threshold: float) -> float:
            object.__setattr__(self, "threshold", threshold)
            return self.mean_squared_error()

        top = min(0.999, spread * (2 + 2 * math.sqrt(float(self.epsilon))))
        best = minimize_scalar(error, bounds=(0.0, top), method="bounded")
        object.__setattr__(self, "threshold", float(best.x))

    def loss(self) -> Pure:
        """Return the loss of the law that is approximated."""
        return Pure(epsilon=self.epsilon)

    def mean_squared_error(self) -> float:
        """Return the mean squared distance of a report from its sender's vector."""
        return 1 / self._shrinkage() ** 2 - 1

    def run_each(self, vectors: Floats, *, entropy: Entropy = SYSTEM) -> Floats:
        """Return one report for each row, which must be a unit vector."""
        people, size = vectors.shape
        if size != self.dimension or not np.allclose(np.linalg.norm(vectors, axis=1), 1):
            raise OutOfRange(
                what="a row is not a unit vector of the given dimension.",
                why="the mechanism hides directions, not lengths.",
                do="divide each vector by its length first.",
            )
        from scipy import special  # type: ignore[import-untyped]  # noqa: PLC0415  slow to load

        inside_chance, keep = self._cap()
        inside = _uniform(people, entropy) < keep
        place = _uniform(people, entropy)
        tail = np.where(inside, inside_chance * place, inside_chance + (1 - inside_chance) * place)
        half = (self.dimension - 1) / 2
        along = 2 * special.betainccinv(half, half, tail) - 1  # P[<U, x> above it] = tail
        aside = special.ndtri(_uniform(people * size, entropy)).reshape(people, size)
        aside -= (aside * vectors).sum(1, keepdims=True) * vectors
        aside /= np.linalg.norm(aside, axis=1, keepdims=True)
        drawn = along[:, None] * vectors + np.sqrt(1 - along**2)[:, None] * aside
        return np.asarray(drawn / self._shrinkage(), np.float64)

    def _cap(self) -> tuple[float, float]:
        """Return q and p."""
        from scipy import special  # noqa: PLC0415  slow to load

        half = (self.dimension - 1) / 2
        cap = float(special.betaincc(half, half, (1 + self.threshold) / 2))
        odds = math.exp(-float(self.epsilon)) * (1 - cap) / cap
        return cap, 1 / (1 + odds)

    def _shrinkage(self) -> float:
        """Return m."""
        cap, keep = self._cap()
        half = (self.dimension - 1) / 2
        mean = math.exp(
            half * math.log1p(-(self.threshold**2))
            + math.lgamma(half + 0.5)
            - math.lgamma(half)
            - math.log(2 * half * math.sqrt(math.pi))
        )
        return mean * (keep / cap - (1 - keep) / (1 - cap))


def _uniform(count: int, entropy: Entropy) -> Floats:
    """Return floats strictly between 0 and 1."""
    return (entropy.words(count, 52).astype(np.float64) + 0.5) * 2.0**-52
