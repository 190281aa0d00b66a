"""Small adaptive games: what the best strategy really loses, between what plans and bounds say.

Trust: kernel.

Definition.  In each round a player picks one of finitely many finite mechanisms, in view of all
outputs so far.  The *value* at odds a = e**eps is the largest P(S) - a Q(S) over strategies, sets S
of transcripts and ordered neighbors: the true delta at eps of whoever may choose.  The *planned*
value is the same for strategies that do not look.  The *joined* price replaces the mechanisms of a
round by one curve above them (key ``adaptive-choice``), as an accountant does.

Theorem.  With V_0(x) = (1 - a x)+ and V_k(x) = max over mechanisms of the
sum of p(y) V_(k-1)(x q(y) / p(y)) over outputs y with p(y) > 0, the value of k rounds between
neighbors with laws p and q is V_k(1).  Planned <= value <= joined.
Proof.  For a strategy, the best S holds the transcripts with P > a Q, so it reaches the sum of
(P - a Q)+ over transcripts.  Let a prefix have chances P > 0 and Q, x = Q / P, and k rounds to
come; prefixes with P = 0 add nothing.  What its continuations add is at most P V_k(x): this is the
definition for k = 0; and for k > 0 the mechanism that is picked splits the prefix into those with
chances P p(y) and Q q(y), whose continuations are chosen apart, so that the largest sum is the sum
of the largest.  The strategy that takes the maximum attains it.  Coins of the player are shown with
the transcript, so that a random strategy reaches the mean of what others reach.  Whoever stops
early does no better, as (.)+ is convex.  A strategy that does not look is one that may; and the
joined price is proved for every strategy.
All of it is computed in rationals, at both ends of an enclosure of e**eps; the value falls with a.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

from discreet.errors import NotComposable, OutOfRange, WrongKind
from discreet.exact import float_down, float_up, rational
from discreet.loss import PrivacyLoss, Pure
from discreet.loss.elementary import exp
from discreet.loss.parameters import checked_epsilon
from discreet.loss.rounding import Bracket
from discreet.mechanisms import FiniteMechanism

_MOST_STATES: Final = 20_000
_MOST_PLANS: Final = 10_000
_MOST_ROUNDS: Final = 100
_FAR: Final = Fraction(1000)

Laws = tuple[tuple[Fraction, Fraction], ...]
"""The chances of every output under both neighbors."""

Round = tuple[Laws, ...]
"""One for each mechanism that may be picked."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class GameValue:
    """Delta at one epsilon: for plans, for the best strategy, and as an accountant bounds it."""

    epsilon: Fraction
    planned: Bracket
    adaptive: Bracket
    joined: float

    def __str__(self) -> str:
        numbers = (self.planned.high, self.adaptive.high, self.joined)
        shown = "planned {:.6f}, adaptive {:.6f}, joined {:.6f}".format(*numbers)
        return f"delta at epsilon {float(self.epsilon):g}: {shown}"


@final
@dataclass(frozen=True, slots=True, init=False)
class AdaptiveGame:
    """Rounds, in each of which one of some finite mechanisms is picked in view of all outputs.

    >>> coin = FiniteMechanism(matrix=[["3/4", "1/4"], ["1/4", "3/4"]])
    >>> alarm = FiniteMechanism(matrix=[["1/4", "3/4"], [0, 1]])
    >>> game = AdaptiveGame([coin, alarm], [coin, alarm])
    >>> game.planned_delta_at(odds=2), game.delta_at(odds=2)
    (Fraction(7, 16), Fraction(1, 2))
    >>> game.strategy(odds=2)  # first the coin; then what suits its answer
    {(): 0, (1,): 1, (0,): 0}
    """

    rounds: tuple[tuple[FiniteMechanism, ...], ...]

    def __init__(self, *rounds: Iterable[FiniteMechanism]) -> None:
        """Take the mechanisms of each round; all have the same inputs and neighbors."""
        menus = tuple(tuple(menu) if isinstance(menu, Iterable) else () for menu in rounds)
        options = [option for menu in menus for option in menu]
        if not all(menus) or not all(isinstance(option, FiniteMechanism) for option in options):
            raise WrongKind(
                what="a round is not a list of finite mechanisms.",
                why="games are solved by listing all outputs of what may be picked.",
                do="give one list of FiniteMechanism for each round.",
            )
        if len(menus) > _MOST_ROUNDS:
            raise _too_large(f"{_MOST_ROUNDS} rounds")
        if len({(option.graph, option.inputs) for option in options}) > 1:
            raise NotComposable(
                what="the mechanisms differ in their inputs, or in which of them are neighbors.",
                why="all of them are run on one input, and protect it from one set of neighbors.",
                do="give all of them the same inputs and the same graph.",
            )
        object.__setattr__(self, "rounds", menus)

    def solve(self, epsilon: object) -> GameValue:
        """Return what plans, strategies and an accountant's bound reach at an epsilon."""
        target = checked_epsilon(epsilon)
        return GameValue(
            epsilon=target,
            planned=_enclosed(self.planned_delta_at, target),
            adaptive=_enclosed(self.delta_at, target),
            joined=self.joined().delta(target),
        )

    def delta_at(self, *, odds: object) -> Fraction:
        """Return the value at odds e**epsilon, exactly."""
        ratio = _checked_odds(odds)
        return max((_value(menus, ratio) for menus in self._sides()), default=Fraction(0))

    def planned_delta_at(self, *, odds: object) -> Fraction:
        """Return the largest delta of a list of mechanisms that is fixed in advance, exactly."""
        ratio = _checked_odds(odds)
        if math.prod(map(len, self.rounds)) > _MOST_PLANS:
            raise _too_large(f"{_MOST_PLANS} plans")
        plans = {  # in which order a plan runs does not matter
            tuple((laws,) for laws in sorted(plan))
            for menus in self._sides()
            for plan in itertools.product(*menus)
        }
        return max((_value(plan, ratio) for plan in plans), default=Fraction(0))

    def joined(self) -> PrivacyLoss:
        """Return the loss in which each round costs the most that one of its mechanisms can."""
        total: PrivacyLoss = Pure(epsilon=0)
        for menu in self.rounds:
            losses = [option.loss() for option in menu]
            total = total.compose(functools.reduce(lambda one, two: one.join(two), losses))
        return total

    def strategy(self, *, odds: object) -> dict[tuple[object, ...], int]:
        """Return which mechanism a best strategy picks after each list of outputs, by its place.

        It is one for the neighbors at which the most is lost.  Where several mechanisms do equally
        well, the first is picked.
        """
        ratio = _checked_odds(odds)
        menus = max(self._sides(), key=lambda side: _value(side, ratio), default=())
        best = _solver(menus, ratio)
        picks: dict[tuple[object, ...], int] = {}
        ahead: list[tuple[tuple[object, ...], Fraction]] = [((), Fraction(1))]
        while ahead:
            seen, x = ahead.pop()
            if (done := len(seen)) < len(menus):
                _, picks[seen] = best(done, x)
                outputs = self.rounds[done][picks[seen]].outputs
                split = zip(outputs, menus[done][picks[seen]], strict=True)
                ahead += [((*seen, y), x * q / p) for y, (p, q) in split if p]
            if len(picks) > _MOST_STATES:
                raise _too_large(f"{_MOST_STATES} lists of outputs")
        return picks

    def _sides(self) -> tuple[tuple[Round, ...], ...]:
        """List the laws of all mechanisms, for every ordered pair of neighbors."""
        pairs = self.rounds[0][0].graph.ordered() if self.rounds else ()
        sides = (
            tuple(
                tuple(
                    tuple(zip(option.matrix[i], option.matrix[j], strict=True)) for option in menu
                )
                for menu in self.rounds
            )
            for i, j in pairs
        )
        return tuple(dict.fromkeys(sides))


def _enclosed(delta_at: Callable[..., Fraction], epsilon: Fraction) -> Bracket:
    """Evaluate what falls with the odds at both ends of an enclosure of them."""
    odds = exp(min(epsilon, _FAR))  # beyond, e**epsilon has too many digits to write down
    low = delta_at(odds=odds.high) if epsilon <= _FAR else Fraction(0)
    return Bracket(float_down(low), float_up(delta_at(odds=odds.low)))


def _value(menus: tuple[Round, ...], odds: Fraction) -> Fraction:
    return _solver(menus, odds)(0, Fraction(1))[0]


def _solver(
    menus: tuple[Round, ...], odds: Fraction
) -> Callable[[int, Fraction], tuple[Fraction, int]]:
    """Return V of the rounds that are left after some, at x = Q / P, and a best pick."""
    states = itertools.count(1)

    @functools.cache
    def best(done: int, x: Fraction) -> tuple[Fraction, int]:
        if next(states) > _MOST_STATES:
            raise _too_large(f"{_MOST_STATES} ratios of chances")
        if done == len(menus):
            return max(1 - odds * x, Fraction(0)), 0
        values = [
            sum((p * best(done + 1, x * q / p)[0] for p, q in laws if p), Fraction(0))
            for laws in menus[done]
        ]
        pick = max(range(len(values)), key=values.__getitem__)
        return values[pick], pick

    return best


def _checked_odds(odds: object) -> Fraction:
    ratio = rational(odds, name="odds")
    if ratio < 1:
        raise OutOfRange(
            what="odds are below 1.",
            why="they are e**epsilon, and epsilon is at least 0.",
            do="give odds of at least 1, exactly: a Fraction, or text such as '3/2'.",
        )
    return ratio


def _too_large(what: str) -> OutOfRange:
    return OutOfRange(
        what=f"the game has more than {what}.",
        why="its exact value would take unreasonably long.",
        do="play fewer rounds, or use mechanisms with fewer outputs or a common ratio.",
    )
