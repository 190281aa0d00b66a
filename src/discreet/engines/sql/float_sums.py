"""Sums of floats as SQL: exact sums of whole numbers, which need no list of the rows.

Trust: kernel.  The definition stands in :mod:`discreet.engines.reference.float_sums`.
"""

# ruff: noqa: S608 (all text here is printed by us, and names and literals are quoted)

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from discreet.engines.kinds import kind_of
from discreet.engines.sql.expressions import expression
from discreet.engines.sql.printed import Printed, closed
from discreet.engines.sql.words import name
from discreet.query.expressions import Aggregate
from discreet.query.relations import folded
from discreet.query.types import Type

__all__ = ["float_sum", "is_float_sum", "with_roots"]

_SCALE: Final = f"{2**80}e0"


def is_float_sum(node: Aggregate, columns: Mapping[str, Type]) -> bool:
    """Say whether an aggregate adds up floats."""
    added = node.function == "SUM" and node.argument is not None
    return added and kind_of(node.argument, columns) is Type.FLOAT  # type: ignore[arg-type]


def float_sum(node: Aggregate, columns: Mapping[str, Type], root: str) -> str:
    """Print a sum of floats, given the column that holds the root of 1 / s."""
    part = f"CAST(floor({_value(node, columns)} * {root} * {root} * {_SCALE}) AS HUGEINT)"
    each = f"DISTINCT {part}" if node.distinct else part
    added = f"(CAST(sum({each}) AS DOUBLE) / {_SCALE} / min({root}) / min({root}))"
    return closed(Printed(added, Type.FLOAT, open=True))


def with_roots(
    below: str, sums: Sequence[Aggregate], columns: Mapping[str, Type], keys: Sequence[str]
) -> tuple[str, list[str]]:
    """Print rows with one more column for each sum, and return the names of these."""
    taken = {folded(each) for each in columns}
    names: list[str] = []
    for at in range(len(sums)):
        number = at
        while (found := f"root {number}") in taken:
            number += 1
        taken.add(found)
        names.append(name(found))
    within = f"PARTITION BY {', '.join(keys)}" if keys else ""
    parts = [
        f"{_root(f'max(abs({_value(each, columns)})) OVER ({within})')} AS {root}"
        for each, root in zip(sums, names, strict=True)
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
