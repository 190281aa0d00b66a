"""Accounts are named by paths: data, data/flu, data/flu/ana.

Trust: kernel.

Definition.  A path is one to eight parts with slashes between them; a part is 1 to 64 letters,
digits or ``_ - .`` of ASCII.  What is above a path are its beginnings: a charge to an account is a
charge to all accounts above it too.
"""

from __future__ import annotations

import re
from typing import Final

from discreet.errors import OutOfRange, WrongKind

__all__ = ["checked_path", "parent", "upward"]

_DEEPEST: Final = 8
_PART: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)


def checked_path(path: object) -> str:
    """Refuse what is no path of an account.

    >>> checked_path("data/flu")
    'data/flu'
    """
    if not isinstance(path, str):
        raise WrongKind(
            what=f"the path of an account is a {type(path).__name__}, not text.",
            why="accounts are told apart by their paths.",
            do="give a path such as 'data/flu/ana'.",
        )
    parts = path.split("/")
    if len(parts) > _DEEPEST or not all(_PART.fullmatch(part) for part in parts):
        raise OutOfRange(
            what="the path of an account has a part that is empty, too long or of other signs, "
            f"or more than {_DEEPEST} parts.",
            why="paths stand in every entry, and have to read the same everywhere.",
            do="give up to 8 parts of 1 to 64 letters, digits, '_', '-' or '.': 'data/flu/ana'.",
        )
    return path


def upward(path: str) -> tuple[str, ...]:
    """Return a path and everything above it, the root first.

    >>> upward("data/flu/ana")
    ('data', 'data/flu', 'data/flu/ana')
    """
    parts = path.split("/")
    return tuple("/".join(parts[: k + 1]) for k in range(len(parts)))


def parent(path: str) -> str:
    """Return what lies right above a path; nothing for a root.

    >>> parent("data/flu"), parent("data")
    ('data', '')
    """
    return path.rpartition("/")[0]
