"""Compositions as JSON: a tree that is read equals the one that was written, price included.

Trust: kernel.  A composition that is misread has another price.

A value of a listed class is an object that names its class under ``kind`` and holds its fields, as
the class declares them; reading calls the constructor, which checks them.  Numbers are those of
:mod:`discreet.accounting.amounts`, tuples and sets are lists, members of enumerations their values.
A field with a default is left out if it has it and the class is a loss.  Nothing is evaluated, and
nesting is limited.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
import importlib
import itertools
import types
import typing
from collections.abc import Callable, Hashable, Mapping
from enum import Enum
from fractions import Fraction
from typing import Any, Final

import numpy as np

from discreet.accounting.amounts import (
    read_integer,
    read_number,
    undecodable,
    write_integer,
    write_number,
)
from discreet.accounting.box import Box
from discreet.accounting.nodes import Node, checked_node
from discreet.accounting.values import Values
from discreet.errors import OutOfRange, WrongKind
from discreet.loss.parameters import checked_rate
from discreet.units import PrivacyUnit

_VERSION: Final = 1
_DEEPEST: Final = 100

_HOMES: Final = {
    "accounting.nodes": "Leaf Sequential Choice Repeat Post",
    "accounting.parts_and_samples": "Parallel Where Group Sampled Shuffled",
    "loss": "Pure Approximate ZeroConcentrated GaussianDP RenyiDP Profile Composition RenyiCurve "
    "Shuffle",
    "loss.amplification": "SampledGroupPair FixedSizePair ReplacedPair",
    "loss.curved_pair": "CompositionPair",
    "loss.envelope": "EnvelopePair ChainPair",
    "loss.finite": "FinitePair",
    "loss.gaussian": "GaussianPair DiscreteGaussianPair SmoothedGaussianPair",
    "loss.interop": "ImportedPair",
    "loss.notions": "ContinuousLaplace",
    "loss.poisson_sampling": "SampledPair",
    "loss.pure_pairs": "BoundedRangePair ResponsePair LaplacePair DiscreteLaplacePair",
    "mechanisms": "Laplace Gaussian Exponential OptimalKeys NoisyKeys RandomizedResponse "
    "FiniteMechanism AboveThreshold Sparse NumericSparse SumKeys",
    "noise.grid": "DyadicGrid",
    "units": "PrivacyUnit NeighborGraph",
}
"""The classes whose values are plain data all the way down, and where each lies: the registry."""

KINDS: Final = {name: home for home, names in _HOMES.items() for name in names.split()}

_GIVEN_AS: Final = {"bound": "epsilon", "epsilon_bound": "epsilon", "delta_bound": "delta",
                    "local": "epsilon"}  # fmt: skip
"""Fields that a constructor takes under another name."""


def _is_falling(corners: tuple[tuple[float, float], ...]) -> bool:
    """Return True for corners (epsilon, delta) of a profile: from 0 on, to the right and down."""
    falling = all(a < b and c >= d for (a, c), (b, d) in itertools.pairwise(corners))
    return bool(corners) and corners[0][0] == 0 and corners[0][1] <= 1 and falling


_CHECKED: Final[Mapping[str, Callable[[Any], bool]]] = {
    "rate": lambda rate: rate is None or checked_rate(rate) > 0,
    "delta": lambda delta: delta <= 1,
    "remove": bool,
    "add": bool,
    "p": bool,
    "q": bool,
    "towards": bool,
    "parts": lambda parts: parts and not any(type(p) is tuple and p[1] < 1 for p in parts),
    "forward": _is_falling,
    "backward": _is_falling,
}
"""What must hold of fields that their constructors take as they are."""


def encode(node: Node) -> dict[str, Any]:
    """Write a composition for JSON.

    >>> from discreet.accounting import Leaf, Repeat
    >>> from discreet.loss import Pure
    >>> encode(Repeat(Leaf(Pure(epsilon="0.1")), 3))["child"]["source"]
    {'kind': 'Pure', 'epsilon': '1/10'}
    """
    return {"version": _VERSION, **_write_object(checked_node(node), 0)}


def decode(data: object) -> Node:
    """Read what ``encode`` wrote.

    >>> from discreet.accounting import Leaf
    >>> from discreet.loss import Pure
    >>> tree = Leaf(Pure(epsilon="0.1")) * 3
    >>> decode(encode(tree)) == tree
    True
    """
    if not isinstance(data, dict) or type(data.get("version")) is not int:
        raise undecodable("it is not an object with a version")
    if data["version"] != _VERSION:
        raise undecodable(f"its version is not {_VERSION}")
    return checked_node(_read_object({n: data[n] for n in data if n != "version"}, Node, 0))


def encode_unit(unit: PrivacyUnit) -> dict[str, Any]:
    """Write who is protected for JSON."""
    if type(unit) is not PrivacyUnit:
        raise WrongKind(f"the unit is a {type(unit).__name__}; give a PrivacyUnit.")
    return _write_object(unit, 0)


def decode_unit(data: object) -> PrivacyUnit:
    """Read what ``encode_unit`` wrote."""
    unit: PrivacyUnit = _read_object(data, PrivacyUnit, 0)
    return unit


@functools.cache
def _class(name: str) -> Any:
    """Return a listed class, whose file may be loaded only now."""
    return getattr(importlib.import_module(f"discreet.{KINDS[name]}"), name)


class _Unknown:
    """A type that a file imports for the type checker alone."""

    def __class_getitem__(cls, _: object) -> type[_Unknown]:
        return cls


class _Missing(dict[str, Any]):
    """Names that a file imports for the type checker alone: listed classes, and others."""

    def __init__(self, of: type) -> None:
        homes = (importlib.import_module(each.__module__) for each in of.__mro__)
        self.known = {name for home in homes for name in vars(home)}

    def __missing__(self, name: str) -> Any:
        if name in self.known or hasattr(builtins, name):
            raise KeyError(name)
        return _class(name) if name in KINDS else _Unknown


@functools.cache
def _fields(of: type) -> tuple[tuple[str, str, Any, Any], ...]:
    """Return the fields of a class: as they are written, their attributes, types and defaults."""
    hints = typing.get_type_hints(of, localns=_Missing(of))
    loss = of.__module__.startswith("discreet.loss")
    return tuple(
        (
            _GIVEN_AS.get(each.name, each.name),
            each.name,
            hints[each.name],
            each.default if loss and type(each.default) is bool else dataclasses.MISSING,
        )
        for each in dataclasses.fields(of)
        if not each.name.startswith("_")
    )


def _deeper(depth: int) -> int:
    if depth >= _DEEPEST:
        raise OutOfRange(f"a composition is nested more than {_DEEPEST} deep; make it flatter.")
    return depth + 1


# Writing


def _write_object(value: Any, depth: int) -> dict[str, Any]:
    of = type(value)
    if of.__name__ not in KINDS or _class(of.__name__) is not of:
        raise WrongKind(
            f"a {of.__name__} cannot be written, since it is not plain data; use one of "
            f"{', '.join(KINDS)}."
        )
    deeper = _deeper(depth)
    return {"kind": of.__name__} | {
        name: _write(getattr(value, attribute), hint, deeper)
        for name, attribute, hint, default in _fields(of)
        if getattr(value, attribute) is not default
    }


def _write(value: Any, hint: Any, depth: int) -> Any:  # noqa: PLR0911  one line for each type
    match value:
        case None | bool() | str():
            return value
        case Enum():
            return value.value
        case int() | np.integer():
            return (
                {"whole": write_integer(int(value))}
                if hint is Hashable
                else write_integer(int(value))
            )
        case Fraction():
            return {"number": write_number(value)} if hint is Hashable else write_number(value)
        case float() if hint is not Hashable:
            return write_number(Fraction(value))
        case tuple() | frozenset():
            inner = _items(hint, len(value))
            items = sorted(value) if isinstance(value, frozenset) else value
            return [
                _write(item, each, _deeper(depth) if hint is Hashable else depth)
                for item, each in zip(items, inner, strict=True)
            ]
        case Box() | Values():
            return value.written()
    if hint is Hashable:
        raise WrongKind(
            f"a name is a {type(value).__name__}, which cannot be written; name inputs and outputs "
            "by text, exact numbers, True, False, None and tuples of them."
        )
    return _write_object(value, depth)


def _items(hint: Any, count: int) -> list[Any]:
    """Return the types of the members of a tuple or set."""
    if hint is Hashable:
        return [Hashable] * count
    inner = typing.get_args(hint)
    return [inner[0]] * count if len(inner) == 1 or inner[1] is ... else list(inner)


# Reading


def _read_object(data: object, wanted: Any, depth: int) -> Any:
    name = data.get("kind") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(name, str) or name not in KINDS:
        raise undecodable(f"a value has none of the kinds {', '.join(KINDS)}")
    of, deeper = _class(name), _deeper(depth)
    if not _fits(of, wanted):
        raise undecodable(f"a {name} is in the place of another value")
    fields = _fields(of)
    plain = {each for each, _, _, default in fields if data.get(each) is (not default)}
    needed = {each for each, _, _, default in fields if default is dataclasses.MISSING}
    if data.keys() != {"kind"} | needed | plain:
        raise undecodable(f"the fields of a {name} are not {', '.join(sorted(needed))}")
    given = {each: _read(data[each], hint, deeper) for each, _, hint, _ in fields if each in data}
    if of.__module__.startswith("discreet.loss") and not all(
        _CHECKED[each](value) for each, value in given.items() if each in _CHECKED
    ):
        raise undecodable(f"a {name} cannot be made of its fields")
    return _made(of, name, given)


def _fits(of: type, wanted: Any) -> bool:
    """Say whether a class is the one that is wanted, or one of several."""
    if typing.get_origin(wanted) in {typing.Union, types.UnionType}:
        return any(_fits(of, each) for each in typing.get_args(wanted))
    wanted = typing.get_origin(wanted) or wanted
    if wanted is _Unknown or wanted is types.NoneType:
        return wanted is _Unknown
    return issubclass(of, wanted)


def _made(of: Any, name: str, given: dict[str, Any]) -> Any:
    """Call a constructor; those of some nodes do not take their fields by name."""
    match name:
        case "Sequential" | "Choice":
            children = given.pop("children")
            return of(*children, **given)
        case "Parallel":
            parts = dict(given["parts"])
            if len(parts) != len(given["parts"]):
                raise undecodable("two parts hold the same values")
            return of(**{**given, "parts": parts})
        case _:
            return of(**given)


def _read(data: Any, hint: Any, depth: int) -> Any:  # noqa: C901, PLR0911, PLR0912  one each
    if typing.get_origin(hint) in {typing.Union, types.UnionType}:
        choices = typing.get_args(hint)
        if data is None and types.NoneType in choices:
            return None
        plain = [each for each in choices if each in {str, int, Fraction}]
        if plain and not isinstance(data, dict):
            return _read(data, plain[0], depth)
        return _read_object(data, hint, depth)
    if hint is str or hint is bool:
        if type(data) is not hint:
            raise undecodable(f"a {hint.__name__} is missing")
        return data
    if hint is int:
        return read_integer(data)
    if hint in {Fraction, float}:
        number = read_number(data)
        if number < 0:
            raise undecodable("a number is negative")
        return hint(number)
    if hint is Hashable:
        return _read_name(data, depth)
    if isinstance(hint, type) and issubclass(hint, Enum):
        found = [member for member in hint if type(data) is str and member.value == data]
        if not found:
            raise undecodable(f"a choice is none of {', '.join(str(m.value) for m in hint)}")
        return found[0]
    origin = typing.get_origin(hint)
    if origin in {tuple, frozenset}:
        inner = _items(hint, len(data)) if isinstance(data, list) else []
        if not isinstance(data, list) or len(inner) != len(data):
            raise undecodable("a list is missing, or has another length")
        return origin(_read(item, each, depth) for item, each in zip(data, inner, strict=True))
    if hint in {Box, Values}:
        return hint.read(data)
    return _read_object(data, origin or hint, depth)


def _read_name(data: object, depth: int) -> Hashable:
    """Read what an input or output of a finite mechanism is called."""
    match data:
        case None | bool() | str():
            return data
        case {"whole": number, **rest} if not rest:
            return read_integer(number)
        case {"number": number, **rest} if not rest:
            return read_number(number)
        case list():
            return tuple(_read_name(item, _deeper(depth)) for item in data)
        case _:
            raise undecodable("a name is neither text, nor a number, nor a list of names")
