"""How much of the table one unit can hold.

Trust: kernel.

Definition.  A unit has at most ``rows`` rows; at most ``per_part`` of them have the same value in a
column, and they have at most ``parts`` different values there.  ``units`` bounds how many smaller
units (a person's days, say) belong to one.
These are promises about every possible table, enforced before anything is released, never measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Self, final

from discreet.accounting.storage.decoding import undecodable
from discreet.accounting.storage.schema import WHOLE
from discreet.errors import WrongKind
from discreet.exact import whole
from discreet.units import PrivacyUnit

_NAMED: Final = ("per_part", "parts", "units")


@final
@dataclass(frozen=True, slots=True, init=False)
class Contribution:
    """Limits on what belongs to one unit.

    >>> limits = Contribution(rows=3, per_part={"ward": 2}, parts={"ward": 2})
    >>> limits.most_rows("ward"), limits.most_parts("ward"), limits.most_rows("year")
    (2, 2, 3)
    """

    rows: int
    per_part: tuple[tuple[str, int], ...]
    parts: tuple[tuple[str, int], ...]
    units: tuple[tuple[str, int], ...]

    def __init__(
        self,
        *,
        rows: int = 1,
        per_part: Mapping[str, int] | None = None,
        parts: Mapping[str, int] | None = None,
        units: Mapping[str, int] | None = None,
    ) -> None:
        """Take the limits; what is not named is limited by the number of rows alone."""
        for name, limits in zip(_NAMED, (per_part, parts, units), strict=True):
            object.__setattr__(self, name, _limits(limits, name))
        values = dict(self.parts)
        products = [most * values[column] for column, most in self.per_part if column in values]
        asked = whole(rows, name="rows", low=1, high=10**6)
        object.__setattr__(self, "rows", min(asked, *products) if products else asked)

    def most_rows(self, column: str) -> int:
        """Return how many rows of one unit can share a value of a column."""
        return min(self.rows, dict(self.per_part).get(column, self.rows))

    def most_parts(self, column: str) -> int:
        """Return how many values of a column the rows of one unit can have."""
        return min(self.rows, dict(self.parts).get(column, self.rows))

    def limits(self, column: str) -> bool:
        """Say whether more than the number of rows is limited."""
        return column in dict(self.per_part) or column in dict(self.parts)

    def most_units(self, unit: PrivacyUnit | None) -> int:
        """Return how many smaller units can belong to one."""
        return self.rows if unit is None else dict(self.units).get(unit.name, self.rows)

    def within(self, columns: Iterable[str]) -> Contribution:
        """Add that all rows of a unit share its own columns."""
        parts = dict(self.parts) | dict.fromkeys(columns, 1)
        return Contribution(
            rows=self.rows, per_part=dict(self.per_part), parts=parts, units=dict(self.units)
        )

    def written(self) -> dict[str, object]:
        """Return a form that JSON keeps exactly.

        >>> Contribution(rows=3, parts={"ward": 2}).written()
        {'rows': 3, 'per_part': {}, 'parts': {'ward': 2}, 'units': {}}
        """
        named = {
            name: {key: WHOLE.write(limit, 0) for key, limit in getattr(self, name)}
            for name in _NAMED
        }
        return {"rows": self.rows, **named}

    @classmethod
    def read(cls, data: object) -> Self:
        """Read what ``written`` wrote, and refuse everything else.

        >>> limits = Contribution(rows=3, parts={"ward": 2})
        >>> Contribution.read(limits.written()) == limits
        True
        """
        if not isinstance(data, dict) or set(data) != {"rows", *_NAMED}:
            raise undecodable(
                "the fields of a contribution are not rows, per_part, parts and units"
            )
        if not all(isinstance(data[name], dict) for name in _NAMED):
            raise undecodable("the limits of a contribution are not named")
        named = {
            name: {key: WHOLE.read(limit, 0) for key, limit in data[name].items()}
            for name in _NAMED
        }
        contribution = cls(rows=WHOLE.read(data["rows"], 0), **named)
        if contribution.written() != data:
            raise undecodable("a limit of a contribution is not in its written form")
        return contribution


def _limits(given: Mapping[str, int] | None, name: str) -> tuple[tuple[str, int], ...]:
    if given is None:
        return ()
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise WrongKind(
            what=f"{name} is not a mapping from names to limits.",
            why="each limit is about one column or unit.",
            do=f'give, say, {name}={{"ward": 2}}.',
        )
    known = ((key, whole(value, name=f"{name}[{key!r}]", low=1)) for key, value in given.items())
    return tuple(sorted(known))


@final
@dataclass(frozen=True, slots=True)
class RowChange:
    """How many rows of one unit disappear from the table, and how many appear."""

    removed: int
    inserted: int
