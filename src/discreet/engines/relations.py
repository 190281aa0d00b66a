"""Bound relations as SQL: every node is a SELECT over those below it.

Trust: kernel (T7).

Definition.  Rows that agree in the order of a window come in the order of their columns; for a text
of more than ``LONG`` bytes its MD5 in hexadecimal counts, so that rows are sorted by short texts.

A sum of floats within a question must not depend on the order of rows: what a unit adds to an
answer follows from its own rows, in whatever order an engine meets them.
Definition.  Let m be the largest absolute value, and s the least power of 2**16 above it.  Every
value is rounded down to a multiple of s 2**-80, the multiples are added up exactly, and the sum is
rounded to a float.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, assert_never, final

from sqlglot import exp

from discreet.engines.dialect import Dialect
from discreet.engines.expressions import Expressions, kind_of
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
from discreet.query.expression_types import ColumnTypes, columns, typed
from discreet.query.expressions import (
    Aggregate,
    Column,
    Expression,
    Order,
    Window,
    transformed,
    walk,
)
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
)
from discreet.query.types import Type

LONG: Final = 64
PrintScan = Callable[[Scan], exp.Select]
"""How a table is read: a SELECT of the columns of a scan, as values of our types."""

_SIDES: Final = {"inner": None, "left": "LEFT", "right": "RIGHT", "full": "FULL"}
"""The words for each kind of join; no other word is printed."""
_RANKS: Final = {
    each: each for each in ("ROW_NUMBER", "RANK", "DENSE_RANK", "FIRST_VALUE", "LAG", "LEAD")
}
_RANKED: Final = frozenset({"ROW_NUMBER", "FIRST_VALUE", "LAG", "LEAD"})
_WINDOWS: Final = frozenset({*_RANKED, "COUNT", "SUM", "MIN", "MAX", "RANK", "DENSE_RANK"})
_SCALE: Final = 2**80


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
    used = {name.casefold() for name in taken}
    free = (name for at in range(len(used) + len(windows)) if (name := f"window {at}") not in used)
    names = dict(zip(windows, free, strict=False))

    def replaced(node: Expression) -> Expression | None:
        return Column(names[node]) if isinstance(node, Window) else None

    rest = tuple((name, transformed(value, replaced)) for name, value in outputs)
    return tuple((name, window) for window, name in names.items()), rest


@final
class Relations:
    """Prints relations of one statement, and collects what it reads more than once."""

    __slots__ = ("_column", "_dialect", "_named", "_scan", "_sql", "tables")

    def __init__(self, dialect: Dialect, scan: PrintScan) -> None:
        """Take a dialect, and how tables are read."""
        self._dialect = dialect
        self._sql, self._column, self._named = dialect.sql, dialect.column, dialect.named
        self._scan = scan
        self.tables: dict[str, exp.Select] = {}
        """Tables of the statement by name, to stand in its WITH."""

    def __call__(self, node: Relation) -> exp.Select:  # noqa: C901, PLR0911, PLR0912
        """Return a relation as one SELECT of its columns."""
        match node:
            case Scan():
                return self._scan(node)
            case Filter():
                return self._filtered(node)
            case Project():
                return self._projected(node)
            case Join():
                return self._joined(node)
            case SemiJoin():
                return self._semi_joined(node)
            case Aggregated():
                return self._aggregated(node)
            case Distinct(child=child):
                found = select(self._all(child), self(child))
                found.set("distinct", exp.Distinct())
                return found
            case UnionAll(parts=parts):
                union: exp.Expr = self(parts[0])
                for part in parts[1:]:
                    union = exp.Union(this=union, expression=self(part), distinct=False)
                return select(self._all(node), union)
            case BoundedUnits():
                return self._bounded(node)
            case Named(child=child):
                return self(child)
            case Table() | Valued():
                message = "a relation is printed only when it is bound"
                raise TypeError(message)
            case _:
                assert_never(node)

    def _filtered(self, node: Filter) -> exp.Select:
        """Return filters, one above the other, as one."""
        below: Relation = node
        predicates = []
        while isinstance(below, Filter):
            predicates.append(below.predicate)
            below = below.child
        print_ = Expressions(self._dialect, ColumnTypes(columns(below)))
        where = [print_.node(each, Type.BOOLEAN) for each in reversed(predicates)]
        return select(self._all(below), self(below), where=where)

    def _projected(self, node: Project) -> exp.Select:
        """Return a projection; windows are computed one level deeper, under names of their own."""
        types, below = ColumnTypes(columns(node.child)), self(node.child)
        windows, outputs = without_windows(node.outputs, types)
        if windows:
            added = [self._named(self._window(each, types), name) for name, each in windows]
            below = select([*self._all(node.child), *added], below)
            types = ColumnTypes((*types.items(), *columns(Project(node.child, windows))))
        print_ = Expressions(self._dialect, types)
        return select([self._named(print_.node(value), name) for name, value in outputs], below)

    def _all(self, node: Relation) -> list[Node]:
        """Return the columns of a relation; a table of none still has its rows."""
        found = [self._column(name) for name, _ in columns(node)]
        return found or [self._named(number(1), "one")]

    def _joined(self, node: Join) -> exp.Select:
        left, right = (
            source_of(self(side), each) for side, each in ((node.left, "l"), (node.right, "r"))
        )
        found = select(self._all(node), left)
        if node.kind == "cross":
            found.set("joins", [exp.Join(this=right, kind="CROSS")])
            return found
        if node.on is None:
            message = "a join is printed only when its condition is bound"
            raise TypeError(message)
        on = Expressions(self._dialect, ColumnTypes(columns(node))).node(node.on, Type.BOOLEAN)
        side = _SIDES[node.kind]
        found.set("joins", [exp.Join(this=right, side=side, on=on.leaf)])
        return found

    def _semi_joined(self, node: SemiJoin) -> exp.Select:
        if node.compared is not None:
            message = "a semi join is printed only when its condition is bound"
            raise TypeError(message)
        types = ColumnTypes((*columns(node.left), *columns(node.right)))
        conditions = [] if node.on is None else [Expressions(self._dialect, types).node(node.on)]
        on = both(conditions)
        left, right = source_of(self(node.left), "l"), source_of(self(node.right), "r")
        return self._dialect.semi_join(self._all(node.left), left, right, on, anti=node.anti)

    # --- aggregates ---------------------------------------------------------------------------

    def _aggregated(self, node: Aggregated) -> exp.Select:
        types, below = ColumnTypes(columns(node.child)), self(node.child)
        print_ = Expressions(self._dialect, types)
        keys = [(name, print_.node(value)) for name, value in node.keys]
        roots: dict[int, str] = {}
        for place, (_, value) in enumerate(node.outputs):
            if _is_float_sum(value, types):
                roots[place] = f"root {place}"
        if roots and not self._dialect.has("FLOAT SUM"):
            added = [
                self._named(
                    self._root(node.outputs[place][1], types, [key for _, key in keys]), name
                )
                for place, name in roots.items()
            ]
            below = select([*self._all(node.child), *added], below)
        outputs = [
            self._named(
                self._float_sum(value, types, roots[place])
                if place in roots
                else self._aggregate(value, types),
                name,
            )
            for place, (name, value) in enumerate(node.outputs)
        ]
        shown = [self._named(key, name) for name, key in keys]
        return select([*shown, *outputs], below, by=[key for _, key in keys])

    def _argument(self, node: Aggregate, types: ColumnTypes) -> Node:
        """Return what a row adds, NULL if it does not count."""
        print_ = Expressions(self._dialect, types)
        value = number(1) if node.argument is None else print_.node(node.argument)
        if node.where is None:
            return value
        where = print_.node(node.where, Type.BOOLEAN)
        return self._sql("CASE WHEN :there THEN :x END", there=where, x=value)

    def _aggregate(self, node: Aggregate, types: ColumnTypes) -> Node:
        value = self._argument(node, types)
        if node.distinct:
            value = distinct_of(value)
        kind = None if node.argument is None else kind_of(node.argument, types)
        return self._fitting(self._plain(node.function, [value], kind), node.function)

    def _plain(self, function: str, arguments: Sequence[Node], kind: Type | None) -> Node:
        if function == "COUNT":
            return call("COUNT", arguments) if arguments else self._sql("COUNT(*)")
        if function == "SUM":
            return self._dialect.exact_sum(arguments[0])
        if function in {"MIN", "MAX"}:
            of = f"{function.lower()} BOOLEAN" if kind is Type.BOOLEAN else function.lower()
            return self._dialect.op(of, x=arguments[0])
        return call(_RANKS[function], arguments)

    def _fitting(self, node: Node, function: str) -> Node:
        """Turn an exact sum into 64 bits, or NULL."""
        if function != "SUM":
            return node
        return self._dialect.once([node], lambda x: self._dialect.op("fitting", x=x))

    def _root(self, node: Aggregate, types: ColumnTypes, keys: Sequence[Node]) -> Node:
        largest = self._sql("MAX(ABS(:x))", x=self._argument(node, types))
        return self._dialect.op("root", x=self._dialect.window(largest, keys))

    def _float_sum(self, node: Aggregate, types: ColumnTypes, root: str) -> Node:
        """Return a sum of floats, given the column that holds the root of 1 / s."""
        value = self._argument(node, types)
        dialect = self._dialect
        if dialect.has("FLOAT SUM"):
            value = dialect.decimal(value)
            distinct = distinct_of(value) if node.distinct else value
            return dialect.once(
                [dialect.op("FLOAT SUM", x=distinct)], lambda x: dialect.op("FLOAT of SUM", x=x)
            )
        scale, r = dialect.literal(_SCALE, Type.FLOAT), self._column(root)
        part: Node = dialect.op(
            "wide", x=self._sql("FLOOR(:x * :r * :r * :s)", x=value, r=r, s=scale)
        )
        if node.distinct:
            part = distinct_of(part)
        added = self._sql(
            ":x / :s / MIN(:r) / MIN(:r)",
            x=dialect.cast(dialect.wide_sum(part), Type.FLOAT),
            s=scale,
            r=r,
        )
        largest = dialect.literal(2**1024 - 2**971, Type.FLOAT)
        return dialect.once([added], lambda x: dialect.op("finite", x=x, largest=largest))

    # --- windows ------------------------------------------------------------------------------

    def _window(self, node: Window, types: ColumnTypes) -> Node:
        """Return a window; a tie is broken by all columns, if it could be seen."""
        if node.function not in _WINDOWS:
            raise KeyError(node.function)
        print_ = Expressions(self._dialect, types)
        order = [self._ordered(item, print_) for item in node.order]
        if node.function in _RANKED:
            order += [ordered(self._tie_breaker(*each)) for each in types.items()]
        kind = typed(node.arguments[0], types) if node.arguments else None
        function = self._plain(node.function, [print_.node(part) for part in node.arguments], kind)
        if node.function in {"LAG", "LEAD"} and not self._dialect.has("LAG"):
            self._dialect.op("LAG")
        window = self._dialect.window(
            function, [print_.node(part) for part in node.partition], order
        )
        return self._fitting(window, node.function)

    def _ordered(self, item: Order, print_: Expressions) -> exp.Expr:
        return ordered(
            print_.node(item.expression), descending=item.descending, nulls_first=item.nulls_first
        )

    def _tie_breaker(self, name: str, kind: Type) -> Node:
        node = self._column(name)
        if kind is not Type.TEXT:
            return node
        size, hashed = self._dialect.op("bytes", x=node), self._dialect.op("md5", x=node)
        return self._sql(
            "CASE WHEN :size <= :long THEN :x ELSE :hashed END",
            size=size,
            long=LONG,
            x=node,
            hashed=hashed,
        )

    def _bounded(self, node: BoundedUnits) -> exp.Select:
        """Return the rows of all units but the large ones, which a streamed aggregation finds.

        There are few of these, so the join holds next to nothing.
        """
        print_ = Expressions(self._dialect, ColumnTypes(columns(node.child)))
        below = self(node.child)
        rows = f"rows of units {len(self.tables)}"
        self.tables[rows] = below
        unit = [self._column(name) for name in node.unit]
        large = self._sql("COUNT(*) > :rows", rows=node.rows)
        sizes = [
            self._sql(
                "COALESCE(SUM(:size), 0)", size=self._dialect.op("bytes", x=print_.node(value))
            )
            for value in node.texts
        ]
        if sizes:
            total = sizes[0]
            for size in sizes[1:]:
                total = self._sql(":x + :y", x=total, y=size)
            large = self._sql(":x OR :size > :most", x=large, size=total, most=node.text_bytes)
        renamed = [self._named(self._column(name), f"{name} of a large unit") for name in node.unit]
        units = select(renamed, rows, by=unit)
        units.set("having", exp.Having(this=large.leaf))
        same = [
            self._sql(":x = :y", x=self._column(name), y=self._column(f"{name} of a large unit"))
            for name in node.unit
        ]
        there = [self._sql("NOT :x IS NULL", x=self._column(name)) for name in node.unit]
        kept = self._dialect.semi_join(
            self._all(node.child), source_of(rows), source_of(units, "r"), both(same), anti=True
        )
        return select(self._all(node.child), kept, where=there)


def _is_float_sum(node: Aggregate, types: Mapping[str, Type]) -> bool:
    added = node.function == "SUM" and node.argument is not None
    return added and kind_of(node.argument, types) is Type.FLOAT  # type: ignore[arg-type]
