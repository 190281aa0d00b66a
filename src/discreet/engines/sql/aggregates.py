"""Plain aggregates, sums of floats and windows, as SQL.

Trust: kernel.

Definition.  Rows that agree in the order of a window come in the order of their columns; for a text
of more than ``LONG`` bytes its MD5 in hexadecimal counts, so that rows are sorted by short texts.

Sums of floats do not depend on the order of rows, and need no list of them: what a unit adds to an
answer must follow from its own rows, in whatever order an engine meets them.
Definition.  Let m be the largest absolute value, and s the least power of 2**16 above it.  Every
value is rounded down to a multiple of s 2**-80, the multiples are added up exactly, and the sum is
rounded to a float.
"""

# ruff: noqa: S608 (all text here is printed by us, and names and literals are quoted)

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import md5
from itertools import count
from typing import Final

from discreet.engines.hash_order import Value
from discreet.engines.sql.expressions import expression
from discreet.engines.sql.fragments import Printed, closed, name
from discreet.engines.sql.ranges import kind_of
from discreet.query.expressions import (
    Aggregate,
    Column,
    Expression,
    Order,
    Window,
    transformed,
    walk,
)
from discreet.query.relations import Output, folded
from discreet.query.types import Type

LONG: Final = 64


def tie_breaker(value: Value) -> Value:
    """Return what stands for a value where rows agree in the order of a window.

    >>> tie_breaker("ward"), len(tie_breaker("a" * 100))
    ('ward', 32)
    """
    if not isinstance(value, str) or len(written := value.encode("utf-8", "surrogatepass")) <= LONG:
        return value
    return md5(written, usedforsecurity=False).hexdigest()


def without_windows(
    outputs: tuple[Output, ...], taken: Iterable[str]
) -> tuple[tuple[tuple[str, Window], ...], tuple[Output, ...]]:
    """Return each window under a new name, and the outputs with these names in their places.

    >>> rank = Window("RANK", ())
    >>> without_windows((("first", rank),), ["a"])[1]
    (('first', Column(name='window 0', table=None)),)
    """
    windows = dict.fromkeys(
        node for _, value in outputs for node in walk(value) if isinstance(node, Window)
    )
    names = dict(zip(windows, _free_names("window", taken), strict=False))

    def replaced(node: Expression) -> Expression | None:
        return Column(names[node]) if isinstance(node, Window) else None

    rest = tuple((name, transformed(value, replaced)) for name, value in outputs)
    return tuple((name, window) for window, name in names.items()), rest


def _free_names(word: str, taken: Iterable[str]) -> Iterator[str]:
    """Yield names that are not taken."""
    used = {folded(name) for name in taken}
    return (name for number in count() if (name := f"{word} {number}") not in used)


_SCALE: Final = f"{2**80}e0"


def is_float_sum(node: Aggregate, columns: Mapping[str, Type]) -> bool:
    """Say whether an aggregate adds up floats."""
    added = node.function == "SUM" and node.argument is not None
    return added and kind_of(node.argument, columns) is Type.FLOAT  # type: ignore[arg-type]


def float_sum(node: Aggregate, columns: Mapping[str, Type], root: str) -> str:
    """Print a sum of floats, given the column that holds the root of 1 / s."""
    part = f"CAST(floor({_value(node, columns)} * {root} * {root} * {_SCALE}) AS HUGEINT)"
    summed = f"DISTINCT {part}" if node.distinct else part
    added = f"(CAST(sum({summed}) AS DOUBLE) / {_SCALE} / min({root}) / min({root}))"
    return closed(Printed(added, Type.FLOAT, open=True))


def with_roots(
    below: str, sums: Sequence[Aggregate], columns: Mapping[str, Type], keys: Sequence[str]
) -> tuple[str, list[str]]:
    """Print rows with one more column for each sum, and return the names of these."""
    names = [name(root) for root, _ in zip(_free_names("root", columns), sums, strict=False)]
    within = f"PARTITION BY {', '.join(keys)}" if keys else ""
    parts = [
        f"{_root(f'max(abs({_value(node, columns)})) OVER ({within})')} AS {root}"
        for node, root in zip(sums, names, strict=True)
    ]
    return f"SELECT *, {', '.join(parts)} FROM ({below})", names


def _root(largest: str) -> str:
    return f"pow(2e0, -8 * (floor(log2(greatest(coalesce({largest}, 0e0), 5e-324)) / 16) + 1))"


def _value(node: Aggregate, columns: Mapping[str, Type]) -> str:
    """Print what a row adds, NULL where it does not count."""
    assert node.argument is not None  # noqa: S101 (COUNT alone has none)
    value = expression(node.argument, columns)
    if node.where is None:
        return value
    return f"(CASE WHEN {expression(node.where, columns, Type.BOOLEAN)} THEN {value} END)"


Columns = Mapping[str, Type]

_AGGREGATES: Final = {"COUNT": "count", "SUM": "sum", "MIN": "min", "MAX": "max"}
_WINDOWS: Final = {
    **_AGGREGATES,
    "ROW_NUMBER": "row_number",
    "RANK": "rank",
    "DENSE_RANK": "dense_rank",
    "FIRST_VALUE": "first_value",
    "LAG": "lag",
    "LEAD": "lead",
}
"""The words for each function; no other word is printed."""


def aggregate(node: Aggregate, columns: Columns) -> str:
    """Print an aggregate of the rows of a group, but no sum of floats.

    >>> aggregate(Aggregate("COUNT"), {})
    'count(*)'
    """
    where = ""
    if node.where is not None:
        where = f" FILTER (WHERE {expression(node.where, columns, Type.BOOLEAN)})"
    if node.argument is None:
        return f"count(*){where}"
    value = expression(node.argument, columns)
    argument = f"DISTINCT {value}" if node.distinct else value
    return _fitting(node.function, f"{_AGGREGATES[node.function]}({argument}){where}")


def window(node: Window, columns: Columns) -> str:
    """Print a window; a tie is broken by all columns, where it could be seen.

    >>> from discreet.query.expressions import Column
    >>> print(window(Window("ROW_NUMBER", (), order=(Order(Column("a")),)), {"a": Type.DATE}))
    row_number() OVER (ORDER BY "a" ASC NULLS LAST, "a" ASC NULLS FIRST)
    """
    arguments = [expression(part, columns) for part in node.arguments]
    order = [_ordered(item, columns) for item in node.order]
    if node.function in {"ROW_NUMBER", "FIRST_VALUE", "LAG", "LEAD"}:
        order += [f"{_tie_breaker(*column)} ASC NULLS FIRST" for column in columns.items()]
    parts = []
    if node.partition:
        within = ", ".join(expression(part, columns) for part in node.partition)
        parts.append(f"PARTITION BY {within}")
    if order:
        parts.append(f"ORDER BY {', '.join(order)}")
    call = f"{_WINDOWS[node.function]}({', '.join(arguments) or _nothing(node)})"
    return _fitting(node.function, f"{call} OVER ({' '.join(parts)})")


def _tie_breaker(column: str, kind: Type) -> str:
    sql = name(column)
    if kind is not Type.TEXT:
        return sql
    return f"(CASE WHEN strlen({sql}) <= {LONG} THEN {sql} ELSE md5({sql}) END)"


def _nothing(node: Window) -> str:
    return "*" if node.function == "COUNT" else ""


def _ordered(item: Order, columns: Columns) -> str:
    way = "DESC" if item.descending else "ASC"
    nulls = "FIRST" if item.nulls_first else "LAST"
    return f"{expression(item.expression, columns)} {way} NULLS {nulls}"


def _fitting(function: str, sql: str) -> str:
    """Turn an exact sum into 64 bits, or NULL."""
    return f"TRY_CAST({sql} AS BIGINT)" if function == "SUM" else sql
