"""The order of hashes: which groups, values and rows of a unit are kept.

Trust: kernel.  What is kept may depend on the unit's own rows and on public numbers alone; how well
the hash mixes only decides how fair the choice is.

Definition.  For a purpose, the *canonical text* of values is the salt, a space, the purpose, and
then for every value ``-`` if it is NULL, else the number of code points of its text, a colon, and
the text.  The text of a BOOLEAN is true or false, of a DATE its day as YYYY-MM-DD, of a TIMESTAMP
its microseconds since 1970, of a number its shortest decimal form.  The *portable* order, which is
the same on every engine but for floats, which engines write in ways of their own, sorts values by
the hexadecimal MD5 of these texts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from hashlib import md5
from typing import Final, final

from discreet.exact import whole

Value = bool | int | float | str | date | None
"""A value of a table (a datetime is a date to the type checker); None is NULL."""

GROUPS: Final = "groups"
VALUES: Final = "values"
LEAVES: Final = "leaves"

_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 (timestamps have no time zone)
_DIGITS: Final = 15


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class HashOrder:
    """A salt, new for every release, and whether all engines must agree on the order.

    >>> HashOrder(salt=7, portable=True).text("groups", (12, "Ward A", None))
    '7 groups2:126:Ward A-'
    """

    salt: int
    portable: bool = False

    def __post_init__(self) -> None:
        """Refuse a salt that is not a number of 63 bits."""
        whole(self.salt, name="salt", low=0, high=2**63 - 1)

    def text(self, purpose: str, values: Iterable[Value]) -> str:
        """Return the canonical text."""
        return f"{self.salt} {purpose}" + "".join(map(_part, values))

    def place(self, purpose: str, values: Iterable[Value]) -> str:
        """Return where values come in the portable order.

        >>> HashOrder(salt=7).place("groups", (12,)) < HashOrder(salt=7).place("groups", (13,))
        True
        """
        return md5(self.text(purpose, values).encode(), usedforsecurity=False).hexdigest()

    def below(self, limit: int, purpose: str, values: Iterable[Value]) -> int:
        """Return the number from 0 to ``limit`` - 1 that belongs to values.

        >>> HashOrder(salt=7).below(10, "leaves", (12,)) in range(10)
        True
        """
        return int(self.place(purpose, values)[:_DIGITS], 16) % limit


def value_text(value: Value) -> str | None:
    """Return the text of a value in a canonical text.

    >>> value_text(True), value_text(datetime(1970, 1, 2)), value_text(1e16)
    ('true', '86400000000', '1e+16')
    """
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case float():
            return repr(value + 0.0)
        case datetime():
            return str((value - _EPOCH) // timedelta(microseconds=1))
        case date():
            return value.isoformat()
        case _:
            return str(value)


def _part(value: Value) -> str:
    text = value_text(value)
    return "-" if text is None else f"{len(text)}:{text}"
