"""The owner's check: it finds every broken promise, and nobody else can reach it."""

import datetime as dt
import json
from fractions import Fraction

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dp
import discreet.session as sessions
from discreet.session.owner_check.check_report import WARNING, CheckReport, Finding, Spread
from tests.engines.postgres.rows import connect
from tests.servers.spark import local_session
from tests.session import clinic

POLICY = clinic.POLICY + clinic.LINKED
WHOLE = {"visits": clinic.visits(), "bills": clinic.bills(), "wards": clinic.wards()}

BROKEN_POLICY = """
format = 1
unit = "patient"
[limits]
max_groups = 2
max_rows = 3
[tables.visits]
key = ["visit"]
[tables.visits.columns]
patient = {type = "integer"}
visit = {type = "integer"}
region = {type = "text", constant = true}
ward = {type = "text", categories = ["A", "B", "C"]}
cost = {type = "float", low = 0, high = 100, nullable = false}
[tables.bills.link]
column = "visit"
parent = "visits"
key = "visit"
[tables.bills.columns]
visit = {type = "integer"}
amount = {type = "integer", low = 0, high = 50}
[tables.wards]
public = true
key = ["ward"]
[tables.wards.columns]
ward = {type = "text"}
beds = {type = "integer"}
"""
BROKEN = {
    "visits": pa.table(
        {
            "patient": [1, 1, 1, 1, 2, 2, 3, None],
            "visit": [1, 2, 3, 4, 4, 5, 6, 7],
            "region": ["n", "s", "n", "n", "s", None, "s", "n"],
            "ward": ["A", "B", "C", "D", "A", "A", None, "A"],
            "cost": [5.0, 101.0, -1.0, 7.0, float("nan"), None, 8.0, 9.0],
        }
    ),
    "bills": pa.table({"visit": [1, 1, 2, 99, None], "amount": [50, 51, 0, 1, None]}),
    "wards": pa.table({"ward": ["A", "A", "B", None, None], "beds": [1, 2, 3, 4, 5]}),
}
EXPECTED = {
    ("visits", "region", "is constant: all rows of a unit agree"): Fraction(2, 3),
    ("visits", "visit", "each value belongs to one unit"): Fraction(1, 6),
    ("visits", "visit", "is a key: no two rows agree"): Fraction(1, 7),
    ("bills", "visit", "points to a row of visits"): Fraction(1, 4),
    ("wards", "ward", "is a key: no two rows agree"): Fraction(1, 2),
    ("visits", "patient", "names the unit of every row"): Fraction(1, 8),
    ("visits", "cost", "can be read as float"): Fraction(1, 7),
    ("visits", "cost", "is never NULL"): Fraction(2, 8),
    ("visits", "cost", "is between 0 and 100"): Fraction(2, 6),
    ("visits", "ward", "is never NULL"): Fraction(1, 8),
    ("visits", "ward", "is one of 3 categories"): Fraction(1, 7),
    ("bills", "amount", "is between 0 and 50"): Fraction(1, 4),
    ("visits", "", "rows of a unit (at most 3)"): Fraction(1, 7),
    ("visits", "ward", "groups of a unit, by ward (at most 2)"): Fraction(1, 4),
    ("bills", "amount", "groups of a unit, by amount (at most 2)"): Fraction(1, 3),
}
TRUSTED = {("visits", "region"), ("visits", "visit")}


def broken(report):
    """Return what does not hold, with its share."""
    return {
        (each.table, each.column, each.promise): each.share
        for each in report.findings
        if each.holds is False
    }


def test_every_broken_promise_is_found_and_nothing_else():
    report = dp.check(BROKEN, policy=BROKEN_POLICY)
    assert broken(report) == EXPECTED
    assert {(each.table, each.column) for each in report.broken} == TRUSTED
    assert not report.holds


def test_a_clinic_that_keeps_its_promises():
    report = dp.check(WHOLE, policy=POLICY)
    assert broken(report) == {}
    assert report.holds
    assert {each.promise for each in report.findings if each.holds is None} == {
        "a unit keeps its patient across tables, files and time: old people get no new names"
    }


SMALL = st.sampled_from([None, 1, 2, 3])
VISIT = st.tuples(SMALL, SMALL, st.sampled_from([None, "n", "s"]), st.sampled_from("ABD"))


@given(visits=st.lists(VISIT, max_size=12), bills=st.lists(SMALL, max_size=5))
@settings(max_examples=15)
def test_shares_are_those_that_plain_loops_count(visits, bills):
    columns = list(zip(*visits, strict=True)) or [()] * 4
    kinds = (pa.int64(), pa.int64(), pa.string(), pa.string())
    names = ("patient", "visit", "region", "ward")
    made = {
        name: pa.array(list(column), kind)
        for name, column, kind in zip(names, columns, kinds, strict=True)
    }
    made["cost"] = pa.array([1.0] * len(visits), pa.float64())
    tables = {
        "visits": pa.table(made),
        "bills": pa.table({"visit": pa.array(bills, pa.int64())}),
        "wards": BROKEN["wards"],
    }
    rules = BROKEN_POLICY.replace('amount = {type = "integer", low = 0, high = 50}\n', "")
    shares = {
        (each.table, each.column, each.promise): each.share
        for each in dp.check(tables, policy=rules).findings
    }
    owned = [row for row in visits if row[0] is not None]
    values, owners, repeated, wards = {}, {}, {}, {}
    for patient, visit, region, ward in owned:
        values.setdefault(patient, set()).add(region)
        if ward in {"A", "B", "C"}:
            wards.setdefault(patient, []).append(ward)
        if visit is not None:
            owners.setdefault(visit, set()).add(patient)
    for _, visit, _, _ in visits:
        if visit is not None:
            repeated[visit] = repeated.get(visit, 0) + 1
    pointers = [visit for visit in bills if visit is not None]
    groups = [len(set(each)) for each in wards.values()]

    def share(part, whole):
        return Fraction(part, whole or 1)

    assert shares["visits", "region", "is constant: all rows of a unit agree"] == share(
        sum(len(each) > 1 for each in values.values()), len(values)
    )
    assert shares["visits", "visit", "each value belongs to one unit"] == share(
        sum(len(each) > 1 for each in owners.values()), len(owners)
    )
    assert shares["visits", "visit", "is a key: no two rows agree"] == share(
        sum(count > 1 for count in repeated.values()), len(repeated)
    )
    assert shares["bills", "visit", "points to a row of visits"] == share(
        sum(visit not in repeated for visit in pointers), len(pointers)
    )
    assert shares["visits", "ward", "groups of a unit, by ward (at most 2)"] == share(
        sum(max(count - 2, 0) for count in groups), sum(groups)
    )
    assert shares["visits", "patient", "names the unit of every row"] == share(
        len(visits) - len(owned), len(visits)
    )


@pytest.mark.parametrize("kind", ["csv", "parquet", "duckdb"])
def test_files_and_databases_are_checked_alike(kind, tmp_path):
    if kind == "duckdb":
        source = str(tmp_path / "clinic.duckdb")
        with duckdb.connect(source) as connection:
            for name, table in BROKEN.items():
                connection.register("arrow", table)
                connection.execute(f"CREATE TABLE {name} AS FROM arrow")
    else:
        source = {name: tmp_path / f"{name}.{kind}" for name in BROKEN}
        for name, path in source.items():
            if kind == "csv":
                BROKEN[name].to_pandas().to_csv(path, index=False)
            else:
                pq.write_table(BROKEN[name], path)
    expected = dict(EXPECTED)
    if kind == "csv":  # where nan is an empty cell
        del expected["visits", "cost", "can be read as float"]
    found = broken(dp.check(source, policy=BROKEN_POLICY))
    assert found == expected


def test_cells_of_a_csv_file_that_cannot_be_read(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("patient,age,day\n1,34,2024-02-29\n2,old,2024-02-30\n3,,\n4,1.5,never\n")
    rules = """
format = 1
unit = "patient"
[tables.visits.columns]
patient = {type = "integer"}
age = {type = "integer"}
day = {type = "date"}
"""
    assert broken(dp.check(path, policy=rules)) == {
        ("visits", "age", "can be read as integer"): Fraction(2, 3),
        ("visits", "day", "can be read as date"): Fraction(2, 3),
    }


def test_a_link_through_another_link():
    rules = """
format = 1
unit = "patient"
[tables.visits.columns.patient]
type = "integer"
[tables.bills]
link = {column = "visit", parent = "visits", key = "visit"}
[tables.lines]
link = {column = "bill", parent = "bills", key = "bill"}
"""
    tables = {
        "visits": pa.table({"patient": [1, 2], "visit": [1, 2]}),
        "bills": pa.table({"visit": [1, 2, 2], "bill": [7, 7, 8]}),
        "lines": pa.table({"bill": [7, 8]}),
    }
    assert broken(dp.check(tables, policy=rules)) == {
        ("bills", "bill", "each value belongs to one unit"): Fraction(1, 2)
    }


SAME = """
format = 1
unit = "patient"
[same]
sex = ["visits.sex", "people.sex"]
[tables.visits.columns.sex]
type = "text"
constant = true
[tables.people.columns.sex]
type = "text"
constant = true
"""


def test_columns_that_are_promised_to_be_the_same():
    tables = {
        "visits": pa.table({"patient": [1, 1, 2, 4], "sex": ["f", "f", "m", "f"]}),
        "people": pa.table({"patient": [1, 2, 3], "sex": ["f", "f", "m"]}),
    }
    report = dp.check(tables, policy=SAME)
    assert broken(report) == {
        ("people, visits", "sex", "is the same in all of its tables"): Fraction(1, 4)
    }
    assert len(report.broken) == 1


def test_units_of_two_columns():
    rules = """
format = 1
unit = ["ward", "bed"]
[tables.stays.columns]
sex = {type = "text", constant = true}
"""
    stays = pa.table({"ward": ["A", "A", "B"], "bed": [1, 1, 1], "sex": ["f", "m", "f"]})
    assert broken(dp.check({"stays": stays}, policy=rules)) == {
        ("stays", "sex", "is constant: all rows of a unit agree"): Fraction(1, 2)
    }


def test_rows_that_are_units_have_no_limits_and_promise_to_stay():
    report = dp.check({"visits": pa.table({"age": [1, 2]})}, unit=dp.row())
    assert [each.promise for each in report.findings] == [
        "rows keep their values from one question to the next"
    ]


def test_empty_tables_break_nothing():
    empty = {name: table.slice(0, 0) for name, table in BROKEN.items()}
    assert broken(dp.check(empty, policy=BROKEN_POLICY)) == {}


def test_quantiles_and_what_limits_cut():
    rows = [(who, at) for who in range(100) for at in range(20 if who == 0 else 2)]
    visits = pa.table(
        {"patient": [who for who, _ in rows], "ward": ["AB"[at % 2] for _, at in rows]}
    )
    rules = """
format = 1
unit = "patient"
[limits]
max_groups = 1
max_rows = 2
[tables.visits.columns.ward]
type = "text"
categories = ["A", "B"]
"""
    found = {each.promise: each for each in dp.check({"visits": visits}, policy=rules).findings}
    whole = found["rows of a unit (at most 2)"]
    assert whole.share == Fraction(18, 218)
    assert whole.detail == (
        "median 2, 90 % have at most 2, 99 % at most 2, the most is 20; "
        "the limit cuts 8.26 % of rows, from 1 % of units"
    )
    assert found["groups of a unit, by ward (at most 1)"].share == Fraction(1, 2)
    assert found["rows of a unit in one group, by ward (at most 2)"].share == Fraction(16, 218)


def test_without_limits_only_the_spread_is_told():
    report = dp.check({"visits": clinic.visits()}, unit=dp.person("patient"))
    (spread,) = [each for each in report.findings if "no limit" in each.promise]
    assert spread.holds is None
    assert spread.detail.startswith("median 2")


def test_no_value_of_the_data_is_told():
    secret = "Ada Lovelace has gout"  # noqa: S105
    visits = pa.table({"patient": [secret, secret], "born": [secret, "1980"]})
    rules = """
format = 1
unit = "patient"
[tables.visits.columns]
patient = {type = "text"}
born = {type = "text", constant = true, categories = ["1980"]}
"""
    report = dp.check({"visits": visits}, policy=rules)
    shown = f"{report} {report!r} {report._repr_html_()} {json.dumps(report.to_json())}"
    assert secret not in shown


def test_a_report_says_first_that_it_is_not_private():
    report = dp.check(WHOLE, policy=POLICY)
    assert WARNING.startswith("NOT PRIVATE")
    assert "owner only" in WARNING
    assert str(report).splitlines()[0] == WARNING
    assert report._repr_html_().startswith(f"<pre>{WARNING}")
    assert next(iter(report.to_json().items())) == ("warning", WARNING)
    assert "not private" in repr(report)
    assert len(repr(report).splitlines()) == 1


def test_a_report_escapes_what_it_shows():
    finding = Finding(
        table="<t>", column="", promise="", holds=True, trusted=False, share=None, detail=""
    )
    assert "<t>" not in CheckReport(findings=(finding,))._repr_html_()


def test_a_check_needs_no_ledger_and_writes_into_none(tmp_path, monkeypatch):
    with clinic.opened(tmp_path, source=dict(WHOLE), policy=POLICY) as session:
        session.ask(clinic.COUNT, epsilon="0.1")
        before = list(session.ledger.entries())
        dp.check(WHOLE, policy=POLICY)
        assert list(session.ledger.entries()) == before
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    dp.check(WHOLE, policy=POLICY + '[session]\nledger = "clinic.ledger"\n')
    assert list(empty.iterdir()) == []


def test_the_check_is_called_by_nothing_that_answers(tmp_path, monkeypatch):
    import discreet.session.owner_check.checker as checking  # noqa: PLC0415

    def never(*_, **__):
        message = "the check was called"
        raise AssertionError(message)

    monkeypatch.setattr(checking, "check", never)
    monkeypatch.setattr(checking.ExactCounter, "rows", never)
    with clinic.opened(tmp_path) as session:
        session.plan(clinic.BY_WARD, epsilon="0.1")
        session.ask(clinic.BY_WARD, epsilon="0.1")
    assert dp.check is sessions.check


def test_a_table_on_a_server(postgres):
    with connect(postgres) as connection:
        connection.execute("CREATE SCHEMA checked")
        connection.execute(
            "CREATE TABLE checked.visits (patient int8, visit int8, region text, ward text, "
            "cost float8)"
        )
        connection.execute("CREATE TABLE checked.bills (visit int8, amount int8)")
        for name in ("visits", "bills"):
            for row in BROKEN[name].to_pylist():
                marks = ", ".join(["%s"] * len(row))
                statement = f"INSERT INTO checked.{name} VALUES ({marks})"  # noqa: S608
                connection.execute(statement, list(row.values()))
    source = {name: f"{postgres.address()}/checked.{name}" for name in ("visits", "bills")}
    found = broken(dp.check({**source, "wards": BROKEN["wards"]}, policy=BROKEN_POLICY))
    assert found == EXPECTED


def test_data_frames_of_spark():
    session = local_session()
    source = {name: session.createDataFrame(table) for name, table in BROKEN.items()}
    assert broken(dp.check(source, policy=BROKEN_POLICY)) == EXPECTED


def test_a_link_through_another_link_is_checked_on_spark():
    session = local_session()
    rules = """
format = 1
unit = "patient"
[tables.visits.columns.patient]
type = "integer"
[tables.bills]
link = {column = "visit", parent = "visits", key = "visit"}
[tables.lines]
link = {column = "bill", parent = "bills", key = "bill"}
"""
    tables = {
        "visits": pa.table({"patient": [1, 2], "visit": [1, 2]}),
        "bills": pa.table({"visit": [1, 2, 2], "bill": [7, 7, 8]}),
        "lines": pa.table({"bill": [7, 8]}),
    }
    frames = {name: session.createDataFrame(table) for name, table in tables.items()}
    report = dp.check(frames, policy=rules)
    assert broken(report) == {("bills", "bill", "each value belongs to one unit"): Fraction(1, 2)}


@pytest.mark.parametrize(
    ("counts", "limit", "beyond", "cut"),
    [
        ([], 3, 0, 0),
        ([(1, 5)], 1, 0, 0),
        ([(2, 1), (4, 1)], 3, Fraction(1, 2), Fraction(1, 6)),
        ([(2, 0), (10**18, 1)], 1, 1, 1 - Fraction(1, 10**18)),
    ],
)
def test_spreads(counts, limit, beyond, cut):
    spread = Spread(counts)
    assert (spread.beyond(limit), spread.cut(limit)) == (beyond, cut)
    assert spread.words


def test_days_outside_their_bounds_are_counted(tmp_path):
    day = dt.date(2020, 1, 1)
    days = [day, dt.date(2021, 12, 31), dt.date(2022, 1, 1), None]
    moments = [dt.datetime(2021, 12, 31, 23), dt.datetime(2022, 1, 1), None, None]  # noqa: DTZ001
    path = tmp_path / "visits.parquet"
    pq.write_table(pa.table({"patient": [1, 2, 3, 4], "day": days, "seen": moments}), path)
    bounds = "low = 2020-01-01, high = 2021-12-31"
    policy = (
        'format = 1\nunit = "patient"\n[tables.visits.columns]\npatient = {type = "integer"}\n'
        f'day = {{type = "date", {bounds}}}\nseen = {{type = "timestamp", {bounds}}}\n'
    )
    found = dp.check(str(path), policy=policy).findings
    between = {each.column: each.share for each in found if "is between" in each.promise}
    assert between == {"day": Fraction(1, 3), "seen": Fraction(1, 2)}
