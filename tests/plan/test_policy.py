"""A policy is read strictly, and written so that it is read back."""

from datetime import date
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import Budget
from discreet.errors import BadPolicy
from discreet.plan.policy.policy import Limits, Policy, SessionSettings, read_policy
from discreet.query.types import Type
from discreet.requests.table_schema import ColumnFacts, Link, TableFacts
from discreet.units import custom, row
from tests.plan.clinic import POLICY, TEXT

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
EXACT = st.fractions(-(10**6), 10**6, max_denominator=10**6)
WRONG = [
    ("x = 1", "there is no 'x'"),
    ('unti = "row"', "write unit"),
    ("unit = 3", "unit"),
    ('unit = ["a", "a"]', "different texts"),
    ('unit = "row"\nrelation = "near"', "relation"),
    ('relation = "replace"', "no unit"),
    ("[budget]\nepsilon = -1", "budget"),
    ("[budget]\nreserve = 1", "reserve"),
    ('[budget]\nepsilon = 1\ncurrency = "zcdp"', "currency"),
    ("[limits]\nmax_groups = 0", "max_groups"),
    ("[limits]\nmax_rows = true", "max_rows"),
    ("[limits]\nconfidence = 1", "confidence"),
    ("[limits]\ndelta_per_question = 0", "above zero"),
    ('[limits]\nmax_epsilon_per_question = "one"', "not a number"),
    ("[who]\nanalysts = [1]", "analysts"),
    ("[session]\ndata = 1", "session.data"),
    ("tables = 1", "tables"),
    ("[tables.v]\ncolumns = 1", "columns"),
    ("[tables.v.columns.a]\nlow = 1", "type"),
    ('[tables.v.columns.a]\ntype = "blob"', "no such type"),
    ('[tables.v.columns.a]\ntype = "integer"\nlow = 1', "one bound"),
    ('[tables.v.columns.a]\ntype = "integer"\nlow = 1\nhigh = 1', "below"),
    ('[tables.v.columns.a]\ntype = "text"\nlow = 1\nhigh = 2', "bounds"),
    ('[tables.v.columns.a]\ntype = "date"\nlow = 2020-01-01', "one bound"),
    ('[tables.v.columns.a]\ntype = "date"\nlow = 1\nhigh = 2', "without quotes"),
    ('[tables.v.columns.a]\ntype = "date"\nlow = "2020-01-01"\nhigh = 2021-01-01', "quotes"),
    ('[tables.v.columns.a]\ntype = "timestamp"\nlow = 2021-01-01\nhigh = 2020-01-01', "earlier"),
    ('[tables.v.columns.a]\ntype = "timestamp"\ncategories = [1]', "categories"),
    ('[tables.v.columns.a]\ntype = "integer"\ncategories = [1, "x"]', "not all"),
    ('[tables.v.columns.a]\ntype = "integer"\ncategories = [1, 1]', "twice"),
    ('[tables.v.columns.a]\ntype = "integer"\nconstant = 1', "true"),
    ('[tables.v]\npublic = true\nunit = ["a"]', "public"),
    ('[tables.v]\nlink = {column = "a", parent = "w", key = "b"}', "lead"),
    ("[tables.v]\n[tables.V]", "case"),
]


@pytest.mark.parametrize(("text", "words"), WRONG)
def test_what_is_not_understood_is_refused(text, words):
    with pytest.raises(BadPolicy) as error:
        read_policy(f"format = 1\n{text}")
    assert words in f"{error.value.what} {error.value.do}"


def test_other_formats_and_broken_text_are_refused(tmp_path):
    for text in ("", "format = 2", "format = true", "format = 1\nformat = 1", "x ="):
        with pytest.raises(BadPolicy):
            read_policy(text)
    with pytest.raises(BadPolicy):
        read_policy(tmp_path / "nothing.toml")


def test_a_file_is_read(tmp_path):
    path = tmp_path / "clinic.toml"
    path.write_text(TEXT, encoding="utf-8")
    assert read_policy(path) == POLICY


def test_numbers_are_exact():
    limits = read_policy("format = 1\n[limits]\nmax_epsilon_per_question = 0.1").limits
    assert limits.max_epsilon == Fraction(1, 10)


def columns():
    def facts(name, kind, bounds, flags):
        low, high = bounds if bounds and kind.is_number else (None, None)
        listed = {Type.TEXT: ("A", "\N{WASTEBASKET}"), Type.DATE: (date(2024, 2, 29),)}.get(kind)
        listed = listed if flags[0] else None
        return ColumnFacts(
            name=name,
            type=kind,
            low=low,
            high=high,
            categories=listed,
            nullable=flags[1],
            constant=flags[2],
            days=dated if flags[2] and kind in {Type.DATE, Type.TIMESTAMP} else None,
        )

    dated = date(2019, 12, 31), date(2020, 1, 1)
    bounds = st.none() | st.tuples(EXACT, EXACT).filter(lambda pair: pair[0] < pair[1])
    flags = st.tuples(st.booleans(), st.booleans(), st.booleans())
    return st.lists(
        st.builds(facts, NAMES, st.sampled_from(Type), bounds, flags),
        max_size=3,
        unique_by=lambda each: each.name.lower(),
    ).map(tuple)


@st.composite
def policies(draw):
    unit = draw(
        st.none()
        | st.just(row())
        | st.lists(NAMES.filter(str.strip), min_size=1, max_size=2, unique=True).map(
            lambda names: custom("person", columns=names, relation="replace")
        )
    )
    own = () if unit is None else unit.columns
    tables = [
        TableFacts(name="visits", columns=draw(columns()), unit=own, key=("id",)),
        TableFacts(name="wards", columns=draw(columns()), public=True),
        TableFacts(
            name="bills", columns=(), link=Link(column="v", parent="visits", key="id"), unit=()
        ),
    ]
    budgets = [None, Budget(epsilon=1), Budget(rho="0.1"), Budget(epsilon=2, delta=1e-9)]
    positive = st.none() | st.fractions(Fraction(1, 10**9), 10, max_denominator=10**9)
    return Policy(
        unit=unit,
        budget=draw(st.sampled_from([*budgets, Budget(epsilon=2, delta=1e-9)])),
        limits=Limits(
            max_groups=draw(st.none() | st.integers(1, 9)),
            max_epsilon=draw(positive),
            delta=draw(st.none() | st.just(Fraction(1, 10**10))),
        ),
        analysts=draw(st.none() | st.lists(NAMES, max_size=2, unique=True).map(tuple)),
        tables=tuple(tables),
        session=draw(st.none() | st.just(SessionSettings(data="a.parquet"))),
    )


@settings(max_examples=40)
@given(policy=policies())
def test_what_is_written_is_read(policy):
    assert read_policy(policy.written()) == policy


def test_the_clinic_is_written():
    assert read_policy(POLICY.written()) == POLICY


def test_a_policy_shows_no_password():
    place = "postgresql://ana:se55ret@db/clinic"
    session = SessionSettings(data=f"{place}/visits", ledger=f"{place}#flu")
    for shown in (session, Policy(session=session)):
        assert "se55ret" not in repr(shown) + str(shown)
    named = Policy(session=SessionSettings(data=place, ledger_id="a1"))
    assert 'ledger_id = "a1"' in str(named)
    assert "se55ret" not in str(named) + named._repr_html_()


def test_tables_are_frozen_one_by_one_or_all_at_once():
    some = "[tables.v]\n[tables.w]\nfrozen = {}"
    for top, here, found in [
        ("", "true", (False, True)),
        ("frozen = true\n", "false", (True, False)),
        ("frozen = true\n", "true", (True, True)),
    ]:
        policy = read_policy(f"format = 1\n{top}{some.format(here)}")
        assert tuple(table.frozen for table in policy.tables) == found
        assert policy.frozen is bool(top)
        assert read_policy(policy.written()) == policy
    for wrong in ("frozen = 1", 'frozen = "yes"', "[tables.v]\nfrozen = 1"):
        with pytest.raises(BadPolicy, match="frozen"):
            read_policy(f"format = 1\n{wrong}")
