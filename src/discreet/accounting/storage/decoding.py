"""Refusals of stored data: what this library did not write is not read.

Trust: kernel.  Data that is misread sends charges to the wrong people, or has another price.
"""

from __future__ import annotations

from typing import Any, cast

from discreet.errors import WrongKind


def undecodable(what: str) -> WrongKind:
    """Return the error for data that no composition or budget was written as."""
    return WrongKind(
        what=f"stored data cannot be read: {what}.",
        why="a composition that is misread has another price.",
        do="read only what was written by this library.",
    )


def undecodable_map() -> WrongKind:
    """Return the error for data that no set of values or of records was written as."""
    return WrongKind(
        what="a stored set of values or of records is not in its written form.",
        why="a set that is misread sends charges to the wrong people.",
        do="read only what was written by this library.",
    )


def stored_fields(data: object, *names: str) -> dict[str, Any]:
    """Return the fields of a stored object, if it has exactly these.

    >>> stored_fields({"null": True}, "null")
    {'null': True}
    """
    require_stored(isinstance(data, dict) and set(data) == set(names))
    return cast("dict[str, Any]", data)


def require_stored(holds: bool) -> None:  # noqa: FBT001  (a condition, and nothing else)
    """Refuse stored data that breaks a condition."""
    if not holds:
        raise undecodable_map()
