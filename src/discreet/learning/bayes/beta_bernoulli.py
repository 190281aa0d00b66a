"""The noise-aware posterior of a share: a mixture of Beta laws, computed exactly.

Trust: public.  It processes a released count, and cannot lose any privacy.

Theorem (key ``noise-aware-beta``).  Let a share have the prior Beta(a, b), let s of n people (a
public number) say yes, and let z = s + Z be released, where P[Z = k] is proportional to
exp(-epsilon |k|).  Given z, the share has the law that mixes Beta(a + s, b + n - s) over s = 0,
..., n with weights proportional to BetaBin(s; n, a, b) exp(-epsilon |z - s|).
Proof.  Bayes' rule for s, given z; given s, the noisy count says nothing more about the share.

z may lie outside [0, n]: below 0 all weights shrink by one factor, so that it says what 0 says, and
beyond n what n says.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange
from discreet.exact import decimal, whole

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BetaMixture:
    """A mixture of Beta laws.

    >>> law = BetaMixture(np.array([1.0]), np.array([2.0]), np.array([2.0]))
    >>> round(law.mean, 6), round(law.quantile(0.5), 6)
    (0.5, 0.5)
    >>> law
    BetaMixture(mean=0.5, deviation=0.2236, of 1 law)
    """

    weights: Floats
    first: Floats
    second: Floats

    def __repr__(self) -> str:
        """Return its moments; a mixture has as many laws as there are counts."""
        laws = f"{self.weights.size} law{'s' if self.weights.size > 1 else ''}"
        return f"BetaMixture(mean={self.mean:.4g}, deviation={self.deviation:.4g}, of {laws})"

    @property
    def mean(self) -> float:
        """The mean."""
        return float((self.weights * self.first / (self.first + self.second)).sum())

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        total = self.first + self.second
        square = self.first * (self.first + 1) / (total * (total + 1))
        return float(max((self.weights * square).sum() - self.mean**2, 0.0) ** 0.5)

    def cdf(self, share: float) -> float:
        """Return the probability of at most this share."""
        from scipy.special import betainc  # type: ignore[import-untyped]  # noqa: PLC0415  takes its time

        return float((self.weights * betainc(self.first, self.second, share)).sum())

    def quantile(self, chance: float) -> float:
        """Return the share that is not exceeded with this probability."""
        from scipy.optimize import brentq  # type: ignore[import-untyped]  # noqa: PLC0415  takes its time

        return float(brentq(lambda share: self.cdf(share) - chance, 0.0, 1.0, xtol=1e-12))

    def interval(self, confidence: Any = "0.9") -> tuple[float, float]:
        """Return the central credible interval."""
        inside = decimal(confidence, name="confidence")
        if not 0 < inside < 1:
            raise OutOfRange(
                what="a confidence is not between 0 and 1.",
                why="it is the chance that the interval holds the share.",
                do="give 0.9, say.",
            )
        outside = float(1 - inside) / 2
        return self.quantile(outside), self.quantile(1 - outside)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BetaBernoulli:
    """The posterior of a share, given a noisy count of those who said yes.

    >>> law = BetaBernoulli(people=100, released=37, epsilon="0.1").posterior
    >>> [round(v, 6) for v in (law.mean, law.deviation, *law.interval("0.9"))]
    [0.377452, 0.135611, 0.15655, 0.610637]
    """

    people: int
    released: int
    epsilon: Any
    yes: Any = 1
    no: Any = 1
    posterior: BetaMixture = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Work out the mixture."""
        size = whole(self.people, name="people", low=1, high=10**7)
        epsilon = decimal(self.epsilon, name="epsilon")
        a, b = decimal(self.yes, name="yes"), decimal(self.no, name="no")
        if epsilon <= 0 or a <= 0 or b <= 0:
            raise OutOfRange(
                what="epsilon, or a number of the prior, is not above zero.",
                why="noise has a width, and a Beta law two positive numbers.",
                do="give the epsilon that was paid, and yes=1, no=1 for a prior that says nothing.",
            )
        from scipy.special import betaln, gammaln  # noqa: PLC0415  takes its time

        s = np.arange(size + 1, dtype=np.float64)
        first, second = float(a) + s, float(b) + size - s
        log = betaln(first, second) - gammaln(s + 1) - gammaln(size - s + 1)
        log -= float(epsilon) * np.abs(float(whole(self.released, name="released")) - s)
        weights = np.exp(log - log.max())
        weights /= weights.sum()
        kept = weights > 0
        mixture = BetaMixture(weights[kept], first[kept], second[kept])
        object.__setattr__(self, "posterior", mixture)
