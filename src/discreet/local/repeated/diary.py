"""The diary of a device: what its owner has told so far, in all, and a ceiling.

Trust: kernel.

A collector knows no people, so no server can add up what one person has told.  The device can: it
writes each price into its diary before the report leaves, and refuses to report beyond the ceiling.
Theorem (key ``general-composition``).  Reports that lose e_1, e_2, ... lose at most their sum
together, whoever collects them, and whether or not one was asked for in view of another.
Assumes: the diary is not lost and not put back to an earlier state; what a lost diary held is spent
all the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, final

from discreet.errors import OtherLedger, OverBudget, TooLarge, WrongKind
from discreet.exact import float_up, positive
from discreet.local.repeated.device_file import DeviceFile, HeldFile
from discreet.mechanisms.mechanism import Number, factor
from discreet.notebook import Shown

_LONGEST: Final = 1000  # letters of a name
_DIGITS: Final = 4000  # of a price: Python reads 4300
_PRICE: Final = re.compile(r"[0-9]+(/[0-9]+)?", re.ASCII)


@final
@dataclass(frozen=True, slots=True, init=False)
class Diary(Shown):
    """A file that adds up what a device has told.

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
        object.__setattr__(self, "file", DeviceFile(Path(path), kind="diary"))
        object.__setattr__(self, "ceiling", factor(ceiling, name="ceiling"))
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
        """Return what may still be told."""
        return self.ceiling - self.spent()

    def charge(self, *, epsilon: Number, name: str) -> None:
        """Write down a price, or refuse it; returns after it is on disk.

        Call it before the report leaves the device.
        """
        price = positive(_exact(epsilon), name="epsilon")
        if not isinstance(name, str) or not 0 < len(name) <= _LONGEST:
            raise WrongKind(
                what=f"a charge has no name, or one of more than {_LONGEST} letters.",
                why="its owner wants to read what was told, and to whom.",
                do="give name, a text such as 'weather 2026'.",
            )
        with self.file.held() as held:
            entries = self._entries(held)
            total = sum(entries.values(), Fraction(0)) + price
            if total > self.ceiling:
                raise OverBudget(
                    what=f"this report costs epsilon {float_up(price):.4g}; the diary of this "
                    f"device has {float(self.ceiling - total + price):.4g} left.",
                    why="reporting would tell more about its owner than they agreed to, in all.",
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
            what=f"a price, or what it adds up to, has more than {_DIGITS} digits.",
            why="the diary is exact, and could not be read again.",
            do="round epsilon up to a short decimal; nothing was written or reported.",
        )
    return str(price)


def _exact(epsilon: Number) -> Fraction:
    return factor(epsilon, name="epsilon")
