"""Randomized response: tell the truth with a known probability, otherwise lie evenly.

Trust: kernel.

Definition.  On k categories the answer is the truth with probability
e^epsilon / (e^epsilon + k - 1), and each other category with 1 / (e^epsilon + k - 1).
Theorem (key ``response-mechanism``; Warner 1965, Kairouz, Bonawitz and Ramage 2016).  It is
epsilon-DP between any two truths, and no smaller epsilon will do.  For two categories its profile
is the largest of all epsilon-DP mechanisms; with more, lies to third categories reveal nothing
about which of two truths is the case, and the profile is smaller.  No epsilon-DP mechanism in the
local model is right more often on its worst input.

Rounding.  e^-epsilon is replaced by a rational a above it, so that all probabilities are rational
and their largest ratio, 1/a, is below e^epsilon.  Up to an epsilon of 100 a exceeds e^-epsilon by
2**-140 to 2**-125 of itself, beyond by less than 2**-270.
Theorem (key ``response-estimate``).  If a share s of n people answer a category, then
(s - q) / (p - q) is an unbiased estimate of the share that belongs to it, where p and q are the
probabilities of the true and of one other category.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import listed
from discreet.certified import exp_neg
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import Interval, freeze, whole
from discreet.loss import PrivacyLoss, Profile, Pure
from discreet.loss.finite import FinitePair
from discreet.mechanisms.mechanism import Mechanism, Number, at_confidence, factor, steps_at
from discreet.noise import SYSTEM, Bernoulli, Entropy, Uniform

_BITS: Final = 128  # of the rounding that the docstring states
_LARGEST: Final = 100  # epsilons above are rounded like this one, and priced as two categories


@final
@dataclass(frozen=True, slots=True, init=False)
class RandomizedResponse(Mechanism[Hashable, Any]):
    """Answer with one of finitely many categories, most often the true one.

    >>> coin = RandomizedResponse(epsilon=1)
    >>> round(coin.keep().nearest(), 6)  # e / (1 + e)
    0.731059
    >>> RandomizedResponse(epsilon=1, categories=("red", "green", "blue")).run("red") in {
    ...     "red", "green", "blue"}
    True
    """

    epsilon: Fraction
    categories: tuple[Hashable, ...]

    def __init__(self, *, epsilon: Number, categories: Iterable[Hashable] = (0, 1)) -> None:
        chosen = tuple(listed(categories, name="categories"))
        try:
            distinct = len(set(chosen))
        except TypeError:
            distinct = -1
        if distinct < 2 or distinct != len(chosen):
            raise WrongKind("categories must be two or more different values.")
        freeze(self, epsilon=factor(epsilon, name="epsilon"), categories=chosen)

    def keep(self) -> Interval:
        return self._chances()[0]

    def loss(self, *, distance: Number = 1) -> PrivacyLoss:
        """Return the loss between any two truths: they are all neighbors.  It is tight.

        Above an epsilon of 100 the loss of two categories is charged.
        """
        if steps_at(distance) == 0:
            return Pure(epsilon=0)
        others = len(self.categories) - 1
        if others == 1 or self.epsilon == 0 or self.epsilon > _LARGEST:
            return Pure(epsilon=self.epsilon)
        kept, lied = (chance.low for chance in self._chances())
        rest = (others - 1) * lied
        return Profile.of(FinitePair((kept, lied, rest), (lied, kept, rest)))

    def error(self, *, confidence: Number) -> int:
        """Return 0 if the answer is the truth with this probability, else 1."""
        return int(self.keep().low < at_confidence(confidence))

    def run(self, value: Hashable, *, entropy: Entropy = SYSTEM) -> Any:
        return self.run_each([value], entropy=entropy)[0]

    def run_each(self, values: Iterable[Hashable], *, entropy: Entropy = SYSTEM) -> list[Any]:
        """Return one answer for each of many people, independently.

        >>> len(RandomizedResponse(epsilon=1).run_each([0, 1, 1, 0]))
        4
        """
        places = {category: index for index, category in enumerate(self.categories)}
        truths = [_place(places, value) for value in listed(values, name="values")]
        answers = respond(np.array(truths, np.int64), self.epsilon, len(places), entropy)
        return [self.categories[index] for index in answers]

    def reference_pmf(self, value: Hashable) -> dict[Any, Interval]:
        _place({category: index for index, category in enumerate(self.categories)}, value)
        kept, lied = self._chances()
        return {category: kept if category == value else lied for category in self.categories}

    def estimate(self, *, count: int, total: int) -> float:
        """Estimate without bias the share of a category that ``count`` of ``total`` answered.

        >>> round(RandomizedResponse(epsilon=1).estimate(count=600, total=1000), 6)
        0.716395
        """
        people = whole(total, name="total", low=1)
        share = Fraction(whole(count, name="count", low=0, high=people), people)
        p, q = (chance.low for chance in self._chances())
        if p == q:
            raise OutOfRange("truth and lies are equally likely; give a larger epsilon.")
        estimate = (share - q) / (p - q)
        return Interval(estimate, estimate).nearest()

    def _chances(self) -> tuple[Interval, Interval]:
        """Return the probabilities of the true category and of one other."""
        kept, lied = response_chances(self.epsilon, len(self.categories))
        return Interval(kept, kept), Interval(lied, lied)


def _place(places: dict[Hashable, int], value: Hashable) -> int:
    try:
        return places[value]
    except (KeyError, TypeError):
        raise WrongKind("a value is none of the categories.") from None


def response_chances(epsilon: Fraction, values: int) -> tuple[Fraction, Fraction]:
    """Return the probabilities of the true category and of one other, exactly.

    >>> response_chances(Fraction(0), 4)
    (Fraction(1, 4), Fraction(1, 4))
    """
    decay = inward_decay(epsilon)
    kept = 1 / (1 + (values - 1) * decay)
    return kept, decay * kept


def respond(
    codes: NDArray[np.integer[Any]], epsilon: Fraction, values: int, entropy: Entropy
) -> NDArray[np.int64]:
    """Answer for many people whose categories are 0, 1, ..., ``values`` - 1.

    A lie moves around the circle of categories.  Where it would go is drawn for the truthful as
    well, so that time reveals nothing.

    >>> respond(np.array([0, 1, 2]), Fraction(1), 3, SYSTEM).shape
    (3,)
    """
    others = values - 1
    kind = np.min_scalar_type(2 * values)  # narrow numbers are added up several at a time
    answers = Uniform(below=others).sample(codes.size, entropy).astype(kind)
    lies = Bernoulli(p=others * response_chances(epsilon, values)[1]).flips(codes.size, entropy)
    answers += kind.type(1)
    answers *= lies
    answers += codes.astype(kind)
    answers -= kind.type(values) * (answers >= values)
    return answers.astype(np.int64)


@functools.lru_cache(maxsize=64)
def inward_decay(epsilon: Fraction) -> Fraction:
    """Return e^-epsilon, rounded up by at least one step, so that no ratio exceeds e^epsilon.

    >>> 0.3678794411 < inward_decay(Fraction(1)) < 0.3678794412
    True
    """
    bits = _BITS + math.ceil(3 * min(epsilon, Fraction(_LARGEST)) / 2)
    return Fraction(min(exp_neg(epsilon, bits)[1] + 1, 1 << bits), 1 << bits)
