"""No table that people were promised protection for is public, under its name or another."""

import os
import shutil

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import discreet.session as sessions
from discreet.engines import Database
from discreet.errors import BadPolicy, OtherLedger
from discreet.ledger import Ledger

BEGIN = """
format = 1
unit = "patient"
[budget]
epsilon = "20"
[limits]
max_groups = 3
max_rows = 2
"""
COUNT = "SELECT COUNT(*) AS n FROM {}"
VISITS = pa.table({"patient": [1, 1, 2, 3], "ward": ["A", "B", "A", "C"]})
WARDS = pa.table({"ward": ["A", "B", "C"], "beds": [1, 2, 3]})


def policy(*, public=(), private=()):
    tables = [f"[tables.{name}]\npublic = true\n" for name in public]
    own = [f'[tables.{name}.columns]\npatient = {{type = "integer"}}\n' for name in private]
    return BEGIN + "".join(tables + own)


@pytest.fixture
def place(tmp_path):
    VISITS.to_pandas().to_csv(tmp_path / "visits.csv", index=False)
    pq.write_table(VISITS, tmp_path / "visits.parquet")
    WARDS.to_pandas().to_csv(tmp_path / "wards.csv", index=False)
    return tmp_path


def opened(place, *, public=(), ledger=None, **sources):
    private = [name for name in sources if name not in public]
    given = {
        name: str(place / source) if isinstance(source, str) else source
        for name, source in sources.items()
    }
    rules = policy(public=public, private=private)
    return sessions.open(given, policy=rules, ledger=ledger or place / "clinic.ledger")


@pytest.mark.parametrize(
    ("name", "data"), [("visits", "visits.csv"), ("Visits", "visits.parquet"), ("VISITS", VISITS)]
)
def test_a_table_on_record_as_private_is_never_public(place, name, data):
    with opened(place, visits=data) as session:
        session.ask(COUNT.format("visits"), epsilon=1)
        before = session.ledger.receipt
    with pytest.raises(OtherLedger) as caught:
        opened(place, public=[name], **{name: data})
    assert "another ledger" in str(caught.value)
    with opened(place, visits=data) as session:  # and nothing was recorded of what was refused
        assert session.ledger.receipt == before
    with opened(place, public=[name], ledger=place / "other.ledger", **{name: data}) as session:
        (row,) = session.ask(COUNT.format(name), epsilon=1).to_arrow().to_pylist()
        assert row["n"] == 4


def test_nor_under_another_name_while_its_file_is_as_it_was(place):
    with opened(place, visits="visits.csv"):
        pass
    shutil.copy(place / "visits.csv", place / "people.csv")
    for others in ({}, {"people": "people.csv"}):
        with pytest.raises(OtherLedger, match="visits"):
            opened(place, public=["wards"], wards="visits.csv", **others)
    with opened(place, public=["wards"], wards="wards.csv", visits="visits.csv") as session:
        assert session.ask("SELECT COUNT(*) AS n FROM wards", epsilon=1).rows()


def test_a_ledger_that_was_handed_in_stays_open(place):
    with opened(place, visits="visits.csv"):
        pass
    with Ledger.open(place / "clinic.ledger") as ledger:
        with pytest.raises(OtherLedger):
            opened(place, public=["visits"], ledger=ledger, visits="visits.csv")
        assert ledger.verify().ok


def test_public_tables_stay_public_beside_private_ones(place):
    join = "SELECT COUNT(*) AS n FROM visits JOIN wards ON visits.ward = wards.ward"
    for price in (1, 2):
        with opened(place, public=["wards"], wards="wards.csv", visits="visits.csv") as session:
            session.ask(join, epsilon=price, delta="1e-9")
    with opened(place, public=["wards"], wards="wards.csv", visits="visits.parquet") as session:
        session.ask(join, epsilon=1)


def test_a_table_that_was_public_may_become_private(place):
    with opened(place, public=["visits"], visits="visits.csv"):
        pass
    with opened(place, visits="visits.csv"):
        pass
    with pytest.raises(OtherLedger):
        opened(place, public=["visits"], visits="visits.csv")


def same_file(place, kind):  # noqa: PLR0911  one for each kind
    """Return one source twice, as different people might name it."""
    match kind:
        case "path":
            return "visits.csv", "visits.csv"
        case "symbolic link":
            (place / "open.csv").symlink_to(place / "visits.csv")
            return "open.csv", "visits.csv"
        case "hard link":
            os.link(place / "visits.csv", place / "open.csv")
            return "open.csv", "visits.csv"
        case "pattern":
            shutil.copy(place / "visits.csv", place / "visits2.csv")
            return "visits.csv", "visits*.csv"
        case "dataset":
            return ds.dataset(str(place / "visits.parquet")), "visits.parquet"
        case "arrow":
            return VISITS, VISITS
        case "pandas":
            frame = pd.DataFrame({"patient": [1, 2]})
            return frame, frame
        case _:
            path = str(place / "clinic.duckdb")
            with duckdb.connect(path) as base:
                base.execute("CREATE TABLE visits AS SELECT 1 AS patient")
            return tuple(Database(path=path, table="visits") for _ in range(2))


@pytest.mark.parametrize(
    "kind",
    ["path", "symbolic link", "hard link", "pattern", "dataset", "arrow", "pandas", "database"],
)
def test_one_source_is_not_public_and_private_at_once(place, kind):
    one, other = same_file(place, kind)
    with pytest.raises(BadPolicy, match="same data"):
        opened(place, public=["everybody"], everybody=one, visits=other)
    assert not (place / "clinic.ledger").exists()


def test_a_database_has_public_tables_and_private_ones(place):
    path = str(place / "clinic.duckdb")
    with duckdb.connect(path) as base:
        base.execute("CREATE TABLE visits AS SELECT 1 AS patient, 'A' AS ward")
        base.execute("CREATE TABLE wards AS SELECT 'A' AS ward, 3 AS beds")
        base.execute("CREATE TABLE former AS SELECT 1 AS patient, 'A' AS ward")
    public = ["wards", "former"]
    for _again in range(2):
        with opened(place, public=public, visits=path, wards=path, former=path) as session:
            assert session.ask("SELECT SUM(beds) AS n FROM wards", epsilon=1).rows()
    with pytest.raises(OtherLedger):
        opened(place, public=["visits", "wards"], former=path, visits=path, wards=path)
