"""The best guess about one unit from answers of a known loss, and how often it is right.

Trust: public.  Every number is an upper bound on what an attacker achieves.

Definition.  An observer who knows everything else decides between two worlds one step apart: the
unit is in the data or not, or its data is one of two versions.  Let P and Q be the distributions of
the answers in the two, and T(a) the largest P[S] over all sets S with Q[S] <= a: the best catch
rate at a probability a of a false alarm.
Theorem (key ``guessing-odds``; Kairouz, Oh and Viswanath 2015; Dong, Roth and Su 2022).  With
d = delta(0): an even guess is right with probability at most (1 + d) / 2, so of 100 answers that
suggest "yes", at least 50 (1 - d) come without the unit and at most 50 (1 + d) with it, and
T(a) <= 1 - tradeoff(a).
Theorem (key ``posterior-bound``; Kifer and Machanavajjhala 2014; Kasiviswanathan and Smith 2014).
Outside a set of answers that occurs with probability at most c if the unit is in the data, the
likelihood ratio is at most e**r for r = epsilon(t c) - log(1 - t), for every t between 0 and 1.  A
prior p then becomes at most p e**r / (1 - p + p e**r).  A pure loss needs no such set, with r its
epsilon.
    Proof.  Let B be the answers with a ratio above e**r, and E = epsilon(t c).  On B,
    q < e**-r p, so t c >= delta(E) >= P[B] - e**E Q[B] >= P[B] (1 - e**(E-r)) = t P[B].
    The prior turns into the posterior by the rule of Bayes.
Theorem (key ``chained-guesses``).  Between worlds that are k steps apart, along any chain of
neighbors, the catch rate is at most T(T(...T(a))) with k times T, and the probability of an even
guess at most (1 + k d) / 2.
    Proof.  T bounds P[S] by a function of Q[S] that grows with it; apply it once for each step.
    The total variation distance obeys the triangle inequality.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Final, final

from discreet.errors import OutOfRange, WrongKind
from discreet.exact import decimal, float_up, whole
from discreet.loss import Approximate, PrivacyLoss, Pure, ZeroConcentrated
from discreet.loss.elementary import exp, log
from discreet.loss.parameters import checked_count, checked_delta
from discreet.loss.privacy_loss import checked_loss, missed_on_grid

_LEAST_ALARM: Final = 1e-300
_LONGEST_CHAIN: Final = 16
_STRETCHES: Final = (0.0, 0.7, 1.0, 1.2, 1.4, 1.6, 1.8, 2.1, 2.5, 3.2)
_SHARES: Final = tuple(Fraction(1, 2**k) for k in (1, 3, 6))
"""Shares t of the allowed probability at which the loss is looked up; every one gives a bound."""


@final
@dataclass(frozen=True, slots=True, init=False)
class Guesses:
    """What an observer can guess; ``losses`` all bound the same answers, and the least one counts.

    >>> from discreet.loss import Pure
    >>> guesses = Guesses(Pure(epsilon=1))
    >>> round(guesses.right(), 4), round(guesses.caught("0.01"), 4)
    (0.7311, 0.0272)
    >>> round(guesses.posterior("0.01"), 4)
    0.0267
    """

    losses: tuple[PrivacyLoss, ...]

    def __init__(self, *losses: PrivacyLoss) -> None:
        """Take one loss or several, each a bound for the same answers."""
        if not losses:
            raise WrongKind(
                what="no loss is given.",
                why="without a bound on it, everything can be guessed.",
                do="give at least one privacy loss.",
            )
        object.__setattr__(self, "losses", tuple(map(checked_loss, losses)))

    def apart(self) -> float:
        """Return the total variation distance: the largest difference in any probability."""
        return min(*(loss.delta(epsilon=0) for loss in self.losses), 1.0)

    def apart_at_least(self) -> float:
        """Return a lower bound on that difference, if one is known for a single loss; else 0."""
        if len(self.losses) > 1:
            return 0.0
        return max(0.0, self.losses[0].delta_interval(epsilon=0).low)

    def right(self) -> float:
        """Return how often the best even guess is right, at most."""
        return min(1.0, math.nextafter((1.0 + self.apart()) / 2.0, 2.0)) if self.apart() else 0.5

    def caught(self, false_alarms: object) -> float:
        """Return which share the best alarm catches, at most, at a rate of false alarms."""
        alarm = checked_chance(false_alarms, name="false_alarms")
        missed = max(_missed(loss, alarm) for loss in self.losses)
        return min(1.0, math.nextafter(1.0 - missed, 2.0))

    def ratio(self, except_with: object = 0) -> float:
        """Return how much more likely an answer is in one world than in the other, as a logarithm.

        Args:
            except_with: the probability with which an answer may be outside of the bound.
        """
        chance = checked_delta(except_with, name="except_with")
        pure = [loss.pure_bound() for loss in self.losses]
        ratios = [float_up(epsilon) for epsilon in pure if epsilon is not None]
        if chance:
            ratios += [
                float_up(Fraction(epsilon) - log(1 - share).low)
                for loss in self.losses
                for share in _SHARES
                if math.isfinite(epsilon := loss.epsilon(delta=chance * share))
            ]
        return min(ratios, default=math.inf)

    def posterior(self, prior: object, *, except_with: object = 0) -> float:
        """Return what a belief in the truth can rise to, at most.

        Args:
            prior: how likely it seemed before.
            except_with: the probability with which it may rise further.
        """
        return after_ratio(checked_chance(prior, name="prior"), self.ratio(except_with))

    def group(self, size: int) -> Guesses:
        """Return what can be guessed about this many units that are all in the data, or all not.

        >>> from discreet.loss import Pure
        >>> round(Guesses(Pure(epsilon="0.5")).group(4).right(), 3)
        0.881
        """
        units = checked_count(size, low=1)
        return Guesses(*(loss.group(units) for loss in self.losses)) if units > 1 else self

    def chain(self, steps: int) -> ChainGuesses:
        """Return what can be guessed between worlds this many steps apart, in any directions.

        Between two versions of a unit's data there are two steps if a step adds or removes a
        unit: remove it, and add its other version.
        """
        return ChainGuesses(self, whole(steps, name="steps", low=1, high=_LONGEST_CHAIN))


@final
@dataclass(frozen=True, slots=True)
class ChainGuesses:
    """Guesses between worlds several steps apart, in whichever directions the steps go.

    >>> from discreet.loss import Pure
    >>> chain = Guesses(Pure(epsilon=1)).chain(2)
    >>> round(chain.right(), 4), round(chain.caught("0.01"), 4)
    (0.8808, 0.0739)
    """

    one: Guesses
    steps: int

    def right(self) -> float:
        """Return how often the best even guess is right, at most."""
        apart = min(1.0, math.nextafter(self.steps * self.one.apart(), math.inf))
        right = min(1.0, math.nextafter((1.0 + apart) / 2.0, 2.0)) if apart else 0.5
        return min([right, *(both.right() for both in self._whole())])

    def caught(self, false_alarms: object) -> float:
        """Return which share the best alarm catches, at most, at a rate of false alarms."""
        alarm = checked_chance(false_alarms, name="false_alarms")
        share = alarm
        for _ in range(self.steps):
            caught = self.one.caught(share)
            if caught >= 1.0:
                break
            share = Fraction(caught)
        else:
            caught = float_up(share)
        return min([caught, *(both.caught(alarm) for both in self._whole())])

    def _whole(self) -> tuple[Guesses, ...]:
        """Return the guesses of losses whose bound for the chain holds in every direction."""
        losses: list[PrivacyLoss] = []
        for loss in self.one.losses:
            pure = loss.pure_bound()
            if pure is not None:
                losses.append(Pure(epsilon=self.steps * pure))
            if isinstance(loss, ZeroConcentrated | Approximate):
                losses.append(loss.group(self.steps))
        return (Guesses(*losses),) if losses else ()


def _missed(loss: PrivacyLoss, alarm: Fraction) -> float:
    """Bound the probability of a miss from below; for zCDP, at epsilons near the best of Gaussians.

    Every epsilon gives a bound (key ``tradeoff-duality``); those of zCDP take milliseconds each.
    """
    if not isinstance(loss, ZeroConcentrated):
        return loss.tradeoff(false_alarm=alarm)
    mu = math.sqrt(2 * float(loss.rho))
    level = min(max(float(alarm), _LEAST_ALARM), 0.5)  # the search range, not the bound
    best = max(-mu * NormalDist().inv_cdf(level) - mu * mu / 2, mu * mu / 2)

    @functools.cache  # both directions look at the same points
    def curve(epsilon: float) -> float:
        return loss.delta(epsilon=Fraction(epsilon))

    return missed_on_grid(curve, curve, [alarm], [best * stretch for stretch in _STRETCHES])[0]


def after_ratio(prior: Fraction, ratio: float) -> float:
    """Return what a prior becomes when the truth is favored by e**ratio, rounded up.

    >>> round(after_ratio(Fraction(1, 100), 1.0), 6), after_ratio(Fraction(1, 2), math.inf)
    (0.026724, 1.0)
    """
    if math.isinf(ratio):
        return 1.0
    other = exp(-Fraction(ratio)).low * (1 - prior)
    return min(1.0, float_up(prior / (prior + other)))


def percent_up(share: float) -> int:
    """Return a share in whole percent, rounded up; never a number below the share.

    >>> percent_up(0.5), percent_up(0.6106), percent_up(1.0)
    (50, 62, 100)
    """
    return min(100, math.ceil(round(100 * share, 9)))


def checked_chance(value: object, *, name: str) -> Fraction:
    """Read a probability that is neither 0 nor 1.

    >>> checked_chance("0.01", name="prior")
    Fraction(1, 100)
    """
    chance = decimal(value, name=name)
    if not 0 < chance < 1:
        raise OutOfRange(
            what=f"{name} is not between 0 and 1.",
            why="who is sure before learns nothing, and nobody else has a chance of 0 or 1.",
            do=f"give {name} as a number such as 0.01.",
        )
    return chance
