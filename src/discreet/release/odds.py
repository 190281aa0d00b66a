"""What a privacy loss means, as odds of a guess about one unit.

Trust: public.

Definition.  An observer who knows everything else decides between two tables one step apart, by
looking at the answers that the loss is about.
Theorem (key ``guessing-odds``; Kairouz, Oh and Viswanath 2015; Dong, Roth and Su 2022).  Let
d = delta(0) be the profile of the loss at epsilon zero.  Of two tables that are equally likely
before, no observer names the right one with a chance above (1 + d) / 2; and one that suspects the
wrong table with a chance of at most a suspects the right one with a chance of at most
1 - tradeoff(a).
Proof.  d bounds P[S] - P'[S] over all sets S of answers.  Guessing by S is right with the chance
(P[S] + 1 - P'[S]) / 2.  The rest is the definition of the trade-off.
So with an even guess before, an observer is right at most 50 (1 + d) times in 100, if a coin is
right 50 times.  For Laplace noise on one count that is the observer who takes the nearer of the two
counts.

For plans the loss of every single mechanism is taken from its own theorem: its epsilon and delta,
which randomized response has as well (key ``randomized-response``), or its rho.  These compose in
milliseconds, and come close to the composition of the mechanisms, which may take minutes.  Where
all noise is Gaussian, two points of the profile itself are taken: delta(0), and the chance
e**eps a + delta(eps) for the eps that is best against continuous noise.  Every one of these is
a bound; the smaller numbers count.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, final

from discreet import mechanisms
from discreet.accounting import Leaf, Node, Repeat
from discreet.accounting.currencies import point_price
from discreet.exact import with_article
from discreet.loss import Approximate, PrivacyLoss, Pure, ZeroConcentrated
from discreet.units import Relation

if TYPE_CHECKING:  # for annotations alone
    from discreet.plan.plan import Plan

_ALARM: Final = Fraction(1, 100)
_NOTHING: Final = Pure(epsilon=0)
_LARGEST: Final = 64
_MOST: Final = 16
_RAISE: Final = 1 + 2.0**-50
_TWO_DIGITS: Final = Context(prec=2, rounding=ROUND_CEILING)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Odds:
    """The best guess, and the best catch at one false alarm in a hundred; both are upper bounds.

    >>> from discreet.loss import Pure
    >>> odds = odds_of(Pure(epsilon=1))
    >>> round(odds.guess, 3), round(odds.caught, 4)
    (0.731, 0.0272)
    """

    guess: float
    caught: float

    @property
    def times_right(self) -> str:
        """How many times in 100 the best guess is right."""
        return "more than 99" if self.guess > 0.99 else f"about {round(100 * self.guess)}"

    def sentence(
        self,
        *,
        unit: str = "person",
        relation: Relation = Relation.ADD_REMOVE,
        source: str = "this answer",
    ) -> str:
        """Say it in words.

        >>> from discreet.loss import Pure
        >>> print(odds_of(Pure(epsilon="0.1")).sentence(unit="patient"))
        Someone who guesses from this answer whether a patient is in the data is right about 52
        times in 100; a coin is right 50 times. An alarm that sounds for 1 in 100 of those who are
        not in the data sounds for at most 1.2 in 100 of those who are.
        """
        percent = Decimal(repr(round(100 * self.caught, 9)))  # rounded up, but for the last bits
        shown = min(_TWO_DIGITS.create_decimal(percent), Decimal(100))
        if relation.replaces:
            matter = f"which of two versions of one {unit}'s data is true"
            alarm = (
                f"1 time in 100 where it is one of them sounds at most {shown:f} times in 100 "
                "where it is the other"
            )
        else:
            matter = f"whether {with_article(unit)} is in the data"
            alarm = (
                f"for 1 in 100 of those who are not in the data sounds for at most {shown:f} in "
                "100 of those who are"
            )
        return (
            f"Someone who guesses from {source} {matter} is right {self.times_right} times in "
            f"100; a coin is right 50 times. An alarm that sounds {alarm}."
        )


@functools.lru_cache(maxsize=256)
def odds_of(loss: PrivacyLoss) -> Odds:
    """Return the odds of a loss.

    >>> from discreet.mechanisms import Laplace
    >>> odds = odds_of(Laplace(scale=2).loss())
    >>> odds.times_right
    'about 62'
    """
    distance = loss.delta(epsilon=0)
    missed = loss.tradeoff(false_alarm=_ALARM)
    return Odds(guess=(1.0 + distance) / 2.0, caught=min(1.0, 1.0 - missed))


@functools.lru_cache(maxsize=256)
def odds_of_plans(plans: tuple[Plan, ...]) -> Odds:
    """Return odds for everything that some plans release, quickly.

    Plans that release nothing, such as public keys alone, leave an even guess.
    """
    losses = losses_of_plans(plans)
    if losses == (_NOTHING,):
        return Odds(guess=0.5, caught=float(_ALARM))
    bounds = [odds_of(loss) for loss in losses]
    if all(_gaussian(plan) for plan in plans):
        bounds.append(_gaussian_odds(plans))
    return Odds(
        guess=min((odds.guess for odds in bounds), default=1.0),
        caught=min((odds.caught for odds in bounds), default=1.0),
    )


@functools.lru_cache(maxsize=256)
def losses_of_plans(plans: tuple[Plan, ...]) -> tuple[PrivacyLoss, ...]:
    """Return losses that are each no smaller than that of the plans, and easy to work with.

    Plans that release nothing lose nothing.
    """
    if not any(True for plan in plans for _ in _leaves(plan.tree, 1)):
        return (_NOTHING,)
    return tuple(_losses(plans))


def _losses(plans: tuple[Plan, ...]) -> Iterator[PrivacyLoss]:
    leaves = [(plan, leaf, count) for plan in plans for leaf, count in _leaves(plan.tree, 1)]
    if len(leaves) == 1 and leaves[0][2] == 1 and leaves[0][0].selection is None:
        yield leaves[0][0].loss
    points = [
        point_price(leaf.price(1, int(plan.unit.relation.replaces))) for plan, leaf, _ in leaves
    ]
    counted = [
        (point, count)
        for point, (_, _, count) in zip(points, leaves, strict=True)
        if point is not None
    ]
    total = sum((count * epsilon for (epsilon, _), count in counted), Fraction(0))
    delta = sum((count * chance for (_, chance), count in counted), Fraction(0))
    known = len(counted) == len(leaves) and total <= _LARGEST
    if known:
        if len(leaves) <= _MOST:
            yield _composed([_point(*point).power(count) for point, count in counted])
        else:
            yield _point(total, min(delta, Fraction(1)))
    rhos = [plan.price.rho for plan in plans if plan.price.rho is not None]
    rho, beside = sum(rhos, Fraction(0)), sum((plan.price.beside for plan in plans), Fraction(0))
    if known and not delta and rho >= Pure(epsilon=total).concentrated():
        return  # randomized response has this rho as well, so that it says no more than epsilon
    if len(rhos) == len(plans) and rho <= _LARGEST:
        loss = ZeroConcentrated(rho=rho)
        yield loss.compose(_point(Fraction(0), beside)) if beside else loss


def _gaussian(plan: Plan) -> bool:
    keys = plan.selection
    if keys is not None and not isinstance(keys, mechanisms.NoisyKeys):
        return False
    return (
        (keys is None or keys.noise.norm == 2)
        and plan.search is None
        and not plan.choices
        and all(noise.mechanism.norm == 2 for noise in plan.noises)
    )


def _gaussian_odds(plans: tuple[Plan, ...]) -> Odds:
    loss = _composed([plan.loss for plan in plans])
    mu = math.sqrt(2 * sum((plan.price.rho or Fraction(0) for plan in plans), Fraction(0)))
    best = max(0.0, mu * NormalDist().inv_cdf(1 - float(_ALARM)) - mu * mu / 2)
    caught = math.exp(best) * float(_ALARM) + loss.delta(epsilon=Fraction(best))
    guess = (1.0 + loss.delta(epsilon=0)) / 2.0
    return Odds(guess=guess, caught=min(1.0, math.nextafter(caught * _RAISE, math.inf)))


def _leaves(node: Node, count: int) -> Iterator[tuple[Leaf, int]]:
    if isinstance(node, Leaf):
        yield node, count
        return
    times = node.count if isinstance(node, Repeat) else 1
    for _, child in node.branches():
        yield from _leaves(child, count * times)


def _point(epsilon: Fraction, delta: Fraction) -> PrivacyLoss:
    return Approximate(epsilon=epsilon, delta=delta) if delta else Pure(epsilon=epsilon)


def _composed(losses: list[PrivacyLoss]) -> PrivacyLoss:
    return functools.reduce(lambda first, second: first.compose(second), losses)
