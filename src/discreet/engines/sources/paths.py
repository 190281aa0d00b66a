"""Paths as DuckDB takes them: each names one file, whatever signs are in its name.

Trust: kernel.  Where DuckDB is given a path to read, it takes ``*``, ``?`` and ``[`` for signs of a
pattern: a file called ``a?.csv`` would stand for ``ab.csv`` too, whose rows would count twice.

Definition.  The pattern of a path has ``[*]``, ``[?]`` and ``[[]`` in place of these signs.
Proposition.  It matches this path, and no other.  Proof.  A class of one sign matches that sign
alone, and every other sign but the backslash matches itself.
Paths with a backslash are refused: DuckDB takes it for a slash, or for an escape.  So are those of
databases with a question mark: DuckDB puts the name of the log before it, where nobody looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from duckdb import DuckDBPyConnection

from discreet.engines.sources.source import unreadable
from discreet.engines.sql.fragments import text

__all__ = ["check_path", "listed", "pattern"]

_CLASSES: Final = str.maketrans({sign: f"[{sign}]" for sign in "*?["})


def pattern(path: str) -> str:
    """Return a pattern that matches one path.

    >>> pattern("/data[1]/a*.csv"), pattern("/data/visits.csv")
    ('/data[[]1]/a[*].csv', '/data/visits.csv')
    """
    return path.translate(_CLASSES)


def check_path(path: str, *, database: bool = False) -> None:
    """Refuse a path that DuckDB would read as another one.

    >>> check_path("/data[1]/visits.csv")
    """
    if "\\" in path or (database and "?" in path):
        raise unreadable(
            f"the path of a file has a {'question mark or ' if database else ''}backslash in it.",
            do="rename the file, or the folder that it is in.",
        )


def listed(connection: DuckDBPyConnection, paths: Sequence[str]) -> str:
    """Print a list of files to read; refuse those that DuckDB does not find, each alone."""
    for path in paths:
        check_path(path)
        if pattern(path) != path and _found(connection, pattern(path)) != [path]:
            raise unreadable(
                "a file with *, ? or [ in its path cannot be found by DuckDB.",
                do="rename the file or its folder, or let this user list the folders above it.",
            )
    return f"[{', '.join(text(pattern(path)) for path in paths)}]"


def _found(connection: DuckDBPyConnection, searched: str) -> list[str]:
    rows = connection.execute("SELECT file FROM glob(?)", [searched]).fetchall()
    return [path for (path,) in rows]
