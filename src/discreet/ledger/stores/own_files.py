"""The files of a ledger: its own, and those that lie beside it under names made from its name.

Trust: kernel.  What is written for another purpose must not go into one of them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_ENDINGS: Final = ("", "-backups", "-journal", "-next", "-replays", "-shm", "-turn", "-wal")


def is_own_file(address: str, path: str | os.PathLike[str]) -> bool:
    """Say whether a path is that of a file of the ledger at an address, there or still to be made.

    The address of a ledger on a server is the path of no file.

    >>> is_own_file("clinic.ledger", "clinic.ledger-backups")
    True
    >>> is_own_file("clinic.ledger", "monday.jsonl")
    False
    """
    return any(same_file(f"{address}{ending}", path) for ending in _ENDINGS)


def same_file(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Say whether two paths lead to the same place, or two names are those of one file.

    >>> same_file("policy.toml", "./policy.toml")
    True
    """
    try:
        if Path(one).resolve() == Path(other).resolve():
            return True
        return os.path.samefile(one, other)  # noqa: PTH121  texts
    except (OSError, RuntimeError, ValueError):  # not there, a loop of links, or no path
        return False


__all__ = ["is_own_file", "same_file"]
