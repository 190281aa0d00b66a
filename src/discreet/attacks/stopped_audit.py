"""Audits that stop once a promise is refuted: stages, each judged by answers of its own.

Trust: public.

Definition.  An audit goes in stages.  Stage k = 1, 2, ... chooses a pair of neighbors and an event
from all earlier observations, draws new answers about the pair, and bounds the parameter from below
by their hits, at level a / (k (k + 1)).  Answers that have judged teach the stages to come.  The
audit may end after any stage, for any reason: because a promise is refuted, because answers or
time are spent, or because the user stops it.  Its bound is the largest of all its stages.
Theorem (key ``stopped-audit``).  For every mechanism and every stopping rule, the bound of the
audit is above the true parameter with probability at most a.
Proof.  Given all earlier observations, the pair, the event and the number of answers of stage k are
fixed, and its answers are new: its bound is above the true parameter with probability at most a /
(k (k + 1)) (key ``audit-bound``), under that condition and so without it.  Since
1 / (k (k + 1)) = 1 / k - 1 / (k + 1), these probabilities add up to a at most.  So with probability
at least 1 - a no stage would be wrong if all were made, and then the largest bound of those that
are made is not wrong either.

Each stage has twice as many answers as the one before, so a refutation after n answers would rarely
have been possible with fewer than n / 4.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from discreet.attacks.answer_columns import Columns
from discreet.attacks.claim import Claim
from discreet.attacks.claims import claim_of
from discreet.attacks.estimate import counted, event_for, judged_bound, level_of
from discreet.attacks.events import Event, Sides, choose
from discreet.attacks.measured import Measured
from discreet.attacks.neighbors import Pair
from discreet.attacks.search.bandit import Bandit
from discreet.attacks.search.generators import Neighbors, generators_of
from discreet.attacks.subjects import Subject, subject_of
from discreet.exact import decimal, float_up, whole

__all__ = ["refute"]

_FIRST: Final = 250
_GROWTH: Final = 2
_MOST: Final = 10**9
_MOST_LEARNED: Final = 200_000
_SEARCH: Final = 0.01
_LITTLE: Final = 0.01


def refute(  # noqa: PLR0913  the measurement, its confidence, and its end
    mechanism: object,
    neighbors: Neighbors,
    most: int,
    *,
    claim: object = None,
    level: object = "1e-6",
    first: int = _FIRST,
    seconds: float | None = None,
) -> Measured:
    """Bound from below how much a mechanism loses, and stop once that is more than was promised.

    Args:
        mechanism: a function of a data set, a mechanism, or another subject of this room.
        neighbors: two data sets, as a tuple; a list of such pairs; or what ``neighbors_for`` makes.
            Of several, answers are spent where the loss is.
        most: how many answers about each side of pairs are drawn at most, in all.
        claim: what was promised: an epsilon, a loss, or a claim.  Without it nothing is refuted,
            and all answers are drawn.
        level: the probability that the bound is too high, whenever the audit ends.
        first: how many answers the first stage judges.
        seconds: after how much time no further stage is begun.

    >>> from discreet.mechanisms import Laplace
    >>> found = refute(Laplace(scale="1/4"), (0, 1), 100_000, claim=1)  # a quarter of the noise
    >>> found.violates, found.drawn < 20_000
    (True, True)
    """
    subject, promise, chance = subject_of(mechanism), claim_of(claim), level_of(level)
    total = whole(most, name="most", low=3, high=_MOST)
    begins = whole(first, name="first", low=1, high=_MOST)
    lasts = math.inf if seconds is None else float(decimal(seconds, name="seconds"))
    ends = time.monotonic() + lasts
    audit = _Audit(subject, promise, Bandit(generators_of(neighbors)))
    size, stage, found = min(begins, total // 3), 1, None
    while found is None or not (found.violates or size < 1 or time.monotonic() >= ends):
        bound = audit.stage(size, chance / (stage * (stage + 1)))
        found = bound if found is None or _excess(bound) > _excess(found) else found
        size = _next(size, (total - audit.drawn) // (3 if audit.searches else 1))
        stage += 1
    return replace(found, level=float_up(chance), drawn=audit.drawn)


def _next(size: int, left: int) -> int:
    """Return how many answers the next stage judges: all that is left, if no other would follow.

    >>> _next(250, 10_000), _next(250, 1200), _next(250, 100)
    (500, 1200, 0)
    """
    wanted = _GROWTH * size
    if left >= (1 + _GROWTH) * wanted:
        return wanted
    return left if left >= size else 0


def _excess(found: Measured) -> float:
    """Say by how much a bound speaks against its claim, to choose one of them."""
    return found.lower if found.claimed is None else found.lower / max(found.claimed, _LITTLE)


class _Audit:
    """An audit in stages, and what it has seen so far."""

    def __init__(self, subject: Subject, claim: Claim, bandit: Bandit) -> None:
        self._subject, self._claim, self._bandit = subject, claim, bandit
        self._seen: tuple[str, Sides] | None = None
        self.searches = bandit.pairs > 1
        self.drawn = 0

    def stage(self, size: int, level: Fraction) -> Measured:
        """Look for a pair, choose an event by what was seen, and judge it by new answers."""
        if self.searches:
            self.drawn += self._bandit.search(self._promised, size)
        name, pair = self._bandit.best()
        event = self._event(name, pair, size, level)
        (one, hits), (other, more) = (self._judge(data, size, event) for data in pair)
        self.drawn += size
        self._seen = name, Sides(one, other)
        told = name if self.searches else ""
        return judged_bound(self._claim, event, (hits, more), size, level=level, pair=told)

    def _promised(self, pair: Pair, size: int) -> float:
        return event_for(self._subject, pair, size, self._claim, level=_SEARCH).promise

    def _event(self, name: str, pair: Pair, size: int, level: Fraction) -> Event:
        """Learn from the answers that judged the stage before, if they were about the same pair."""
        if self._seen is not None and self._seen[0] == name and self._seen[1].one.n > 1:
            half, sides = self._seen[1].one.n // 2, self._seen[1]
            learn = Sides(*(side.part(0, half) for side in sides))
            select = Sides(*(side.part(half, 2 * half) for side in sides))
            return choose(learn, select, self._claim, float(level))
        sample = max(min(size, _MOST_LEARNED), 2)
        self.drawn += sample
        return event_for(self._subject, pair, sample, self._claim, level=float(level))

    def _judge(self, data: Any, size: int, event: Event) -> tuple[Columns, int]:
        """Return the first of new answers, to learn from, and how many of all are in the event."""
        kept, hits = None, 0
        for start in range(0, size, _MOST_LEARNED):
            count = min(_MOST_LEARNED, size - start)
            drawn = counted(self._subject.draw(data, count), count)
            hits, kept = hits + event.hits(drawn), kept or drawn
        return kept or counted([], 0), hits
