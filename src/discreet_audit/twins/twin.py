"""A broken twin: what it claims, what is wrong with it, and how many answers give it away.

Trust: public.  Nothing here may ever protect anybody.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, final

from discreet.attacks.estimate import estimate_epsilon
from discreet.attacks.measured import Measured
from discreet.attacks.neighbors import Pair
from discreet.attacks.subjects import Answers, Batches
from discreet.noise import Entropy, KeyedEntropy

_KEY: Final = bytes(32)

Draw = Callable[[Any, int, Entropy], Answers]
"""Draws a number of answers about a data set, from a source of words."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Twin:
    """A mechanism with one fault.

    Attributes:
        name: what it is a twin of.
        fault: what is wrong.
        draw: draws a number of answers about a data set, from a source of words.
        neighbors: two data sets that give it away.
        claim: the epsilon that it claims, or a loss.
        truth: what it really loses, in words.
    """

    name: str
    fault: str
    draw: Draw
    neighbors: Pair = (0, 1)
    claim: object = 1
    truth: str

    def subject(self) -> Batches:
        """Return what an audit draws from; the stream of words is fixed, so results repeat."""
        entropy = KeyedEntropy(key=_KEY, label=f"twin {self.name}")
        return Batches(lambda data, n: self.draw(data, n, entropy))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Caught:
    """How a twin was caught.

    Attributes:
        name: what it is a twin of.
        fault: what is wrong.
        truth: what it really loses, in words.
        claimed: what it claims.
        lower: what it loses at least, unless a chance of 1e-6 came true.
        needed: how many answers about each data set it took, a power of ten; None if it got away.
        row: the audit that caught it, or the last one.

    >>> found = Caught(name="count", fault="half the noise", truth="2", claimed=1.0, lower=1.2,
    ...                needed=1000, row=None)
    >>> print(found)
    count, half the noise: claimed 1, lost at least 1.2, caught with 1,000 answers
    """

    name: str
    fault: str
    truth: str
    claimed: float
    lower: float
    needed: int | None
    row: Measured | None

    @property
    def caught(self) -> bool:
        """Whether it was caught."""
        return self.needed is not None

    def to_json(self) -> dict[str, Any]:
        """Return all of it in types that JSON knows."""
        return {
            "name": self.name,
            "fault": self.fault,
            "truth": self.truth,
            "claimed": self.claimed,
            "lower": self.lower,
            "needed": self.needed,
            "row": None if self.row is None else self.row.to_json(),
        }

    def __str__(self) -> str:
        """Say it on one line."""
        how = "got away" if self.needed is None else f"caught with {self.needed:,} answers"
        return (
            f"{self.name}, {self.fault}: claimed {self.claimed:.4g}, lost at least "
            f"{self.lower:.4g}, {how}"
        )


def catch(twin: Twin, *, most: int) -> Caught:
    """Draw ten times as many answers until the bound is above the claim, or there are enough."""
    subject, n = twin.subject(), 10
    measured = estimate_epsilon(subject, twin.neighbors, n, claim=twin.claim)
    while not measured.violates and 10 * n <= most:
        n *= 10
        measured = estimate_epsilon(subject, twin.neighbors, n, claim=twin.claim)
    return Caught(
        name=twin.name,
        fault=twin.fault,
        truth=twin.truth,
        claimed=measured.claimed or 0.0,
        lower=measured.lower,
        needed=n if measured.violates else None,
        row=measured,
    )
