"""The base of all nodes of a question: what a node holds is checked when it is made.

Trust: kernel.  Trees of questions arrive from clients too, and engines print and compute what nodes
hold: nothing else may be held.  # T1

Definition.  A node holds what the annotations of its class say.  A name is a text, not empty and
without a zero byte or half a character, which engines store each in their own way; a whole number
is from 0 below 2**63; fractions are short; tuples, and no lists, hold several values.
Limits on length, depth and size let every later step end soon, and none run out of stack.

Nodes are values: two are equal if they say the same in the same words, wherever they were written
(spans do not count).  ``children()`` and ``rebuilt(children)`` follow from the annotations, too.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from datetime import date, datetime
from fractions import Fraction
from functools import cache
from types import UnionType
from typing import Any, Final, Self

from discreet.errors import UnknownName, UnsupportedSQL, WrongKind
from discreet.query.functions import Function
from discreet.query.source_text import Span, pointed

LONGEST_QUESTION: Final = 100_000
"""Characters of a text."""
DEEPEST_NESTING: Final = 30
"""Parentheses, subqueries and prefix operators inside each other."""
TALLEST_TREE: Final = 100
"""Nodes below each other in a tree."""
MOST_OPERANDS: Final = 1000
"""Operands of AND, OR and other functions; the list of IN may be longer."""
MOST_ENTRIES: Final = 100
"""Entries of GROUP BY and of ORDER BY."""
LARGEST_TREE: Final = 20_000
"""Nodes of a tree, after names have been replaced by what they stand for."""

_MOST_BITS: Final = 2**13
"""So long may the parts of a number be; decimal texts of longer ones are not made by Python."""


def wrong(what: str, span: Span | None = None) -> WrongKind:
    """Return the refusal of a node that holds something else.

    >>> wrong("the kind of a join is not known.").code
    'E003'
    """
    return WrongKind(
        what=pointed(what, span),
        why="engines compute what a question holds, and it is priced for that alone.",
        do="write the question in SQL or with the table builder, which make no such thing.",
    )


class Node:
    """A part of a question; a class adds what its annotations do not say in ``_check``."""

    __slots__ = ()

    def __post_init__(self) -> None:
        """Refuse what the annotations do not allow."""
        kind: Any = type(self)
        for name, classes, holds in _checks(kind):
            value = getattr(self, name)
            if not isinstance(value, classes) and not holds(value):
                span = getattr(self, "span", None)
                what = f"{name} of a {type(self).__name__} holds something that it cannot hold."
                raise wrong(what, span if isinstance(span, Span) else None)
        self._check()

    def _check(self) -> None:
        """Refuse more than the annotations do."""

    def children(self) -> tuple[Any, ...]:
        """Return the nodes of its kind directly below, in the order of its fields."""
        return self._held(ExpressionNode)

    def rebuilt(self, children: Iterable[Any]) -> Self:
        """Return the same node over other children, in the same order and number."""
        return self._over(ExpressionNode, children)

    def _held(self, kind: type[Node]) -> tuple[Any, ...]:
        found: list[Any] = []
        own: Any = type(self)
        for name in _node_fields(own):
            _collect(getattr(self, name), kind, found)
        return tuple(found)

    def _over(self, kind: type[Node], children: Iterable[Any]) -> Self:
        own: Any = type(self)
        same: Any = self
        names, rest = _node_fields(own), iter(children)
        if not names:
            return self
        return replace(same, **{name: _put(getattr(self, name), kind, rest) for name in names})  # type: ignore[no-any-return]


class ExpressionNode(Node):
    """A node of an expression."""

    __slots__ = ()


class RelationNode(Node):
    """A node of a relation, which has relations below it, and holds expressions."""

    __slots__ = ()

    def children(self) -> tuple[Any, ...]:
        """Return the relations directly below."""
        return self._held(RelationNode)

    def rebuilt(self, children: Iterable[Any]) -> Self:
        """Return the same node over other relations, with the same expressions."""
        return self._over(RelationNode, children)

    def expressions(self) -> tuple[Any, ...]:
        """Return the expressions that the node itself holds."""
        return self._held(ExpressionNode)


def _collect(value: Any, kind: type[Node], found: list[Any]) -> None:
    if isinstance(value, tuple):
        for part in value:
            _collect(part, kind, found)
    elif isinstance(value, kind):
        found.append(value)
    elif isinstance(value, Node) and not isinstance(value, RelationNode | ExpressionNode):
        found.extend(value._held(kind))  # noqa: SLF001 (an item of an order)


def _put(value: Any, kind: type[Node], rest: Iterator[Any]) -> Any:
    if isinstance(value, tuple):
        return tuple([_put(part, kind, rest) for part in value])
    if isinstance(value, kind):
        return next(rest)
    if isinstance(value, Node) and not isinstance(value, RelationNode | ExpressionNode):
        return value._over(kind, rest)  # noqa: SLF001 (an item of an order)
    return value


@cache
def _node_fields(kind: Any) -> tuple[str, ...]:
    """Return the names of the fields that hold nodes."""
    hints = typing.get_type_hints(kind)
    return tuple(item.name for item in fields(kind) if item.init and _has_node(hints[item.name]))


def _has_node(hint: Any) -> bool:
    return any(map(_has_node, typing.get_args(hint))) or (
        isinstance(hint, type) and issubclass(hint, Node)
    )


_Check = Callable[[Any], bool]


@cache
def _checks(kind: Any) -> tuple[tuple[str, tuple[type, ...], _Check], ...]:
    """Return the check of each field of a class, by its annotation, and the classes that pass."""
    hints = typing.get_type_hints(kind)
    return tuple(
        (item.name, _classes(hints[item.name]), _check_of(hints[item.name]))
        for item in fields(kind)
        if item.init
    )


def _classes(hint: Any) -> tuple[type, ...]:
    """Return the classes of an annotation whose values need no other check."""
    union = isinstance(hint, UnionType) or typing.get_origin(hint) is typing.Union
    parts = typing.get_args(hint) if union else (hint,)
    return tuple(part for part in parts if isinstance(part, type) and part not in _SCALARS)


def _check_of(hint: Any) -> _Check:
    """Return the check of an annotation.

    >>> pairs = _check_of(tuple[tuple[str, Fraction], ...] | None)
    >>> pairs(None), pairs((("a", Fraction(1)),)), pairs((("a", 0.5),)), pairs([("a", Fraction(1))])
    (True, True, False, False)
    """
    parts = typing.get_args(hint)
    if isinstance(hint, UnionType) or typing.get_origin(hint) is typing.Union:
        classes = _classes(hint)
        checks = [_check_of(part) for part in parts if part not in classes]
        return lambda value: isinstance(value, classes) or any(each(value) for each in checks)
    if typing.get_origin(hint) is tuple:
        if parts[-1] is ...:
            known, each = _classes(parts[0]), _check_of(parts[0])
            return lambda value: (
                isinstance(value, tuple)
                and all(isinstance(part, known) or each(part) for part in value)
            )
        all_of = tuple(map(_check_of, parts))
        return lambda value: (
            isinstance(value, tuple)
            and len(value) == len(all_of)
            and all(holds(part) for holds, part in zip(all_of, value, strict=True))
        )
    return _SCALARS.get(hint) or (lambda value: isinstance(value, hint))


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value != "" and "\0" not in value and _is_text(value)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _is_fraction(value: object) -> bool:
    if not isinstance(value, Fraction):
        return False
    return max(value.numerator.bit_length(), value.denominator.bit_length()) <= _MOST_BITS


_SCALARS: Final[dict[object, _Check]] = {
    str: _is_name,
    int: _is_whole,
    Fraction: _is_fraction,
}


def check_function(name: str, known: Mapping[str, Function], count: int, span: Span | None) -> None:
    """Refuse a function that is not known, or that takes another number of arguments.

    >>> from discreet.query.functions import ANYWHERE
    >>> check_function("ABS", ANYWHERE, 1, None)
    """
    function = known.get(name)
    if function is None or not function.accepts(count):
        shown = name if function is not None else "of this name"
        raise UnknownName(
            what=pointed(f"there is no function {shown} of {count} arguments.", span),
            why="only functions that mean the same on every engine can be used.",
            do="see the list of functions.",
        )
    if count > MOST_OPERANDS and name != "IN":
        raise too_much(f"{name} has more than {MOST_OPERANDS} operands.", span)


def scalar_of(value: object, span: Span | None = None) -> bool | int | Fraction | str | date | None:
    """Return a written value of one of the known classes.

    >>> scalar_of("ward A"), scalar_of(None)
    ('ward A', None)
    """
    known = value is None or isinstance(value, bool) or type(value) is date
    known = known or (isinstance(value, str) and _is_text(value))
    known = known or (isinstance(value, int) and value.bit_length() <= _MOST_BITS)
    known = known or (isinstance(value, datetime) and value.tzinfo is None) or _is_fraction(value)
    if known:
        return value  # type: ignore[return-value]
    raise wrong(f"a written value is a {type(value).__name__} that is not known here.", span)


def _is_text(value: str) -> bool:
    """Say whether every engine can hold a text."""
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def too_much(what: str, span: Span | None) -> UnsupportedSQL:
    """Return the refusal of something that is too long, too deep or too large.

    >>> too_much("the text is too long.", None).what
    'the text is too long.'
    """
    return UnsupportedSQL(
        what=pointed(what, span),
        why="a question must be checked completely, in a time and a memory known in advance.",
        do="split it into several questions, or prepare the table beforehand.",
    )


def size_of(*nodes: Node) -> int:
    """Return the number of nodes in some trees, unless they are too tall or too large.

    The expressions of a relation are trees of their own.
    """
    waiting: list[tuple[Node, int]] = [(node, 1) for node in nodes]
    count = 0
    while waiting:
        node, height = waiting.pop()
        count += 1
        if height > TALLEST_TREE or count > LARGEST_TREE:
            raise too_much("this is too large.", getattr(nodes[-1], "span", None))
        waiting += [(child, height + 1) for child in node.children()]
        if isinstance(node, RelationNode):
            waiting += [(expression, 1) for expression in node.expressions()]
    return count
