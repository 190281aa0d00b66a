"""Scored candidates, as the selection mechanisms read them.

Trust: kernel.

Definition.  The distance of two score vectors is the largest change of any one score.  Scores are
``MONOTONE`` if between neighbors they all move in one direction, as counts do when a row is added
or removed; otherwise they are ``GENERAL``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any, ClassVar, Generic, final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import int64_range, listed
from discreet.errors import NotExact, OutOfRange, WrongKind
from discreet.exact import decimal, positive, whole
from discreet.mechanisms.mechanism import Answer, Mechanism, Number, at_distance

Scores = Sequence[int] | Sequence[Fraction] | NDArray[np.integer[Any]]
"""One score for each candidate: integers, or Fractions."""


@final
class ScoreChange(Enum):
    """How scores move between neighbors.

    >>> ScoreChange.GENERAL.sides, ScoreChange.MONOTONE.sides
    (2, 1)
    """

    GENERAL = "general"
    MONOTONE = "monotone"

    @property
    def sides(self) -> int:
        """How far apart the changes of two scores can be, in units of the distance."""
        return 2 if self is ScoreChange.GENERAL else 1


def read_change(value: object) -> ScoreChange:
    """Read how scores move.

    >>> read_change("monotone")
    <ScoreChange.MONOTONE: 'monotone'>
    """
    for change in ScoreChange:
        if value is change or (isinstance(value, str) and value == change.value):
            return change
    raise WrongKind(
        "change is neither 'general' nor 'monotone'; give 'general', unless no two scores can "
        "move in different directions."
    )


@dataclass(frozen=True, slots=True, init=False)
class SelectionMechanism(Mechanism[Scores, Answer], Generic[Answer]):
    """A choice among public candidates, better ones exponentially more often."""

    candidates: int
    scale: Fraction
    change: ScoreChange

    least_candidates: ClassVar[int] = 1

    def __init__(
        self, *, candidates: int, scale: Number, change: ScoreChange | str = ScoreChange.GENERAL
    ) -> None:
        """Take how many candidates there are, the scale, and how scores move."""
        count = whole(candidates, name="candidates", low=self.least_candidates)
        object.__setattr__(self, "candidates", count)
        exact = positive(decimal(scale, name="scale"), name="scale")
        object.__setattr__(self, "scale", exact)
        object.__setattr__(self, "change", read_change(change))

    def _range(self, distance: Number) -> Fraction:
        """Return the range of the log-ratios between scores that differ by this much each."""
        return self.change.sides * at_distance(distance) / self.scale


def exact_scores(scores: object, *, candidates: int) -> list[Fraction]:
    """Read one exact score for each candidate.

    >>> exact_scores([3, 1], candidates=2)
    [Fraction(3, 1), Fraction(1, 1)]
    """
    items = listed(scores, name="scores")
    if len(items) != candidates:
        raise OutOfRange(
            f"the number of scores is not {candidates}; give one score for each candidate, in "
            "their order."
        )
    return [_exact(item) for item in items]


def integer_scores(scores: object, *, candidates: int) -> list[int]:
    """Read one integer score for each candidate.

    >>> integer_scores([3, 1], candidates=2)
    [3, 1]
    """
    exact = exact_scores(scores, candidates=candidates)
    if any(score.denominator != 1 for score in exact):
        raise NotExact(
            "a score is not an integer; multiply all scores, their distance and the scale by a "
            "common denominator."
        )
    return [int64_range(int(score), name="a score") for score in exact]


def _exact(score: object) -> Fraction:
    if isinstance(score, float | np.floating):
        raise NotExact("a score is a float; give integers, or Fractions.")
    return score if isinstance(score, Fraction) else Fraction(whole(score, name="each score"))
