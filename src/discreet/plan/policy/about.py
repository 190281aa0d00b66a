"""What only people can say about a table: who holds it, what for, who sees it.

Trust: public.  No price depends on it; explanations and labels print it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, final

from discreet.plan.policy.table_fields import bad, texts

_LISTS: Final = frozenset({"raw_access", "unprotected", "authors", "sources"})
_DATA_SOURCES: Final = ("Static", "Dynamic")
_LONGEST: Final = 2000


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """The table ``[about]`` of a policy; everything in it may be left out.

    >>> About(title="Visits", period="2026").period
    '2026'
    """

    title: str | None = None
    entity: str | None = None
    """One of those who are protected, in a word: patient."""
    period: str | None = None
    """The time that the data is about, such as 2026."""
    curator: str | None = None
    contact: str | None = None
    purpose: str | None = None
    description: str | None = None
    """What is published, in a sentence or two."""
    region: str | None = None
    sector: str | None = None
    published: str | None = None
    """When the first answer was published, as 2026-01-31."""
    data_source: str | None = None
    """Static, or Dynamic if new rows come in over time."""
    raw_access: tuple[str, ...] = ()
    """Who can see the data as it is."""
    released_to: str | None = None
    """Who gets the answers: the public, or some people."""
    actors: str | None = None
    """Who takes part, whom they trust, and why."""
    unprotected: tuple[str, ...] = ()
    """What is published elsewhere without noise."""
    tuning: str | None = None
    """Whether the data was looked at to choose bounds, limits or questions."""
    justification: str | None = None
    limits: str | None = None
    authors: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    """Where more is published about it."""

    def written(self) -> Iterator[tuple[str, str | tuple[str, ...]]]:
        """Yield the name and the value of everything that is said."""
        for item in fields(self):
            value = getattr(self, item.name)
            if value:
                yield item.name, value


ABOUT_KEYS: Final = tuple(item.name for item in fields(About))
"""All keys of the table ``[about]``."""


def _is_plain(text: object) -> bool:
    """Whether a text can stand in a line of a label without breaking it."""
    return isinstance(text, str) and 0 < len(text.strip()) <= _LONGEST and text.isprintable()


def read_about(data: Mapping[str, Any]) -> About:
    """Read the table ``[about]``, whose keys are known.

    >>> read_about({"title": "Visits", "raw_access": ["the research team"]}).raw_access
    ('the research team',)
    """
    said: dict[str, Any] = {}
    for name, value in data.items():
        place = f"about.{name}"
        said[name] = texts(value, place) if name in _LISTS else value
        listed = said[name] if name in _LISTS else (value,)
        if not all(map(_is_plain, listed)):
            raise bad(
                place,
                f"it is not a text of 1 to {_LONGEST} printable characters",
                f'write {name} = "..." in words, on one line',
            )
    if said.get("data_source", "Static") not in _DATA_SOURCES:
        raise bad(
            "about.data_source",
            "it is neither Static nor Dynamic",
            'write data_source = "Dynamic" if new rows come in over time, "Static" otherwise',
        )
    return About(**said)
