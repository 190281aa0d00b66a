"""Published promises about the same unit, to compare a label with.

Trust: public.  Each figure is what its publisher states of the whole product.

An epsilon about a person says nothing beside one about a day of a person.  So a comparable is shown
only where its unit is the same: one person with all of their data, or one record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, final

from discreet.explain.disclosure import Disclosure


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Comparable:
    """A published promise: what, about whom, how strong, and who says so."""

    name: str
    unit: str
    """As the units of ledgers are called: person, or row."""
    epsilon: float
    delta: float
    source: str


COMPARABLES: Final = (
    Comparable(
        name="U.S. Census 2020, redistricting, tables about persons",
        unit="person",
        epsilon=17.14,
        delta=1e-10,
        source="2020 Census disclosure avoidance handbook",
    ),
    Comparable(
        name="Facebook URLs, all actions of a user",
        unit="person",
        epsilon=1.453,
        delta=1e-5,
        source="doi:10.7910/DVN/TDOAPG",
    ),
    Comparable(
        name="Victims and perpetrators of trafficking, synthetic data",
        unit="person",
        epsilon=12.0,
        delta=5.8e-6,
        source="IOM and Microsoft 2022",
    ),
    Comparable(
        name="Live births in Israel 2014, synthetic data",
        unit="row",
        epsilon=9.98,
        delta=0.0,
        source="Hod and Canetti 2024",
    ),
)
_PEOPLE: Final = frozenset(
    [
        "person",
        "patient",
        "user",
        "customer",
        "pupil",
        "student",
        "voter",
        "employee",
        "member",
        "resident",
        "respondent",
    ]
)


def comparables_of(disclosure: Disclosure) -> tuple[Comparable, ...]:
    """Return the promises about the same unit; none where the owner's word is no word for people.

    >>> from discreet.explain.sources import disclosure_of
    >>> from discreet.loss import Pure
    >>> from discreet.units import custom, person
    >>> len(comparables_of(disclosure_of(Pure(epsilon=1), unit=person("patient"))))
    3
    >>> day = custom("day", columns=["patient", "day"])
    >>> comparables_of(disclosure_of(Pure(epsilon=1), unit=day))
    ()
    """
    unit, entity = disclosure.unit, disclosure.about.entity
    if len(unit.columns) > 1 or (unit.name == "person" and entity not in {None, *_PEOPLE}):
        return ()
    return tuple(each for each in COMPARABLES if each.unit == unit.name)


def comparables_block(disclosure: Disclosure) -> list[dict[str, Any]]:
    """Return them as plain values."""
    return [asdict(each) for each in comparables_of(disclosure)]


def comparable_lines(block: list[Mapping[str, Any]]) -> Iterator[str]:
    """Say them in words."""
    for item in block:
        chance = f" at delta {item['delta']:g}" if item["delta"] else ""
        yield f"{item['name']}: epsilon {item['epsilon']:g}{chance} ({item['source']})"
    if not block:
        yield "no comparable with the same unit"
