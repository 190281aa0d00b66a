"""Lower bounds on epsilon: certified, from answers alone, or from bits that were guessed.

Trust: public.

Theorem (key ``guessed-bits``; Steinke, Nasr and Jagielski 2023).  n people have fair and
independent bits, and answers are epsilon-private when one bit changes.  However the bits are
guessed from the answers, the number of right guesses is stochastically at most that of n coins with
chance c = e^epsilon / (1 + e^epsilon).
Proof.  Given the bits before the i-th, the chances of an answer with the i-th bit 0 and 1 are means
over the later bits, so their ratio is within e^epsilon.  By Bayes, given the answer as well, the
i-th bit is 0 with a chance of at most c, and 1 too.  So whatever the guesses before, the next one
is right with a chance of at most c; add them up one by one.
So if k of n guesses are right, c is at least the lower end of Clopper and Pearson at (k, n) (key
``clopper-pearson``), and epsilon at least its log odds, but for a chance of the level.

Theorem (key ``audit-bound``).  Whatever the mechanism, the bound is above the true parameter with a
chance of at most ``level``.
Proof.  The pair and the event are chosen before the answers are drawn that judge them (key
``held-out-event``).  Each of P[E] >= p and P'[E] <= q fails with a chance of at most level / 2
(key ``clopper-pearson``); where both hold, the bound follows (key ``event-bounds``).
Assumes: answers are independent draws, and the data sets are neighbors.
A bound below a claim does not prove the claim: another event, or other neighbors, may lose more.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Final

import numpy as np

from discreet.attacks.answer_columns import Columns, columns_of
from discreet.attacks.claim import Claim, log_ratio
from discreet.attacks.claims import claim_of
from discreet.attacks.events import Event, Sides, choose
from discreet.attacks.measured import Measured
from discreet.attacks.neighbors import Pair, pairs_of, worst_pair
from discreet.attacks.proportions import at_least, at_most
from discreet.attacks.reconstruction.curators import Bits
from discreet.attacks.subjects import Answers, Raised, Subject, subject_of
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import decimal, float_up, whole

__all__ = ["estimate_epsilon", "event_for", "guessed"]


def guessed(
    bits: Bits, guess: Bits, *, claim: object = None, level: object = "1e-6", event: str = ""
) -> Measured:
    """Bound epsilon from below by how many of the bits were guessed.

    >>> print(guessed([0, 1] * 500, [0, 1] * 500, claim=1))
    epsilon >= 4.275, claimed 1: VIOLATED (1000 against 0 of 1000: bits guessed)
    """
    truth, said = np.asarray(bits), np.asarray(guess)
    if truth.shape != said.shape or truth.ndim != 1 or not truth.size:
        raise WrongKind(
            what="there is not one guess for every bit.",
            why="right guesses are counted among all.",
            do="give as many guesses as bits, at least one.",
        )
    n, right = truth.size, int((truth == said).sum())
    least = at_least(right, n, level=level)
    rough = max(np.log((right + 0.5) / (n - right + 0.5)), 0.0)
    return Measured(
        parameter="epsilon",
        lower=log_ratio(least, 1 - least),
        estimate=float(rough),
        claimed=None if claim is None else float_up(decimal(claim, name="claim")),
        event=event or "bits guessed",
        hits=(right, n - right),
        n=n,
        level=float_up(decimal(level, name="level")),
    )


_MOST_LEARNED: Final = 200_000
_CHUNK: Final = 100_000
_MOST: Final = 10**9
_SEARCH: Final = 0.01


def estimate_epsilon(  # noqa: PLR0913  what is measured, and how surely
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
        neighbors: two data sets, as a tuple; or a list of such pairs, of which the worst is
            looked for first.
        n: how many answers about each data set are judged.
        claim: what was promised: an epsilon, a loss, or a claim.  It decides what is measured.
        level: the chance that the bound is too high.
        learned: how many more answers about each are drawn to choose the event; n unless given,
            and at most 200,000.

    >>> from discreet.mechanisms import RandomizedResponse
    >>> found = estimate_epsilon(RandomizedResponse(epsilon=1), (0, 1), 5000, claim=1)
    >>> found.violates, 0.8 < found.lower <= 1
    (False, True)
    """
    subject, promise = subject_of(mechanism), claim_of(claim)
    judged = whole(n, name="n", low=1, high=_MOST)
    chance = _level(level)
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
    return _judged(promise, event, (counts[0], counts[1]), judged, level=chance, pair=shown)


def event_for(subject: Subject, pair: Pair, sample: int, claim: Claim, *, level: float) -> Event:
    """Draw answers about a pair, learn from one half, and choose an event by the other."""
    half = max(sample // 2, 1)
    answers = [subject.draw(data, half) for data in pair]
    _refuse_failures(answers)
    learn = Sides(*(_counted(drawn, half) for drawn in answers))
    select = Sides(*(_counted(subject.draw(data, half), half) for data in pair))
    return choose(learn, select, claim, level)


def _refuse_failures(answers: list[Answers]) -> None:
    """Refuse a subject that never answers: that it tells nothing would be no news."""
    kinds = {
        answer.kind if isinstance(answer, Raised) else ""
        for drawn in answers
        for answer in (drawn if isinstance(drawn, list) else [""])
    }
    if kinds and "" not in kinds:
        raise WrongKind(
            what=f"every answer is an error: {', '.join(sorted(kinds))}.",
            why="a mechanism that answers nothing keeps any promise.",
            do="call it once by hand, with the data sets that are given here.",
        )


def _counted(answers: Answers, n: int) -> Columns:
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
    return sum(event.hits(_counted(subject.draw(data, size), size)) for size in sizes)


def _judged(  # noqa: PLR0913  everything that a result says
    claim: Claim, event: Event, hits: tuple[int, int], n: int, *, level: Fraction, pair: str
) -> Measured:
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
    )


def _level(value: object) -> Fraction:
    level = decimal(value, name="level")
    if not 0 < level < 1:
        raise OutOfRange(
            what="level is not between 0 and 1.",
            why="it is the chance that the bound is too high.",
            do="give a small level above zero, such as '1e-6'.",
        )
    return level
