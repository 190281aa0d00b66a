"""What each engine can do, and why it cannot do the rest.

Trust: public.  Refusals rest on the engines' own checks; documentation and tests are made from this
list.

Definition.  A feature is *done* on an engine if the contract suite tests it there.  Otherwise it is
refused before anything is charged, with the reason given here: *notyet* if something that the
engine is built on has to change first, *notimpl* if it could be built, *never* if it would break a
promise or means nothing there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Final, final


class SupportLevel(Enum):
    """How far an engine supports a feature."""

    DONE = "done"
    NOTYET = "notyet"
    NOTIMPL = "notimpl"
    NEVER = "never"


DONE, NOTYET, NOTIMPL, NEVER = SupportLevel
ENGINES: Final = ("DuckDB", "Spark", "PostgreSQL", "reference")
"""Engines by their names; the reference computes row by row, to check the others."""


@final
@dataclass(frozen=True, slots=True)
class FeatureSupport:
    """One feature on one engine; what is not done has a reason, which its refusal gives.

    >>> FeatureSupport()
    FeatureSupport(mark=<SupportLevel.DONE: 'done'>, reason='')
    """

    mark: SupportLevel = DONE
    reason: str = ""

    def __post_init__(self) -> None:
        """Refuse a gap without a reason, and a reason without a gap."""
        if (self.mark is DONE) != (not self.reason):
            message = "what is done has no reason, and everything else has one"
            raise ValueError(message)


_EVERYWHERE: Final[Mapping[str, FeatureSupport]] = MappingProxyType({})
_CLOSED: Final = FeatureSupport(
    NEVER, "a table is read only in ways that no row of it can disturb."
)
_READ: Final = FeatureSupport(NEVER, "a value is read only in ways that cannot fail.")
_ELSEWHERE: Final = FeatureSupport(
    NOTIMPL, "private rows are bounded where they are, and do not leave for another engine."
)
_ALONG: Final = FeatureSupport(
    NOTIMPL, "a public table from elsewhere goes along with every question."
)
_OPTIONS: Final = FeatureSupport(NOTIMPL, "what makes an engine faster is different for each.")
_SESSION: Final = {"reference": _CLOSED}  # lists of rows are nothing that a session opens

SECTIONS: Final[Mapping[str, Mapping[str, Mapping[str, FeatureSupport]]]] = {
    "Sources": {
        "public tables from elsewhere": _SESSION,
        "private tables from elsewhere": {
            **_SESSION,
            "Spark": _ELSEWHERE,
            "PostgreSQL": _ELSEWHERE,
        },
        "public tables of more than 64 MiB": {
            **_SESSION,
            "Spark": _ALONG,
            "PostgreSQL": _ALONG,
        },
        "views": {**_SESSION, "DuckDB": _CLOSED, "PostgreSQL": _CLOSED},
        "streams": dict.fromkeys(ENGINES, _CLOSED),
        "timestamps with a time zone": {**_SESSION, "Spark": _READ},
        "more than 60 text columns": _EVERYWHERE,
    },
    "Privacy units": {
        "row units": _EVERYWHERE,
        "units of several columns": _EVERYWHERE,
        "units named by floats": _EVERYWHERE,
        "linked tables": _EVERYWHERE,
    },
    "Aggregates": dict.fromkeys(
        (
            *("COUNT", "SUM", "AVG", "VARIANCE"),
            *("COUNT(DISTINCT unit)", "COUNT(DISTINCT)", "SUM(DISTINCT)", "quantiles"),
        ),
        _EVERYWHERE,
    ),
    "Rows and groups": dict.fromkeys(
        (
            "functions and casts",
            "public joins",
            "private joins",
            "windows",
            "nested questions",
            "WITH, UNION ALL, DISTINCT",
            "public tables alone",
            "private groups",
            "public groups",
            "zero groups",
        ),
        _EVERYWHERE,
    ),
    "Running": {
        "estimated bounds": _SESSION,
        "progress": dict.fromkeys(("DuckDB", "PostgreSQL", "reference"), _OPTIONS),
        "interrupting": _SESSION,
    },
}
"""Features by section, each with the engines that lack it."""


def _whole(cells: Mapping[str, FeatureSupport]) -> Mapping[str, FeatureSupport]:
    return MappingProxyType({engine: cells.get(engine, FeatureSupport()) for engine in ENGINES})


MATRIX: Final[Mapping[str, Mapping[str, FeatureSupport]]] = MappingProxyType(
    {feature: _whole(cells) for part in SECTIONS.values() for feature, cells in part.items()}
)
"""Every feature on every engine."""


def reason(feature: str, engine: str) -> str:
    """Return why an engine refuses a feature, in the words of the refusal.

    >>> reason("views", "DuckDB")
    'a table is read only in ways that no row of it can disturb.'
    """
    return MATRIX[feature][engine].reason
