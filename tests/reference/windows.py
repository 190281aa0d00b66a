"""Plain aggregates and windows.

Trust: kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cmp_to_key
from itertools import groupby
from typing import Any

from discreet.query.expressions import Aggregate, Literal, Order, Window
from discreet.query.types import Type
from tests.reference.casts import finite, fitting
from tests.reference.expressions import Row, Rule, compiled
from tests.reference.float_sums import float_sum
from tests.reference.order import Value, tie_breaker

__all__ = ["aggregated", "sort_key", "windowed"]

_ONE = Literal(1)


def sort_key(values: Sequence[Value]) -> tuple[Any, ...]:
    """Return a key that sorts values in their order, NULL first.

    >>> sorted([(2,), (None,), (1,)], key=sort_key)
    [(None,), (1,), (2,)]
    """
    return tuple((value is not None, value if value is not None else 0) for value in values)


def aggregated(aggregate: Aggregate, rows: Sequence[Row], columns: Mapping[str, Type]) -> Value:
    """Compute an aggregate of all rows."""
    if aggregate.where is not None:
        where = compiled(aggregate.where, columns)
        rows = [row for row in rows if where(row) is True]
    rule = compiled(aggregate.argument or _ONE, columns)
    values = [value for value in map(rule, rows) if value is not None]
    if aggregate.distinct:
        values = list(dict.fromkeys(values))
    return _computed(aggregate.function, values, distinct=aggregate.distinct)


def _computed(function: str, values: list[Any], *, distinct: bool) -> Value:
    if function == "COUNT":
        return len(values)
    if not values:
        return None
    if function != "SUM":
        extreme: Value = min(values) if function == "MIN" else max(values)
        return extreme
    if isinstance(values[0], int):
        return fitting(sum(values))
    return finite(float_sum(values, distinct=distinct))


def windowed(window: Window, rows: Sequence[Row], columns: Mapping[str, Type]) -> list[Value]:
    """Compute a window: one value for each row, in the order of the rows."""
    partition = [compiled(part, columns) for part in window.partition]
    parts: dict[tuple[Value, ...], list[int]] = {}
    for index, row in enumerate(rows):
        parts.setdefault(tuple(rule(row) for rule in partition), []).append(index)
    found: list[Value] = [None] * len(rows)
    for members in parts.values():
        ordered, peers = _ordered(window.order, members, rows, columns)
        values = _values(window, [rows[index] for index in ordered], peers, columns)
        for index, value in zip(ordered, values, strict=True):
            found[index] = value
    return found


def _ordered(
    order: Sequence[Order], members: list[int], rows: Sequence[Row], columns: Mapping[str, Type]
) -> tuple[list[int], list[int]]:
    """Sort the rows of a partition; return them, and for each how many are peers or before."""
    rules = [compiled(item.expression, columns) for item in order]
    written = {index: tuple(rule(rows[index]) for rule in rules) for index in members}
    compare = _comparison(order)
    by_columns = sorted(
        members, key=lambda index: sort_key([tie_breaker(rows[index][name]) for name in columns])
    )

    def compare_rows(left: int, right: int) -> int:
        return compare(written[left], written[right])

    ordered = sorted(by_columns, key=cmp_to_key(compare_rows))
    peers: list[int] = []
    for _, group in groupby(ordered, key=written.__getitem__):
        size = len(list(group))
        peers += [len(peers) + size] * size
    return ordered, peers


def _comparison(
    order: Sequence[Order],
) -> Callable[[tuple[Value, ...], tuple[Value, ...]], int]:
    def compare(left: tuple[Any, ...], right: tuple[Any, ...]) -> int:
        for item, a, b in zip(order, left, right, strict=True):
            if a == b:
                continue
            if a is None or b is None:
                return -1 if (a is None) == item.nulls_first else 1
            return -1 if (a < b) != item.descending else 1
        return 0

    return compare


def _values(
    window: Window, rows: list[Row], peers: list[int], columns: Mapping[str, Type]
) -> list[Value]:
    rules = [compiled(argument, columns) for argument in window.arguments]
    places = range(len(rows))
    match window.function:
        case "ROW_NUMBER":
            return [place + 1 for place in places]
        case "RANK":
            return [peers.index(peers[place]) + 1 for place in places]
        case "DENSE_RANK":
            return [sorted(set(peers)).index(peers[place]) + 1 for place in places]
        case "FIRST_VALUE":
            return [rules[0](rows[0]) for _ in places]
        case "LAG" | "LEAD":
            return _shifted(window.function, rules, rows)
        case _:
            argument = window.arguments[0] if window.arguments else None
            plain = Aggregate(window.function, argument)
            return [aggregated(plain, rows[: peers[place]], columns) for place in places]


def _shifted(function: str, rules: list[Rule], rows: list[Row]) -> list[Value]:
    shift = rules[1](rows[0])
    assert isinstance(shift, int)
    step = shift if function == "LEAD" else -shift
    values = [rules[0](row) for row in rows]
    return [
        values[place + step] if 0 <= place + step < len(values) else None
        for place in range(len(values))
    ]
