"""The guided tour on generated hospital visits: policy, plan, answers, a refusal, the ledger.

Trust: public.  The data is generated, the same on every machine, so true numbers may be shown next
to the answers.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

from discreet import session as sessions
from discreet.demo.page import IntervalMark, Stop, Summary, error_bars, write_page
from discreet.errors import OverBudget
from discreet.ledger.ledger import Ledger
from discreet.loss import Pure
from discreet.release.odds import odds_of
from discreet.session import Session
from discreet.session.display import svg_bar, text_bar

if TYPE_CHECKING:  # handed in
    from discreet.release.release import Release

REGIONS: Final = ("north", "south", "east", "west")
WARDS: Final = ("cardiology", "maternity", "orthopedics", "pediatrics", "surgery")
_COSTS: Final = (620, 480, 390, 210, 840)
_PATIENTS: Final = 4000
_MOST: Final = 8

POLICY: Final = """\
format = 1
unit = "patient"                    # all visits of a patient are protected together

[budget]
epsilon = "1"                       # what all answers together may cost anybody

[about]
title = "Visits to a made-up hospital"
period = "2026"
curator = "nobody: the data is made up"
released_to = "anyone who takes the tour"

[limits]
max_groups = 3                      # a patient counts in at most 3 wards
max_rows = 4                        # and with at most 4 visits in each
max_epsilon_per_question = "0.5"

[tables.visits.columns.region]
type = "text"
categories = ["north", "south", "east", "west"]
constant = true                     # nobody lives in two regions

[tables.visits.columns.ward]
type = "text"
categories = ["cardiology", "maternity", "orthopedics", "pediatrics", "surgery"]

[tables.visits.columns.cost]
type = "float"
low = "0"
high = "2000"
nullable = false
"""

Words = NDArray[np.uint64]


def visits(patients: int = _PATIENTS) -> pa.Table:
    """Return the visits of some number of patients.

    >>> visits(3).column_names
    ['patient', 'region', 'ward', 'cost']
    >>> visits(3).equals(visits(3))
    True
    """
    who = np.arange(1, patients + 1, dtype=np.uint64)
    times = 1 + np.minimum(_mixed(who, 1) % 5, _mixed(who, 2) % _MOST).astype(np.int64)
    patient = np.repeat(who, times)
    visit = np.arange(patient.size, dtype=np.uint64)
    home = np.minimum(_mixed(patient, 3) % 5, 3)  # one region has more people than the others
    favorite = _mixed(patient, 4) % 7 % 5
    ward = np.where(_mixed(visit, 5) % 3 == 0, _mixed(visit, 6) % 5, favorite).astype(np.int64)
    spread = 50 + (_mixed(visit, 7) % 101 + _mixed(visit, 8) % 101).astype(np.int64) // 2
    cost = np.array(_COSTS)[ward] * spread / 100.0
    return pa.table(
        {
            "patient": patient.astype(np.int64),
            "region": pa.array(np.array(REGIONS)[home.astype(np.int64)]),
            "ward": pa.array(np.array(WARDS)[ward]),
            "cost": cost,
        }
    )


def _mixed(counter: Words, stream: int) -> Words:
    """Mix counters until no pattern is left to see (Steele, Lea and Flood 2014)."""
    with np.errstate(over="ignore"):
        word = counter * np.uint64(0x9E3779B97F4A7C15) + np.uint64(
            stream * 0xD1342543DE82EF95 % 2**64
        )
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


PAGE: Final = "out/demo.html"

_WARDS: Final = "SELECT ward, COUNT(*) AS visits, AVG(cost) AS cost FROM visits GROUP BY ward"
_PEOPLE: Final = "SELECT COUNT(DISTINCT patient) AS people FROM visits"
_WIDTH: Final = 96


def tour(page: Path = Path(PAGE), *, silent: bool = False) -> tuple[Stop, ...]:
    """Go through all stops, print them unless silent, and write them to a page with pictures."""
    stops, data = [], visits()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "clinic.ledger"
        with sessions.open({"visits": data}, policy=POLICY, ledger=path) as clinic:
            for stop in _stops(clinic, data):
                stops.append(stop)
                if not silent:
                    _print(stop, len(stops))
            summary = _summary(clinic, stops)
    write_page(page, summary, stops)
    if not silent:
        sys.stdout.write(f"\nThe same with pictures: {page}\n")
    return tuple(stops)


def _stops(clinic: Session, data: pa.Table) -> Iterator[Stop]:
    yield Stop(
        title="The owner's rules",
        words=f"{data.num_rows} hospital visits of {_count(data, 'patient')} people who do not "
        "exist.  The policy says who is protected, what may be lost in total, and what is public.",
        result=POLICY.strip(),
    )
    yield from _one_answer(clinic, data)
    yield from _disjoint(clinic, data)
    yield from _refusal(clinic)
    yield _again(clinic)
    yield _record(clinic)
    yield _label(clinic)


def _summary(clinic: Session, stops: Sequence[Stop]) -> Summary:
    """Describe the budget and its balance."""
    promised = odds_of(Pure(epsilon=1))
    left, ledger = clinic.remaining, clinic.ledger
    share = 0 if left is None else int(100 * left.share)
    answers = ledger.verify().releases if isinstance(ledger, Ledger) else 0
    guess = promised.times_right.removeprefix("about ")
    return Summary(
        promise="The promise to each patient: "
        + promised.sentence(unit="patient", source="everything that is ever published"),
        figures=(
            (f"{guess} in 100", "the best that a guess about a patient can ever be; a coin has 50"),
            (str(answers), "answers published, each with its 95 % interval"),
            (f"{100 - share} %", "of the promise is spent for those who paid most"),
            (f"{share} %", "is left, and nothing can overdraw it"),
        ),
        pictures=(*stops[2].pictures[:2], *_bar(clinic)),
    )


def _one_answer(clinic: Session, data: pa.Table) -> Iterator[Stop]:
    plan = clinic.plan(_WARDS, epsilon="0.4")
    yield Stop(
        title="A plan",
        words="What would it cost, and how exact would it be?  No row is read to say that, and "
        "nothing is spent.",
        code=f'clinic.plan("{_WARDS}", epsilon="0.4")',
        result=str(plan),
    )
    release = clinic.ask(plan)
    yield Stop(
        title="An answer",
        words="It is charged first, then rows are read, noise is added, and the answer is "
        "recorded before it is shown.",
        code="clinic.ask(plan)",
        result=f"{release}\n\n{_left(clinic)}",
        pictures=(
            error_bars(_marks(release, "visits", _truth(data, "count")), label="visits by ward"),
            error_bars(_marks(release, "cost", _truth(data, "mean")), label="mean cost by ward"),
            *_bar(clinic),
        ),
    )


def _disjoint(clinic: Session, data: pa.Table) -> Iterator[Stop]:
    lines, marks = [], []
    for region in ("north", "south"):
        row = clinic.ask(f"{_PEOPLE} WHERE region = '{region}'", epsilon="0.3").rows()[0]
        true = _count(data.filter(compute.equal(data["region"], region)), "patient")
        marks.append(_mark(region, row, "people", true))
        lines.append(f"{region}: {row['people']} people, {_left(clinic)}")
    yield Stop(
        title="Two questions for the price of one",
        words="Nobody lives in two regions: the policy says so.  So anyone who pays for the first "
        "question does not pay for the second, and what is left for everybody falls only once.",
        code=f"for region in ('north', 'south'):\n"
        f'    clinic.ask(f"{_PEOPLE} WHERE region = \'{{region}}\'", epsilon="0.3")',
        result="\n".join(lines),
        pictures=(error_bars(marks, label="people by region"), *_bar(clinic)),
    )


def _refusal(clinic: Session) -> Iterator[Stop]:
    said = ""
    try:
        clinic.ask(_PEOPLE, epsilon="0.5")
    except OverBudget as error:
        said = str(error)
    yield Stop(
        title="A refusal",
        words="Somebody in the north has 0.3 left.  A question about everybody for 0.5 would "
        "break the promise to them, so it is refused before any row is read.",
        code=f'clinic.ask("{_PEOPLE}", epsilon="0.5")',
        result=said,
    )
    row = clinic.ask(f"{_PEOPLE} WHERE region = 'west'", epsilon="0.5").rows()[0]
    yield Stop(
        title="A way out",
        words="People in the west have paid for the first question alone, and have 0.6 left.",
        code=f'clinic.ask("{_PEOPLE} WHERE region = \'west\'", epsilon="0.5")',
        result=f"west: {row['people']} people",
    )


def _again(clinic: Session) -> Stop:
    before = _left(clinic)
    release = clinic.ask(_WARDS, epsilon="0.4")
    free = "the same answer, for nothing" if release.replayed else "not on record"
    return Stop(
        title="The same question again",
        words="An answer that is on record is handed out again: asking twice cannot wear the "
        "noise away, and costs nothing.",
        code=f'clinic.ask("{_WARDS}", epsilon="0.4")',
        result=f"{free}\nbefore: {before}\nafter:  {_left(clinic)}",
    )


def _record(clinic: Session) -> Stop:
    ledger = clinic.ledger
    report = str(ledger.verify()) if isinstance(ledger, Ledger) else ""
    return Stop(
        title="The ledger",
        words="Every charge and every answer is one entry of a chain of hashes in one file.  "
        "Anybody who may read it can work everything out again.",
        code="clinic.ledger.verify()",
        result=report,
        pictures=_bar(clinic),
    )


def _label(clinic: Session) -> Stop:
    label = clinic.label()
    return Stop(
        title="The privacy label",
        words="What all of this means, on one page that can be checked against the ledger.",
        code="clinic.label()",
        result=str(label),
        pictures=tuple(picture.svg() for picture in label.pictures),
    )


# --- numbers ----------------------------------------------------------------------------------


def _truth(data: pa.Table, function: str) -> dict[str, float]:
    means = data.group_by("ward").aggregate([("cost", function)])
    return dict(zip(means["ward"].to_pylist(), means[f"cost_{function}"].to_pylist(), strict=True))


def _count(data: pa.Table, column: str) -> int:
    return len(data[column].unique())


def _marks(release: Release, name: str, truth: dict[str, float]) -> list[IntervalMark]:
    return [_mark(row["ward"], row, name, truth[row["ward"]]) for row in release.rows()]


def _mark(title: str, row: dict[str, float], name: str, truth: float) -> IntervalMark:
    low, high = (row[f"{name}_{end}"] for end in ("low", "high"))
    return IntervalMark(name=title, value=row[name], low=low, high=high, truth=truth)


# --- words ------------------------------------------------------------------------------------


def _left(clinic: Session) -> str:
    left = clinic.remaining
    return "" if left is None else f"left for everybody: {text_bar(left)}"


def _bar(clinic: Session) -> tuple[str, ...]:
    left = clinic.remaining
    return () if left is None else (svg_bar(left),)


def _print(stop: Stop, number: int) -> None:
    out = sys.stdout
    out.write(f"\n{number}. {stop.title}\n\n")
    for line in textwrap.wrap(stop.words, _WIDTH - 3):
        out.write(f"   {line}\n")
    for text, mark in ((stop.code, ">>> "), (stop.result, "")):
        if text:
            out.write("\n")
        for line in text.splitlines():
            out.write(f"   {mark}{line}\n".rstrip() + "\n")
