"""Bounds and classes that a caller declares for arrays, read into exact values.

Trust: kernel.  What is not declared is refused: a bound or a class that only the data names would
tell of whoever has it.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import BadArrays, OutOfRange, WrongKind
from discreet.exact import decimal
from discreet.learning.models.rows.bounded_columns import Column, NumberColumn
from discreet.requests.table_schema import KeyValue


def number_columns(bounds: Any, width: int, *, name: str = "bounds") -> tuple[Column, ...]:
    """Read declared bounds: one pair for all columns, or a list of numbers for either end.

    >>> number_columns((0, [1, 5]), 2)[1].high
    Fraction(5, 1)
    """
    lows, highs = _ends(bounds, width, name)
    columns: list[NumberColumn] = []
    for low, high in zip(lows, highs, strict=True):
        if columns and low is columns[-1].low and high is columns[-1].high:
            columns.append(columns[-1])
            continue
        if not low < high:
            raise OutOfRange(
                what="a lower bound is not below its upper bound.",
                why="a number between them could be nothing else, or nothing at all.",
                do=f"give {name}=(low, high) with low < high, for all columns or one each.",
            )
        columns.append(NumberColumn(low, high))
    return tuple(columns)


def _ends(bounds: Any, width: int, name: str) -> tuple[list[Fraction], list[Fraction]]:
    pair = None if bounds is None or isinstance(bounds, str) else tuple(bounds)
    if pair is None or len(pair) != 2:
        raise WrongKind(
            what=f"no {name} are given, or they are no pair.",
            why="bounds that were read off the data would tell of the largest value.",
            do=f"give {name}=(low, high), each a number or one number a column, from public "
            "knowledge.",
        )
    ends = []
    for end in pair:
        if isinstance(end, str) or not isinstance(end, Iterable):
            ends.append([decimal(_plain(end), name="bound")] * width)
            continue
        values = list(end)
        if len(values) != width:
            raise BadArrays(
                what=f"there are {len(values)} bounds and {width} columns.",
                why="every column needs its own two bounds.",
                do="give one number for all columns, or one for each.",
            )
        ends.append([decimal(_plain(value), name="bound") for value in values])
    return ends[0], ends[1]


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def declared_classes(classes: Any) -> tuple[KeyValue, ...]:
    """Read declared classes.

    >>> declared_classes(["well", "ill"])
    ('well', 'ill')
    """
    given = None if classes is None or isinstance(classes, str) else tuple(map(_plain, classes))
    if given is None or len(set(given)) < max(2, len(given)):
        raise WrongKind(
            what="no classes are given, fewer than two, or one of them twice.",
            why="a class that only the data names would tell of whoever is in it.",
            do="give classes=['well', 'ill'], say, from public knowledge.",
        )
    return given
