"""The noise-aware posterior of shares of several categories, computed exactly.

Trust: public.  It processes released counts, and cannot lose any privacy.

Theorem (key ``noise-aware-dirichlet``).  Let shares have the prior Dirichlet(a), let s_i of n
people (a public number) be in category i, and let z_i = s_i + Z_i be released with independent
two-sided geometric noise, P[Z = k] proportional to exp(-epsilon |k|).  With w_i(s) =
Gamma(a_i + s) / s! exp(-epsilon |z_i - s|), the counts have weights proportional to the product of
w_i(s_i), among those that add up to n.  Given z, the share of category i is a mixture of
Beta(a_i + s, sum of all other a + n - s) with weights proportional to w_i(s) c_i(n - s), where c_i
is the convolution of all w but w_i.
Proof.  The Dirichlet-multinomial law is a product over categories given the sum; margins of a
product given a sum are convolutions; given s, the share of one category is a Beta law.

No chain has to be run: the convolutions are sums of positive numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange, WrongKind
from discreet.exact import decimal, whole
from discreet.learning.bayes.beta_bernoulli import BetaMixture

Floats = NDArray[np.float64]

_MOST_PEOPLE: Final = 20_000


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DirichletCounts:
    """The posterior of shares, given noisy counts of all categories.

    >>> posterior = DirichletCounts(people=100, released=(37, 63), epsilon="0.1").shares
    >>> round(posterior[0].mean + posterior[1].mean, 9)
    1.0
    """

    people: int
    released: Sequence[int]
    epsilon: Any
    prior: Sequence[Any] | None = None
    shares: tuple[BetaMixture, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Work out the mixtures."""
        size = whole(self.people, name="people", low=1, high=_MOST_PEOPLE)
        epsilon = float(decimal(self.epsilon, name="epsilon"))
        released = [whole(z, name="each count") for z in self.released]
        given = [1] * len(released) if self.prior is None else list(self.prior)
        prior = [float(decimal(a, name="prior")) for a in given]
        if len(released) < 2 or len(prior) != len(released):
            raise WrongKind(
                what="there are fewer than two categories, or not one number of the prior each.",
                why="shares are about several categories.",
                do="give one noisy count for each category.",
            )
        if epsilon <= 0 or min(prior) <= 0:
            raise OutOfRange(
                what="epsilon, or a number of the prior, is not above zero.",
                why="noise has a width, and a Dirichlet law positive numbers.",
                do="give the epsilon of each count's noise, and a prior of ones, say.",
            )
        object.__setattr__(self, "shares", _mixtures(size, released, epsilon, prior))


def _mixtures(
    size: int, released: list[int], epsilon: float, prior: list[float]
) -> tuple[BetaMixture, ...]:
    from scipy.special import gammaln  # type: ignore[import-untyped]  # noqa: PLC0415  takes its time

    s = np.arange(size + 1, dtype=np.float64)
    each = []
    for z, a in zip(released, prior, strict=True):
        log = gammaln(a + s) - gammaln(s + 1) - epsilon * np.abs(z - s)
        each.append(np.exp(log - log.max()))
    before, after = [_one(size)], [_one(size)]
    for w in each[:-1]:
        before.append(_convolved(before[-1], w))
    for w in each[:0:-1]:
        after.append(_convolved(after[-1], w))
    total = sum(prior)
    mixtures = []
    for place, (w, a) in enumerate(zip(each, prior, strict=True)):
        others = _convolved(before[place], after[len(each) - 1 - place])
        weights = w * others[::-1]
        weights = weights / weights.sum()
        kept = weights > 0
        mixtures.append(BetaMixture(weights[kept], (a + s)[kept], (total - a + size - s)[kept]))
    return tuple(mixtures)


def _one(size: int) -> Floats:
    unit = np.zeros(size + 1)
    unit[0] = 1.0
    return unit


def _convolved(left: Floats, right: Floats) -> Floats:
    """Return the first terms of a convolution, scaled so that the largest is one."""
    both = np.convolve(left, right)[: len(left)]
    top: Floats = both / both.max()
    return top
