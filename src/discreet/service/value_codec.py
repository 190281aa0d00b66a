"""Frozen values as JSON, with the names of their fields: what is read was made by constructors.

Trust: kernel.  A server reads questions by this from whoever may ask.  Nothing but the listed
classes is made, each by its constructor, which refuses what it always refuses (T1).

Definition.  A document is {"format": 1, "value": V}.  None, truth values, whole numbers and texts
are themselves.  Everything else is a list of a tag and its parts: ["/", "1/3"] a fraction, ["f",
hex] a float, ["d", iso] a date, ["t", iso] a timestamp, ["()", ...] a tuple, ["tree", ...] and
["box", ...] a composition and a scope, ["{}", [key, value], ...] a mapping, ["<>", ...] a set, and
["query:Column", {"name": ...}] a value of a class: its room, its name and its fields.

So files and fields may move between releases.  A field that is unknown is left out of what a server
sends, and a new one takes its default; in a question nothing is left out.  What an older program
would misunderstand gets another format, which it refuses.
"""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cache
from typing import Any, Final

from discreet.accounting import Box, Node, decode, encode
from discreet.errors import WrongKind

FORMAT: Final = 1
_DEEPEST: Final = 200
_QUESTION_NAMES: Final = (
    "Column Literal Call Case Cast Order Window Aggregate Grouped Star InnerQuery Table Named "
    "Filter Project Join SemiJoin Valued Aggregated Distinct UnionAll Clause Question Span Type"
)
QUESTION_CLASSES: Final = frozenset(f"query:{name}" for name in _QUESTION_NAMES.split())
"""The classes of which questions are made."""
_ROOMS: Final = (
    "accounting",
    "charts",
    "explain",
    "loss",
    "mechanisms",
    "noise",
    "plan",
    "query",
    "release",
    "requests",
    "units",
)


def written_value(value: object) -> dict[str, Any]:
    """Return a value as a document.

    >>> written_value((Fraction(1, 3), None))
    {'format': 1, 'value': ['()', ['/', '1/3'], None]}
    """
    return {"format": FORMAT, "value": _written(value)}


def _written(value: object) -> Any:  # noqa: C901, PLR0911, PLR0912  one case a line
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
            pairs = [[_written(key), _written(each)] for key, each in value.items()]
            return ["{}", *pairs]
        case AbstractSet():
            return ["<>", *sorted((_written(each) for each in value), key=repr)]
        case Node():
            return ["tree", encode(value)]
        case Box():
            return ["box", value.written()]
    if dataclasses.is_dataclass(value):
        names = [item.name for item in dataclasses.fields(value) if item.init]
        return [_tag(type(value)), {name: _written(getattr(value, name)) for name in names}]
    if isinstance(value, Sequence):
        return ["()", *map(_written, value)]
    raise WrongKind(
        what=f"a {type(value).__name__} cannot be sent.",
        why="only plain values travel.",
        do="ask the question as SQL text.",
    )


_FRACTION: Final = re.compile(r"-?[0-9]{1,4000}(/[0-9]{1,4000})?", re.ASCII)


def _fraction(text: Any) -> Fraction:
    """Read what ``str`` writes of a fraction; 1e999999999 would keep a processor busy (T1)."""
    if not isinstance(text, str) or _FRACTION.fullmatch(text) is None:
        raise ValueError
    return Fraction(text)


_PLAIN: Final[Mapping[str, Callable[[Any], Any]]] = {
    "/": _fraction,
    "f": float.fromhex,
    "m": Decimal,
    "t": datetime.fromisoformat,
    "d": date.fromisoformat,
}
_OWN: Final[Mapping[str, Callable[[Any], Any]]] = {"tree": decode, "box": Box.read}
"""What has a written form of its own."""


def read_value(document: object, classes: Collection[str] | None = None) -> Any:
    """Return the value that ``written_value`` has written.

    Args:
        document: what ``json.loads`` gave.
        classes: the tags of classes that may be made, each with the fields that it has; without a
            list, all public values of this package, for what comes from our own server.

    >>> read_value({"format": 1, "value": ["()", ["/", "1/3"], None]})
    (Fraction(1, 3), None)
    >>> read_value({"format": 1, "value": ["query:Type", "TEXT"]}, QUESTION_CLASSES)
    TEXT
    """
    if not isinstance(document, Mapping) or set(document) != {"format", "value"}:
        raise _unreadable()
    if document["format"] != FORMAT:
        raise WrongKind(
            what=f"a value has the format {str(document['format'])[:20]}, and {FORMAT} is read.",
            why="the two programs are of releases that write values differently.",
            do="install the same release of discreet on both sides.",
        )
    try:
        return _read(document["value"], classes, 0)
    except (ArithmeticError, AttributeError, ImportError, LookupError, TypeError, ValueError):
        raise _unreadable() from None


def _read(  # noqa: PLR0911  one tag a line
    document: object, classes: Collection[str] | None, depth: int
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
    if tag == "()":
        return tuple(_read(each, classes, depth + 1) for each in rest)
    if tag == "<>":
        return frozenset(_read(each, classes, depth + 1) for each in rest)
    (written,) = rest
    if tag in _OWN and classes is None:
        return _OWN[tag](written)
    kind = _class(tag, classes)
    if issubclass(kind, Enum):
        return kind[written]
    known = {item.name for item in dataclasses.fields(kind) if item.init}
    if classes is not None and set(written) != known:
        raise _unreadable()
    given = {name: _read(each, classes, depth + 1) for name, each in written.items()}
    return kind(**{name: each for name, each in given.items() if name in known})


def _tag(kind: type) -> str:
    room = kind.__module__.removeprefix("discreet.").partition(".")[0]
    return f"{room}:{kind.__qualname__}"


def _class(tag: object, classes: Collection[str] | None) -> Any:
    """Return the class of a tag, if it may be made."""
    room, _, name = tag.partition(":") if isinstance(tag, str) else ("", "", "")
    if room not in _ROOMS or (classes is not None and tag not in classes):
        raise _unreadable()
    kind = _classes(room)[name]
    if not (dataclasses.is_dataclass(kind) or issubclass(kind, Enum)):
        raise _unreadable()
    return kind


@cache
def _classes(room: str) -> Mapping[str, Any]:
    """Return the public classes of a room by their names."""
    found: dict[str, Any] = {}
    door = importlib.import_module(f"discreet.{room}")
    for module in pkgutil.walk_packages(door.__path__, f"{door.__name__}."):
        made_there = vars(importlib.import_module(module.name)).items()
        found |= {
            name: kind
            for name, kind in made_there
            if isinstance(kind, type) and kind.__module__ == module.name and name[0] != "_"
        }
    return found


def _unreadable() -> WrongKind:
    return WrongKind(
        what="a value that was sent cannot be read.",
        why="only values of listed classes are, and each as its class writes it.",
        do="send SQL text, or what this package writes.",
    )
