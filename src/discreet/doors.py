"""Doors of rooms: names that are loaded when they are first asked for.

Trust: public.

Most programs need few of the names of a room, and SciPy, DuckDB or an optional engine take their
time.  A door lists its names by file; laziness lives here and not inside functions.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

__all__ = ["late_names"]

_NOTHING: Mapping[str, str] = {}


def late_names(
    room: str,
    files: Mapping[str, Iterable[str]],
    *,
    rooms: Iterable[str] = (),
    renamed: Mapping[str, str] = _NOTHING,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a door.

    Args:
        room: the module name of the door.
        files: the names that each file of the room defines, by its dotted name in the room.
        rooms: modules below the door that are names of their own.
        renamed: former names that still work for one release, and what they are called now.

    >>> getattr_, dir_ = late_names("discreet", {"exact": ["rational"]},
    ...     renamed={"ratio": "rational"})
    >>> dir_(), getattr_("rational").__name__
    (['rational'], 'rational')
    """
    places = {name: file for file, names in files.items() for name in names}
    modules = frozenset(rooms)

    def load(name: str) -> Any:
        if name in renamed:
            warnings.warn(
                f"{room}.{name} is called {renamed[name]} now; the former name goes with the next "
                "release.",
                DeprecationWarning,
                stacklevel=2,
            )
            return getattr(sys.modules[room], renamed[name])
        if name in modules:
            return importlib.import_module(f"{room}.{name}")
        if name not in places:
            message = f"module {room!r} has no attribute {name!r}"
            raise AttributeError(message)
        found = getattr(importlib.import_module(f"{room}.{places[name]}"), name)
        setattr(sys.modules[room], name, found)
        return found

    def names() -> list[str]:
        return sorted(sys.modules[room].__all__)

    return load, names
