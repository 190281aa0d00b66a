"""Frozen values as JSON, by a list of classes: what is read was made by their constructors.

Trust: kernel.  A server reads questions by this from whoever may ask.  Nothing but the listed
classes is made, each by its constructor, which refuses what it always refuses.

Definition.  None, truth values, whole numbers and texts are themselves.  Everything else is a list
of a tag and its parts: ["/", "1/3"] a fraction, ["f", hex] a float, ["d", iso] a date, ["t", iso] a
timestamp, ["()", ...] a tuple, ["tree", ...] and ["box", ...] a composition and a
scope, ["{}", [key, value], ...] a mapping, ["<>", ...] a set, and
["query.expressions:Column", ...] a value of a class, with its fields in their order.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final

from discreet.accounting import Box, Node, decode, encode
from discreet.errors import WrongKind

_DEEPEST: Final = 200
_QUESTION_NAMES: Final = {
    "query.expressions": (
        "Column Literal Call Case Cast Order Window Aggregate Grouped Star InnerQuery"
    ),
    "query.relations": (
        "Table Named Filter Project Join SemiJoin Valued Aggregated Distinct UnionAll"
    ),
    "query.question": "Clause Question",
    "query.source_text": "Span",
    "query.types": "Type",
}
QUESTION_CLASSES: Final[Mapping[str, str]] = MappingProxyType(
    {name: module for module, names in _QUESTION_NAMES.items() for name in names.split()}
)
"""The classes of which questions are made, and where each is."""

_ROOMS: Final = (
    "accounting",
    "charts",
    "explain",
    "ledger.values",
    "loss",
    "mechanisms",
    "noise",
    "plan",
    "query",
    "release",
    "requests",
    "units",
)


def written_value(value: object) -> Any:  # noqa: C901, PLR0911, PLR0912  one case a line
    """Return a value as JSON.

    >>> written_value((Fraction(1, 3), None))
    ['()', ['/', '1/3'], None]
    """
    match value:
        case None | bool() | str():
            return value
        case Enum():
            return [_tag(type(value)), value.name]
        case int():
            return int(value)
        case float():
            return ["f", float(value).hex()]
        case Fraction():
            return ["/", str(value)]
        case Decimal():
            return ["m", str(value)]
        case datetime():
            return ["t", value.isoformat()]
        case date():
            return ["d", value.isoformat()]
        case Mapping():
            pairs = [[written_value(key), written_value(each)] for key, each in value.items()]
            return ["{}", *pairs]
        case AbstractSet():
            return ["<>", *sorted((written_value(each) for each in value), key=repr)]
        case Node():
            return ["tree", encode(value)]
        case Box():
            return ["box", value.written()]
    if dataclasses.is_dataclass(value):
        given = (getattr(value, item.name) for item in dataclasses.fields(value) if item.init)
        return [_tag(type(value)), *map(written_value, given)]
    if isinstance(value, Sequence):
        return ["()", *map(written_value, value)]
    raise WrongKind(
        what=f"a {type(value).__name__} cannot be sent.",
        why="only plain values travel.",
        do="ask the question as SQL text.",
    )


_PLAIN: Final[Mapping[str, Callable[[Any], Any]]] = {
    "/": Fraction,
    "f": float.fromhex,
    "m": Decimal,
    "t": datetime.fromisoformat,
    "d": date.fromisoformat,
}
_OWN: Final[Mapping[str, Callable[[Any], Any]]] = {"tree": decode, "box": Box.read}
"""What has a written form of its own."""


def read_value(document: object, classes: Mapping[str, str] | None = None) -> Any:
    """Return the value that ``written_value`` has written.

    Args:
        document: what ``json.loads`` gave.
        classes: the names of classes that may be made, and their modules; without a list, all
            public values of this package, for what comes from our own server.

    >>> read_value(["()", ["/", "1/3"], None])
    (Fraction(1, 3), None)
    >>> read_value(["query.types:Type", "TEXT"], QUESTION_CLASSES)
    TEXT
    """
    try:
        return _read(document, classes, 0)
    except (ArithmeticError, AttributeError, ImportError, LookupError, TypeError, ValueError):
        raise _unreadable() from None


def _read(  # noqa: PLR0911  one tag a line
    document: object, classes: Mapping[str, str] | None, depth: int
) -> Any:
    if document is None or isinstance(document, bool | int | str):
        return document
    if not isinstance(document, list) or depth > _DEEPEST:
        raise _unreadable()
    tag, *rest = document
    if tag in _PLAIN:
        (text,) = rest
        return _PLAIN[tag](text)
    if tag == "{}":
        return {_read(k, classes, depth + 1): _read(v, classes, depth + 1) for k, v in rest}
    parts = (_read(each, classes, depth + 1) for each in rest)
    if tag == "()":
        return tuple(parts)
    if tag == "<>":
        return frozenset(parts)
    if tag in _OWN and classes is None:
        (written,) = rest
        return _OWN[tag](written)
    kind = _class(tag, classes)
    if issubclass(kind, Enum):
        (name,) = rest
        return kind[name]
    names = [item.name for item in dataclasses.fields(kind) if item.init]
    if len(names) != len(rest):
        raise _unreadable()
    return kind(**dict(zip(names, parts, strict=True)))


def _tag(kind: type) -> str:
    return f"{kind.__module__.removeprefix('discreet.')}:{kind.__qualname__}"


def _class(tag: object, classes: Mapping[str, str] | None) -> Any:
    """Return the class of a tag, if it may be made."""
    if not isinstance(tag, str):
        raise _unreadable()
    module, _, name = tag.partition(":")
    if classes is None:
        known = any(module == room or module.startswith(f"{room}.") for room in _ROOMS)
    else:
        known = classes.get(name) == module
    if not known:
        raise _unreadable()
    kind = getattr(importlib.import_module(f"discreet.{module}"), name)
    if not isinstance(kind, type) or not (dataclasses.is_dataclass(kind) or issubclass(kind, Enum)):
        raise _unreadable()
    return kind


def _unreadable() -> WrongKind:
    return WrongKind(
        what="a value that was sent cannot be read.",
        why="only values of listed classes are, and each as its class writes it.",
        do="send SQL text, or what this package writes.",
    )
