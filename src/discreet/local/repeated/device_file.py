"""A small file on a device that survives a crash at any moment.

Trust: kernel.  What a device has spent, and which answer it keeps, must not be forgotten.

A new state is written beside the old one, forced to disk, and put in its place in one step; then
the folder is forced to disk.  So a reader sees the old state or the new one, and ``write`` returns
only after the new one would survive a power cut.  One process at a time uses a file: ``held`` waits
for a lock on it (``path_lock.py``).

The path is resolved once: links lead to the file that they name, and a change of the working folder
changes nothing.  The state that is being written lies at ``.NAME.discreet-new``; no device file may
have such a name.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from discreet.errors import DamagedLedger, LedgerUnavailable, NewerFormat, TooLarge, WrongKind
from discreet.local.repeated.path_lock import leads_to, locked, unlocked

_FORMAT: Final = 1
_LARGEST: Final = 1 << 24  # bytes
_PATIENCE: Final = 30.0  # seconds
_NEW: Final = ".discreet-new"


@final
@dataclass(frozen=True, slots=True)
class DeviceFile:
    """A JSON object that is replaced as a whole.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = DeviceFile(Path(folder, "memo.json"), kind="memo")
    ...     with file.held() as held:
    ...         before = held.read()
    ...         held.write({"cell": 1})
    ...         before, held.read()
    (None, {'cell': 1})
    """

    path: Path
    kind: str

    def __post_init__(self) -> None:
        """Resolve the path, and refuse one that others need."""
        try:
            path = Path(os.path.realpath(self.path))
            path = path if "\0" not in str(path) else Path()
        except (TypeError, ValueError):
            path = Path()
        if not path.name or (path.name.startswith(".") and path.name.endswith(_NEW)):
            raise WrongKind(
                what=f"the {self.kind} cannot have this path.",
                why=f"it needs a name, and names like .NAME{_NEW} belong to files that are being "
                "written.",
                do="name another file.",
            )
        object.__setattr__(self, "path", path)

    @contextmanager
    def held(self) -> Iterator[HeldFile]:
        """Keep all others out until the block ends; a file that is missing is begun."""
        until = time.monotonic() + _PATIENCE
        try:
            while (number := self._locked(until)) is None:
                self._begin(until)
        except OSError as failure:
            raise self.unavailable() from failure
        held = HeldFile(self, number, until)
        try:
            yield held
        finally:
            held.release()

    def locked_new(self, until: float) -> int:
        """Return the file for a new state, locked."""
        number = locked(self._beside(), create=True, kind=self.kind, until=until)
        assert number is not None  # noqa: S101  for the type: it was created
        return number

    def put_in_place(self, number: int, state: dict[str, Any] | None) -> None:
        """Write a state into the new file, durably, and replace the old one by it."""
        beside = self._beside()
        try:
            content = self._content(state)
            os.ftruncate(number, 0)
            with open(number, "wb", closefd=False) as file:
                file.write(content)
                file.flush()
                os.fsync(number)
            os.replace(beside, self.path)  # noqa: PTH105  beside fsync, which has no twin in Path
        except BaseException:
            with suppress(OSError):
                beside.unlink()
            raise

    def damaged(self) -> DamagedLedger:
        """Return the error about a file whose content makes no sense."""
        return DamagedLedger(
            what=f"the file is not a {self.kind}, or it is damaged.",
            why="what was spent or kept before cannot be known from it, and to guess could tell "
            "more than was promised.",
            do=f"restore the {self.kind} from a copy; without one, start a new file and count "
            "what was reported before as spent.",
        )

    def unavailable(self) -> LedgerUnavailable:
        """Return the error about a file that cannot be reached."""
        return LedgerUnavailable(
            what=f"the {self.kind} cannot be read or written.",
            why="a report may leave only after its price is on disk.",
            do="check that the folder exists, is writable and has room; nothing was reported.",
        )

    def _beside(self) -> Path:
        return self.path.with_name(f".{self.path.name}{_NEW}")

    def _content(self, state: dict[str, Any] | None) -> bytes:
        document = {"format": _FORMAT, "kind": self.kind, "state": state}
        content = json.dumps(document, sort_keys=True).encode()
        if len(content) > _LARGEST:
            raise TooLarge(
                what=f"the {self.kind} would grow beyond {_LARGEST} bytes.",
                why="it could not be read again, and what was spent would be forgotten.",
                do="use fewer and shorter names; nothing was written or reported.",
            )
        return content

    def _locked(self, until: float) -> int | None:
        return locked(self.path, create=False, kind=self.kind, until=until)

    def _begin(self, until: float) -> None:
        """Put a file without a state where there is none, so that there is one to lock."""
        number = self.locked_new(until)
        try:
            if not os.path.lexists(self.path):
                self.put_in_place(number, None)
        finally:
            unlocked(number)


@final
class HeldFile:
    """A device file while it is locked."""

    __slots__ = ("_current", "_file", "_numbers", "_until")

    def __init__(self, file: DeviceFile, number: int, until: float) -> None:
        """Take a locked descriptor of the file."""
        self._file, self._until = file, until
        self._current, self._numbers = number, [number]

    def read(self) -> dict[str, Any] | None:
        """Return the state that was written last, or None if there is none yet."""
        try:
            with open(self._current, "rb", closefd=False) as file:
                file.seek(0)
                content = file.read(_LARGEST + 1)
        except OSError as failure:
            raise self._file.unavailable() from failure
        try:
            stored = json.loads(
                content, object_pairs_hook=_without_repeats, parse_constant=_no_number
            )
            state, number = stored["state"], stored["format"]
            known = stored["kind"] == self._file.kind and isinstance(state, dict | None)
        except (ValueError, TypeError, KeyError, RecursionError):
            raise self._file.damaged() from None
        if known and type(number) is int and number > _FORMAT:
            raise NewerFormat(
                what=f"the {self._file.kind} was written by a later version of this package.",
                why="read as an old one, it could mean something else.",
                do="update the package on this device.",
            )
        if not known or type(number) is not int or number != _FORMAT:
            raise self._file.damaged()
        found: dict[str, Any] | None = state
        return found

    def write(self, state: dict[str, Any]) -> None:
        """Put a new state in place of the old one, durably."""
        file = self._file
        try:
            number = file.locked_new(self._until)
            self._numbers.append(number)  # locked until the block ends, as is the old one
            if not leads_to(file.path, self._current):
                raise OSError  # noqa: TRY301  somebody has moved it away
            file.put_in_place(number, state)
            self._current = number
            folder = os.open(file.path.parent, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as failure:
            raise file.unavailable() from failure

    def release(self) -> None:
        """Let others in."""
        for number in self._numbers:
            with suppress(OSError):
                unlocked(number)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; one with a name twice could mean either."""
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError
    return content


def _no_number(_name: str) -> None:
    raise ValueError
