"""Posteriors of shares that know about the noise, computed exactly, and the noise's likelihood.

Trust: public.  They process released counts, and cannot lose any privacy.

Theorem (key ``noise-aware-beta``).  Let a share have the prior Beta(a, b), let s of n people (a
public number) say yes, and let z = s + Z be released, where P[Z = k] is proportional to
exp(-epsilon |k|).  Given z, the share has the distribution that mixes Beta(a + s, b + n - s) over
s = 0, ..., n with weights proportional to BetaBin(s; n, a, b) exp(-epsilon |z - s|).
Proof.  Bayes' rule for s, given z; given s, the noisy count says nothing more about the share.
z may be outside [0, n]: below 0 all weights shrink by one factor, so that it says what 0 says, and
beyond n what n says.

Theorem (key ``noise-aware-dirichlet``).  Let shares have the prior Dirichlet(a), let s_i of n
people be in category i, and let z_i = s_i + Z_i be released with independent noise of this
distribution. With w_i(s) = Gamma(a_i + s) / s! exp(-epsilon |z_i - s|), the counts have weights
proportional to the product of w_i(s_i), among those that add up to n.  Given z, the share of
category i is a mixture of Beta(a_i + s, sum of all other a + n - s) with weights proportional to
w_i(s) c_i(n - s), where c_i is the convolution of all w but w_i.
Proof.  The Dirichlet-multinomial distribution is a product over categories given the sum; margins
of a product given a sum are convolutions; given s, the share of one category is a Beta
distribution.
No chain has to be run: the convolutions are sums of positive numbers.

``PrivateLikelihood`` is for any modeling language.  The release is z = s + Z with independent noise
of a known distribution; p(z | s) is that distribution at z - s, and p(z | theta) is the sum of p(z
| s) p(s | theta) over all s.  A sampler that knows p(z | theta) knows about the noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange, WrongKind
from discreet.exact import decimal, whole
from discreet.mechanisms import Gaussian, Laplace

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BetaMixture:
    """A mixture of Beta distributions.

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
        """Return its moments; a mixture has as many components as there are counts."""
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
            raise OutOfRange("a confidence is not between 0 and 1: give 0.9, say.")
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
                "epsilon, or a number of the prior, is not above zero: give the epsilon that was "
                "paid, and yes=1, no=1 for a prior that says nothing."
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
                "there are fewer than two categories, or not one number of the prior each: give "
                "one noisy count for each category."
            )
        if epsilon <= 0 or min(prior) <= 0:
            raise OutOfRange(
                "epsilon, or a number of the prior, is not above zero: give the epsilon of each "
                "count's noise, and a prior of ones, say."
            )
        object.__setattr__(self, "shares", _mixtures(size, released, epsilon, prior))


def _mixtures(
    size: int, released: list[int], epsilon: float, prior: list[float]
) -> tuple[BetaMixture, ...]:
    from scipy.special import gammaln  # noqa: PLC0415  takes its time

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


@final
@dataclass(frozen=True, slots=True)
class PrivateLikelihood:
    """Released integers and the mechanism that added their noise.

    >>> from discreet.mechanisms import Laplace
    >>> seen = PrivateLikelihood((37,), Laplace(scale=10))
    >>> bool(seen.log_density([37]) > seen.log_density([20]))
    True
    >>> round(float(np.exp(seen.log_density(np.arange(-900, 900)[:, None])).sum()), 6)
    1.0
    """

    released: Sequence[int]
    mechanism: Laplace | Gaussian

    def __post_init__(self) -> None:
        """Refuse noise of unknown distribution, and numbers that integer noise cannot make."""
        if not isinstance(self.mechanism, Laplace | Gaussian) or self.mechanism.grid is not None:
            raise WrongKind(
                "the mechanism is neither Laplace nor Gaussian noise on integers: give the "
                "mechanism of the release, such as Laplace(scale=10)."
            )

        held = tuple(whole(value, name="released") for value in np.ravel(self.released).tolist())
        object.__setattr__(self, "released", held)

    def log_density(self, truth: Any) -> Any:
        """Return ln p(z | s) for true totals s, along the last axis; vectorized over the others."""
        values = np.asarray(truth, np.float64)
        if values.shape[-1:] != (len(self.released),):
            raise OutOfRange(
                "there are not as many true totals as released ones: give an array whose last axis "
                "is as long as the release."
            )
        gap = np.asarray(self.released, np.float64) - values
        return (self._log_weight(gap) - self._log_sum()).sum(axis=-1)

    def marginal(self, truths: Any, log_chances: Any) -> float:
        """Return ln p(z | theta) from a list of possible totals and ln p(s | theta) of each."""
        joint = np.asarray(self.log_density(truths)) + np.asarray(log_chances, np.float64)
        top = joint.max()
        return float(top + np.log(np.exp(joint - top).sum()))

    def document(self) -> Mapping[str, Any]:
        """Return release and noise in plain JSON, for programs in other languages."""
        if isinstance(self.mechanism, Laplace):
            return {
                "released": list(self.released),
                "law": "two-sided geometric",
                "scale": float(self.mechanism.scale),
            }
        return {
            "released": list(self.released),
            "law": "discrete gaussian",
            "variance": float(self.mechanism.variance),
        }

    def _log_weight(self, gap: Floats) -> Floats:
        if isinstance(self.mechanism, Laplace):
            return -np.abs(gap) / float(self.mechanism.scale)
        return -(gap**2) / (2 * float(self.mechanism.variance))

    def _log_sum(self) -> float:
        """Return the logarithm of the sum of all weights."""
        if isinstance(self.mechanism, Laplace):
            rate = np.exp(-1 / float(self.mechanism.scale))
            return float(np.log((1 + rate) / (1 - rate)))
        variance = float(self.mechanism.variance)
        if variance > 1:  # the sum differs from the integral by less than 1e-8 of it
            return 0.5 * float(np.log(2 * np.pi * variance))
        steps = np.arange(-40.0, 41.0)
        return float(np.log(np.exp(self._log_weight(steps)).sum()))
