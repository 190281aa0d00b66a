"""What published tables leave open: cells that are suppressed, rounded or exact, as inequalities.

Dinur and Nissim 2003; Cohen and Nissim 2020, Linear Program Reconstruction in
Practice.

Definition.  Each person has a secret number between two public ends; for a bit they are 0 and 1.  A
statement is a row of weights, one for each person, and two bounds on the weighted sum of secrets:
equal for an exact total, half of the base on either side of a rounded one, and from 0 to the
largest suppressed value for a suppressed one.
Fact.  The least and the largest secret of a person that fit all statements, if secrets may be any
numbers, are two linear programs; the true secret is between them.  If they round to one bit, that
bit is certain.  Between several possible secrets, tables at corners of the feasible set, in
directions drawn at random, vote for the likelier one: a guess with a share of votes, and no proof.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.read_numbers import number_above_zero, numbers, secret_ends
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import whole
from discreet.noise import SYSTEM, Entropy

__all__ = ["Known", "Published", "exact", "known", "rounded", "suppressed"]

Floats = NDArray[np.float64]

_EXACT: Final = 1e-6
_HIDES: Final = "it says how much of a total is hidden."
_VOTES: Final = 32


@final
@dataclass(frozen=True, slots=True, init=False, eq=False)
class Published:
    """Statements about weighted sums of secrets.

    >>> Published([[1, 1]], low=[1], high=[2]).people
    2
    """

    weights: Floats
    low: Floats
    high: Floats

    def __init__(self, weights: object, *, low: object, high: object) -> None:
        """Take one row of weights for each statement, and the two ends of each."""
        rows = numbers(weights, name="weights", shape=(None, None))
        ends = [
            numbers(end, name=f"{name} ends", shape=(len(rows),), infinite=True)
            for name, end in (("low", low), ("high", high))
        ]
        if (ends[0] > ends[1]).any():
            raise OutOfRange(
                what="the low end of a statement is above its high end.",
                why="no table fits it.",
                do="give the ends in their order.",
            )
        for name, value in zip(("weights", "low", "high"), (rows, *ends), strict=True):
            object.__setattr__(self, name, value)

    @property
    def people(self) -> int:
        """How many people the statements are about."""
        return int(self.weights.shape[1])

    def also(self, other: Published) -> Published:
        """Return these statements and others, about the same people."""
        rows = numbers(_checked(other).weights, name="weights", shape=(None, self.people))
        return Published(
            np.concatenate([self.weights, rows]),
            low=np.concatenate([self.low, other.low]),
            high=np.concatenate([self.high, other.high]),
        )


def exact(weights: object, totals: object) -> Published:
    """Return statements with exact totals."""
    return Published(weights, low=totals, high=totals)


def rounded(weights: object, totals: object, *, base: float) -> Published:
    """Return statements whose totals are rounded to multiples of a base.

    >>> rounded([[1, 1, 1]], [5], base=5).high.tolist()
    [7.5]
    """
    near = numbers(totals, name="totals", shape=(None,))
    half = number_above_zero(base, name="base", why=_HIDES) / 2
    return Published(weights, low=near - half, high=near + half)


def suppressed(weights: object, *, below: float, least: float = 0.0) -> Published:
    """Return statements whose totals were too small to be shown.

    ``below`` is the smallest count that would be shown, and ``least`` the smallest that is hidden:
    1, if a zero is shown.

    >>> suppressed([[1, 1, 1]], below=5, least=1).high.tolist()
    [4.0]
    """
    rows = numbers(weights, name="weights", shape=(None, None))
    most = number_above_zero(below, name="below", why=_HIDES) - 1
    smallest = numbers([least] * len(rows), name="least", shape=(len(rows),))
    return Published(rows, low=smallest, high=np.full(len(rows), most))


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Known:
    """The information of the statements about each person.

    Attributes:
        low: the least secret that fits.
        high: the largest.
        near: the mean of the secrets in tables at corners of the feasible set.
        confidence: for bits, the share of these tables that agree with the guess, and 1 where the
            bit is certain; for numbers, how much of the public range is ruled out.
    """

    low: Floats
    high: Floats
    near: Floats
    confidence: Floats
    ends: tuple[float, float] = (0.0, 1.0)

    @property
    def guess(self) -> NDArray[np.uint8]:
        """The likelier half of the range: the bit, if secrets are bits."""
        return (self.near > sum(self.ends) / 2).astype(np.uint8)

    @property
    def certain(self) -> NDArray[np.bool_]:
        """Whose secret is known for sure: the bit, or the number up to a millionth of the range."""
        low, high = self.ends
        if (low, high) == (0.0, 1.0):
            return (self.low > _EXACT) | (self.high < 1 - _EXACT)
        return self.high - self.low <= 2 * _EXACT * (high - low)


def known(
    published: Published,
    *,
    secrets: tuple[float, float] = (0.0, 1.0),
    votes: int = _VOTES,
    entropy: Entropy = SYSTEM,
) -> Known:
    """Find the possible secrets of each person, and the likeliest one.

    Args:
        published: the known facts about sums of secrets.
        secrets: the public ends of a secret; 0 and 1 for bits.
        votes: how many tables vote where several fit.
        entropy: which tables are looked at.

    >>> rows = [[1, 1, 0], [0, 1, 1]]
    >>> found = known(exact(rows, [2, 1]))
    >>> found.certain.tolist(), found.guess.tolist()
    ([True, True, True], [1, 1, 0])
    """
    low, high = secret_ends(secrets)
    program = _Program(_checked(published), low, high)
    people = published.people
    eye = np.eye(people)
    least = np.array([program.table(eye[i])[i] for i in range(people)])
    most = np.array([program.table(-eye[i])[i] for i in range(people)])
    count = whole(votes, name="votes", low=1)
    words = entropy.words(count * people, 64).astype(np.float64).reshape(count, people)
    tables = np.array([program.table(row - 2.0**63) for row in words])
    return _known(least, most, tables, (low, high))


def _known(low: Floats, high: Floats, tables: Floats, ends: tuple[float, float]) -> Known:
    """Let tables vote where several secrets are possible."""
    mean = tables.mean(axis=0)
    open_yet = Known(low=low, high=high, near=mean, confidence=mean, ends=ends)
    if ends == (0.0, 1.0):
        sure = np.where(low > _EXACT, 1.0, 0.0)
        share = (tables > 0.5).mean(axis=0)
        votes = np.maximum(share, 1 - share)
    else:
        sure = (low + high) / 2
        votes = np.clip(1 - (high - low) / (ends[1] - ends[0]), 0.0, 1.0)
    return replace(
        open_yet,
        near=np.where(open_yet.certain, sure, mean),
        confidence=np.where(open_yet.certain, 1.0, votes),
    )


class _Program:
    """All tables that fit, as a linear program."""

    def __init__(self, published: Published, low: float, high: float) -> None:
        rows, below = published.weights, np.isfinite(published.low)
        above, same = np.isfinite(published.high), published.low == published.high
        self._limits: dict[str, Any] = {
            "A_eq": rows[same] if same.any() else None,
            "b_eq": published.low[same] if same.any() else None,
            "bounds": (low, high),
            "method": "highs",
        }
        loose = np.concatenate([rows[above & ~same], -rows[below & ~same]])
        if len(loose):
            self._limits["A_ub"] = loose
            self._limits["b_ub"] = np.concatenate(
                [published.high[above & ~same], -published.low[below & ~same]]
            )

    def table(self, direction: Floats) -> Floats:
        """Return the table that is smallest in a direction."""
        from scipy.optimize import linprog  # type: ignore[import-untyped]  # noqa: PLC0415  slow

        scale = float(np.abs(direction).max()) or 1.0
        found = linprog(direction / scale, **self._limits)
        if found.x is None:
            raise OutOfRange(
                what="no table fits all that is published.",
                why="the statements contradict each other, or noise was added to them.",
                do="widen the ends by the noise, or use linear.linear_program.",
            )
        return np.asarray(found.x, np.float64)


def _checked(published: object) -> Published:
    if not isinstance(published, Published):
        raise WrongKind(
            what=f"a {type(published).__name__} is no list of statements.",
            why="what is published says between which ends each sum of secrets lies.",
            do="make statements by exact, rounded, suppressed or Published, and join them by also.",
        )
    return published
