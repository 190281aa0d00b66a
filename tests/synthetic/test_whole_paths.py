"""A whole synthetic table, from plan to rows and report: on files, Spark and PostgreSQL."""

from collections import Counter

import pytest

import discreet as dp
from tests.engines.contract.cases import Asked
from tests.engines.contract.places import DuckDBPlace, PostgresPlace, SparkPlace
from tests.servers.spark import local_session
from tests.synthetic import clinic

PRICE = 9
"""So much that noise moves a count by a few rows: intervals miss one time in a million, and 60 rows
are more than ten times the largest error of 150 tables.  How wide an interval is depends on what
the method chose to measure, so that has no bound here."""


@pytest.fixture(params=["DuckDB", "Spark", "PostgreSQL"])
def place(request):
    """Where the clinic keeps its rows."""
    if request.param == "DuckDB":
        return DuckDBPlace()
    if request.param == "Spark":
        return SparkPlace(local_session())
    return PostgresPlace(request.getfixturevalue("postgres"))


def source(place):
    """The rows of the clinic, as this place takes them."""
    with clinic.opened(rows=[]) as session:
        known = session.schema
    rows = {"visits": clinic.crowd()}
    asked = Asked(name="whole", request=None, rows=rows, types=clinic.TYPES, known=known)
    return place.sources(place.taken(asked))


def test_a_table_is_made_on_every_engine(place, tmp_path):
    """Charged, read, measured and recorded; near the rows; and the second time free."""
    wanted = {
        "method": dp.synthetic.AIM(),
        "workload": dp.synthetic.marginals_of([("ward", "paid")]),
        "rho": PRICE,
    }
    with dp.open(
        source(place),
        policy=clinic.POLICY,
        ledger=tmp_path / "clinic.ledger",
        budget=dp.Budget(rho=PRICE + 1),
    ) as session:
        release = dp.synthesize(session, clinic.planned(session, **wanted))
        left = str(session.remaining)
        again = dp.synthesize(session, clinic.planned(session, **wanted))
        assert str(session.remaining) == left
        assert session.ledger.verify(receipts=[release.receipt]).ok
    assert again.table(40).equals(release.table(40))
    assert release.table().column_names == ["patient", "ward", "age", "paid"]
    true = Counter((row["ward"], str(row["paid"])) for row in clinic.crowd())
    answer = release.answer(("ward", "paid"), confidence="0.999999")
    wide = answer.half_widths  # none where the pair was not measured
    wide = [60.0] * len(answer.counts) if wide is None else wide  # half of all rows
    for label, count, half_width in zip(answer.labels, answer.counts, wide, strict=True):
        assert abs(count - true[label]) <= min(half_width, 60)
    assert "ward, paid" in str(release.report())
    opened = dp.open({"visits": release.table()}, policy=clinic.POLICY, test_mode=True)
    with opened as session:  # it opens under the same policy, and answers the same SQL
        found = session.ask("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", epsilon=1000)
        assert {row["ward"] for row in found.rows()} <= {"A", "B", None}
