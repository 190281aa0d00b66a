"""Schemas: how values are encoded in JSON, and decoded from exactly that.

Trust: kernel.  A composition that is misread has another price.

Definition.  A form writes a value as objects, lists, text and numbers, and reads it again.  Values
of a class are objects that name their ``class_schema`` and hold exactly what the constructor takes;
reading calls the constructor, which checks it.  Nothing is evaluated, and nesting is limited.

Exact numbers are text, such as "1/10"; those with too many digits for Python to write are in base
sixteen.  Whole numbers are numbers of JSON below 2**53, which every reader keeps, and text above.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any, Final, TypeVar, final

import numpy as np

from discreet.accounting.storage.decoding import undecodable
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import rational
from discreet.mechanisms.mechanism import factor

_DEEPEST: Final = 100

Enumerated = TypeVar("Enumerated", bound=Enum)


@final
@dataclass(frozen=True, slots=True)
class FieldSchema:
    """How to write a value and how to read it, at some depth."""

    write: Callable[[Any, int], object]
    read: Callable[[object, int], Any]


@final
@dataclass(frozen=True, slots=True)
class ClassSchema:
    """A class by its name, the forms of what its constructor takes, and as what it keeps that.

    ``marks`` are true or false, and written only where they are true.
    """

    name: str
    load: Callable[[], type]
    fields: Mapping[str, FieldSchema]
    kept: Mapping[str, str]
    make: Callable[..., Any] | None
    marks: tuple[str, ...] = ()

    @property
    def of(self) -> type:
        """The class, whose file may be loaded only now."""
        return self.load()

    def write(self, value: object, depth: int) -> dict[str, object]:
        """Write one value of the class."""
        data: dict[str, object] = {"kind": self.name}
        for name, form in self.fields.items():
            data[name] = form.write(getattr(value, self.kept.get(name, name)), depth)
        return data | {name: True for name in self.marks if getattr(value, name)}

    def read(self, data: dict[str, object], depth: int) -> Any:
        """Read one value of the class, from exactly its fields."""
        marked = {name: True for name in self.marks if data.get(name) is True}
        if data.keys() != self.fields.keys() | {"kind"} | marked.keys():
            raise undecodable(f"the fields of a {self.name} are not {', '.join(self.fields)}")
        values = {name: form.read(data[name], depth) for name, form in self.fields.items()}
        values |= marked
        return self.of(**values) if self.make is None else self.make(self.of, **values)


def class_schema(
    of: type,
    *,
    make: Callable[..., Any] | None = None,
    kept: Mapping[str, str] | None = None,
    **fields: FieldSchema,
) -> ClassSchema:
    """Describe a class; its constructor takes all fields by name, or ``make`` it and them.

    >>> from discreet.accounting.storage.schema import NUMBER
    >>> from discreet.loss import ZeroConcentrated
    >>> class_schema(ZeroConcentrated, rho=NUMBER).write(ZeroConcentrated(rho="0.5"), 0)
    {'kind': 'ZeroConcentrated', 'rho': '1/2'}
    """
    return ClassSchema(of.__name__, lambda: of, fields, kept or {}, make)


def lazy_class_schema(
    home: str,
    name: str,
    /,
    *,
    make: Callable[..., Any] | None = None,
    kept: Mapping[str, str] | None = None,
    marks: tuple[str, ...] = (),
    **fields: FieldSchema,
) -> ClassSchema:
    """Describe a class by its room or file and its name; it is loaded when it is met.

    >>> from discreet.accounting.storage.schema import WHOLE
    >>> lazy_class_schema("discreet.mechanisms", "Sparse", answers=WHOLE).of
    <class 'discreet.mechanisms.sparse_vector.Sparse'>
    """
    return ClassSchema(name, lambda: _loaded(home, name), fields, kept or {}, make, marks)


def _loaded(home: str, name: str) -> Any:
    return getattr(importlib.import_module(home), name)


def class_schema_of(table: Mapping[str, ClassSchema], of: type) -> ClassSchema | None:
    """Return the kind that a class is of; another class of the same name is of none.

    >>> from discreet.loss import Pure
    >>> class_schema_of({"Pure": class_schema(Pure)}, type("Pure", (), {})) is None
    True
    """
    schema = table.get(of.__name__)
    return schema if schema is not None and schema.of is of else None


def union_schema(what: str, table: Iterable[ClassSchema]) -> FieldSchema:
    """Return the form of values of several classes."""
    known = tuple(table)
    by_name = {schema.name: schema for schema in known}

    def write(value: object, depth: int) -> object:
        schema = class_schema_of(by_name, type(value))
        if schema is None:
            raise WrongKind(
                what=f"a {type(value).__name__} cannot be written as {what}.",
                why="only values that are plain data can be stored and read again.",
                do=f"use one of {', '.join(by_name)}.",
            )
        return schema.write(value, next_depth(depth))

    def read(data: object, depth: int) -> Any:
        name = data.get("kind") if isinstance(data, dict) else None
        schema = by_name.get(name) if isinstance(name, str) else None
        if schema is None or not isinstance(data, dict):
            raise undecodable(f"{what} has none of the kinds {', '.join(by_name)}")
        return schema.read(data, next_depth(depth))

    return FieldSchema(write, read)


def tuple_schema(form: FieldSchema, *, low: int = 0) -> FieldSchema:
    """Return the form of tuples of at least ``low`` values."""

    def write(values: Iterable[object], depth: int) -> list[object]:
        return [form.write(value, depth) for value in values]

    def read(data: object, depth: int) -> tuple[Any, ...]:
        if not isinstance(data, list) or len(data) < low:
            raise undecodable("a list is missing or too short")
        return tuple(form.read(item, depth) for item in data)

    return FieldSchema(write, read)


def optional_schema(form: FieldSchema) -> FieldSchema:
    """Return the form of values that may be missing."""
    return FieldSchema(
        lambda value, depth: None if value is None else form.write(value, depth),
        lambda data, depth: None if data is None else form.read(data, depth),
    )


def enum_schema(enum: type[Enumerated]) -> FieldSchema:
    """Return the form of the members of an enumeration."""
    names = {member.value: member for member in enum}

    def read(data: object, _: int) -> Enumerated:
        if not isinstance(data, str) or data not in names:
            raise undecodable(f"a choice is none of {', '.join(names)}")
        return names[data]

    return FieldSchema(lambda member, _: member.value, read)


def lazy_enum_schema(home: str, name: str) -> FieldSchema:
    """Return the form of the members of an enumeration that is loaded when one is read."""
    return FieldSchema(
        lambda member, _: member.value,
        lambda data, depth: enum_schema(_loaded(home, name)).read(data, depth),
    )


def next_depth(depth: int) -> int:
    """Go one level down, but not below the last."""
    if depth >= _DEEPEST:
        raise OutOfRange(
            what=f"a composition is nested more than {_DEEPEST} deep.",
            why="what is written must be read again, and so deep it may not be.",
            do="make it flatter: a sequence of sequences is one sequence.",
        )
    return depth + 1


_SAFE: Final = 1 << 53
_SHORT_BITS: Final = 3000
_LONG: Final = re.compile(r"(-?0x[0-9a-f]{1,50000})/(0x[0-9a-f]{1,50000})", re.ASCII)


def _plain(of: type, what: str) -> FieldSchema:
    def read(data: object, _: int) -> Any:
        if type(data) is not of:
            raise undecodable(f"{what} is missing")
        return data

    return FieldSchema(lambda value, _: value, read)


def _write_number(value: Fraction | int, _: int) -> str:
    top, bottom = value.numerator, value.denominator
    if top.bit_length() + bottom.bit_length() <= _SHORT_BITS:
        return str(value)
    return f"{top:#x}/{bottom:#x}"


def _read_number(data: object, _: int) -> Fraction:
    if not isinstance(data, str):
        raise undecodable("an exact number is not text such as '1/10'")
    long = _LONG.fullmatch(data)
    if long is None:
        return rational(data, name="a stored number")
    top, bottom = (int(part, 16) for part in long.groups())
    if bottom == 0:
        raise undecodable("an exact number is divided by zero")
    return Fraction(top, bottom)


def _read_positive(data: object, depth: int) -> Fraction:
    return factor(_read_number(data, depth), name="a stored number")


def _write_whole(value: int, depth: int) -> int | str:
    return int(value) if abs(value) < _SAFE else _write_number(int(value), depth)


def _read_whole(data: object, depth: int) -> int:
    if type(data) is int:
        return data
    number = _read_number(data, depth)
    if number.denominator != 1:
        raise undecodable("a whole number is a fraction")
    return number.numerator


def _write_name(value: Hashable, depth: int) -> object:
    """Write what an input or output of a finite mechanism is called."""
    match value:
        case None | bool() | str():
            return value
        case int() | np.integer():
            return {"whole": _write_whole(int(value), depth)}
        case Fraction():
            return {"number": _write_number(value, depth)}
        case tuple():
            return [_write_name(item, next_depth(depth)) for item in value]
        case _:
            raise WrongKind(
                what=f"a name is a {type(value).__name__}, which cannot be written.",
                why="only text, exact numbers, True, False, None and tuples of them are the same "
                "after reading.",
                do="relabel the inputs and outputs.",
            )


def _read_name(data: object, depth: int) -> Hashable:
    match data:
        case None | bool() | str():
            return data
        case {"whole": number, **rest} if not rest:
            return _read_whole(number, depth)
        case {"number": number, **rest} if not rest:
            return _read_number(number, depth)
        case list():
            return tuple(_read_name(item, next_depth(depth)) for item in data)
        case _:
            raise undecodable("a name is neither text, nor a number, nor a list of names")


TEXT: Final = _plain(str, "text")
FLAG: Final = _plain(bool, "true or false")
NUMBER: Final = FieldSchema(_write_number, _read_number)
POSITIVE: Final = FieldSchema(_write_number, _read_positive)
WHOLE: Final = FieldSchema(_write_whole, _read_whole)
NAME: Final = FieldSchema(_write_name, _read_name)
