"""What the doors of this room accept: exact numbers in the range of their meaning.

Trust: kernel.

Theorem key: ``directed-rounding``: a number enters by its decimal text and leaves rounded towards
more loss.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

import numpy as np

from discreet.errors import OutOfRange, WrongKind
from discreet.exact import decimal, float_up, whole

_LARGEST: Final = 10**6
_LARGEST_PARAMETER: Final = 10**18
_LARGEST_COUNT: Final = 10**12


def _one(value: object, name: str) -> Fraction:
    """Read one number, or say how to ask for several."""
    if isinstance(value, list | tuple | np.ndarray):
        raise WrongKind(
            f"{name} is a {type(value).__name__}, not a number; give one; losses and prices take "
            "several at once in epsilons(...) and deltas(...)."
        )
    return decimal(value, name=name)


def checked_epsilon(value: object, *, name: str = "epsilon") -> Fraction:
    """Read an epsilon: zero or more, finite."""
    number = _one(value, name)
    if not 0 <= number <= _LARGEST:
        raise OutOfRange(
            f"{name} is not between 0 and {_LARGEST}; give {name} >= 0; useful values are between "
            "0.01 and 10."
        )
    return number


def checked_delta(value: object, *, name: str = "delta") -> Fraction:
    """Read a delta: a probability."""
    number = _one(value, name)
    if not 0 <= number <= 1:
        raise OutOfRange(
            f"{name} is not between 0 and 1; give {name} from 0 to 1; useful values are below one "
            "over the number of people."
        )
    return number


def checked_parameter(value: object, *, name: str) -> Fraction:
    """Read rho or mu: zero or more, finite."""
    number = decimal(value, name=name)
    if not 0 <= number <= _LARGEST_PARAMETER:
        raise OutOfRange(
            f"{name} is not between 0 and {_LARGEST_PARAMETER:.0e}; give {name} >= 0; useful "
            "values are below 10."
        )
    return number


def checked_order(value: object, *, name: str = "order") -> Fraction:
    """Read an order of a Rényi divergence: above one."""
    number = decimal(value, name=name)
    if number <= 1:
        raise OutOfRange(f"{name} is not above 1; give {name} > 1, such as 2 or 1.5.")
    return number


def checked_rate(value: object, *, name: str = "rate") -> Fraction:
    """Read the rate of a sample: above zero, at most one."""
    number = decimal(value, name=name)
    if not 0 < number <= 1:
        raise OutOfRange(f"{name} is not above 0 and at most 1; give {name} with 0 < {name} <= 1.")
    return number


def checked_count(value: object, *, name: str = "count", low: int = 1) -> int:
    """Read how often something is repeated, or how many there are."""
    return whole(value, name=name, low=low, high=_LARGEST_COUNT)


def dyadic_up(value: Fraction) -> Fraction:
    """Round up to a float: a short exact parameter that claims no less loss."""
    rounded = float_up(value)
    return Fraction(rounded) if math.isfinite(rounded) else value
