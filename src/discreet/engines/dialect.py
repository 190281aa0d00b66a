"""A dialect: how the values of questions are computed in the SQL of one engine, without failing.

Trust: kernel (T2, T7).

A statement is a tree of sqlglot, built from templates: names and literals enter as nodes, never as
text, so none can break out of its quotes.  Each engine fills one table of templates.  An operation
that its table lacks is refused before anything is charged.

No value makes a template fail: what overflows, has the wrong form or does not fit is NULL.
Definition.  A FLOAT is *open* if its SQL may give an infinity or NaN where our value is NULL.
Sums, differences, products, roundings and roots of open values are open, and so are quotients with
an open numerator: no infinity becomes a finite number on the way.  So one check at the top is
enough.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar, Final

from sqlglot import exp, parse_one

from discreet.errors import UnsupportedSQL
from discreet.noise import SYSTEM
from discreet.query.types import Scalar, Type

Node = exp.Expr
SALT: Final = f"salt {SYSTEM.bits(128):032x}"
"""What stands for the salt in a statement until it runs; no question can hold it."""
_SHORT: Final = 60
"""Nodes of a value that may be written several times."""
_DEEPEST: Final = 20_000
_LOOSE: Final = (exp.Binary, exp.Not, exp.Neg, exp.Between, exp.In)


@cache
def _template(text: str, dialect: str) -> Node:
    return parse_one(text, dialect=dialect)


@cache
def _type(text: str, dialect: str) -> Node:
    return exp.DataType.build(text, dialect=dialect)


def sql(text: str, dialect: str = "", /, **parts: Node | str | int) -> Node:
    """Return a template with nodes in the places of ``:names``.

    >>> sql("CASE WHEN :x > 0 THEN :x END", x=column("beds")).sql()
    'CASE WHEN "beds" > 0 THEN "beds" END'
    >>> sql("NOT :x", x=sql("a OR b")).sql()
    'NOT (a OR b)'
    """
    return _filled(_template(text, dialect), parts)


def _filled(node: Node, parts: Mapping[str, Node | str | int]) -> Node:
    if isinstance(node, exp.Placeholder):
        part = parts[node.this]
        if isinstance(part, str | int):
            return text(part) if isinstance(part, str) else number(part)
        found = part.copy() if part.parent is not None else part
        tight = isinstance(node.parent, _LOOSE)
        return exp.Paren(this=found) if tight and isinstance(found, _LOOSE) else found
    arguments: dict[str, Any] = {}
    for key, value in node.args.items():
        if isinstance(value, exp.Expr):
            arguments[key] = _filled(value, parts)
        elif isinstance(value, list):
            arguments[key] = [
                _filled(each, parts) if isinstance(each, exp.Expr) else each for each in value
            ]
        else:
            arguments[key] = value
    return type(node)(**arguments)


@contextmanager
def deep_trees() -> Iterator[None]:
    """Allow for trees as deep as questions may be: a level of a question has many in SQL."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _DEEPEST))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def column(name: str, table: str | None = None) -> Node:
    """Return a column by its name, in quotes.

    >>> column('the "old" ward').sql()
    '"the ""old"" ward"'
    """
    source = None if table is None else exp.to_identifier(table, quoted=True)
    return exp.Column(this=exp.to_identifier(name, quoted=True), table=source)


def named(node: Node, name: str) -> Node:
    """Return a value under a name."""
    return exp.Alias(this=node, alias=exp.to_identifier(name, quoted=True))


def text(value: str) -> Node:
    """Return a string in quotes.

    >>> text("it's").sql()
    "'it''s'"
    """
    return exp.Literal.string(value)


def number(value: int) -> Node:
    """Return an integer that is small enough for every engine to read, or any in a comparison."""
    digits = exp.Literal.number(str(abs(value)))
    return exp.Paren(this=exp.Neg(this=digits)) if value < 0 else digits


def both(conditions: Iterable[Node]) -> Node:
    """Return that all conditions hold."""
    return exp.and_(*conditions, copy=False, wrap=True) if conditions else exp.true()


def select(
    outputs: Iterable[Node],
    source: Node | str | None,
    *,
    where: Sequence[Node] = (),
    by: Sequence[Node] = (),
    order: Sequence[Node] = (),
) -> exp.Select:
    """Return a SELECT from a relation or from a table of the statement."""
    found = exp.Select(expressions=list(outputs))
    if source is not None:
        found.set("from_", exp.From(this=source_of(source)))
    if where:
        found.set("where", exp.Where(this=both(where)))
    if by:
        found.set("group", exp.Group(expressions=list(by)))
    if order:
        found.set("order", exp.Order(expressions=list(order)))
    return found


def source_of(source: Node | str, alias: str = "t") -> Node:
    """Return a table of the statement by its name, or a relation in parentheses."""
    if isinstance(source, str):
        return exp.Table(this=exp.to_identifier(source, quoted=True))
    if isinstance(source, exp.Table | exp.Subquery | exp.Values):
        return source
    named_as = exp.TableAlias(this=exp.to_identifier(alias, quoted=True))
    return exp.Subquery(this=source, alias=named_as)


def in_pairs(join: Callable[[Node, Node], Node], nodes: Sequence[Node]) -> Node:
    """Join nodes in their order, in a tree that is as low as can be: engines refuse high ones."""
    while len(nodes) > 1:
        pairs = (nodes[place : place + 2] for place in range(0, len(nodes), 2))
        nodes = [join(*pair) if len(pair) > 1 else pair[0] for pair in pairs]
    return nodes[0]


def ordered(node: Node, *, descending: bool = False, nulls_first: bool = True) -> Node:
    """Return one part of an order."""
    return exp.Ordered(this=node, desc=descending, nulls_first=nulls_first)


@dataclass(slots=True)
class Value:
    """The SQL of an expression, its type, and what is known of it."""

    node: Node
    kind: Type | None
    open: bool = False
    whole: bool = False
    literal: Scalar = None


_ANSI: Final[Mapping[str, str]] = {
    "same": ":x IS NOT DISTINCT FROM :y",
    # integers
    "ABS": "CASE WHEN :x < 0 THEN :negated ELSE :x END",
    "SIGN": "CASE WHEN :x > 0 THEN 1 WHEN :x < 0 THEN -1 WHEN :x = 0 THEN 0 END",
    # floats
    "finite": "CASE WHEN ABS(:x) <= :largest THEN :x END",
    "FLOAT +": ":x + :y",
    "FLOAT -": ":x - :y",
    "FLOAT *": ":x * :y",
    "FLOAT ABS": "ABS(:x)",
    "FLOAT FLOOR": "FLOOR(:x)",
    "FLOAT CEIL": "CEIL(:x)",
    "FLOAT SQRT": "SQRT(CASE WHEN :x >= 0 THEN :x END)",
    # casts
    "FLOAT to INTEGER": "CASE WHEN :x >= -9.223372036854775808e18 AND :x < 9.223372036854775808e18"
    " THEN CAST(:x AS BIGINT) END",
    "INTEGER to FLOAT": "CAST(:x AS DOUBLE)",
    "INTEGER to TEXT": "CAST(:x AS TEXT)",
    "INTEGER to BOOLEAN": ":x <> 0",
    "BOOLEAN to INTEGER": "CAST(CASE WHEN :x THEN 1 WHEN NOT :x THEN 0 END AS BIGINT)",
    "BOOLEAN to TEXT": "CASE WHEN :x THEN 'true' WHEN NOT :x THEN 'false' END",
    "DATE to TEXT": "CAST(:x AS TEXT)",
    "FLOAT to TEXT": "CAST(:x AS TEXT)",
    # strings
    "CONCAT": "CONCAT(:x, :y)",
    "REPLACE": "REPLACE(:x, :y, :z)",
    "LIKE": ":x LIKE :y",
    "md5": "MD5(:x)",
    # aggregates
    "min": "MIN(:x)",
    "max": "MAX(:x)",
    "min BOOLEAN": "MIN(:x)",
    "max BOOLEAN": "MAX(:x)",
    "wide": "CAST(:x AS DECIMAL(38, 0))",
    "sum": "SUM(CAST(:x AS DECIMAL(38, 0)))",
    "narrow": "CAST(:x AS BIGINT)",
}


class Dialect:
    """The SQL of an engine: its name in sqlglot, its types, and a template for each operation."""

    name: ClassVar[str] = ""
    title: ClassVar[str] = "this engine"
    types: ClassVar[Mapping[Type, str]] = {
        Type.INTEGER: "BIGINT",
        Type.FLOAT: "DOUBLE",
        Type.TEXT: "TEXT",
        Type.BOOLEAN: "BOOLEAN",
        Type.DATE: "DATE",
        Type.TIMESTAMP: "TIMESTAMP",
    }
    templates: ClassVar[Mapping[str, str]] = {}
    open_floats: ClassVar[bool] = True
    """Whether arithmetic of floats gives infinities and NaN, and never fails."""
    let: ClassVar[str] = ""
    """A template that binds the list ``:items`` to ``_v`` and computes ``:body``."""
    item: ClassVar[str] = "_v[:n]"
    portable: ClassVar[bool] = True
    """Whether hash orders are those of MD5, and so the same as on other engines."""

    def has(self, operation: str) -> bool:
        """Whether an operation has a template."""
        return operation in self.templates or operation in _ANSI

    def op(self, operation: str, **parts: Node | str | int) -> Node:
        """Return the SQL of an operation; refuse one that the engine does not compute."""
        template = self.templates.get(operation)
        if template is not None and (call := _plain_call(template)):
            values = [sql(":x", x=parts[each]) for each in call[1]]
            return exp.Anonymous(this=call[0], expressions=values)
        if template is not None:
            return sql(template, self.name, **parts)
        template = _ANSI.get(operation)
        if template is None:
            raise UnsupportedSQL(
                what=f"{operation} is not computed on {self.title}.",
                why="a value is read only in ways that cannot fail.",
                do="leave it out, or copy the tables to files and ask there.",
            )
        return sql(template, **parts)

    def printed(self, node: Node, *, pretty: bool = False) -> str:
        """Print a statement in this dialect."""
        with deep_trees():
            return node.sql(
                dialect=self.name,
                identify=True,
                pretty=pretty,
                normalize_functions=False,
                copy=False,
            )

    def cast(self, node: Node, to: Type) -> Node:
        """Return a cast that cannot fail by itself."""
        return exp.Cast(this=node, to=_filled(_type(self.types[to], self.name), {}))

    def literal(self, value: Scalar, kind: Type | None) -> Node:  # noqa: PLR0911  (one for each)
        """Return a literal of a type, exactly; a number beyond all floats is NULL."""
        match value:
            case None:
                return exp.Null() if kind is None else self.cast(exp.Null(), kind)
            case bool():
                return exp.Boolean(this=value)
            case str():
                return text(value)
            case datetime():
                return self.cast(text(value.isoformat(sep=" ")), Type.TIMESTAMP)
            case date():
                return self.cast(text(value.isoformat()), Type.DATE)
            case _ if kind is Type.FLOAT:
                return self._float(value)
            case _:
                return self.cast(number(int(value)), Type.INTEGER)

    def _float(self, value: int | Fraction) -> Node:
        """Return the nearest float."""
        try:
            digits = repr(abs(float(value)))
        except OverflowError:
            return self.literal(None, Type.FLOAT)
        literal: Node = exp.Literal.number(digits if "e" in digits else f"{digits}e0")
        return self.cast(exp.Neg(this=literal) if value < 0 else literal, Type.FLOAT)

    def once(self, values: Sequence[Node], body: Callable[..., Node]) -> Node:
        """Return a body that uses its values more than once, without repeating long ones.

        All values have one type.
        """
        if not self.let or not any(map(_is_long, values)):
            return body(*values)
        parts = [sql(self.item, self.name, n=place) for place in range(len(values))]
        inner = body(*parts)
        listed = exp.Array(expressions=[exp.Array(expressions=list(values))])
        return sql(self.let, self.name, items=listed, body=inner)

    def closed(self, value: Value) -> Node:
        """Return the SQL of our value: what is not finite becomes NULL."""
        if not value.open:
            return value.node
        largest = self.literal(Fraction(2**1024 - 2**971), Type.FLOAT)
        return self.once([value.node], lambda x: self.op("finite", x=x, largest=largest))

    def like(self, value: Node, pattern: str) -> Node:
        """Return a match of a pattern in which only % and _ have a meaning."""
        return self.op("LIKE", x=value, y=pattern.replace("\\", "\\\\"))

    def uuid(self, node: Node) -> Node:
        """Return a string that is a UUID in its one usual form; others are NULL."""
        bare = self.op("REPLACE", x=self.op("REPLACE", x=node, y="{", z=""), y="}", z="")
        inner = sql(
            "CASE WHEN :braced THEN :bare ELSE :x END",
            braced=self.like(node, "{%}"),
            bare=bare,
            x=node,
        )
        digits = self.op("REPLACE", x=exp.Lower(this=inner), y="-", z="")

        def body(x: Node) -> Node:
            made = self.op("SUBSTR", x=x, y=1, z=8)
            for first, size in ((9, 4), (13, 4), (17, 4), (21, 12)):
                made = self.op(
                    "CONCAT",
                    x=self.op("CONCAT", x=made, y="-"),
                    y=self.op("SUBSTR", x=x, y=first, z=size),
                )
            return sql(
                "CASE WHEN :size = 32 AND :there THEN :made END",
                size=self.op("LENGTH", x=x),
                there=self.op("matches", x=x, form="^[0-9a-f]{32}$"),
                made=made,
            )

        return self.once([digits], body)

    def exact_sum(self, node: Node) -> Node:
        """Return the exact sum of integers of 64 bits."""
        return self.op("sum", x=node)

    def decimal(self, node: Node) -> Node:
        """Return a float as a decimal, if sums of these do not depend on the order of rows."""
        raise NotImplementedError

    def wide_sum(self, node: Node) -> Node:
        """Return the exact sum of wide integers."""
        return exp.Sum(this=node)

    def salt(self) -> Node:
        """Return the salt of a run, as a string; it takes the place of this mark."""
        return text(SALT)

    def place(self, purpose: str, values: Sequence[tuple[Node, Type]], *, portable: bool) -> Node:
        """Return where values come in an order that nobody can foresee without the salt.

        The portable order is that of MD5 of their canonical text (:mod:`.hash_order`).
        """
        if not portable and self.has("hash"):
            node = self.op("hash", x=purpose, y=self.cast(self.salt(), Type.INTEGER))
            for value, kind in values:
                if self.has(f"hash {kind.value}"):
                    node = self.op(f"hash {kind.value}", x=value, y=node)
                else:
                    shown = sql("COALESCE(:x, '-')", x=self.shown(value, kind))
                    node = self.op("hash", x=shown, y=node)
            return node
        return self.op("md5", x=self._canonical(purpose, values))

    def below(
        self,
        limit: Node,
        values: Sequence[tuple[Node, Type]],
        *,
        portable: bool,  # noqa: ARG002
    ) -> Node:
        """Return the number from 0 to the limit - 1 that belongs to values."""
        hashed = self.op("md5", x=self._canonical("leaves", values))
        return sql(":x % :limit", x=self.op("hex number", x=hashed), limit=limit)

    def _canonical(self, purpose: str, values: Sequence[tuple[Node, Type]]) -> Node:
        node = self.op("CONCAT", x=self.salt(), y=f" {purpose}")
        for value, kind in values:
            shown = self.shown(value, kind)
            size = self.op("INTEGER to TEXT", x=self.op("LENGTH", x=shown))
            marked = self.op("CONCAT", x=self.op("CONCAT", x=size, y=":"), y=shown)
            node = self.op("CONCAT", x=node, y=sql("COALESCE(:x, '-')", x=marked))
        return node

    def shown(self, value: Node, kind: Type) -> Node:
        """Return the string of a value, which no other value of its type has."""
        if kind is Type.TEXT:
            return value
        if kind is Type.TIMESTAMP:
            return self.op("INTEGER to TEXT", x=self.op("micros", x=value))
        if kind is Type.FLOAT:
            value = sql(":x + :zero", x=value, zero=self.literal(0, Type.FLOAT))
        return self.op(f"{kind.value} to TEXT", x=value)

    def semi_join(
        self, outputs: Sequence[Node], left: Node, right: Node, on: Node, *, anti: bool
    ) -> exp.Select:
        """Return the rows on the left that meet one on the right, or that meet none."""
        there: Node = exp.Exists(this=select([number(1)], right, where=[on]))
        return select(outputs, left, where=[exp.Not(this=there) if anti else there])

    def values(
        self, names: Sequence[str], kinds: Sequence[Type], rows: Sequence[Sequence[Any]]
    ) -> exp.Select:
        """Return a table of public values."""
        if not rows:
            nothing = [
                named(self.literal(None, kind), name)
                for name, kind in zip(names, kinds, strict=True)
            ]
            return select(nothing, None, where=[exp.false()])
        first = [
            named(self.literal(value, kind), name)
            for name, kind, value in zip(names, kinds, rows[0], strict=True)
        ]
        found: Node = select(first, None)
        if len(rows) == 1:
            return found  # type: ignore[return-value]
        tuples = [
            exp.Tuple(expressions=[self.literal(v, k) for k, v in zip(kinds, row, strict=True)])
            for row in rows
        ]
        alias = exp.TableAlias(
            this=exp.to_identifier("v", quoted=True),
            columns=[exp.to_identifier(name, quoted=True) for name in names],
        )
        return select([column(name) for name in names], exp.Values(expressions=tuples, alias=alias))


def _is_long(node: Node) -> bool:
    return any(place >= _SHORT for place, _ in enumerate(node.walk()))


@cache
def _plain_call(template: str) -> tuple[str, list[str]] | None:
    """Return the function and the parts of a template that is one call.

    It is printed as it is written, also if sqlglot knows the function by another name.
    """
    name, found, rest = template.partition("(")
    parts = [each.strip() for each in rest[:-1].split(",")]
    plain = all(each.startswith(":") and each[1:].isalpha() for each in parts)
    if not found or not rest.endswith(")") or not plain or not name.isidentifier():
        return None
    return name, [each[1:] for each in parts]
