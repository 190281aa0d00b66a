"""How a CSV file is written: its separator and letters, and the forms of its numbers and days.

Trust: kernel.  Nothing here is ever guessed from a row: one row would change how others are read.
Undeclared options use defaults; the delimiter may be inferred from the header.

Declared options decide which value a cell has, so they are part of the names of columns in scopes
(:mod:`discreet.plan.binding.scope`): charges before and after a change of the declaration add up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Final, final

from discreet.errors import WrongKind

SEPARATORS: Final = (",", ";", "\t", "|")
ENCODINGS: Final = ("utf-8", "latin-1")
DECIMALS: Final = (".", ",")
THOUSANDS: Final = ("", ",", ".", " ", "'")
_DAYS: Final = re.compile(r"DD([./-]?)MM\1YYYY|MM([./-]?)DD\2YYYY|YYYY([./-]?)MM\3DD", re.ASCII)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CsvFormat:
    """What an owner declares of the CSV files of a table.

    ``separator`` is None if the line of names shows it.  ``dates`` is how days are written where
    they are not written as 2024-02-29, such as "DD.MM.YYYY".

    >>> CsvFormat(separator=";", decimal=",").words
    'separator ;, decimal ,'
    >>> CsvFormat().words, CsvFormat(encoding="latin-1").words
    ('', 'encoding latin-1')
    """

    separator: str | None = None
    encoding: str = "utf-8"
    decimal: str = "."
    thousands: str = ""
    dates: str = ""

    def __post_init__(self) -> None:
        """Refuse what is not a format, or one in which a number could be read in two ways."""
        for name, known in (
            ("separator", (None, *SEPARATORS)),
            ("encoding", ENCODINGS),
            ("decimal", DECIMALS),
            ("thousands", THOUSANDS),
        ):
            if getattr(self, name) not in known:
                listed = ", ".join(repr(item) for item in known if item)
                raise _refused(f"{name} is not one that can be declared", f"use one of {listed}")
        if self.dates and (not isinstance(self.dates, str) or not _DAYS.fullmatch(self.dates)):
            raise _refused("dates are not the parts of a day in order", 'write "DD.MM.YYYY", say')
        if self.decimal == self.thousands:
            raise _refused("decimal and thousands are the same sign", "declare two different signs")

    @property
    def words(self) -> str:
        """All that is not as usual; empty if everything is."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        usual = {field.name: field.default for field in fields(self)}
        return ", ".join(f"{name} {value}" for name, value in own.items() if value != usual[name])


def _refused(what: str, do: str) -> WrongKind:
    return WrongKind(
        what=f"the format of a CSV file: {what}.",
        why="a cell is read only in ways that were said before, and that leave no doubt.",
        do=f"{do}.",
    )
