"""Bounded units: whoever has more rows than a window can hold is left out as a whole.

Trust: kernel.  A window looks at all rows of a unit at once, and an engine that runs out of memory
tells whoever asks that somebody's rows were too many.  How many rows a unit has is up to the data:
so the bound is part of the relation, and engines enforce it by an aggregation that holds no rows.

Definition.  Below every projection with windows over the rows of units, and below the choice of
first rows in a private join (:mod:`discreet.plan.binding.fan_out`), a relation keeps the rows of
the units that have at most ``MOST_ROWS`` rows in it, whose texts take at most ``MOST_TEXT`` bytes:
those of all columns, and those that the windows make.  Where each row is a unit, or a relation is
public, there is nothing to bound.
Theorem (key ``bounded-units``).  Bounding changes no rows of other units, and no stability: what it
keeps is the union over units of a function of each unit's rows (key ``unit-local``).  No window
holds more of one unit than the two limits, whatever the tables hold.
Proof.  Whether the rows of a unit stay follows from their number and their texts.  If they do, all
of them stay as they are.  Every partition of a window lies within the rows of one unit.
Rows whose unit is NULL belong to nobody, and are dropped here already.

Both limits are the same for every question, so they are no part of its digest.  They come from
measurement: with 400 MB DuckDB computed ROW_NUMBER, LAG and SUM over one unit of 2**24 rows, all
other windows over one of 10**7 rows, and each of them over 2**27 bytes of text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from discreet.plan.binding.names import BoundRelation
from discreet.query.expression_types import typed
from discreet.query.expressions import Column, Expression, Window, walk
from discreet.query.relation_columns import columns
from discreet.query.relations import BoundedUnits
from discreet.query.types import Type

MOST_ROWS: Final = 2**24
"""Rows of a unit that a window may look at."""
MOST_TEXT: Final = 2**27
"""Bytes of the texts in them."""


def bounded_units(below: BoundRelation, outputs: Iterable[Expression]) -> BoundRelation:
    """Return a relation without the units that are too large for the windows in some outputs."""
    nodes = (node for value in outputs for node in walk(value))
    windows = [node for node in nodes if isinstance(node, Window)]
    if not windows or not below.unit:
        return below
    types = dict(columns(below.relation))
    parts = dict.fromkeys(part for window in windows for part in window.children())
    made = [part for part in parts if not isinstance(part, Column)]
    texts = [value for value in (*map(Column, types), *made) if typed(value, types) is Type.TEXT]
    relation = BoundedUnits(
        below.relation, below.unit, tuple(texts), rows=MOST_ROWS, text_bytes=MOST_TEXT
    )
    return replace(below, relation=relation)
