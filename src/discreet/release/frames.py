"""The columns of an answer as a table of Arrow, and back.

Trust: public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import pyarrow as pa

from discreet.errors import WrongKind
from discreet.query.types import Type
from discreet.requests.raw_totals import ARROW_TYPES

_ENDS: Final = ("_low", "_high")
_BESIDE: Final = (*_ENDS, "_unclipped")


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReleasedColumn:
    """A column of an answer; ``low`` and ``high`` are None if it is not a number with noise.

    ``unclipped`` are the numbers as noise left them, if some were moved into their intervals.
    ``clamped`` are bounds if values beyond them may have counted as the nearer one.
    """

    name: str
    type: Type
    values: pa.Array
    low: pa.Array | None = None
    high: pa.Array | None = None
    unclipped: pa.Array | None = None
    clamped: tuple[Fraction, Fraction] | None = None

    @property
    def listed(self) -> bool:
        """Whether every value is a list of values."""
        return bool(pa.types.is_list(self.values.type))


def table_of(columns: Sequence[ReleasedColumn], *, unclipped: bool = False) -> pa.Table:
    """Return one table; a name that is taken gets an underscore more.

    With ``unclipped``, numbers with intervals also come as noise left them.

    >>> twice = ReleasedColumn(name="n", type=Type.INTEGER, values=pa.array([1]))
    >>> table_of([twice, twice]).column_names
    ['n', 'n_']
    """
    names: list[str] = [column.name for column in columns]
    taken: set[str] = set()
    arrays: dict[str, pa.Array] = {}
    for column in columns:
        arrays[_free(column.name, taken)] = column.values
        beside = [column.low, column.high]
        if unclipped and column.low is not None:
            beside.append(column.values if column.unclipped is None else column.unclipped)
        for end, values in zip(_BESIDE, beside, strict=False):
            if values is not None:
                arrays[_free(column.name + end, taken | set(names), taken)] = values
    return pa.table(arrays)


def _free(name: str, known: set[str], taken: set[str] | None = None) -> str:
    while name in known:
        name += "_"
    (known if taken is None else taken).add(name)
    return name


def columns_in(made: object) -> tuple[ReleasedColumn, ...]:
    """Read the table that a function made of an answer.

    >>> found = columns_in({"n": [1, 2], "n_low": [0, 1], "n_high": [2, 3]})
    >>> [column.name for column in found], found[0].low.to_pylist()
    (['n'], [0, 1])
    """
    table = _table(made)
    ends = {name + end for name in table.column_names for end in _ENDS if _has_both(table, name)}
    return tuple(
        _column(table, name, intervals=_has_both(table, name))
        for name in table.column_names
        if name not in ends
    )


def _has_both(table: pa.Table, name: str) -> bool:
    return all(name + end in table.column_names for end in _ENDS)


def _table(made: object) -> pa.Table:
    readable = isinstance(made, pa.Table | Mapping) or hasattr(made, "__arrow_c_stream__")
    if readable:
        try:
            return pa.table(made)
        except (pa.ArrowException, TypeError, ValueError):
            pass
    raise WrongKind(
        what="the function did not return a table.",
        why="an answer is a table, also after it is mapped.",
        do="return a table of Arrow, Polars or pandas, or a mapping of names to lists of values.",
    )


def _column(table: pa.Table, name: str, *, intervals: bool) -> ReleasedColumn:
    kind = _kind(table.column(name).type, name)

    def array(of: str) -> pa.Array:
        return _cast(table.column(of), kind)

    return ReleasedColumn(
        name=name,
        type=kind,
        values=array(name),
        low=array(f"{name}_low") if intervals else None,
        high=array(f"{name}_high") if intervals else None,
    )


def _cast(column: pa.ChunkedArray, kind: Type) -> pa.Array:
    listed = pa.types.is_list(column.type) or pa.types.is_large_list(column.type)
    to = pa.list_(ARROW_TYPES[kind]) if listed else ARROW_TYPES[kind]
    try:
        array = column.combine_chunks().cast(to)
    except pa.ArrowInvalid:
        raise WrongKind(
            what="a column that the function returned does not fit into 64 bits.",
            why="answers are stored exactly.",
            do="return integers, floats, texts, truth values, days or moments.",
        ) from None
    if kind is Type.FLOAT and not listed:  # NaN is NULL
        return pa.array(array.to_numpy(zero_copy_only=False), from_pandas=True)
    return array


def _kind(arrow: pa.DataType, name: str) -> Type:
    types = pa.types
    if types.is_list(arrow) or types.is_large_list(arrow):
        arrow = arrow.value_type
    for test, kind in (
        (types.is_boolean, Type.BOOLEAN),
        (types.is_integer, Type.INTEGER),
        (types.is_floating, Type.FLOAT),
        (types.is_decimal, Type.FLOAT),
        (types.is_string, Type.TEXT),
        (types.is_large_string, Type.TEXT),
        (types.is_string_view, Type.TEXT),
        (types.is_date, Type.DATE),
        (types.is_timestamp, Type.TIMESTAMP),
    ):
        if test(arrow):
            return kind
    raise WrongKind(
        what=f"the column {name} that the function returned has a type that answers do not know.",
        why="answers are stored exactly, and read back by any version.",
        do="return integers, floats, texts, truth values, days or moments.",
    )
