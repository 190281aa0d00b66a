"""What a person asks a mechanism: a distance, a confidence, a factor.

Trust: kernel.  Everything is read and refused here, before any bit is drawn.
"""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.errors import OutOfRange
from discreet.exact import ExactNumber, decimal

__all__ = ["Number", "at_confidence", "at_distance", "factor", "steps_at"]

Number = ExactNumber | float
"""A number as a person types it; a float stands for its shortest decimal text."""


def at_distance(value: object) -> Fraction:
    """Read how far apart two inputs may be.

    >>> at_distance(2)
    Fraction(2, 1)
    """
    return factor(value, name="distance")


def steps_at(value: object) -> int:
    """Read how far apart two inputs may be that are whole numbers apart.

    A fraction counts as the next whole number.  Integers that are at most half a step apart are
    equal, but whoever names half a step has another query in mind, which no rounding makes free.

    >>> steps_at(2), steps_at("0.5"), steps_at(0)
    (2, 1, 0)
    """
    return math.ceil(at_distance(value))


def factor(value: object, *, name: str) -> Fraction:
    """Read a number that is not negative.

    >>> factor("0.5", name="stretch")
    Fraction(1, 2)
    """
    number = decimal(value, name=name)
    if number < 0:
        raise OutOfRange(
            what=f"{name} is negative.",
            why="no two things are less than nothing apart.",
            do=f"give a {name} of zero or above.",
        )
    return number


def at_confidence(value: object) -> Fraction:
    """Read a probability strictly between zero and one.

    >>> at_confidence(0.95)
    Fraction(19, 20)
    """
    number = decimal(value, name="confidence")
    if not 0 < number < 1:
        raise OutOfRange(
            what="confidence is not strictly between 0 and 1.",
            why="noise without ends is within no distance for sure, and within any with chance 0.",
            do="give a confidence such as 0.95.",
        )
    return number
