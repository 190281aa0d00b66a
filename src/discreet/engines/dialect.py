"""A dialect: how the values of questions are computed in the SQL of one engine, without failing.

Trust: kernel (T2, T7).

A statement is built from templates (:mod:`.fragments`).  Each engine fills one table of them.  An
operation that its table lacks is refused before anything is charged.

No value makes a template fail: what overflows, has the wrong form or does not fit is NULL.
Definition.  A FLOAT is *open* if its SQL may give an infinity or NaN if our value is NULL.
Sums, differences, products, roundings and roots of open values are open, and so are quotients with
an open numerator: no infinity becomes a finite number on the way.  So one check at the top is
enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar, Final

from sqlglot import exp

from discreet.engines.fragments import Node, Writer, call, number, select, verbatim
from discreet.errors import UnsupportedSQL
from discreet.noise import SYSTEM
from discreet.query.types import Scalar, Type

GROUPS: Final = "groups"
VALUES: Final = "values"
LEAVES: Final = "leaves"
"""The purposes of an order of hashes."""
SALT: Final = f"salt {SYSTEM.bits(128):032x}"
"""What stands for the salt in a statement until it runs; no question can hold it."""
_NULL: Final = verbatim("NULL")
_SHORT: Final = 60
"""Nodes of a value that may be written several times."""


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


class Dialect(Writer):
    """The SQL of an engine: its name in sqlglot, its types, and a template for each operation."""

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
        if template is not None and (plain := _plain_call(template)):
            return call(plain[0], [self.part(parts[each]) for each in plain[1]])
        if template is not None:
            return self.own(template, **parts)
        template = _ANSI.get(operation)
        if template is None:
            raise UnsupportedSQL(
                what=f"{operation} is not computed on {self.title}.",
                why="a value is read only in ways that cannot fail.",
                do="leave it out, or copy the tables to files and ask there.",
            )
        return self.sql(template, **parts)

    def cast(self, node: Node, to: Type) -> Node:
        """Return a cast that cannot fail by itself."""
        return self.own(f"CAST(:x AS {self.types[to]})", x=node)

    def literal(self, value: Scalar | float, kind: Type | None) -> Node:  # noqa: PLR0911  (one each)
        """Return a literal of a type, exactly; a number beyond all floats is NULL."""
        match value:
            case float():
                return self._float(value)
            case None:
                return _NULL if kind is None else self.cast(_NULL, kind)
            case bool():
                return self.sql("TRUE" if value else "FALSE")
            case str():
                return self.text(value)
            case datetime():
                return self.cast(self.text(value.isoformat(sep=" ")), Type.TIMESTAMP)
            case date():
                return self.cast(self.text(value.isoformat()), Type.DATE)
            case _ if kind is Type.FLOAT:
                return self.literal(nearest_float(value), kind)
            case _:
                return self.cast(number(int(value)), Type.INTEGER)

    def _float(self, value: float) -> Node:
        digits = repr(value)
        return self.cast(verbatim(digits if "e" in digits else f"{digits}e0"), Type.FLOAT)

    def once(self, values: Sequence[Node], body: Callable[..., Node]) -> Node:
        """Return a body that uses its values more than once, without repeating long ones.

        All values have one type.
        """
        if not self.let or not any(map(_is_long, values)):
            return body(*values)
        parts = [self.own(self.item, n=place) for place in range(len(values))]
        inner = body(*parts)
        listed = ", ".join(f":v{place}" for place in range(len(values)))
        named = {f"v{place}": value for place, value in enumerate(values)}
        return self.own(self.let, items=self.sql(f"ARRAY(ARRAY({listed}))", **named), body=inner)

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
        inner = self.sql(
            "CASE WHEN :braced THEN :bare ELSE :x END",
            braced=self.like(node, "{%}"),
            bare=bare,
            x=node,
        )
        digits = self.op("REPLACE", x=self.sql("LOWER(:x)", x=inner), y="-", z="")

        def body(x: Node) -> Node:
            made = self.op("SUBSTR", x=x, y=1, z=8)
            for first, size in ((9, 4), (13, 4), (17, 4), (21, 12)):
                made = self.op(
                    "CONCAT",
                    x=self.op("CONCAT", x=made, y="-"),
                    y=self.op("SUBSTR", x=x, y=first, z=size),
                )
            return self.sql(
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
        return self.sql("SUM(:x)", x=node)

    def salt(self) -> Node:
        """Return the salt of a run, as a string; it takes the place of this mark."""
        return self.text(SALT)

    def place(self, purpose: str, values: Sequence[tuple[Node, Type]], *, portable: bool) -> Node:
        """Return where values come in an order that is unpredictable without the salt.

        The portable order is that of MD5 of their canonical text (``engine.HashOrder``).
        """
        if not portable and self.has("hash"):
            node = self.op("hash", x=purpose, y=self.cast(self.salt(), Type.INTEGER))
            for value, kind in values:
                if self.has(f"hash {kind.value}"):
                    node = self.op(f"hash {kind.value}", x=value, y=node)
                else:
                    shown = self.sql("COALESCE(:x, '-')", x=self.shown(value, kind))
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
        hashed = self.op("md5", x=self._canonical(LEAVES, values))
        return self.sql(":x % :limit", x=self.op("hex number", x=hashed), limit=limit)

    def _canonical(self, purpose: str, values: Sequence[tuple[Node, Type]]) -> Node:
        node = self.op("CONCAT", x=self.salt(), y=f" {purpose}")
        for value, kind in values:
            shown = self.shown(value, kind)
            size = self.op("INTEGER to TEXT", x=self.op("LENGTH", x=shown))
            marked = self.op("CONCAT", x=self.op("CONCAT", x=size, y=":"), y=shown)
            node = self.op("CONCAT", x=node, y=self.sql("COALESCE(:x, '-')", x=marked))
        return node

    def shown(self, value: Node, kind: Type) -> Node:
        """Return the string of a value, which no other value of its type has."""
        if kind is Type.TEXT:
            return value
        if kind is Type.TIMESTAMP:
            return self.op("INTEGER to TEXT", x=self.op("micros", x=value))
        if kind is Type.FLOAT:
            value = self.sql(":x + :zero", x=value, zero=self.literal(0, Type.FLOAT))
        return self.op(f"{kind.value} to TEXT", x=value)

    def semi_join(
        self, outputs: Sequence[Node], left: exp.Expr, right: exp.Expr, on: Node, *, anti: bool
    ) -> exp.Select:
        """Return the rows on the left that meet one on the right, or that meet none."""
        there = self.written(exp.Exists(this=select([number(1)], right, where=[on])))
        return select(outputs, left, where=[self.sql("NOT :x", x=there) if anti else there])

    def values(
        self, names: Sequence[str], kinds: Sequence[Type], rows: Sequence[Sequence[Any]]
    ) -> exp.Select:
        """Return a table of public values."""
        if not rows:
            nothing = [
                self.named(self.literal(None, kind), name)
                for name, kind in zip(names, kinds, strict=True)
            ]
            return select(nothing, None, where=[self.sql("FALSE")])
        first = [
            self.named(self.literal(value, kind), name)
            for name, kind, value in zip(names, kinds, rows[0], strict=True)
        ]
        if len(rows) == 1:
            return select(first, None)
        tuples = [
            exp.Tuple(
                expressions=[self.literal(v, k).leaf for k, v in zip(kinds, row, strict=True)]
            )
            for row in rows
        ]
        alias = exp.TableAlias(
            this=exp.to_identifier("v", quoted=True),
            columns=[exp.to_identifier(name, quoted=True) for name in names],
        )
        return select(
            [self.column(name) for name in names], exp.Values(expressions=tuples, alias=alias)
        )


def nearest_float(value: int | Fraction) -> float | None:
    """Return the nearest float; None beyond all floats.

    >>> nearest_float(Fraction(1, 2)), nearest_float(10**400)
    (0.5, None)
    """
    try:
        return float(value)
    except OverflowError:
        return None


def _is_long(node: Node) -> bool:
    return node.size > _SHORT


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
