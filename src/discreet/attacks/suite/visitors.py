"""Neighbors for questions: tables of made-up visits, with and without one visitor.

Trust: public.

Ordinary visitors have as many rows in as many groups as count, and the largest values, the
smallest, values on both sides of a limit, or cities that nobody else has.

Quantiles need other company.  Let a small cluster of rows cover the rank that is aimed at, with
empty leaves on both sides.  Rows of a visitor at one end move the scores of all leaves on one side
up and those on the other down, and with them the odds of the sides by everything that the choice
may lose.  A *watershed* is a table with such a cluster for every choice of a plan, one after
another, and other rows between them that make up the ranks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor
from typing import Any, Final

import pyarrow as pa

from discreet.attacks.implementation.clinic import row_of, visits
from discreet.attacks.neighbors import Pair
from discreet.plan.noises import Choice

__all__ = ["visitors", "watersheds"]

_PEOPLE: Final = 60
_ROWS: Final = 3
_HIGH: Final = {"cost": 100.0, "age": 110}
_LOW: Final = {"cost": 0.0, "age": 0}
_WARDS: Final = pa.table({"ward": ["A", "B", "C"], "floor": ["low", "high", "high"]})
_VISITORS: Final[tuple[tuple[dict[str, Any], ...], ...]] = (
    ({**_HIGH, "ward": "A", "city": "x"}, {**_HIGH, "ward": "B", "city": "y"}),
    ({**_LOW, "ward": "A", "city": "x"}, {**_LOW, "ward": "B", "city": "y"}),
    ({**_HIGH, "ward": "C", "city": "alone"}, {**_HIGH, "ward": "B", "city": "alone too"}),
    ({"cost": 100.0, "age": 30}, {"cost": 100.0, "age": 70}),
    ({"city": "first"}, {"city": "second"}, {"city": "third"}),
)
_LARGEST: Final = 110
_RARE: Final = 1 / 32  # the share of leaves on the smaller side, of all choices together


def visitors(*, by_row: bool) -> Iterator[Pair]:
    """Yield a table with each visitor, and without; by row, a visitor has one.

    >>> [with_one["visits"].num_rows for with_one, _ in visitors(by_row=True)][:2]
    [121, 121]
    """
    without = {"visits": visits(_PEOPLE), "wards": _WARDS}
    for groups in _VISITORS:
        rows = [row_of(_PEOPLE, **changes) for changes in groups]
        shown = rows[:1] if by_row else rows * _ROWS
        yield {"visits": visits(_PEOPLE, *shown), "wards": _WARDS}, without


def watersheds(choices: Sequence[Choice]) -> Iterator[Pair]:
    """Yield a table that is made for choices, with a visitor at one of its ends, and without."""
    aims = sorted({(choice.level, choice.offset) for choice in choices})
    places = _places(aims, half=ceil(max(choice.added for choice in choices)))
    most = max(choice.rows for choice in choices)
    rows = [row_of(at, **_values(place)) for at, place in enumerate(places)]
    without = {"visits": visits(0, *rows), "wards": _WARDS}
    for end in (0, 1):
        visitor = [row_of(len(rows), **_values(Fraction(end)))] * most
        yield {"visits": visits(0, *rows, *visitor), "wards": _WARDS}, without


def _places(aims: Sequence[tuple[Fraction, int]], *, half: int) -> list[Fraction]:
    """Return where rows lie, in rising order: as many as leave room between all ranks."""
    size, ranks = 10, [Fraction(0)]
    while min(ranks[0], size - ranks[-1], *(b - a for a, b in pairwise(ranks))) < 2 * half:
        size *= 2
        ranks = [level * size + offset for level, offset in aims]
    found: list[Fraction] = []
    slot, aside = Fraction(1, len(ranks)), Fraction(min(0.5, _RARE ** (1 / len(ranks))))
    for at, rank in enumerate(ranks):
        found += [at * slot] * (floor(rank) - half - len(found))
        found += [(at + aside) * slot] * (ceil(rank) + half - len(found))
    return found + [Fraction(1)] * (size - len(found))


def _values(place: Fraction) -> dict[str, Any]:
    """Return a cost and an age so far between the smallest and the largest."""
    return {"cost": float(100 * place), "age": round(_LARGEST * place)}
