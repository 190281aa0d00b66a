"""The answer, from rows that all parts have been added up to.

Trust: kernel.  Here totals are clamped, once, and groups get their order.
"""

# ruff: noqa: S608 (all text here is printed by us, and names and literals are quoted)

from __future__ import annotations

from typing import Final

import pyarrow as pa

from discreet.engines.connection import Connection, Performance
from discreet.engines.public_groups import public_tables
from discreet.engines.spark.limbs import limb_names, together
from discreet.engines.spark.statements import GROUP, MEASURES, names, totals_of
from discreet.engines.sql.bounding import PUBLIC, Bounding, listed
from discreet.plan.arrow_arrays import numbers
from discreet.plan.lowered import Distinct, Leaves, Lowered
from discreet.plan.raw import ARROW_TYPES, MOST, Integers, Raw

__all__ = ["answered"]

_ROWS: Final = '"added rows"'


def answered(rows: pa.Table, bounding: Bounding) -> Raw:
    """Return the answer from all rows, in the order of groups."""
    lowered = bounding.lowered
    connection = Connection({}, Performance(threads=1))
    try:
        tables = {
            **public_tables(lowered),
            _ROWS: rows.select(names(lowered)[:2] + _counts(lowered)),
        }
        first = connection.fetched(_groups(bounding), tables)
        leaves = {
            each.name: connection.fetched(_leaves(bounding, kind), tables)
            for kind, each in enumerate(lowered.measures, start=MEASURES)
            if isinstance(each, Leaves)
        }
    finally:
        connection.close()
    named = first if lowered.listed is None else tables[PUBLIC]
    totals = {each.name: _integers(first, f"t{at}") for at, each in enumerate(totals_of(lowered))}
    return Raw(
        keys=tuple(
            named.column(at).cast(ARROW_TYPES[key.type]).combine_chunks()
            for at, key in enumerate(lowered.keys)
        ),
        units=_integers(first, "units"),
        totals=totals
        | {
            each.name: _integers(first, f"d{kind}")
            for kind, each in enumerate(lowered.measures, start=MEASURES)
            if isinstance(each, Distinct)
        },
        leaves={
            name: (_integers(found, "g"), _integers(found, "leaf"), _integers(found, "c"))
            for name, found in leaves.items()
        },
    )


def _counts(lowered: Lowered) -> list[str]:
    return names(lowered)[3:]


def _groups(bounding: Bounding) -> str:
    """Print the units, totals and numbers of different values of every group."""
    lowered = bounding.lowered
    values = {"units": _of_kind(GROUP)}
    for at, _ in enumerate(totals_of(lowered)):
        whole = f"coalesce(sum({together(limb_names(at))}), 0)"
        values[f"t{at}"] = f"least(greatest({whole}, -{MOST}), {MOST})"
    for kind, each in enumerate(lowered.measures, start=MEASURES):
        if isinstance(each, Distinct):
            values[f"d{kind}"] = _of_kind(kind)
    shown = [f"CAST({sql} AS BIGINT) AS {name}" for name, sql in values.items()]
    by = f" GROUP BY {listed(bounding.keys)}" if bounding.keys else ""
    kinds = [GROUP, *(_kinds(lowered, Distinct))]
    rows = f"SELECT * FROM {_ROWS} WHERE kind IN ({listed([str(kind) for kind in kinds])})"
    groups = f"SELECT {listed([*bounding.keys, *shown])} FROM ({rows}){by}"
    return bounding.answer(groups, list(values))


def _of_kind(kind: int) -> str:
    return f"coalesce(sum(CASE WHEN kind = {kind} THEN units END), 0)"


def _kinds(lowered: Lowered, which: type) -> list[int]:
    return [
        kind
        for kind, each in enumerate(lowered.measures, start=MEASURES)
        if isinstance(each, which)
    ]


def _leaves(bounding: Bounding, kind: int) -> str:
    """Print the leaves of a measure that are not empty, with the numbers of their groups."""
    rows = f"SELECT * FROM {_ROWS} WHERE kind = {kind}"
    if bounding.lowered.listed is not None:
        found = f"SELECT *, position AS g FROM ({rows}) JOIN {PUBLIC} ON {bounding.same_group('p')}"
    elif not bounding.keys:
        found = f"SELECT *, CAST(0 AS BIGINT) AS g FROM ({rows})"
    else:
        renamed = [f"{key} AS p{at}" for at, key in enumerate(bounding.keys)]
        place = f"row_number() OVER (ORDER BY {bounding.by_key}) - 1 AS g"
        groups = f"SELECT {listed(renamed)}, {place} FROM {_ROWS} WHERE kind = {GROUP}"
        found = f"SELECT * FROM ({rows}) JOIN ({groups}) ON {bounding.same_group('p')}"
    return f"SELECT g, leaf, units AS c FROM ({found}) ORDER BY g, leaf"


def _integers(table: pa.Table, name: str) -> Integers:
    column = table.column(name)
    if column.null_count:
        message = "a total is missing"
        raise RuntimeError(message)
    found: Integers = numbers(column)
    return found
