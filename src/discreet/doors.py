"""The doors of rooms: public names that are loaded on first use.

Trust: public.

Most programs use few of a room's names, and importing SciPy, DuckDB or an optional engine takes
time.  A door (the ``__init__`` of a room) lists its names once, as imports for the type checker;
:func:`open_door` reads that list, and loads a name when it is first used.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

__all__ = ["Explainable", "Labeled", "explain_room", "late_names", "open_door"]


def open_door(
    room: str, file: str, *, also: Iterable[str] = ()
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__all__``, the ``__getattr__`` and the ``__dir__`` of a door.

    Args:
        room: the module name of the door.
        file: its file, whose imports under ``if TYPE_CHECKING`` are its public names.
        also: public names that the door itself defines.
    """
    files: dict[str, list[str]] = {}
    for node in ast.parse(Path(file).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for each in node.body:
                if isinstance(each, ast.ImportFrom) and each.module is not None:
                    files.setdefault(each.module, []).extend(alias.name for alias in each.names)
    own = files.pop(room, [])
    inner = {module.removeprefix(f"{room}."): names for module, names in files.items()}
    names = sorted([*own, *also, *(name for names in files.values() for name in names)])
    load, _ = late_names(room, inner, rooms=own)
    return names, load, lambda: names


def late_names(
    room: str, files: Mapping[str, Iterable[str]], *, rooms: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and ``__dir__`` of a door.

    Args:
        room: the module name of the door.
        files: the names that each file of the room defines, by its dotted name in the room, or in
            full for one of another room.
        rooms: modules behind the door that are public names themselves.

    >>> getattr_, dir_ = late_names("discreet", {"units": ["row"]})
    >>> getattr_("row").__name__, "row" in dir_()
    ('row', True)
    """
    places = {name: file for file, names in files.items() for name in names}
    modules = frozenset(rooms)

    def load(name: str) -> Any:
        if name in modules:
            return importlib.import_module(f"{room}.{name}")
        if name not in places:
            message = f"module {room!r} has no attribute {name!r}"
            raise AttributeError(message)
        file = places[name]
        module = file if file.startswith("discreet.") else f"{room}.{file}"
        value = getattr(importlib.import_module(module), name)
        setattr(sys.modules[room], name, value)
        return value

    def names() -> list[str]:
        return sorted(sys.modules[room].__all__)

    return load, names


def explain_room() -> Any:
    """Return the room that explains, which lies above all that it explains."""
    return importlib.import_module("discreet.explain")


class Explainable:
    """What can say in odds what it gives away; the words are those of :mod:`discreet.explain`.

    >>> from discreet.loss import Pure
    >>> Pure(epsilon=1).explain(audience="subject").figures.one.within
    74
    """

    __slots__ = ()

    def explain(self, *, audience: str = "analyst", **more: Any) -> Any:
        """Say what this gives away about one unit.

        Args:
            audience: "analyst", "subject" (a person in the data), "steward" or "auditor".
            more: ``unit`` and ``about``, as for ``discreet.explain.explain``.
        """
        return explain_room().explain(self, audience=audience, **more)


class Labeled(Explainable):
    """What a privacy label can be made of: a session, and a ledger."""

    __slots__ = ()

    def label(self, **more: Any) -> Any:
        """Return the privacy label: one page, filled from the ledger and the policy.

        Args:
            more: ``about``, ``receipt`` and ``entry``, as for ``discreet.explain.label_of``.
        """
        return explain_room().label_of(self, **more)
