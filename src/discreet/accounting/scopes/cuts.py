"""Cuts on the line of values: where a set of values is entered and left.

Trust: kernel.  A cut that is moved moves people into a set or out of it.

Definition.  A cut is a key and a side: 0 lies just below the key, 1 just above.  A rising list of
cuts, with the word whether one starts inside, is a set of points of the line.  In settled form no
cut lies at an end of the line and no two cuts mark the same place, so equal sets have equal cuts.
Nothing lies below minus infinity; NaN lies above infinity.  A bool is True or False.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, Final

from discreet.accounting.scopes.ordered_keys import KINDS, decode_key, encode_key, is_key_of_kind
from discreet.accounting.storage.decoding import undecodable_map

Cut = tuple[Any, int]
"""A key, and a side of it."""

Cuts = tuple[Cut, ...]

_LOWEST: Final = (None, 0)
_HIGHEST: Final = (None, 1)


def normalize_cuts(kind: str | None, cuts: Iterable[Cut], *, inside: bool) -> tuple[bool, Cuts]:
    """Bring rising cuts into settled form; also return whether one starts inside.

    >>> normalize_cuts("bool", [(False, 0), (True, 1)], inside=False)
    (True, ())
    >>> normalize_cuts("number", [(1, 0), (2, 1)], inside=False)
    (False, ((1, 0), (2, 1)))
    """
    kept: list[Cut] = []
    for cut in cuts:
        place = _place(kind, cut)
        if place == _LOWEST:
            inside = not inside
        elif kept and kept[-1] == place:
            kept.pop()
        elif place != _HIGHEST:
            kept.append(place)
    return inside, tuple(kept)


def are_normalized(kind: str, cuts: Cuts) -> bool:
    """Whether cuts are in settled form; those of text must surround single values.

    >>> are_normalized("number", ((1, 0), (2, 1))), are_normalized("text", (("a", 0),))
    (True, False)
    """
    return (
        kind in KINDS
        and all(_is_cut(kind, cut) for cut in cuts)
        and all(here < there for here, there in pairwise(cuts))
        and (kind != "text" or _surround(cuts))
    )


def combine_cuts(
    first: tuple[bool, Cuts], second: tuple[bool, Cuts], rule: Callable[[bool, bool], bool]
) -> tuple[bool, Cuts]:
    """Walk along two sets at once, and change sides wherever the rule does.

    >>> combine_cuts((False, ((1, 0),)), (True, ((2, 0),)), lambda here, there: here and there)
    (False, ((1, 0), (2, 0)))
    """
    here, there = first[0], second[0]
    start = now = rule(here, there)
    ours, theirs = set(first[1]), set(second[1])
    cuts = []
    for cut in sorted(ours | theirs):
        here ^= cut in ours
        there ^= cut in theirs
        if rule(here, there) != now:
            now = not now
            cuts.append(cut)
    return start, tuple(cuts)


def describe_cuts(cuts: Cuts, *, inside: bool) -> list[str]:
    """Say which stretches of the line belong.

    >>> describe_cuts(((1, 0), (2, 0), (5, 0), (5, 1), (7, 1)), inside=False)
    ['from 1 to below 2', '5', 'above 7']
    >>> describe_cuts((("CA", 0), ("CA", 1)), inside=True)
    ["other than 'CA'"]
    """
    if cuts and inside and _surround(cuts):
        return [f"other than {', '.join(_shown(key) for key, _ in cuts[::2])}"]
    ends: list[Cut | None] = [None] * inside + list(cuts)
    ends += [None] * (len(ends) % 2)
    return [_stretch(low, high) for low, high in zip(ends[::2], ends[1::2], strict=True)]


def encode_cuts(cuts: Cuts) -> list[list[object]]:
    """Return a form that JSON keeps exactly.

    >>> encode_cuts((("CA", 0), ("CA", 1)))
    [['CA', 0], ['CA', 1]]
    """
    return [[encode_key(key), side] for key, side in cuts]


def decode_cuts(data: object, kind: str | None) -> Cuts:
    """Read what ``encode_cuts`` wrote; the caller checks that it is in settled form.

    >>> decode_cuts([["1/10", 0]], "number")
    ((Fraction(1, 10), 0),)
    """
    if not isinstance(data, list) or (kind is not None and kind not in KINDS):
        raise undecodable_map()
    return tuple(_read_cut(item, kind) for item in data)


def _place(kind: str | None, cut: Cut) -> Cut:
    """Return the one name of a place that has several."""
    match kind, cut:
        case "bool", (False, 0):
            return _LOWEST
        case "bool", (False, 1):
            return (True, 0)
        case "bool", (True, 1):
            return _HIGHEST
        case "number", (key, 0) if key == -math.inf:
            return _LOWEST
        case _:
            return cut


def _is_cut(kind: str, cut: object) -> bool:
    if not isinstance(cut, tuple) or len(cut) != 2:
        return False
    key, side = cut
    return _is_side(side) and is_key_of_kind(key, kind) and _place(kind, cut) == cut


def _is_side(side: object) -> bool:
    return type(side) is int and side in {0, 1}


def _surround(cuts: Cuts) -> bool:
    pairs = zip(cuts[::2], cuts[1::2], strict=False)
    return len(cuts) % 2 == 0 and all((low[0], 1) == high for low, high in pairs)


def _stretch(low: Cut | None, high: Cut | None) -> str:
    match low, high:
        case (key, 0), (other, 1) if key == other:
            return _shown(key)
        case None, (key, side):
            return f"{('below', 'up to')[side]} {_shown(key)}"
        case (key, side), None:
            return f"{('from', 'above')[side]} {_shown(key)}"
        case (key, side), (other, end):
            start = f"{('from', 'above')[side]} {_shown(key)}"
            return f"{start} {('to below', 'to')[end]} {_shown(other)}"
        case _:
            return "not NULL"


def _shown(key: object) -> str:
    return repr(key) if isinstance(key, str) else str(key)


def _read_cut(data: object, kind: str | None) -> Cut:
    if kind is None or not isinstance(data, list) or len(data) != 2 or not _is_side(data[1]):
        raise undecodable_map()
    return decode_key(data[0], kind), data[1]
