"""All combinations of the public values of several keys, however many, none of them written down.

Trust: kernel.

Definition.  The groups are numbered from 0 on, and the values of the last key change fastest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import date
from typing import Final, final

__all__ = ["MOST_GROUPS", "KeyValue", "Product"]

MOST_GROUPS: Final = 1 << 62
"""Groups are numbered by integers of 64 bits, with room to add two of them."""

KeyValue = bool | int | str | date | None
"""One value of a key (a datetime is a date to the type checker); None is NULL."""


@final
@dataclass(frozen=True, slots=True)
class Product:
    """The groups that have one of the public values in every key.

    >>> wards = Product((("A", "B", None), (False, True)))
    >>> len(wards), wards.item(3), wards.index((None, True)), ("C", True) in wards
    (6, ('B', True), 5, False)
    """

    lists: tuple[tuple[KeyValue, ...], ...]
    _places: tuple[dict[KeyValue, int], ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Number the values of every key."""
        places = tuple(
            {value: place for place, value in enumerate(values)} for values in self.lists
        )
        object.__setattr__(self, "_places", places)

    def __len__(self) -> int:
        """Return the number of groups."""
        return math.prod(map(len, self.lists))

    def item(self, index: int) -> tuple[KeyValue, ...]:
        """Return the group with a number."""
        picked: list[KeyValue] = []
        for values in reversed(self.lists):
            index, place = divmod(index, len(values))
            picked.append(values[place])
        return tuple(reversed(picked))

    def index(self, group: tuple[KeyValue, ...]) -> int:
        """Return the number of a group."""
        index = 0
        for value, places in zip(group, self._places, strict=True):
            index = index * len(places) + places[value]
        return index

    def __contains__(self, group: object) -> bool:
        """Say whether a tuple of values is one of the groups."""
        if not isinstance(group, tuple) or len(group) != len(self._places):
            return False
        return all(value in places for value, places in zip(group, self._places, strict=True))

    def __repr__(self) -> str:
        """Show how many values each key has; the values may be very many."""
        return f"Product({' x '.join(str(len(values)) for values in self.lists)} groups)"
