"""Deterministic refutation: the loss, computed from the distributions of the answers.

Trust: public.

Definition.  A mechanism that exposes its distribution says with which probability each outcome
comes, enclosed between rationals.  An outcome that a distribution does not list has probability 0,
unless the distribution says otherwise.
Theorem (key ``likeliest-first``).  With outcomes in falling order of their ratio p(y) / q(y), the
sets of the first k hold the one with the largest P[S] - e^eps P'[S] for every epsilon, and so the
largest epsilon at every delta, and the largest mu.  With delta 0 it is the first outcome alone.
Proof.  By Neyman and Pearson 1933 the largest difference is taken by all outcomes with
p(y) > e^eps q(y).  A trade-off is linear between these sets, and the curve of mu is concave, so it
is crossed at one of them if at all.
For zCDP the divergences are summed over all outcomes (key ``finite-mechanism``), and the sum is at
least that over two.  Probabilities of one distribution are rounded down and those of the other up,
so bounds hold for all distributions in the enclosures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, final

import numpy as np

from discreet.attacks.claim import Claim, Level
from discreet.attacks.claims import ORDERS, Concentrated, claim_of
from discreet.attacks.enumeration import ExactLaw, ReplayEntropy, exact_law
from discreet.attacks.measured import Measured
from discreet.attacks.neighbors import Pair, pairs_of
from discreet.errors import WrongKind
from discreet.exact import Interval, float_down, float_up
from discreet.loss.elementary import exp, log
from discreet.mechanisms.mechanism import Mechanism


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Enumerated:
    """A program that draws all its randomness from ``entropy``: enumeration gives its distribution.

    >>> coins = Enumerated(program=lambda data, entropy: data ^ (entropy.bits(2) == 0))
    >>> coins.law(0).mass
    {1: Fraction(1, 4), 0: Fraction(3, 4)}
    """

    program: Callable[[Any, ReplayEntropy], Any]
    unexplored: Fraction = Fraction(1, 10**12)

    def law(self, data: Any) -> ExactLaw[Any]:
        """Return the probabilities of all outcomes, up to the unexplored mass."""
        return exact_law(lambda entropy: self.program(data, entropy), unexplored=self.unexplored)


class _Law(NamedTuple):
    """Chances of outcomes, and that of any other outcome, at most."""

    chances: Mapping[Any, Interval]
    other: Fraction = Fraction(0)


class _Row(NamedTuple):
    """An outcome, at least how likely it is on one side, and at most how likely on the other."""

    outcome: Any
    p: Fraction
    q: Fraction


def exact_epsilon(
    mechanism: object,
    neighbors: Pair | Iterable[Pair],
    *,
    claim: object = None,
    outcomes: Iterable[Any] | None = None,
) -> Measured:
    """Bound a mechanism's loss from below, by its distribution; of several pairs, show the worst.

    Args:
        mechanism: a mechanism with ``reference_pmf`` or ``law``, or a function from a data set to
            the probabilities of outcomes.
        neighbors: two data sets, as a tuple, or a list of such pairs.
        claim: what was promised: an epsilon, a loss, or a claim.
        outcomes: the outcomes to examine, if there are infinitely many.

    >>> from discreet.mechanisms import RandomizedResponse
    >>> print(exact_epsilon(RandomizedResponse(epsilon=1), (0, 1), claim="0.9"))
    epsilon >= 0.9999, claimed 0.9: VIOLATED (exact law: the answer is 0)
    """
    promise, pairs = claim_of(claim), pairs_of(neighbors)
    chosen = None if outcomes is None else list(outcomes)
    best = -math.inf, 0, Level(0.0, None), ""
    for number, pair in enumerate(pairs):
        laws = [_law(mechanism, data, chosen) for data in pair]
        for here, there in (laws, laws[::-1]):
            level, event = _worst(_rows(here, there), promise)
            rank = level.lower if level.claimed is None else level.lower - level.claimed
            if rank > best[0]:
                best = rank, number, level, event
    _, number, level, event = best
    return Measured(
        parameter=promise.parameter,
        lower=level.lower,
        estimate=level.lower,
        claimed=level.claimed,
        delta=level.delta,
        event=event,
        hits=(0, 0),
        n=0,
        level=0.0,
        pair=f"pair {number + 1} of {len(pairs)}" if len(pairs) > 1 else "",
    )


def _law(mechanism: object, data: Any, outcomes: list[Any] | None) -> _Law:
    law: Any
    if isinstance(mechanism, Mechanism):
        law = mechanism.reference_pmf(data)
    elif hasattr(mechanism, "law"):
        law = mechanism.law(data)
    elif callable(mechanism):
        law = mechanism(data)
    else:
        law = None
    if isinstance(law, ExactLaw):
        rest = law.unexplored
        return _Law({y: Interval(mass, mass + rest) for y, mass in law.mass.items()}, rest)
    if isinstance(law, Mapping):
        listed = law if outcomes is None else outcomes
        return _Law({y: _interval(law[y]) for y in listed if y in law})
    if callable(law) and outcomes is not None:
        return _Law({outcome: _interval(law(outcome)) for outcome in outcomes})
    raise WrongKind(
        what="the mechanism does not say how likely its outcomes are.",
        why="only from laws can a loss be computed without drawing answers.",
        do="give a mechanism with reference_pmf, a function that returns chances of outcomes, "
        "and the outcomes to look at if there are infinitely many; or use estimate_epsilon.",
    )


def _interval(chance: Any) -> Interval:
    return chance if isinstance(chance, Interval) else Interval(Fraction(chance), Fraction(chance))


def _rows(here: _Law, there: _Law) -> list[_Row]:
    """Put outcomes in falling order of their ratios."""
    unlisted = Interval(Fraction(0), there.other)
    rows = [
        _Row(y, chance.low, there.chances.get(y, unlisted).high)
        for y, chance in here.chances.items()
    ]
    likely = [row for row in rows if row.p > 0]
    return sorted(likely, key=lambda row: row.q / row.p)


def _worst(rows: list[_Row], claim: Claim) -> tuple[Level, str]:
    if isinstance(claim, Concentrated):
        bound = None if claim.rho is None else float_up(claim.rho)
        return Level(_rho(rows), bound), "divergence of the laws"
    if not rows:
        return claim.lower(Fraction(0), Fraction(1)), "no outcome"
    p, q = np.cumsum([row.p for row in rows]), np.cumsum([row.q for row in rows])
    floats = np.array([float(value) for value in p]), np.array([float(value) for value in q])
    best = int(np.argmax(claim.guess(np.minimum(floats[0], 1.0), np.minimum(floats[1], 1.0))))
    level = claim.lower(min(p[best], Fraction(1)), min(q[best], Fraction(1)))
    more = f" or one of {best} others" if best > 1 else " or one other" if best else ""
    return level, f"the answer is {rows[0].outcome!r}{more}"


def _rho(rows: list[_Row]) -> float:
    """Return the largest Rényi divergence over its order, rounded down."""
    if any(row.q == 0 for row in rows):
        return math.inf
    logs = [(log(row.q).low, log(row.p / row.q).low) for row in rows]
    best = Fraction(0)
    for order in ORDERS:
        total = sum((exp(base + order * ratio).low for base, ratio in logs), Fraction(0))
        if total > 1:
            best = max(best, log(total).low / (order * (order - 1)))
    return float_down(best)
