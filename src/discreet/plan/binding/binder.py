"""Relations bound to the schema, from the tables up: names, units, facts and scope.

Trust: kernel.

Theorem (key ``unit-local``, for unions).  The rows of all parts, put below each other, are again
the union over units of what each unit's rows give.
If each row is a unit, a row could come back from several parts, so that unions are refused.

Theorem (key ``unit-local``).  Every private relation that is built here is the union over units of
what is computed from the rows of that unit and from public tables alone.
Proof, by induction over the relation.  The rows of a private table each belong to the unit that
their columns name, or that the row they are linked to names.  A filter or a projection looks at one
row.  An aggregation, a DISTINCT or a window that keeps the unit among its keys looks at the rows of
one unit, and so does the bound below windows (:mod:`discreet.plan.binding.fan_out`).  If a
key of an aggregation, or a column of a DISTINCT, leads to the unit
(:mod:`discreet.plan.binding.joins`), the unit is made a key as well: that changes no group if
promises are kept, and keeps units apart if they are not.  Joins, semi joins and unions are treated
in :mod:`discreet.plan.binding.joins` and its neighbors.
Rows whose unit is NULL belong to nobody; they stay by themselves and are dropped in the end.
If each row is a unit of its own, every output row comes from one row of one private table, and
no row gives two: only filters, projections, semi joins with public tables, and joins that find at
most one public row are allowed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import assert_never, final

from discreet.accounting import Box
from discreet.errors import UnknownName, UnsupportedSQL
from discreet.plan.binding.fan_out import FanOut, bounded_units
from discreet.plan.binding.joins import (
    bind_join,
    has_cross_join,
    join_all,
    join_leaves,
    leads_to_a_unit,
    linked,
    name_in_question,
)
from discreet.plan.binding.names import (
    BoundRelation,
    Field,
    FreshNames,
    bound_expression,
    checked,
    condition,
    not_per_unit,
    starred,
)
from discreet.plan.binding.scope import scope_name
from discreet.plan.binding.subqueries import bind_semi_join, bind_value
from discreet.plan.binding.truth_sets import narrowed, scope_box
from discreet.plan.binding.value_facts import ColumnSource, Facts, facts_of, total_facts
from discreet.query.expression_types import columns as columns_of
from discreet.query.expressions import Column, Expression, Star, Window, walk
from discreet.query.relations import (
    Aggregated,
    BoundedUnits,
    Distinct,
    Filter,
    Join,
    Named,
    Output,
    Project,
    Relation,
    Scan,
    SemiJoin,
    Table,
    UnionAll,
    Valued,
    folded,
)
from discreet.query.source_text import pointed
from discreet.requests.table_schema import ColumnFacts, Schema, TableFacts


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
    anyone who asks.
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


@final
@dataclass(frozen=True, slots=True)
class Binder:
    """Binds the relations of one question; ``names`` are the columns that the unit is named by."""

    schema: Schema
    names: tuple[str, ...] = ()
    fan_out: FanOut = field(default_factory=FanOut)

    def bind(self, relation: Relation) -> BoundRelation:  # noqa: C901, PLR0911, PLR0912  one each
        """Return the relation with all names bound, or refuse it."""
        match relation:
            case Table():
                return self._table(relation)
            case Named(child=child, alias=alias):
                return self.bind(child).named(alias)
            case Filter():
                return self._filter(relation)
            case Project():
                return self._project(relation)
            case Aggregated():
                return self._aggregated(relation)
            case Distinct():
                return self._distinct(relation)
            case Join(left=left, right=right):
                sides = self.bind(left), self.bind(right)
                return bind_join(relation, *sides, self.fan_out)
            case SemiJoin(left=left):
                leaves = join_leaves(relation.right, self.bind)
                return bind_semi_join(relation, self.bind(left), leaves, self.fan_out)
            case Valued(left=left):
                leaves = join_leaves(relation.right, self.bind)
                return bind_value(
                    relation,
                    self.bind(left),
                    leaves,
                    self._aggregated_over,
                    self.fan_out,
                )
            case UnionAll():
                return bind_union(
                    relation, [self.bind(part) for part in relation.parts], self.fan_out.fresh
                )
            case Scan():
                return self._scan(self._found(relation.table, relation), relation)
            case BoundedUnits():
                raise UnsupportedSQL(
                    what=pointed("the question bounds the rows of people itself.", relation.span),
                    why="whose rows there are follows from the policy alone.",
                    do="leave the bound out; planning sets it where it is needed.",
                )
            case _:
                assert_never(relation)

    def _found(self, name: str, node: Table | Scan) -> TableFacts:
        table = self.schema.at_path(name)
        if table is None:
            known = ", ".join(table.path or table.name for table in self.schema.tables)
            raise UnknownName(
                what=pointed(f"there is no table {name} here.", node.span),
                why="a question is about the tables that this session has opened.",
                do=f"use one of: {known}.",
            )
        return table

    def _table(self, node: Table) -> BoundRelation:
        table = self._found(node.name, node)
        bound = self._scan(table, node).named(table.name)
        if table.link is None:
            return bound
        parent = self._found(table.link.parent, node)
        return linked(bound, self._table(Table(parent.name, span=node.span)), table.link)

    def _scan(self, table: TableFacts, node: Table | Scan) -> BoundRelation:
        """Read a table; columns whose names are taken already are renamed."""
        columns = tuple((column.name, column.type) for column in table.columns)
        fields = tuple(
            Field(
                column=self.fan_out.fresh(column.name),
                name=column.name,
                table=table.name,
                facts=Facts(
                    type=column.type,
                    low=_ends(column)[0],
                    high=_ends(column)[1],
                    categories=column.categories,
                    nullable=column.nullable,
                    constant=column.constant or folded(column.name) in map(folded, table.unit),
                    source=self._source(table, column),
                    days=column.days,
                ),
            )
            for column in table.columns
        )
        scan = Scan(table.name, columns, span=node.span)
        names = [(item.column, Column(str(item.name))) for item in fields]
        same = all(column == name.name for column, name in names)
        relation: Relation = scan if same else Project(scan, tuple(names), span=node.span)
        by_name = {folded(str(item.name)): item.column for item in fields}
        unit = None if table.public else tuple(by_name[folded(name)] for name in table.unit)
        key = tuple(by_name[folded(name)] for name in table.key) or None
        return BoundRelation(relation=relation, fields=fields, unit=unit, key=key)

    def _source(self, table: TableFacts, column: ColumnFacts) -> ColumnSource:
        unit = [folded(name) for name in table.unit]
        name = folded(column.name)
        return ColumnSource(
            table.name,
            column.name,
            public=table.public,
            unit=unit.index(name) if name in unit else None,
            keys=self.schema.keys_of(table, column.name),
            scope=scope_name(self.schema, table, column, self.names),
        )

    def _filter(self, node: Filter) -> BoundRelation:
        if has_cross_join(node.child):
            leaves = join_leaves(node.child, self.bind)
            below, rest = join_all(leaves, [node.predicate], self.fan_out, node.span)
            if rest is None:
                return below
            predicate = rest
        else:
            below = self.bind(node.child)
            predicate = condition(node.predicate, below)
        scope = below.scope & scope_box(predicate, below.facts, below.unit)
        relation = Filter(below.relation, predicate, span=node.span)
        more = narrowed(predicate, below.facts)
        fields = tuple(
            replace(field, facts=more.get(field.column, field.facts)) for field in below.fields
        )
        return replace(below, relation=relation, fields=fields, scope=scope)

    def _project(self, node: Project) -> BoundRelation:
        below = self.bind(node.child)
        outputs: list[tuple[Field, Expression]] = []
        for name, expression in node.outputs:
            if isinstance(expression, Star):
                outputs += [
                    (replace(field, table=None), Column(field.column))
                    for field in starred(expression, below.fields)
                ]
                continue
            self._check_windows(expression, below)
            bound, _ = checked(expression, below)
            outputs.append((Field(column="", name=name, facts=facts_of(bound, below.facts)), bound))
        below = bounded_units(below, (value for _, value in outputs))
        return self._rebuilt(node, below, outputs)

    def _rebuilt(
        self, node: Project, below: BoundRelation, outputs: list[tuple[Field, Expression]]
    ) -> BoundRelation:
        """Name the outputs, and let the unit follow, hidden, if it was not selected."""
        fresh = self.fan_out.fresh
        named = [(replace(item, column=fresh(str(item.name))), value) for item, value in outputs]
        holders: list[list[str]] = []
        for column, same in zip(below.unit or (), below.holders, strict=True):
            held = [f.column for f, value in named if _holds(value, same)]
            if not held:
                held = [fresh(column)]
                hidden = Field(column=held[0], name=None, facts=below.facts[column])
                named.append((hidden, Column(column)))
            holders.append(held)
        relation = Project(
            below.relation,
            tuple((item.column, value) for item, value in named),
            span=node.span,
        )
        fields = tuple(item for item, _ in named)
        kept = {value.name: item.column for item, value in named if isinstance(value, Column)}
        whole = below.key is not None and all(name in kept for name in below.key)
        return BoundRelation(
            relation=relation,
            fields=fields,
            unit=None if below.public else tuple(held[0] for held in holders),
            same=tuple(frozenset(held[1:]) for held in holders),
            key=tuple(kept[name] for name in below.key or ()) if whole else None,
            scope=below.scope,
            fan_out=below.fan_out,
        )

    def _check_windows(self, expression: Expression, below: BoundRelation) -> None:
        if below.public:
            return
        for window in walk(expression):
            if not isinstance(window, Window):
                continue
            parts = {bound_expression(part, below.fields) for part in window.partition}
            if not _names_unit(below, parts):
                raise not_per_unit(
                    window.span,
                    what="this window compares the rows of different people.",
                    do=_with_unit("add {unit} to its PARTITION BY", below),
                )

    def _aggregated(self, node: Aggregated) -> BoundRelation:
        return self._aggregated_over(node, self.bind(node.child))

    def _aggregated_over(self, node: Aggregated, below: BoundRelation) -> BoundRelation:
        keys: list[tuple[str | None, Expression]] = [
            (name, checked(value, below)[0]) for name, value in node.keys
        ]
        values = {value for _, value in keys}
        if not below.public and not _names_unit(below, values):
            if leads_to_a_unit(values, below):
                keys += [(None, Column(name)) for name in below.unit or ()]
            else:
                raise not_per_unit(
                    node.span,
                    what="this aggregation adds up the rows of different people without noise.",
                    do=_with_unit(
                        "add {unit} to its GROUP BY, or let the outermost SELECT aggregate", below
                    ),
                )
        fields: list[Field] = []
        bound_keys: list[Output] = []
        for name, value in keys:
            column = self.fan_out.fresh(name or str(value.name))  # type: ignore[union-attr]
            fields.append(Field(column=column, name=name, facts=facts_of(value, below.facts)))
            bound_keys.append((column, value))
        outputs = []
        for name, aggregate in node.outputs:
            value, kind = checked(aggregate, below)
            column = self.fan_out.fresh(name)
            facts = total_facts(value, below.facts, kind)  # type: ignore[arg-type]
            fields.append(Field(column=column, name=name, facts=facts))
            outputs.append((column, value))
        unit = tuple(
            next(column for column, value in bound_keys if _holds(value, same))
            for same in below.holders
        )
        relation = Aggregated(below.relation, tuple(bound_keys), tuple(outputs), span=node.span)  # type: ignore[arg-type]
        return BoundRelation(
            relation=relation,
            fields=tuple(fields),
            unit=None if below.public else unit,
            key=tuple(column for column, _ in bound_keys[: len(node.keys)]),
            scope=below.scope,
            fan_out=below.fan_out,
        )

    def _distinct(self, node: Distinct) -> BoundRelation:
        below = self.bind(node.child)
        seen: set[Expression] = {Column(item.column) for item in below.visible}
        apart = below.public or _names_unit(below, seen) or leads_to_a_unit(seen, below)
        if not apart:
            raise not_per_unit(
                node.span,
                what="this DISTINCT compares the rows of different people.",
                do=_with_unit("select {unit} too", below),
            )
        key = below.key or tuple(item.column for item in below.fields)
        return replace(below, relation=Distinct(below.relation, span=node.span), key=key)


def _names_unit(below: BoundRelation, values: set[Expression]) -> bool:
    """Whether the unit of a private relation is among some values."""
    held = (any(_holds(value, same) for value in values) for same in below.holders)
    return bool(below.unit) and all(held)


def _holds(value: Expression, holders: frozenset[str]) -> bool:
    return isinstance(value, Column) and value.name in holders


def _ends(column: ColumnFacts) -> tuple[Fraction | None, Fraction | None]:
    """Return the declared bounds of a column, or those of whole numbers that are listed for it."""
    listed = [value for value in column.categories or () if isinstance(value, int | Fraction)]
    if column.low is None and column.type.is_number and listed:
        return Fraction(min(listed)), Fraction(max(listed))
    return column.low, column.high


def _with_unit(text: str, below: BoundRelation) -> str:
    """Name the unit in a piece of advice; rows that are units have no name."""
    if not below.unit:
        return "ask it of the rows as they are: here each row is protected by itself."
    names = [_called(below, *held) for held in zip(below.unit, below.holders, strict=True)]
    return text.format(unit=", ".join(names)) + "."


def _called(below: BoundRelation, column: str, holders: frozenset[str]) -> str:
    """Say how a question can call a column of the unit, or where it comes from."""
    seen = [item for item in below.visible if item.column in holders]
    if seen:
        same = [
            item for item in below.visible if folded(str(item.name)) == folded(str(seen[0].name))
        ]
        return str(seen[0].name) if len(same) == 1 else name_in_question(seen[0])
    source = below.facts[column].source
    return column if source is None else f"{source.column} of {source.table}"
