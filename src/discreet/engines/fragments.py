"""Pieces of SQL: templates whose places are filled with other pieces, in the SQL of one engine.

Trust: kernel (T2, T7).

Names and literals are quoted by sqlglot, so none can break out of its quotes.  sqlglot reads and
prints each template once; a piece is that text with the texts of its parts in their places.  What
is above expressions (SELECT, joins, tables of a statement) is a tree of sqlglot, whose leaves are
pieces; it is printed once.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import Any, ClassVar, Final, final

from sqlglot import Dialect as SqlDialect
from sqlglot import ErrorLevel, Generator, exp, parse_one

__all__ = [
    "Node",
    "Writer",
    "both",
    "call",
    "chosen",
    "deep_trees",
    "distinct_of",
    "in_pairs",
    "joined",
    "number",
    "ordered",
    "select",
    "source_of",
    "verbatim",
]

_DEEPEST: Final = 20_000
_LOOSE: Final = (exp.Binary, exp.Not, exp.Neg, exp.Between, exp.In)
_MARK: Final = re.compile('["`]\ue000(\\w+)\ue000([01])\ue001["`]')
"""A place in a printed template: a quoted name that no question can hold."""
_SHORT_NAME: Final = 64
"""Characters of a name that is kept in quotes for the next statement."""
_BAKED: Final = frozenset({"word", "n"})
"""Words and numbers of ours that sqlglot has to see to print a template."""


@final
class Node:
    """A piece of SQL: its text, what is at its top, and how many nodes it has."""

    __slots__ = ("root", "size", "text")

    def __init__(self, text: str, root: type[exp.Expr] = exp.Paren, size: int = 1) -> None:
        """Take a text of ours; parts of other origin are in quotes by now."""
        self.text, self.root, self.size = text, root, size

    @property
    def leaf(self) -> exp.Expr:
        """The piece as a part of a tree of sqlglot."""
        return _listed([self])


@final
class _Leaf(exp.Expression):
    """Pieces within a tree of sqlglot, with commas between them."""

    is_primitive = True


def _listed(nodes: Iterable[Node]) -> exp.Expr:
    return _Leaf(this=[node.text for node in nodes])


def _written(printer: Generator, leaf: _Leaf) -> str:
    texts: list[str] = leaf.args["this"]
    if not printer.pretty:
        return ", ".join(texts)
    whole = [text.replace("\n", printer.SENTINEL_LINE_BREAK) for text in texts]  # not indented
    return ",\n".join(whole)


# --- templates --------------------------------------------------------------------------------


@final
class _Template:
    """A text with places, as sqlglot reads it in one dialect and prints it in another."""

    __slots__ = ("last", "pieces", "places", "root", "size")

    def __init__(
        self, text: str, read: str, write: str, baked: tuple[tuple[str, str | int], ...]
    ) -> None:
        nodes = {name: exp.convert(value) for name, value in baked}
        tree = _marked(parse_one(text, dialect=read), nodes, tight=False)
        marks = [found[1] for each in tree.find_all(exp.Identifier) if (found := _mark(each))]
        self.size = sum(1 for _ in tree.walk()) - 2 * len(marks)
        self.places = [*Counter(marks).items()]
        top = _mark(tree.this) if isinstance(tree, exp.Column) else None
        self.root = None if top else type(tree)
        shown = _MARK.split(_printer(write).generate(tree))
        parts = zip(shown[::3], shown[1::3], shown[2::3], strict=False)
        self.pieces = [(before, name, tight == "1") for before, name, tight in parts]
        self.last = shown[-1]

    def filled(self, parts: Mapping[str, Node]) -> Node:
        """Return the template with pieces in its places, in parentheses if that is needed."""
        found, size = [], self.size
        for before, name, tight in self.pieces:
            part = parts[name]
            wrapped = tight and issubclass(part.root, _LOOSE)
            found += [before, f"({part.text})" if wrapped else part.text]
        for name, times in self.places:
            size += times * parts[name].size
        root = self.root or parts[self.places[0][0]].root
        return Node("".join((*found, self.last)), root, size)


def _mark(name: exp.Identifier) -> re.Match[str] | None:
    return _MARK.fullmatch(f'"{name.this}"')


def _marked(node: exp.Expr, baked: Mapping[str, exp.Expr], *, tight: bool) -> exp.Expr:
    """Return a template with marks in its places."""
    if isinstance(node, exp.Placeholder):
        mark = f"\ue000{node.this}\ue000{int(tight)}\ue001"
        return baked.get(node.this) or exp.Column(this=exp.to_identifier(mark, quoted=True))
    arguments: dict[str, Any] = {}
    below = isinstance(node, _LOOSE)
    for key, value in node.args.items():
        if isinstance(value, exp.Expr):
            arguments[key] = _marked(value, baked, tight=below)
        elif isinstance(value, list):
            arguments[key] = [
                _marked(each, baked, tight=below) if isinstance(each, exp.Expr) else each
                for each in value
            ]
        else:
            arguments[key] = value
    return type(node)(**arguments)


_template = lru_cache(2**12)(_Template)


# --- printing ---------------------------------------------------------------------------------


@cache
def _printers(dialect: str) -> type[Generator]:
    """Return what prints a dialect of sqlglot, and our leaves in it."""
    own = SqlDialect.get_or_raise(dialect).generator_class
    transforms = {**own.TRANSFORMS, _Leaf: _written}
    return type("Printer", (own,), {"TRANSFORMS": transforms})


def _printer(dialect: str, *, pretty: bool = False) -> Generator:
    return _printers(dialect)(
        dialect=SqlDialect.get_or_raise(dialect),
        identify=True,
        normalize_functions=False,
        pretty=pretty,
        unsupported_level=ErrorLevel.RAISE,
    )


def _quoted(name: str, dialect: str) -> str:
    if len(name) > _SHORT_NAME:
        return _printer(dialect).generate(exp.to_identifier(name, quoted=True))
    return _quoted_short(name, dialect)


@lru_cache(2**12)
def _quoted_short(name: str, dialect: str) -> str:
    return _printer(dialect).generate(exp.to_identifier(name, quoted=True))


@contextmanager
def deep_trees() -> Iterator[None]:
    """Allow for trees as deep as questions may be: a level of a question has many in SQL."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _DEEPEST))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


class Writer:
    """Writes the SQL of one dialect of sqlglot."""

    name: ClassVar[str] = ""

    def sql(self, text: str, /, **parts: Node | str | int) -> Node:
        """Return a template of standard SQL with pieces in the places of ``:names``.

        >>> write = Writer()
        >>> write.sql("CASE WHEN :x > 0 THEN :x END", x=write.column("beds")).text
        'CASE WHEN "beds" > 0 THEN "beds" END'
        >>> write.sql("NOT :x", x=write.sql("a OR b")).text
        'NOT ("a" OR "b")'
        """
        return self._filled(text, "", parts)

    def own(self, text: str, /, **parts: Node | str | int) -> Node:
        """Return a template in this dialect with pieces in its places."""
        return self._filled(text, self.name, parts)

    def part(self, value: Node | str | int) -> Node:
        """Return a part of a template."""
        if isinstance(value, Node):
            return value
        return self.text(value) if isinstance(value, str) else number(value)

    def _filled(self, text: str, read: str, parts: Mapping[str, Node | str | int]) -> Node:
        baked: tuple[tuple[str, str | int], ...] = ()
        nodes: dict[str, Node] = {}
        for name, part in parts.items():
            if name in _BAKED and not isinstance(part, Node):
                baked += ((name, part),)
            else:
                nodes[name] = self.part(part)
        return _template(text, read, self.name, baked).filled(nodes)

    def column(self, name: str, table: str | None = None) -> Node:
        """Return a column by its name, in quotes.

        >>> Writer().column('the "old" ward').text
        '"the ""old"" ward"'
        """
        shown = _quoted(name, self.name)
        if table is None:
            return Node(shown, exp.Column, 2)
        return Node(f"{_quoted(table, self.name)}.{shown}", exp.Column, 3)

    def named(self, node: Node, name: str) -> Node:
        """Return a value under a name."""
        return Node(f"{node.text} AS {_quoted(name, self.name)}", exp.Alias, node.size + 2)

    def text(self, value: str) -> Node:
        """Return a string in quotes.

        >>> Writer().text("it's").text
        "'it''s'"
        """
        return Node(_printer(self.name).generate(exp.Literal.string(value)), exp.Literal)

    def written(self, tree: exp.Expr) -> Node:
        """Return what sqlglot prints of a part of a statement."""
        return Node(self.printed(tree), type(tree))

    def window(
        self, function: Node, partition: Sequence[Node] = (), order: Sequence[exp.Expr] = ()
    ) -> Node:
        """Return a function over a window."""
        return self.written(
            exp.Window(
                this=function.leaf,
                partition_by=[each.leaf for each in partition],
                order=exp.Order(expressions=list(order)) if order else None,
            )
        )

    def printed(self, node: exp.Expr | Node, *, pretty: bool = False) -> str:
        """Print a statement, or a part of one."""
        if isinstance(node, Node):
            return node.text
        with deep_trees():
            return _printer(self.name, pretty=pretty).generate(node, copy=False)


# --- what statements are made of --------------------------------------------------------------


def call(function: str, arguments: Sequence[Node]) -> Node:
    """Return a call that is printed as it is written, also if sqlglot has another name for it."""
    listed = joined(", ", arguments)
    return Node(f"{function}({listed.text})", exp.Anonymous, 1 + listed.size)


def joined(between: str, nodes: Sequence[Node]) -> Node:
    """Return pieces with a text between them, as they are listed somewhere."""
    size = sum(node.size for node in nodes)
    return Node(between.join([node.text for node in nodes]), exp.Tuple, size)


def chosen(branches: Sequence[tuple[Node, Node]], default: Node) -> Node:
    """Return the value of the first branch whose condition is true, else the default."""
    shown = " ".join(f"WHEN {when.text} THEN {then.text}" for when, then in branches)
    size = 1 + default.size + sum(1 + when.size + then.size for when, then in branches)
    return Node(f"CASE {shown} ELSE {default.text} END", exp.Case, size)


def distinct_of(node: Node) -> Node:
    """Return the different values of an argument of an aggregate."""
    return Node(f"DISTINCT {node.text}", exp.Distinct, node.size + 1)


def verbatim(text: str) -> Node:
    """Return SQL of ours as it is written: a literal, a call, or something in parentheses."""
    return Node(text)


def number(value: int) -> Node:
    """Return an integer that is small enough for every engine to read, or any in a comparison.

    >>> number(-3).text
    '(-3)'
    """
    return Node(f"({value})", exp.Paren, 3) if value < 0 else Node(str(value), exp.Literal)


def both(conditions: Sequence[Node]) -> Node:
    """Return that all conditions hold.

    >>> both([]).text, both([Node("a OR b", exp.Or), Node("c")]).text
    ('TRUE', '(a OR b) AND c')
    """
    if len(conditions) < 2:
        return conditions[0] if conditions else Node("TRUE", exp.Boolean)
    shown = [
        f"({each.text})" if issubclass(each.root, exp.Connector) else each.text
        for each in conditions
    ]
    return Node(" AND ".join(shown), exp.And, sum(each.size + 1 for each in conditions))


def select(
    outputs: Iterable[Node],
    source: exp.Expr | str | None,
    *,
    where: Sequence[Node] = (),
    by: Sequence[Node] = (),
    order: Sequence[exp.Expr] = (),
) -> exp.Select:
    """Return a SELECT from a relation or from a table of the statement."""
    found = exp.Select(expressions=[_listed(outputs)])
    if source is not None:
        found.set("from_", exp.From(this=source_of(source)))
    if where:
        found.set("where", exp.Where(this=both(where).leaf))
    if by:
        found.set("group", exp.Group(expressions=[_listed(by)]))
    if order:
        found.set("order", exp.Order(expressions=list(order)))
    return found


def source_of(source: exp.Expr | str, alias: str = "t") -> exp.Expr:
    """Return a table of the statement by its name, or a relation in parentheses."""
    if isinstance(source, str):
        return exp.Table(this=exp.to_identifier(source, quoted=True))
    if isinstance(source, exp.Table | exp.Subquery | exp.Values):
        return source
    named_as = exp.TableAlias(this=exp.to_identifier(alias, quoted=True))
    return exp.Subquery(this=source, alias=named_as)


def in_pairs(join: Callable[[Node, Node], Node], nodes: Sequence[Node]) -> Node:
    """Join pieces in their order, in a tree that is as low as can be: engines refuse high ones."""
    while len(nodes) > 1:
        pairs = (nodes[place : place + 2] for place in range(0, len(nodes), 2))
        nodes = [join(*pair) if len(pair) > 1 else pair[0] for pair in pairs]
    return nodes[0]


def ordered(node: Node, *, descending: bool = False, nulls_first: bool = True) -> exp.Expr:
    """Return one part of an order."""
    return exp.Ordered(this=node.leaf, desc=descending, nulls_first=nulls_first)
