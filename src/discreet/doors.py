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
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

__all__ = ["Explainable", "Labeled", "explain_room", "open_door"]


def open_door(
    room: str, file: str, *, also: Iterable[str] = ()
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__all__``, the ``__getattr__`` and the ``__dir__`` of a door.

    Args:
        room: the module name of the door.
        file: its file, whose imports under ``if TYPE_CHECKING`` are its public names.
        also: public names that the door itself defines.
    """
    places: dict[str, str] = {}
    for node in ast.parse(Path(file).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for each in node.body:
                if isinstance(each, ast.ImportFrom) and each.module is not None:
                    places |= {alias.name: each.module for alias in each.names}
    listed = sorted([*also, *places])

    def load(name: str) -> Any:
        if name not in places:
            message = f"module {room!r} has no attribute {name!r}"
            raise AttributeError(message)
        if places[name] == room:  # a module behind the door
            return importlib.import_module(f"{room}.{name}")
        value = getattr(importlib.import_module(places[name]), name)
        setattr(sys.modules[room], name, value)
        return value

    return listed, load, lambda: listed


def explain_room() -> Any:
    """Return the room that explains, which is above all that it explains."""
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
