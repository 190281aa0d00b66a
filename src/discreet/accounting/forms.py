"""How values are written in JSON, and read again: exactly, and nothing else.

Trust: kernel.  A composition that is misread has another price.

Definition.  A form writes a value as objects, lists, text and numbers, and reads it again.  Values
of a class are objects that name their ``kind`` and hold exactly what the constructor takes; reading
calls the constructor, which checks it.  Nothing is evaluated, and only so many levels are read.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, TypeVar, final

from discreet.errors import OutOfRange, WrongKind

__all__ = [
    "Form",
    "Kind",
    "choice",
    "deeper",
    "kind",
    "kinds",
    "late",
    "many",
    "of_kind",
    "optional",
    "unreadable",
]

_DEEPEST: Final = 100

Enumerated = TypeVar("Enumerated", bound=Enum)


@final
@dataclass(frozen=True, slots=True)
class Form:
    """How to write a value and how to read it, at some depth."""

    write: Callable[[Any, int], object]
    read: Callable[[object, int], Any]


@final
@dataclass(frozen=True, slots=True)
class Kind:
    """A class by its name, the forms of what its constructor takes, and as what it keeps that."""

    name: str
    load: Callable[[], type]
    fields: Mapping[str, Form]
    kept: Mapping[str, str]
    make: Callable[..., Any] | None

    @property
    def of(self) -> type:
        """The class, whose file may be loaded only now."""
        return self.load()

    def write(self, value: object, depth: int) -> dict[str, object]:
        """Write one value of the class."""
        found: dict[str, object] = {"kind": self.name}
        for name, form in self.fields.items():
            found[name] = form.write(getattr(value, self.kept.get(name, name)), depth)
        return found

    def read(self, data: dict[str, object], depth: int) -> Any:
        """Read one value of the class, from exactly its fields."""
        if data.keys() != self.fields.keys() | {"kind"}:
            raise unreadable(f"the fields of a {self.name} are not {', '.join(self.fields)}")
        found = {name: form.read(data[name], depth) for name, form in self.fields.items()}
        return (self.of if self.make is None else self.make)(**found)


def kind(
    of: type,
    *,
    make: Callable[..., Any] | None = None,
    kept: Mapping[str, str] | None = None,
    **fields: Form,
) -> Kind:
    """Describe a class; its constructor takes all fields by name unless ``make`` does.

    >>> from discreet.accounting.written_values import NUMBER
    >>> from discreet.loss import ZeroConcentrated
    >>> kind(ZeroConcentrated, rho=NUMBER).write(ZeroConcentrated(rho="0.5"), 0)
    {'kind': 'ZeroConcentrated', 'rho': '1/2'}
    """
    return Kind(of.__name__, lambda: of, fields, kept or {}, make)


def late(
    home: str,
    name: str,
    /,
    *,
    make: Callable[..., Any] | None = None,
    kept: Mapping[str, str] | None = None,
    **fields: Form,
) -> Kind:
    """Describe a class by its room or file and its name; it is loaded when it is met.

    >>> from discreet.accounting.written_values import WHOLE
    >>> late("discreet.mechanisms", "Sparse", answers=WHOLE).of
    <class 'discreet.mechanisms.sparse.Sparse'>
    """

    def load() -> type:
        found: type = getattr(importlib.import_module(home), name)
        return found

    return Kind(name, load, fields, kept or {}, make)


def of_kind(table: Mapping[str, Kind], of: type) -> Kind | None:
    """Return the kind that a class is of; another class of the same name is of none.

    >>> from discreet.loss import Pure
    >>> of_kind({"Pure": kind(Pure)}, type("Pure", (), {})) is None
    True
    """
    found = table.get(of.__name__)
    return found if found is not None and found.of is of else None


def kinds(what: str, table: Iterable[Kind]) -> Form:
    """Return the form of values of several classes."""
    known = tuple(table)
    by_name = {each.name: each for each in known}

    def write(value: object, depth: int) -> object:
        found = of_kind(by_name, type(value))
        if found is None:
            raise WrongKind(
                what=f"a {type(value).__name__} cannot be written as {what}.",
                why="only values that are plain data can be stored and read again.",
                do=f"use one of {', '.join(by_name)}.",
            )
        return found.write(value, deeper(depth))

    def read(data: object, depth: int) -> Any:
        name = data.get("kind") if isinstance(data, dict) else None
        found = by_name.get(name) if isinstance(name, str) else None
        if found is None or not isinstance(data, dict):
            raise unreadable(f"{what} has none of the kinds {', '.join(by_name)}")
        return found.read(data, deeper(depth))

    return Form(write, read)


def many(form: Form, *, low: int = 0) -> Form:
    """Return the form of tuples of values, at least so many."""

    def write(values: Iterable[object], depth: int) -> list[object]:
        return [form.write(value, depth) for value in values]

    def read(data: object, depth: int) -> tuple[Any, ...]:
        if not isinstance(data, list) or len(data) < low:
            raise unreadable("a list is missing or too short")
        return tuple(form.read(item, depth) for item in data)

    return Form(write, read)


def optional(form: Form) -> Form:
    """Return the form of values that may be missing."""
    return Form(
        lambda value, depth: None if value is None else form.write(value, depth),
        lambda data, depth: None if data is None else form.read(data, depth),
    )


def choice(enum: type[Enumerated]) -> Form:
    """Return the form of the members of an enumeration."""
    names = {member.value: member for member in enum}

    def read(data: object, _: int) -> Enumerated:
        if not isinstance(data, str) or data not in names:
            raise unreadable(f"a choice is none of {', '.join(names)}")
        return names[data]

    return Form(lambda member, _: member.value, read)


def deeper(depth: int) -> int:
    """Go one level down, but not below the last.

    >>> deeper(5)
    6
    """
    if depth >= _DEEPEST:
        raise OutOfRange(
            what=f"a composition is nested more than {_DEEPEST} deep.",
            why="what is written must be read again, and so deep it may not be.",
            do="make it flatter: a sequence of sequences is one sequence.",
        )
    return depth + 1


def unreadable(what: str) -> WrongKind:
    """Return the error for data that no composition was written as."""
    return WrongKind(
        what=f"stored data cannot be read: {what}.",
        why="a composition that is misread has another price.",
        do="read only what discreet.accounting.written wrote.",
    )
