"""Names in scopes say what a column is read from, and no two columns share one."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting import Box, Budget, PrivacyFilter
from discreet.accounting.box import ScopeColumn, shared_columns
from discreet.accounting.values import equals
from discreet.loss import Pure
from discreet.units import person

UNIT = (("patient", "patient", ("integer",)),)
COLUMN = ("sex", "parquet", "string", "TEXT")
NUMBER = ("id", "parquet", "int64", "INTEGER")
WAY = (("bills", (), ("visit", *NUMBER[1:]), ()), ("visits", NUMBER, (), UNIT))
MEMBERS = (("visits", "sex", "patient"), ("patients", "sex", "patient"))
TEXTS = st.text(max_size=6)
NAMES = st.builds(ScopeColumn, st.text("0123456789abcdef", min_size=64, max_size=64), TEXTS, TEXTS)


def described(*columns, unit=UNIT, link=None, table="visits"):
    return {
        "table": table,
        "unit": [[name, own, list(form)] for name, own, form in unit],
        "link": link,
        "columns": [
            dict(zip(("column", "source", "native", "read", "constant", "same"), each, strict=True))
            for each in columns
        ],
    }


@given(one=NAMES, other=NAMES)
def test_names_are_read_back_and_differ_where_columns_do(one, other):
    assert ScopeColumn.read(one.name) == one
    assert (one.name == other.name) == (one == other)


def ways():
    """Return the way to a unit, and all that differ from it in one place."""
    (table, key, pointer, none), (parent, named, end, unit) = WAY
    yield WAY
    for at in range(len(NUMBER)):
        yield (table, key, (*pointer[:at], "x", *pointer[at + 1 :]), none), WAY[1]
        yield WAY[0], (parent, (*named[:at], "x", *named[at + 1 :]), end, unit)
    yield WAY[0], ("stays", named, end, unit)
    yield WAY[0], (parent, named, end, (("patient", "person", ("integer",)),))
    yield WAY[0], (parent, named, end, (("patient", "patient", ("uuid",)),))
    yield WAY[0], (parent, named, NUMBER, ()), ("patients", NUMBER, (), UNIT)


def test_everything_that_decides_a_value_changes_the_name():
    changed = [
        ScopeColumn.of("visits", UNIT, None, COLUMN),
        ScopeColumn.of("bills", UNIT, None, COLUMN),
        ScopeColumn.of("visits", (("patient", "person", ("integer",)),), None, COLUMN),
        ScopeColumn.of("visits", (("patient", "patient", ("uuid",)),), None, COLUMN),
        *(ScopeColumn.of("visits", (), link, COLUMN) for link in ways()),
        *(
            ScopeColumn.of("visits", UNIT, None, (*COLUMN[:at], "x", *COLUMN[at + 1 :]))
            for at in range(len(COLUMN))
        ),
        ScopeColumn.promised("sex", "TEXT", MEMBERS),
        ScopeColumn.promised("sex", "INTEGER", MEMBERS),
        ScopeColumn.promised("gender", "TEXT", MEMBERS),
        ScopeColumn.promised("sex", "TEXT", MEMBERS[:1]),
        ScopeColumn.promised("sex", "TEXT", (MEMBERS[0], ("patients", "gender", "patient"))),
        ScopeColumn.promised("sex", "TEXT", (MEMBERS[0], ("patients", "sex", "person"))),
        ScopeColumn.of_unit(UNIT, 0),
    ]
    assert len({each.name for each in changed}) == len(changed)


def test_glued_text_is_no_name():
    """A text column called 'age (integer)' stood for the integer column age."""
    age = ScopeColumn.of("visits", UNIT, None, ("age", "parquet", "int64", "INTEGER"))
    glued = ScopeColumn.of("visits", UNIT, None, ("age (integer)", "parquet", "string", "TEXT"))
    assert age.name != glued.name
    spending = PrivacyFilter(
        Budget(epsilon=1), unit=person("patient"), constant=[age.name, glued.name]
    )
    spending.charge(Pure(epsilon="0.6"), scope=Box({age.name: equals(7)}))
    assert spending.left(Box({glued.name: equals("8")})).amounts[0] == 4 * 10**23


def test_a_description_names_the_unit_and_what_is_constant():
    content = described(
        (*COLUMN, True, None),
        ("born", "csv", "text", "INTEGER", True, ["born", [["visits", "born", "patient"]]]),
        (*COLUMN, False, None),
    )
    sex = ScopeColumn.of("visits", UNIT, None, COLUMN).name
    born = ScopeColumn.promised("born", "INTEGER", (("visits", "born", "patient"),)).name
    assert shared_columns(content) == (ScopeColumn.of_unit(UNIT, 0).name, sex, born)


def test_a_description_has_the_whole_way():
    bills = described((*COLUMN, True, None), unit=(), link=WAY, table="bills")
    sex = ScopeColumn.of("bills", (), WAY, COLUMN).name
    assert shared_columns(json.loads(json.dumps(bills))) == (sex,)


@pytest.mark.theorem("scope-names")
def test_charges_under_two_names_add_up_and_under_one_do_not():
    names = [
        ScopeColumn.of(table, UNIT, None, ("sex", source, native, "TEXT")).name
        for table in ("visits", "bills")
        for source, native in (("csv", "text"), ("parquet", "string"))
    ]
    for one, other in itertools.product(names, names):
        spending = PrivacyFilter(Budget(epsilon=2), unit=person("patient"), constant=names)
        spending.charge(Pure(epsilon=1), scope=Box({one: equals("f")}))
        spending.charge(Pure(epsilon=1), scope=Box({other: equals("m")}))
        assert spending.spent[0] == (1 if one == other else 2) * 10**24


def test_a_name_that_is_not_known_to_be_shared_makes_nothing_disjoint():
    name = ScopeColumn.of("visits", UNIT, None, COLUMN).name
    spending = PrivacyFilter(Budget(epsilon=2), unit=person("patient"))
    for value in ("f", "m"):
        spending.charge(Pure(epsilon=1), scope=Box({name: equals(value)}))
    assert spending.spent[0] == 2 * 10**24
