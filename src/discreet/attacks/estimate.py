"""Lower bounds on epsilon: certified, from answers alone.

Trust: public.

Theorem (key ``audit-bound``).  For every mechanism, the bound is above the true parameter with
probability at most ``level``.
Proof.  The pair and the event are chosen before the answers that judge them are drawn (key
``held-out-event``).  Each of P[E] >= p and P'[E] <= q fails with probability at most level / 2 (key
``clopper-pearson``); if both hold, the bound follows (key ``event-bounds``).
Assumes: answers are independent draws, and the data sets are neighbors.
A bound below a claim does not prove the claim: another event, or other neighbors, may lose more.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Final

import numpy as np

from discreet.attacks.answer_columns import Columns, columns_of
from discreet.attacks.claim import Claim
from discreet.attacks.claims import claim_of
from discreet.attacks.events import Event, Sides, choose
from discreet.attacks.measured import Measured
from discreet.attacks.neighbors import Pair, pairs_of, worst_pair
from discreet.attacks.proportions import at_least, at_most
from discreet.attacks.subjects import TIMEOUT, Answers, Raised, Subject, subject_of
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import decimal, float_up, whole

__all__ = ["counted", "estimate_epsilon", "event_for", "judged_bound", "level_of"]


_MOST_LEARNED: Final = 200_000
_CHUNK: Final = 100_000
_MOST: Final = 10**9
_SEARCH: Final = 0.01


def estimate_epsilon(  # noqa: PLR0913  the measurement and its confidence
    mechanism: object,
    neighbors: Pair | Iterable[Pair],
    n: int,
    *,
    claim: object = None,
    level: object = "1e-6",
    learned: int | None = None,
) -> Measured:
    """Bound from below how much a mechanism loses.

    Args:
        mechanism: a function of a data set, a mechanism, or another subject of this room.
        neighbors: two data sets, as a tuple; or a list of such pairs, from which the worst is
            selected first.
        n: how many answers about each data set are judged.
        claim: what was promised: an epsilon, a loss, or a claim.  It selects the measured
            parameter.
        level: the probability that the bound is too high.
        learned: how many more answers about each are drawn to choose the event; n unless given,
            and at most 200,000.

    >>> from discreet.mechanisms import RandomizedResponse
    >>> found = estimate_epsilon(RandomizedResponse(epsilon=1), (0, 1), 5000, claim=1)
    >>> found.violates, 0.8 < found.lower <= 1
    (False, True)
    """
    subject, promise = subject_of(mechanism), claim_of(claim)
    judged = whole(n, name="n", low=1, high=_MOST)
    chance = level_of(level)
    most = min(judged, _MOST_LEARNED) if learned is None else learned
    sample = whole(most, name="learned", low=2, high=_MOST)
    pairs = pairs_of(neighbors)

    def promised(pair: Pair, size: int) -> float:
        return event_for(subject, pair, size, promise, level=_SEARCH).promise

    worst = worst_pair(pairs, promised, sample)
    pair = pairs[worst]
    event = event_for(subject, pair, sample, promise, level=float(chance))
    counts = tuple(_hits(subject, data, judged, event) for data in pair)
    shown = f"pair {worst + 1} of {len(pairs)}" if len(pairs) > 1 else ""
    return judged_bound(promise, event, (counts[0], counts[1]), judged, level=chance, pair=shown)


def event_for(subject: Subject, pair: Pair, sample: int, claim: Claim, *, level: float) -> Event:
    """Draw answers about a pair, learn from one half, and choose an event by the other."""
    half = max(sample // 2, 1)
    answers = [subject.draw(data, half) for data in pair]
    _refuse_failures(answers)
    learn = Sides(*(counted(drawn, half) for drawn in answers))
    select = Sides(*(counted(subject.draw(data, half), half) for data in pair))
    return choose(learn, select, claim, level)


def _refuse_failures(answers: list[Answers]) -> None:
    """Refuse a subject that never answers: its privacy would be a trivial result."""
    kinds = {
        answer.kind if isinstance(answer, Raised) else ""
        for drawn in answers
        for answer in (drawn if isinstance(drawn, list) else [""])
    }
    if kinds and "" not in kinds:
        raise WrongKind(
            what=f"every answer is an error: {', '.join(sorted(kinds))}.",
            why="a mechanism that answers nothing keeps any promise.",
            do="give it more time."
            if kinds == {TIMEOUT}
            else "call it once by hand, with the data sets that are given here.",
        )


def counted(answers: Answers, n: int) -> Columns:
    """Take answers apart, and refuse another number of them than was asked for."""
    columns = columns_of(answers)
    if columns.n != n:
        raise WrongKind(
            what="there are not as many answers as were asked for.",
            why="a bound is about a fixed number of independent answers.",
            do="return one answer for each draw; an error is an answer too.",
        )
    return columns


def _hits(subject: Subject, data: Any, n: int, event: Event) -> int:
    sizes = [_CHUNK] * (n // _CHUNK) + [n % _CHUNK] * (n % _CHUNK > 0)
    return sum(event.hits(counted(subject.draw(data, size), size)) for size in sizes)


def judged_bound(  # noqa: PLR0913  everything that a result says
    claim: Claim, event: Event, hits: tuple[int, int], n: int, *, level: Fraction, pair: str
) -> Measured:
    """Bound a parameter by the hits of an event that was chosen before."""
    p, q = at_least(hits[0], n, level=level / 2), at_most(hits[1], n, level=level / 2)
    bound = claim.lower(p, q)
    rough = claim.point(np.array(hits[0] / n), np.array(hits[1] / n), bound.delta)
    return Measured(
        parameter=claim.parameter,
        lower=bound.lower,
        estimate=rough,
        claimed=bound.claimed,
        delta=bound.delta,
        event=str(event),
        hits=hits,
        n=n,
        level=float_up(level),
        pair=pair,
        curve=tuple((point.delta, point.lower, point.claimed) for point in claim.curve(p, q)),
    )


def level_of(value: object) -> Fraction:
    """Read the probability that a bound is too high."""
    level = decimal(value, name="level")
    if not 0 < level < 1:
        raise OutOfRange(
            what="level is not between 0 and 1.",
            why="it is the chance that the bound is too high.",
            do="give a small level above zero, such as '1e-6'.",
        )
    return level
