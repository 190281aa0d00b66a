"""Unions of relations that belong to the same units.

Trust: kernel.

Theorem (key ``unit-local``, for unions).  The rows of all parts, put below each other, are again
the union over units of what each unit's rows give.
Where each row is a unit, a row could come back from several parts, so that unions are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from discreet.accounting import Box
from discreet.plan.binding.names import BoundRelation, Field, FreshNames, not_per_unit
from discreet.plan.binding.value_facts import Facts
from discreet.query.expressions import Column
from discreet.query.relation_columns import columns as columns_of
from discreet.query.relations import Project, UnionAll


def bind_union(node: UnionAll, parts: Sequence[BoundRelation], fresh: FreshNames) -> BoundRelation:
    """Put bound relations below each other, or refuse to."""
    if len({part.public for part in parts}) > 1:
        raise not_per_unit(
            node.span,
            what="this UNION ALL mixes private rows and public ones.",
            do="ask about the private table, and add what is public to the answer.",
        )
    if not all(part.unit is None or part.unit for part in parts):
        raise not_per_unit(
            node.span,
            what="this UNION ALL may count a row several times.",
            do="ask one question for each part; here each row is protected by itself.",
        )
    aligned = [_aligned(part, fresh) for part in parts]
    relation = UnionAll(tuple(part.relation for part in aligned), span=node.span)
    columns_of(relation)  # refuses parts of different types
    first = aligned[0]
    columns = [fresh(field.column) for field in first.fields]
    rows = zip(columns, *(part.fields for part in aligned), strict=True)
    fields = tuple(
        replace(same[0], column=column, table=None, facts=_common([field.facts for field in same]))
        for column, *same in rows
    )
    names = dict(zip((field.column for field in first.fields), columns, strict=True))
    outputs = tuple((names[field.column], Column(field.column)) for field in first.fields)
    unit = None if first.unit is None else tuple(names[name] for name in first.unit)
    same = all(part.scope == first.scope for part in aligned)
    return BoundRelation(
        relation=Project(relation, outputs),
        fields=fields,
        unit=unit,
        scope=first.scope if same else Box.everything(),
        fan_out=sum(part.fan_out for part in aligned),
    )


def _aligned(part: BoundRelation, fresh: FreshNames) -> BoundRelation:
    """Put the visible columns first, and then the unit, in all parts alike.

    The unit stands under a name that no other column has: those of visible ones are chosen by
    whoever asks.
    """
    visible = part.visible
    hidden = [
        Field(column=field.column, name=None, facts=field.facts)
        for name in part.unit or ()
        for field in part.fields
        if field.column == name
    ]
    copies = [fresh(f"{field.column} (unit)") for field in hidden]
    outputs = (
        *((field.column, Column(field.column)) for field in visible),
        *((copy, Column(field.column)) for copy, field in zip(copies, hidden, strict=True)),
    )
    fields = (
        *visible,
        *(replace(field, column=copy) for copy, field in zip(copies, hidden, strict=True)),
    )
    unit = None if part.unit is None else tuple(copies)
    return BoundRelation(
        relation=Project(part.relation, outputs),
        fields=fields,
        unit=unit,
        scope=part.scope,
        fan_out=part.fan_out,
    )


def _common(facts: Sequence[Facts]) -> Facts:
    """Return what holds of a value of any part."""
    first = facts[0]
    lows, highs = [part.low for part in facts], [part.high for part in facts]
    bounded = None not in lows and None not in highs
    same = all(part.source == first.source and part.constant for part in facts)
    return Facts(
        type=first.type,
        low=min(low for low in lows if low is not None) if bounded else None,
        high=max(high for high in highs if high is not None) if bounded else None,
        categories=first.categories
        if all(part.categories == first.categories for part in facts)
        else None,
        nullable=any(part.nullable for part in facts),
        constant=same and first.source is not None,
        source=first.source if same else None,
    )
