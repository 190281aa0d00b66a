"""Randomizers by name: what a form says of one, read back.

Trust: kernel.  Both sides of a form must mean the same law by it.

A description has a name, an exact epsilon as text, and whole numbers; nothing in it is evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from discreet.errors import WrongKind
from discreet.local.hitters.prefix_response import PrefixResponse
from discreet.local.numbers.two_point import TwoPoint
from discreet.local.numbers.window import WindowResponse
from discreet.local.randomizers.direct import Direct
from discreet.local.randomizers.hadamard import Hadamard
from discreet.local.randomizers.hashing import Hashing
from discreet.local.randomizers.randomizer import Randomizer
from discreet.local.randomizers.record import Record
from discreet.local.randomizers.signed_hadamard import SignedHadamard
from discreet.local.randomizers.subset import Subset
from discreet.local.randomizers.unary import Unary

RANDOMIZERS: Final[Mapping[str, type[Randomizer]]] = {
    kind.name: kind
    for kind in (
        Direct,
        Unary,
        Subset,
        Hadamard,
        SignedHadamard,
        Hashing,
        PrefixResponse,
        TwoPoint,
        WindowResponse,
    )
}


def randomizer_of(description: object) -> Randomizer:
    """Make the randomizer that describes itself so.

    >>> randomizer_of({"name": "hadamard", "epsilon": "1/2", "values": 128})
    Hadamard(epsilon=Fraction(1, 2), values=128)
    """
    if not isinstance(description, Mapping) or description.get("name") != Record.name:
        return _single(description)
    parts = description.get("parts")
    if set(description) != {"name", "parts"} or not isinstance(parts, list):
        raise _unreadable("a record is a list of parts")
    return Record(parts=[_single(part) for part in parts])


def _single(description: object) -> Randomizer:
    """Make a randomizer of one attribute."""
    if not isinstance(description, Mapping):
        raise _unreadable("it is no list of names and values")
    rest: dict[str, Any] = {str(name): value for name, value in description.items()}
    kind = RANDOMIZERS.get(str(rest.pop("name", "")))
    if kind is None:
        raise _unreadable("its name is none of " + ", ".join(RANDOMIZERS))
    if not isinstance(rest.get("epsilon"), str):
        raise _unreadable("its epsilon is not exact text")
    try:
        randomizer = kind(**rest)
    except TypeError:
        raise _unreadable("its parameters are not those of this randomizer") from None
    if randomizer.describe() != dict(description):
        raise _unreadable("its parameters are not written the one way that they are written")
    return randomizer


def _unreadable(reason: str) -> WrongKind:
    return WrongKind(
        what=f"a randomizer cannot be read: {reason}.",
        why="device and analyst must mean the same law.",
        do="use a description as describe() writes it.",
    )
