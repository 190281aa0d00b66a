"""The diary of a device: the total loss of its owner's reports so far, and a ceiling.

Trust: kernel.

A collector does not identify people, so no server can add up the losses of one person.  The device
can: it writes each price into its diary before the report leaves, and refuses to report beyond the
ceiling.
Theorem (key ``general-composition``).  Reports that lose e_1, e_2, ... lose at most their sum
together, for any collectors, and even if requests are chosen adaptively.
Assumes: the diary is not lost and not put back to an earlier state; losses recorded in a lost diary
remain spent.

A small file on a device that survives a crash at any time: one state in a SQLite database.

A device must remember how much it has spent and which answer it keeps.

``held`` begins an exclusive transaction, so one process at a time reads and writes (T4), and
commits with every byte forced to disk when its block ends (T3): afterwards the file holds the old
state or the new one, and a report that leaves after the block has its price on disk.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, final

from discreet.errors import (
    DamagedLedger,
    LedgerUnavailable,
    NewerFormat,
    OtherLedger,
    OverBudget,
    TooLarge,
    WrongKind,
)
from discreet.exact import float_up, freeze, positive
from discreet.mechanisms.mechanism import Number, factor
from discreet.notebook import Shown

_LONGEST: Final = 1000  # characters of a name
_DIGITS: Final = 4000  # of a price: Python reads 4300
_PRICE: Final = re.compile(r"[0-9]+(/[0-9]+)?", re.ASCII)


@final
@dataclass(frozen=True, slots=True, init=False)
class Diary(Shown):
    """A file that adds up the losses of a device.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     diary = Diary(f"{folder}/diary.json", ceiling=2)
    ...     diary.charge(epsilon="0.75", name="weather")
    ...     diary.charge(epsilon="0.75", name="weather")
    ...     diary.spent(), diary.entries()
    (Fraction(3, 2), {'weather': Fraction(3, 2)})
    """

    file: DeviceFile
    ceiling: Fraction

    def __init__(self, path: str | Path, *, ceiling: Number) -> None:
        """Open a diary, or begin one; the ceiling of a diary that exists must be this one."""
        freeze(
            self,
            file=DeviceFile(Path(path), kind="diary"),
            ceiling=factor(ceiling, name="ceiling"),
        )
        with self.file.held() as held:
            self._entries(held)

    def entries(self) -> dict[str, Fraction]:
        """Return what was spent under each name."""
        with self.file.held() as held:
            return self._entries(held)

    def spent(self) -> Fraction:
        """Return the total."""
        return sum(self.entries().values(), Fraction(0))

    def left(self) -> Fraction:
        """Return the remaining budget."""
        return self.ceiling - self.spent()

    def charge(self, *, epsilon: Number, name: str) -> None:
        """Write down a price, or refuse it; returns after it is on disk.

        Call it before the report leaves the device.
        """
        price = positive(_exact(epsilon), name="epsilon")
        if not isinstance(name, str) or not 0 < len(name) <= _LONGEST:
            raise WrongKind(
                f"a charge has no name, or one of more than {_LONGEST} letters; give name, a text "
                "such as 'weather 2026'."
            )
        with self.file.held() as held:
            entries = self._entries(held)
            total = sum(entries.values(), Fraction(0)) + price
            if total > self.ceiling:
                raise OverBudget(
                    what=f"this report costs epsilon {float_up(price):.4g}; the diary of this "
                    f"device has {float(self.ceiling - total + price):.4g} left.",
                    why="reporting would reveal more about its owner than they agreed to, in all.",
                    do="do not report; nothing was drawn or written.",
                )
            entries[name] = entries.get(name, Fraction(0)) + price
            self._write(held, entries)

    def _entries(self, held: HeldFile) -> dict[str, Fraction]:
        state = held.read()
        if state is None:
            return {}
        try:
            ceiling = read_price(state["ceiling"])
            entries = {name: read_price(price) for name, price in state["entries"].items()}
        except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError):
            raise self.file.damaged() from None
        if any(price <= 0 for price in entries.values()):
            raise self.file.damaged()
        if ceiling != self.ceiling:
            raise OtherLedger(
                what="the diary has another ceiling than was given.",
                why="its owner agreed to the one that is written there.",
                do="open it with that ceiling.",
            )
        return entries

    def _write(self, held: HeldFile, entries: dict[str, Fraction]) -> None:
        state: dict[str, Any] = {
            "ceiling": _written(self.ceiling),
            "entries": {name: _written(price) for name, price in entries.items()},
        }
        held.write(state)


def read_price(text: object) -> Fraction:
    """Read an exact price from a file, or raise ValueError; 1e999999999 would take forever.

    >>> read_price("3/2")
    Fraction(3, 2)
    """
    if not isinstance(text, str) or _PRICE.fullmatch(text) is None:
        raise ValueError
    return Fraction(text)


def _written(price: Fraction) -> str:
    if max(price.numerator, price.denominator) >= 10**_DIGITS:
        raise TooLarge(
            f"a price, or what it adds up to, has more than {_DIGITS} digits; round epsilon up to "
            "a short decimal; nothing was written or reported."
        )
    return str(price)


def _exact(epsilon: Number) -> Fraction:
    return factor(epsilon, name="epsilon")


_FORMAT: Final = 1
_PATIENCE: Final = 30.0  # seconds


@final
@dataclass(frozen=True, slots=True)
class DeviceFile:
    """A JSON object that is replaced as a whole.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = DeviceFile(Path(folder, "memo"), kind="memo")
    ...     with file.held() as held:
    ...         before = held.read()
    ...         held.write({"cell": 1})
    ...         before, held.read()
    (None, {'cell': 1})
    """

    path: Path
    kind: str

    def __post_init__(self) -> None:
        """Resolve the path once: a change of the working folder changes nothing."""
        try:
            path = Path(self.path).resolve()
        except (TypeError, ValueError):
            message = f"the path of a {self.kind} must name a file."
            raise WrongKind(
                what=message, why="its price is kept there.", do="give a path."
            ) from None
        freeze(self, path=path)

    @contextmanager
    def held(self) -> Iterator[HeldFile]:
        """Keep all others out until the block ends; a file that is missing is begun."""
        try:
            with closing(self._connected()) as connection:
                connection.execute("BEGIN EXCLUSIVE")
                yield HeldFile(self, connection)
                connection.execute("COMMIT")  # an error in the block closes without it
        except (sqlite3.OperationalError, OSError) as failure:
            raise LedgerUnavailable(
                what=f"the {self.kind} cannot be read or written.",
                why="a report may leave only after its price is on disk.",
                do="check that the folder exists, is writable and has room, and that no other "
                "process holds the file; nothing was reported.",
            ) from failure
        except sqlite3.DatabaseError:
            raise self.damaged() from None

    def _connected(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous = EXTRA")
        except BaseException:
            connection.close()
            raise
        return connection

    def damaged(self) -> DamagedLedger:
        """Return the error about a file whose content makes no sense."""
        return DamagedLedger(
            what=f"the file is not a {self.kind}, or it is damaged.",
            why="what was spent or kept before cannot be known from it, and to guess could tell "
            "more than was promised.",
            do=f"restore the {self.kind} from a copy; without one, start a new file and count "
            "what was reported before as spent.",
        )


@final
@dataclass(frozen=True, slots=True)
class HeldFile:
    """A device file inside its transaction."""

    file: DeviceFile
    connection: sqlite3.Connection

    def read(self) -> dict[str, Any] | None:
        """Return the state that was written last, or None before the first write."""
        (tables,) = self.connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables == 0:
            return None
        try:
            found = self.connection.execute("SELECT kind, format, state FROM discreet").fetchall()
            ((kind, number, text),) = found
            state = json.loads(text)
        except (sqlite3.OperationalError, ValueError, TypeError):
            raise self.file.damaged() from None
        if kind == self.file.kind and isinstance(number, int) and number > _FORMAT:
            raise NewerFormat(
                what=f"the {kind} was written by a later version of this package.",
                why="read as an old one, it could mean something else.",
                do="update the package on this device.",
            )
        if kind != self.file.kind or number != _FORMAT or not isinstance(state, dict):
            raise self.file.damaged()
        return state

    def write(self, state: dict[str, Any]) -> None:
        """Put a new state in place of the old one; it is durable when the block ends."""
        run = self.connection.execute
        run("CREATE TABLE IF NOT EXISTS discreet (kind TEXT, format INTEGER, state TEXT)")
        run("DELETE FROM discreet")
        row = (self.file.kind, _FORMAT, json.dumps(state, sort_keys=True))
        run("INSERT INTO discreet VALUES (?, ?, ?)", row)
