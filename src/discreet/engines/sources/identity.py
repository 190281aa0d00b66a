"""The identity of a source: how its state at opening is told from any other.

Trust: kernel (T5).

Names, types, units and keys are learned when a source is opened.  They are true of
what is read later only if the source has not changed since.

Definition.  The state of a file is its device, inode, size, time of modification and time of
change.  A file that was changed less than 20 ms ago is looked at again after that time.
Proposition.  If a file is in the same state before and after it was read, what was read is what was
opened.  Proof.  The system stamps every change of bytes, name or links with the time of change,
which no program can set.  The recorded time is at least 20 ms older than the first look, more than
the 10 ms in which that clock ticks; so a change after the first look has a later time.
Assumes: the clock of the file system is that of this machine, and does not go back; nobody writes
through a memory map that was made before the source was opened; no folder above the file is
exchanged and put back while it is read.

A pattern is looked up again at every look: files that are added or missing are a change.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from glob import escape, glob, has_magic
from pathlib import Path
from stat import S_ISREG
from typing import Final, TypeVar, final

from discreet.engines.sources.source import Places, Stamp, unreadable
from discreet.errors import EngineFailed, SourceChanged, UnreadableSource
from discreet.query.relations import Relation, Scan, descend, folded

_TICK: Final = 20_000_000  # nanoseconds
_LOOKS: Final = 50

T = TypeVar("T")

Columns = tuple[tuple[str, str], ...]
"""The names of columns, and what their types are called where they are from."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The state that a source was opened in.

    Attributes:
        kind: what it is: "csv", "parquet", "duckdb", "dataset", "frame", "postgresql" or "spark".
        columns: the names of its columns, and their types if it has any.
        state: a digest of its state; None for a copy in memory, which cannot change.
        content: returns a digest of every value in it; None if these cannot be read here.
        places: what it is read from: two tables with a place in common have rows in common.  None
            are known of a copy in memory.
    """

    kind: str
    columns: Columns
    state: str | None
    content: Callable[[], str] | None = field(default=None, repr=False, compare=False)
    places: Places = field(default=frozenset(), repr=False, compare=False)


FileState = tuple[int, int, int, int, int]
"""Device, inode, size, time of modification and time of change."""


def file_state(path: str) -> FileState | None:
    """Look at a file; None if it is not there.

    It is opened first, which makes network file systems ask their server.
    """
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123  on every question
            seen = os.fstat(file.fileno())
    except OSError:
        return None
    return seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns


@final
class FileStamp:
    """Some files, as they were when they were opened."""

    __slots__ = ("_find", "_states", "kind", "paths", "places", "state")

    def __init__(
        self, find: Callable[[], tuple[str, ...]], *, kind: str, part: tuple[str, ...] = ()
    ) -> None:
        """Take a function that lists the files, also those that may be missing.

        ``part`` names what is read of each file, if that is not all of it.
        """
        self.kind = kind
        self._find = find
        self.paths, self._states = _quiet_files(find)
        there = [state for state in self._states if state is not None]
        self.state: str | None = digest_of(list(self._states))
        """A digest of what the system says of the files; no byte of them is in it."""
        self.places: Places = frozenset((*state[:2], *part) for state in there)
        """The files by device and inode, whatever they are called, and what is read of them."""

    def is_unchanged(self) -> bool:
        """Look for the files again, and at each of them."""
        try:
            paths = self._find()
        except (UnreadableSource, OSError):
            return False
        return paths == self.paths and tuple(map(file_state, paths)) == self._states

    def content(self) -> str:
        """Return a digest of all bytes, regardless of file names."""
        states = zip(self.paths, self._states, strict=True)
        return joined_digest(_digest(path) for path, state in states if state is not None)


def found_files(address: str) -> tuple[str, ...]:
    """Return the files that an address names, which may be a pattern, sorted by name.

    A file that is met under several names is read once.
    """
    paths = _matches(address) if has_magic(address) else [address]
    regular = []
    for path in paths:
        try:
            seen = os.stat(path)  # noqa: PTH116  on every question
        except OSError:
            continue
        if S_ISREG(seen.st_mode):
            regular.append((os.path.realpath(path), (seen.st_dev, seen.st_ino)))
    files: dict[tuple[int, int], str] = {}
    for name, file in sorted(regular):
        files.setdefault(file, name)
    if not files:
        raise unreadable(
            f"there is no file {address}.",
            do="give the path of a file that is there, as seen from this folder, or a pattern that "
            "some files match.",
        )
    return tuple(files.values())


def _matches(address: str) -> list[str]:
    """Return the paths that match a pattern; an existing path is not a pattern."""
    path = Path(address)
    there = next((part for part in (path, *path.parents) if os.path.exists(part)), None)  # noqa: PTH110 (never raises)
    if there == path or there is None:
        return [address]
    return glob(str(Path(escape(str(there)), path.relative_to(there))), recursive=True)  # noqa: PTH207


def identified(opened: Mapping[str, tuple[Stamp, Columns]]) -> dict[str, Identity]:
    """Return the identities of tables by name; refuse those that are not what they were."""
    others = [table for table, (stamp, _) in opened.items() if not stamp.is_unchanged()]
    if others:
        raise changed(others)
    return {
        table: Identity(
            kind=stamp.kind,
            columns=columns,
            state=stamp.state,
            content=stamp.content,
            places=stamp.places,
        )
        for table, (stamp, columns) in opened.items()
    }


def scanned_tables(relation: Relation) -> tuple[str, ...]:
    """Return the tables that a relation reads, by their folded names.

    >>> scanned_tables(Scan("Visits", ()))
    ('visits',)
    """
    names = (folded(node.table) for node in descend(relation) if isinstance(node, Scan))
    return tuple(dict.fromkeys(names))


def run_if_unchanged(
    check: Callable[[], object], read: Callable[[], T], failed: Callable[[], object] | None = None
) -> T:
    """Read between two checks; a failure that comes with a change is reported as a change.

    ``failed`` is a slow check, made only after a failure.

    >>> run_if_unchanged(lambda: None, lambda: 7)
    7
    """
    check()
    failure: EngineFailed | None = None
    try:
        answer = read()
    except EngineFailed as error:
        failure = error
    check()
    if failure is not None:
        if failed is not None:
            failed()
        raise failure
    return answer


def changed(tables: Iterable[str]) -> SourceChanged:
    """Return the error for tables whose sources are not what they were.

    >>> print(changed(["visits"]).what)
    the data of visits is not what it was when it was opened.
    """
    return SourceChanged(
        what=f"the data of {', '.join(tables)} is not what it was when it was opened.",
        why="names, types and keys are those of the data that was opened; no answer was handed "
        "out, and nothing more was charged.",
        do="open it again when nobody writes to it, and ask again.",
    )


def _quiet_files(
    find: Callable[[], tuple[str, ...]],
) -> tuple[tuple[str, ...], tuple[FileState | None, ...]]:
    """Wait until files have been unchanged for a moment, so that every later change shows."""
    for _look in range(_LOOKS):
        paths = find()
        states = tuple(map(file_state, paths))
        latest = max((state[-1] for state in states if state is not None), default=0)
        wait = latest + _TICK - time.time_ns()
        if not 0 < wait <= _TICK:
            return paths, states
        time.sleep(wait / 1e9)
    raise unreadable("a file is being written to.", do="open it when nobody writes to it.")


def digest_of(state: object) -> str:
    """Return the SHA-256 of the ``repr`` of a state.

    >>> digest_of((1, "a"))[:8]
    '2a123b26'
    """
    return hashlib.sha256(repr(state).encode("ascii", "backslashreplace")).hexdigest()


def joined_digest(digests: Iterable[str]) -> str:
    """Return one digest for several, regardless of their order."""
    return hashlib.sha256("".join(sorted(digests)).encode("ascii")).hexdigest()


def _digest(path: str) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
