"""Numbers for attacks, read with care: lists and arrays alike, of the right shape, without NaN.

Trust: public.  A NaN that went unnoticed would make an attack guess at random, and look harmless.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import array_of
from discreet.errors import OutOfRange, WrongKind

__all__ = ["number_above_zero", "numbers", "secret_ends"]

Floats = NDArray[np.float64]


def numbers(
    values: object, *, name: str, shape: Sequence[int | None], infinite: bool = False
) -> Floats:
    """Return numbers as an array of floats; None in ``shape`` matches any length.

    >>> numbers([1, 2.5], name="answers", shape=(2,)).tolist()
    [1.0, 2.5]
    """
    array = array_of(values)
    if array.dtype.kind not in "biuf":
        raise WrongKind(
            what=f"{name} are not all numbers.",
            why="attacks compute with them.",
            do="give a list or an array of integers or floats.",
        )
    fits = array.ndim == len(shape) and all(
        wanted in (None, size) for wanted, size in zip(shape, array.shape, strict=True)
    )
    if not fits or 0 in array.shape:
        told = " by ".join("some" if size is None else str(size) for size in shape)
        raise WrongKind(
            what=f"{name} are {' by '.join(map(str, array.shape)) or 'one number'}, not {told}.",
            why="each number belongs to one question, or to one person.",
            do="give as many as there are questions or people, at least one.",
        )
    floats = array.astype(np.float64)
    if np.isnan(floats).any() or (np.isinf(floats).any() and not infinite):
        raise WrongKind(
            what=f"one of the {name} is not a number, or infinite.",
            why="nothing can be computed from it, and the others would be lost with it.",
            do="leave out the question, or the person, that it is about.",
        )
    return floats


def number_above_zero(value: object, *, name: str, why: str) -> float:
    """Return one finite number above zero.

    >>> number_above_zero(5, name="base", why="totals are rounded to multiples of it.")
    5.0
    """
    [read] = numbers([value], name=name, shape=(1,), infinite=True).tolist()
    if not 0 < read < np.inf:
        raise OutOfRange(
            what=f"{name} is not a finite number above zero.",
            why=why,
            do=f"give {name} as a number above zero.",
        )
    return float(read)


def secret_ends(secrets: object) -> tuple[float, float]:
    """Return the smallest and the largest secret that there can be.

    >>> secret_ends((18, 110))
    (18.0, 110.0)
    """
    low, high = numbers(secrets, name="ends of secrets", shape=(2,), infinite=True).tolist()
    if not -np.inf < low < high < np.inf:
        raise OutOfRange(
            what="the ends of secrets are not two finite numbers in their order.",
            why="secrets are looked for between them.",
            do="give the smallest and the largest secret that there can be.",
        )
    return low, high
