"""The bounded aggregation of a request as one relational expression, in the dialect of any engine.

Trust: kernel (T2, T7).

Each statement has three named steps: ``rows`` (of the question, with their unit u0, u1, ...,
their group k0, k1, ... and what is measured in them, x0, x1, ...), ``bounded`` (what each unit adds
to the groups that it keeps), and their totals.  A group is kept by the order of its hash alone, and
so alike in all statements of a request.  Everything that is added up is an integer.

Public groups are tables, and ``rows`` has those of no other group.  Listed groups are one table:
their keys p0, p1, ..., and their position.  A product may be far larger than any table; it is one
table of values for each key.  Both hold each of their rows once, so a join keeps no row twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

from sqlglot import exp

from discreet.engines.dialect import GROUPS, VALUES, Dialect
from discreet.engines.expressions import Expressions, clamped
from discreet.engines.fragments import (
    Node,
    both,
    call,
    distinct_of,
    number,
    ordered,
    select,
    source_of,
)
from discreet.engines.relations import PrintScan, Relations
from discreet.query.expression_types import ColumnTypes, columns, typed
from discreet.query.expressions import Expression, Literal
from discreet.query.types import Type
from discreet.requests.engine_request import (
    CellSums,
    DistinctCount,
    DistinctSum,
    EngineRequest,
    Leaves,
    Total,
)
from discreet.requests.raw_totals import LARGEST_TOTAL
from discreet.requests.table_schema import KeyValue

__all__ = ["PUBLIC", "PublicTable", "Statements", "public_tables", "statements"]

PUBLIC: Final = "public groups"
"""The table of listed groups: their keys, and their place in the order."""
_SMALL: Final = 2**30
"""Integers of this size can be added up in 64 bits, as many as there are rows."""
_ONE: Final = Literal(1)


@final
@dataclass(frozen=True, slots=True)
class PublicTable:
    """A table of public values: the names and types of its columns, and its rows."""

    names: tuple[str, ...]
    types: tuple[Type, ...]
    rows: Sequence[tuple[KeyValue, ...]]


def public_tables(request: EngineRequest) -> dict[str, PublicTable]:
    """Return the tables of public groups that the statements of a request name.

    >>> from discreet.requests.engine_request import KeyColumn
    >>> from discreet.requests.table_schema import Product
    >>> from discreet.query.expressions import Column
    >>> from discreet.query.relations import Scan
    >>> keys = tuple(KeyColumn(name, Column(name), Type.INTEGER) for name in "ab")
    >>> scan = Scan("t", (("a", Type.INTEGER), ("b", Type.INTEGER)))
    >>> request = EngineRequest(relation=scan, unit=(), keys=keys, groups=None,
    ...                         public=Product(((1, 2), (7,))), measures=())
    >>> {name: table.rows for name, table in public_tables(request).items()}
    {'public values 0': [(1,), (2,)], 'public values 1': [(7,)]}
    """
    kinds = tuple(key.type for key in request.keys)
    if request.product is not None:
        return {
            f"public values {at}": PublicTable((f"p{at}",), (kind,), [(value,) for value in values])
            for at, (kind, values) in enumerate(zip(kinds, request.product.lists, strict=True))
        }
    if request.listed is None:
        return {}
    names = (*(f"p{at}" for at in range(len(kinds))), "position")
    rows = [(*group, at) for at, group in enumerate(request.listed)]
    return {PUBLIC: PublicTable(names, (*kinds, Type.INTEGER), rows)}


@final
@dataclass(frozen=True, slots=True)
class Statements:
    """The statements of a request: one for all totals, and one for every other measure, by name."""

    request: EngineRequest
    totals: exp.Select
    distinct: Mapping[str, exp.Select]
    leaves: Mapping[str, exp.Select]


def statements(
    request: EngineRequest,
    dialect: Dialect,
    scan: PrintScan,
    *,
    portable: bool = False,
    given: frozenset[str] = frozenset(),
) -> Statements:
    """Build the statements of a request.

    Args:
        request: what is measured.
        dialect: the SQL of the engine.
        scan: how a table is read.
        portable: whether units keep what they keep in the reference engine.
        given: the tables of public groups that are there already, and not written in statements.
    """

    def build(make: Callable[[_Builder], exp.Select]) -> exp.Select:
        builder = _Builder(request, dialect, scan, portable, given)
        return builder.finished(make(builder))

    measures = request.measures
    return Statements(
        request,
        totals=build(_Builder.totals),
        distinct={
            m.name: build(lambda b, m=m: b.distinct(m))  # type: ignore[misc]
            for m in measures
            if isinstance(m, DistinctCount | DistinctSum)
        },
        leaves={
            m.name: build(
                lambda b, m=m: b.leaves(m) if isinstance(m, Leaves) else b.cell_sums(m)  # type: ignore[misc]
            )
            for m in measures
            if isinstance(m, Leaves | CellSums)
        },
    )


class _Builder:
    """One statement: its tables by name, in the order in which they are read."""

    __slots__ = (
        "column",
        "dialect",
        "keys",
        "named",
        "portable",
        "relations",
        "request",
        "sql",
        "tables",
        "types",
        "unit",
    )

    def __init__(
        self,
        request: EngineRequest,
        dialect: Dialect,
        scan: PrintScan,
        portable: bool,  # noqa: FBT001
        given: frozenset[str],
    ) -> None:
        self.request, self.dialect, self.portable = request, dialect, portable
        self.sql, self.column, self.named = dialect.sql, dialect.column, dialect.named
        self.types = ColumnTypes(columns(request.relation))
        self.relations = Relations(dialect, scan)
        self.unit = [f"u{at}" for at in range(len(request.unit))]
        self.keys = [f"k{at}" for at in range(len(request.keys))]
        self.tables: dict[str, exp.Query] = {
            name: dialect.values(table.names, table.types, table.rows)
            for name, table in public_tables(request).items()
            if name not in given
        }

    def finished(self, last: exp.Select) -> exp.Select:
        """Return the statement with its tables."""
        listed = [
            exp.CTE(this=each, alias=exp.TableAlias(this=exp.to_identifier(name, quoted=True)))
            for name, each in _in_order(self.tables, self.relations.tables)
        ]
        last.set("with_", exp.With(expressions=listed))
        return last

    # --- rows ---------------------------------------------------------------------------------

    def rows(self, measured: Sequence[Expression]) -> str:
        """Name the rows that count: their unit, their group, and what is measured in them."""
        print_, request = Expressions(self.dialect, self.types), self.request
        shown = [
            self.named(print_.node(part), name)
            for name, part in zip(self.unit, request.unit, strict=True)
        ]
        for name, key in zip(self.keys, request.keys, strict=True):
            node = print_.node(key.expression)
            if key.type is Type.FLOAT:  # the sign of a zero must not be seen
                node = self.sql(":x + :zero", x=node, zero=self.dialect.literal(0, Type.FLOAT))
            shown.append(self.named(node, name))
        values = [f"x{at}" for at in range(len(measured))]
        shown += [
            self.named(print_.node(value), name)
            for name, value in zip(values, measured, strict=True)
        ]
        found = select(shown or [self.named(number(1), "one")], self.relations(request.relation))
        there = [self.sql("NOT :x IS NULL", x=self.column(name)) for name in self.unit]
        joins = self._public_joins()
        if there or joins:
            outputs = self._columns([*self.unit, *self.keys, *values]) or [
                self.named(number(1), "one")
            ]
            found = select(outputs, found, where=there)
            found.set("joins", joins)
        self.tables["rows"] = found
        return "rows"

    def _public_joins(self) -> list[exp.Join]:
        """Return that the group is public; of a product, that the value of every key is."""
        request = self.request
        if request.product is not None:
            return [
                exp.Join(this=source_of(f"public values {at}"), on=self._same(at).leaf)
                for at in range(len(self.keys))
            ]
        if request.listed is None:
            return []
        return [exp.Join(this=source_of(PUBLIC), on=self._same_group().leaf)]

    def _same(self, at: int) -> Node:
        """Return that one key is the public one; NULL is like NULL."""
        product, listed = self.request.product, self.request.listed
        values = [group[at] for group in listed or ()] if product is None else product.lists[at]
        key, other = self.column(f"k{at}"), self.column(f"p{at}")
        if None in values:
            return self.dialect.op("same", x=key, y=other)
        return self.sql(":x = :y", x=key, y=other)

    def _same_group(self) -> Node:
        return both([self._same(at) for at in range(len(self.keys))])

    # --- what a unit keeps --------------------------------------------------------------------

    def place(self, purpose: str, names: Sequence[str], more: Mapping[str, Type]) -> Node:
        """Return where values come in the order of hashes."""
        return self.dialect.place(purpose, self._cell(names, more), portable=self.portable)

    def _cell(self, names: Sequence[str], more: Mapping[str, Type]) -> list[tuple[Node, Type]]:
        units = [typed(part, self.types) for part in self.request.unit]
        kinds = [*units, *(key.type for key in self.request.keys)]
        known = {**dict(zip([*self.unit, *self.keys], kinds, strict=True)), **more}
        return [(self.column(name), known[name]) for name in names]

    def keep_groups(self, cells: exp.Select, values: Sequence[str], *, rank: str) -> exp.Select:
        """Return those of the cells whose group the unit keeps.

        ``rank`` is ROW_NUMBER if each group is one cell, and DENSE_RANK if it is several.
        """
        if not self.request.chooses:
            return cells
        own = [*self.unit, *self.keys]
        hashed = select(
            [*self._columns([*own, *values]), self.named(self.place(GROUPS, own, {}), "h")], cells
        )
        order = [ordered(self.column("h")), *self._by_key()]
        place = self.dialect.window(call(rank, []), self._columns(self.unit), order)
        ranked = select([*self._columns([*own, *values]), self.named(place, "place")], hashed)
        last = self.sql(":x <= :most", x=self.column("place"), most=self.request.groups or 0)
        return select(self._columns([*own, *values]), ranked, where=[last])

    def _by_key(self) -> list[exp.Expr]:
        return [ordered(self.column(key)) for key in self.keys]

    # --- totals -------------------------------------------------------------------------------

    def totals(self) -> exp.Select:
        """Return the keys, the number of units, and the totals of every group."""
        totals = self.request.totals
        places: dict[Expression, int] = {}
        at = [
            None if total.row == _ONE else places.setdefault(total.row, len(places))
            for total in totals
        ]
        rows = self.rows(list(places))
        if self.unit:
            self._bounded_totals(rows, list(zip(totals, at, strict=True)), list(places))
        else:
            added = [
                self.named(
                    self._clamped(total, number(1) if x is None else self.column(f"x{x}")),
                    f"t{index}",
                )
                for index, (total, x) in enumerate(zip(totals, at, strict=True))
            ]
            shown = [*self._columns(self.keys), *added] or [self.named(number(1), "one")]
            self.tables["bounded"] = self._within_counts(select(shown, rows))
        names = [f"t{index}" for index in range(len(totals))]
        sums = [
            self.named(self._answer(self._sum(self.column(name), total.most)), name)
            for name, total in zip(names, totals, strict=True)
        ]
        units = self.named(self.dialect.cast(self.sql("COUNT(*)"), Type.INTEGER), "units")
        by = self._columns(self.keys)
        groups = select([*self._columns(self.keys), units, *sums], "bounded", by=by)
        return self._in_order(groups, ["units", *names])

    def _bounded_totals(
        self, rows: str, totals: Sequence[tuple[Total, int | None]], measured: Sequence[Expression]
    ) -> None:
        """Name what each unit adds to each group that it keeps, and before that its sums there."""
        own, capped = [*self.unit, *self.keys], {x for total, x in totals if total.rows is not None}
        sums, print_ = {"n": self.sql("COUNT(*)")}, Expressions(self.dialect, self.types)
        for x, row in enumerate(measured):
            ends = print_.bounds(row)
            most = None if ends is None else int(max(map(abs, ends)))
            sums[f"s{x}"] = self._sum(self.column(f"x{x}"), most)
            if x in capped:
                sums[f"n{x}"] = self.sql("COUNT(:x)", x=self.column(f"x{x}"))
        names, added = [*sums], [self.named(each, name) for name, each in sums.items()]
        cells = select([*self._columns(own), *added], rows, by=self._columns(own))
        kept = self.keep_groups(cells, names, rank="ROW_NUMBER")
        means = [
            self.named(self._mean(x, total.rows), f"m{index}")
            for index, (total, x) in enumerate(totals)
            if total.rows is not None and x is not None
        ]
        if means:
            kept = select([*self._columns([*self.keys, *names]), *means], kept)
        added = [
            self.named(self._clamped(total, self._summed(total, x, index)), f"t{index}")
            for index, (total, x) in enumerate(totals)
        ]
        shown = [*self._columns(self.keys), *added] or [self.named(number(1), "one")]
        self.tables["bounded"] = self._within_counts(select(shown, kept))

    def _within_counts(self, added: exp.Select) -> exp.Select:
        """Clamp what a unit adds to what its count allows for, counts first."""
        totals = self.request.totals
        places = {total.name: at for at, total in enumerate(totals)}
        depths: list[int] = []
        for total in totals:
            depths.append(0 if total.per is None else depths[places[total.per]] + 1)
        for depth in range(1, max(depths, default=0) + 1):
            shown = [
                self.named(self._per(at, total, places), f"t{at}")
                if depths[at] == depth
                else self.column(f"t{at}")
                for at, total in enumerate(totals)
            ]
            added = select([*self._columns(self.keys), *shown], added)
        return added

    def _per(self, at: int, total: Total, places: Mapping[str, int]) -> Node:
        """Return a total within so much for each row that its count counts."""
        assert total.per is not None  # noqa: S101 (that is what is clamped)
        count = places[total.per]
        c, most = self.column(f"t{count}"), self.request.totals[count].high
        low, high = (self.sql(":c * :k", c=c, k=end // most) for end in (total.low, total.high))
        return clamped(self.dialect, self.column(f"t{at}"), low, high)

    def _columns(self, names: Iterable[str]) -> list[Node]:
        return [self.column(name) for name in names]

    def _summed(self, total: Total, x: int | None, index: int) -> Node:
        """Return the sum of a unit's rows in a group, of not more rows than may count."""
        if x is not None:
            return self.column(f"s{x}" if total.rows is None else f"m{index}")
        n = self.column("n")
        if total.rows is None:
            return n
        return self.sql("CASE WHEN :n > :most THEN :most ELSE :n END", n=n, most=total.rows)

    def _sum(self, node: Node, most: int | None) -> Node:
        """Return an exact sum; 64 bits hold it if all numbers are small."""
        if most is not None and most <= _SMALL:
            return self.sql("SUM(:x)", x=node)
        return self.dialect.exact_sum(node)

    def _mean(self, x: int, most: int) -> Node:
        """Return floor(sum rows / count); the quotient goes first, so that nothing overflows."""
        wide, quotient = self._wide, self._quotient
        sums, count, rows = (
            wide(self.column(f"s{x}")),
            wide(self.column(f"n{x}")),
            wide(number(most)),
        )
        rest = self.sql("(((:s % :n) + :n) % :n)", s=sums, n=count)
        scaled = self.sql(
            ":whole * :rows + :part",
            whole=quotient(self.sql(":s - :rest", s=sums, rest=rest), count),
            rows=rows,
            part=quotient(self.sql(":rest * :rows", rest=rest, rows=rows), count),
        )
        return self.sql(
            "CASE WHEN :n > :most THEN :scaled ELSE :s END",
            n=self.column(f"n{x}"),
            most=most,
            scaled=scaled,
            s=sums,
        )

    def _wide(self, node: Node) -> Node:
        return self.dialect.op("wide", x=node)

    def _quotient(self, x: Node, y: Node) -> Node:
        return self.dialect.op("quotient", x=x, y=y)

    def _clamped(self, total: Total, node: Node) -> Node:
        """Return a number within the bounds of a total; NULL adds nothing."""
        return self._within(node, total.low, total.high)

    def _within(self, node: Node, low: int, high: int) -> Node:
        inside = clamped(self.dialect, node, number(low), number(high))
        return self.dialect.op("narrow", x=self.sql("COALESCE(:x, 0)", x=inside))

    def _answer(self, sums: Node) -> Node:
        """Return a sum over units, clamped to what noise can be added to."""
        inside = self.sql(
            "LEAST(GREATEST(COALESCE(:x, 0), :low), :high)",
            x=sums,
            low=-LARGEST_TOTAL,
            high=LARGEST_TOTAL,
        )
        return self.dialect.op("narrow", x=inside)

    def _in_order(self, groups: exp.Select, values: Sequence[str]) -> exp.Select:
        """Return the answers of groups in their order; listed groups that are empty have zeros."""
        if self.request.listed is None:
            found = select(self._columns([*self.keys, *values]), groups)
            if self.keys:
                found.set("order", exp.Order(expressions=self._by_key()))
            return found
        zeros = [
            self.named(self.sql("COALESCE(:x, 0)", x=self.column(name)), name) for name in values
        ]
        found = select(zeros, PUBLIC, order=[ordered(self.column("position"))])
        join = exp.Join(this=source_of(groups), side="LEFT", on=self._same_group().leaf)
        found.set("joins", [join])
        return found

    # --- different values ---------------------------------------------------------------------

    def distinct(self, measure: DistinctCount | DistinctSum) -> exp.Select:
        """Return the keys and the number, or the sum, of different values of every group, t0."""
        if isinstance(measure, DistinctSum):
            self.rows([measure.row])
            kind, x = (
                Type.INTEGER,
                clamped(self.dialect, self.column("x0"), number(measure.low), number(measure.high)),
            )
            x = self.dialect.op("narrow", x=x)
        else:
            self.rows([measure.expression])
            kind, x = typed(measure.expression, self.types), self.column("x0")
            if kind is Type.FLOAT:
                x = self.sql(":x + :zero", x=x, zero=self.dialect.literal(0, Type.FLOAT))
        own = [*self.unit, *self.keys]
        shown = select([*self._columns(own), self.named(x, "x0")], "rows")
        if self.unit:
            by = [*own, "x0"]
            values = select(self._columns(by), shown, by=self._columns(by))
            kept = self.keep_groups(values, ["x0"], rank="DENSE_RANK")
            x0 = self.column("x0")
            last = self.sql("CASE WHEN :x IS NULL THEN 1 ELSE 0 END", x=x0)
            hashed = self.place(VALUES, by, {"x0": kind})
            place = self.dialect.window(
                call("ROW_NUMBER", []),
                self._columns(own),
                [ordered(last), ordered(hashed), ordered(x0)],
            )
            numbered = select(
                [*self._columns([*self.keys, "x0"]), self.named(place, "place")], kept
            )
            first = self.sql(
                "CASE WHEN :place <= :most THEN :x END",
                place=self.column("place"),
                most=measure.most,
                x=self.column("x0"),
            )
            shown = select([*self._columns(self.keys), self.named(first, "x0")], numbered)
        self.tables["bounded"] = shown
        total = self.dialect.cast(self.sql("COUNT(DISTINCT :x)", x=self.column("x0")), Type.INTEGER)
        if isinstance(measure, DistinctSum):
            once = distinct_of(self._wide(self.column("x0")))
            total = self._answer(self.dialect.wide_sum(once))
        by_group = select(
            [*self._columns(self.keys), self.named(total, "t0")],
            "bounded",
            by=self._columns(self.keys),
        )
        return self._in_order(by_group, ["t0"])

    # --- leaves and cells ---------------------------------------------------------------------

    def leaves(self, measure: Leaves) -> exp.Select:
        """Return the leaves that are not empty: number of the group, leaf, rows."""
        self.rows([measure.row])
        own = [*self.unit, *self.keys]
        placed = select([*self._columns(own), self._leaf(measure.leaves)], "rows")
        by = [*own, "leaf"]
        counted = select(
            [*self._columns(by), self.named(self.sql("COUNT(*)"), "c")],
            placed,
            by=self._columns(by),
        )
        if self.unit:
            counted = self._thinned(
                measure, self.keep_groups(counted, ["leaf", "c"], rank="DENSE_RANK")
            )
        return self._by_leaf(counted, _SMALL, ":c > 0")

    def _leaf(self, leaves: int) -> Node:
        x = self.column("x0")
        inside = self.sql("CASE WHEN :x BETWEEN 0 AND :last THEN :x END", x=x, last=leaves - 1)
        return self.named(inside, "leaf")

    def _thinned(self, measure: Leaves, cells: exp.Select) -> exp.Select:
        """Return how many rows of each leaf of each unit stay."""
        own, wide = [*self.unit, *self.keys], self._wide
        inside = self.sql(
            "CASE WHEN NOT :leaf IS NULL THEN :c END", leaf=self.column("leaf"), c=self.column("c")
        )
        counted = select([*self._columns([*own, "leaf", "c"]), self.named(inside, "i")], cells)
        up_to = [ordered(self.column("leaf"))]
        total, by = self.sql("SUM(:i)", i=self.column("i")), self._columns(own)
        sums = [
            self.named(self.dialect.window(total, by), "n"),
            self.named(self.dialect.window(total, by, up_to), "upto"),
        ]
        summed = select([*self._columns([*own, "leaf", "c"]), *sums], counted)
        below = self.dialect.below(self.column("n"), self._cell(own, {}), portable=self.portable)
        over = self.sql(":n > :most", n=self.column("n"), most=measure.rows)
        start = self.sql("CASE WHEN :over THEN :below END", over=over, below=below)
        started = select(
            [*self._columns([*self.keys, "leaf", "c", "n", "upto"]), self.named(start, "start")],
            summed,
        )
        upto, rows, c = (
            wide(self.column("upto")),
            wide(number(measure.rows)),
            wide(self.column("c")),
        )
        n = wide(self.column("n"))

        def share(end: Node) -> Node:
            whole = self.sql(
                "(:end) * :rows + :start", end=end, rows=rows, start=wide(self.column("start"))
            )
            return self._quotient(whole, n)

        stay = self.sql(
            "CASE WHEN :over AND NOT :leaf IS NULL THEN :after - :before ELSE :c END",
            over=over,
            leaf=self.column("leaf"),
            c=self.column("c"),
            after=share(upto),
            before=share(self.sql(":upto - :c", upto=upto, c=c)),
        )
        return select(
            [
                *self._columns([*self.keys, "leaf"]),
                self.named(self.dialect.op("narrow", x=stay), "c"),
            ],
            started,
        )

    def cell_sums(self, measure: CellSums) -> exp.Select:
        """Return the cells whose sums are not zero: number of the group, cell, sum."""
        self.rows([measure.row, measure.value])
        own = [*self.unit, *self.keys]
        value = self._within(self.column("x1"), measure.low, measure.high)
        placed = select(
            [*self._columns(own), self._leaf(measure.cells), self.named(value, "v")], "rows"
        )
        by = [*own, "leaf"]
        most = max(abs(measure.low), abs(measure.high))
        sums = [
            self.named(self._sum(self.column("v"), most), "c"),
            self.named(self.sql("COUNT(*)"), "n"),
        ]
        added = select([*self._columns(by), *sums], placed, by=self._columns(by))
        if self.unit:
            kept = self.keep_groups(added, ["leaf", "c", "n"], rank="DENSE_RANK")
            added = self._scaled(measure, kept)
        return self._by_leaf(added, None, ":c <> 0")

    def _scaled(self, measure: CellSums, cells: exp.Select) -> exp.Select:
        """Return what is left of the sums of each unit: a share of rows, rounded toward zero."""
        own = [*self.unit, *self.keys]
        there = self.sql(
            "CASE WHEN NOT :leaf IS NULL THEN :n END", leaf=self.column("leaf"), n=self.column("n")
        )
        counted = select([*self._columns([*own, "leaf", "c"]), self.named(there, "i")], cells)
        total = self.sql("SUM(:i)", i=self.column("i"))
        inside = self.dialect.window(total, self._columns(own))
        summed = select(
            [*self._columns([*self.keys, "leaf", "c"]), self.named(inside, "inside")], counted
        )
        s, n, most = (
            self._wide(each)
            for each in (self.column("c"), self.column("inside"), number(measure.rows))
        )
        down = self._quotient(self.sql("(0 - :s) * :most", s=s, most=most), n)
        share = self.sql(
            "CASE WHEN :s < 0 THEN 0 - :down ELSE :up END",
            s=s,
            down=down,
            up=self._quotient(self.sql(":s * :most", s=s, most=most), n),
        )
        kept = self.sql(
            "CASE WHEN NOT :leaf IS NULL AND :n > :most THEN :share ELSE :s END",
            leaf=self.column("leaf"),
            n=self.column("inside"),
            most=measure.rows,
            share=share,
            s=self.column("c"),
        )
        return select(
            [
                *self._columns([*self.keys, "leaf"]),
                self.named(self.dialect.op("narrow", x=kept), "c"),
            ],
            summed,
        )

    def _by_leaf(self, added: exp.Select, most: int | None, shown: str) -> exp.Select:
        """Return the sums of leaves over units, with the number of each group."""
        by = [*self.keys, "leaf"]
        self.tables["bounded"] = added
        total = self.named(self._answer(self._sum(self.column("c"), most)), "c")
        summed = select([*self._columns(by), total], "bounded", by=self._columns(by))
        g: Node = self.dialect.literal(0, Type.INTEGER)
        if self.request.listed is not None:
            numbered = select(
                [self.named(self.column("position"), "g"), *self._columns(["leaf", "c"])], summed
            )
            numbered.set("joins", self._public_joins())
        else:
            if self.keys:
                rank = self.dialect.window(call("DENSE_RANK", []), order=self._by_key())
                g = self.dialect.cast(self.sql(":rank - 1", rank=rank), Type.INTEGER)
            numbered = select([self.named(g, "g"), *self._columns(["leaf", "c"])], summed)
        there = self.sql("NOT :leaf IS NULL", leaf=self.column("leaf"))
        return select(
            self._columns(["g", "leaf", "c"]),
            numbered,
            where=[there, self.sql(shown, c=self.column("c"))],
            order=[ordered(self.column("g")), ordered(self.column("leaf"))],
        )


def _in_order(
    tables: Mapping[str, exp.Query], read: Mapping[str, exp.Query]
) -> list[tuple[str, exp.Query]]:
    """Return tables after those that they read: ``rows`` reads those of the relation."""
    found = []
    for name, each in tables.items():
        if name == "rows":
            found += list(read.items())
        found.append((name, each))
    return found
