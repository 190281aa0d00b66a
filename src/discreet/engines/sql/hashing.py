"""The order of hashes, as SQL.

Trust: kernel.  See :mod:`discreet.engines.order` for what the portable order is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from discreet.engines.order import GROUPS, LEAVES, VALUES, HashOrder
from discreet.engines.sql.words import text
from discreet.query.types import Type

__all__ = ["Typed", "below", "number", "place", "value_text"]

Typed = tuple[str, Type]
"""The text of a value, short enough to be repeated, and its type."""

_PURPOSES: Final = {GROUPS: "", VALUES: ", 1", LEAVES: ", 2"}


def place(order: HashOrder, purpose: str, values: Sequence[Typed]) -> str:
    """Print where values come in the order.

    >>> place(HashOrder(salt=7), GROUPS, [('"u0"', Type.INTEGER)])
    'hash(7::BIGINT, "u0")'
    """
    if order.portable:
        return f"md5({_canonical(order, purpose, values)})"
    listed = ", ".join(sql for sql, _ in values)
    return f"hash({order.salt}::BIGINT{_PURPOSES[purpose]}, {listed})"


def number(order: HashOrder, purpose: str, values: Sequence[Typed]) -> str:
    """Print a number of 64 bits that rises with the place in the order, and may be shared by two.

    >>> number(HashOrder(salt=7), GROUPS, [('"u0"', Type.INTEGER)])
    'hash(7::BIGINT, "u0")'
    """
    found = place(order, purpose, values)
    return f"CAST('0x' || substr({found}, 1, 16) AS UBIGINT)" if order.portable else found


def below(order: HashOrder, limit: str, purpose: str, values: Sequence[Typed]) -> str:
    """Print the number from 0 to the limit - 1 that belongs to values.

    >>> below(HashOrder(salt=7), '"n"', LEAVES, [('"u0"', Type.INTEGER)])
    '(CAST(hash(7::BIGINT, 2, "u0") AS HUGEINT) % "n")'
    """
    number = place(order, purpose, values)
    if order.portable:
        number = f"'0x' || substr({number}, 1, 15)"
        return f"(CAST(TRY_CAST({number} AS BIGINT) AS HUGEINT) % {limit})"
    return f"(CAST({number} AS HUGEINT) % {limit})"


def _canonical(order: HashOrder, purpose: str, values: Sequence[Typed]) -> str:
    return " || ".join([text(f"{order.salt} {purpose}"), *map(_part, values)])


def _part(value: Typed) -> str:
    shown = value_text(value)
    return f"coalesce(length({shown}) || ':' || {shown}, '-')"


def value_text(value: Typed) -> str:
    """Print the text of a value, which no other value of its type has.

    >>> value_text(('"x"', Type.FLOAT))
    'CAST("x" + 0e0 AS VARCHAR)'
    """
    sql, kind = value
    match kind:
        case Type.TEXT:
            return sql
        case Type.FLOAT:
            return f"CAST({sql} + 0e0 AS VARCHAR)"
        case Type.TIMESTAMP:
            return f"CAST(epoch_us({sql}) AS VARCHAR)"
        case _:
            return f"CAST({sql} AS VARCHAR)"
