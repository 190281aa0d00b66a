"""Names are bound without regard to case; what is unclear or unknown is refused."""

import pytest

from discreet.errors import UnknownName, UnsupportedSQL, WrongType
from discreet.plan.binding.binder import Binder
from discreet.query.relations import Filter
from discreet.query.sql.parse import read_relation
from tests.plan.clinic import SCHEMA


def bound(text):
    return Binder(SCHEMA).bind(read_relation(text))


def test_names_are_found_in_any_case():
    one, other = bound("SELECT WARD FROM visits"), bound("select Ward from VISITS as v")
    assert [field.facts for field in one.fields] == [field.facts for field in other.fields]


def test_columns_of_two_tables_keep_apart():
    fields = bound(
        "SELECT a.ward, b.ward AS other FROM visits a JOIN visits b USING (patient)"
    ).visible
    assert len({field.column for field in fields}) == len(fields)


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("SELECT wrad FROM visits", UnknownName, "did you mean ward"),
        ("SELECT ward FROM visit", UnknownName, "use one of"),
        ("SELECT x.ward FROM visits v", UnknownName, "x.ward"),
        ("SELECT x.* FROM visits v", UnknownName, "alias"),
        ("SELECT ward FROM visits a JOIN visits b ON a.patient = b.patient", UnsupportedSQL, "2"),
        ("SELECT ward FROM visits WHERE age", WrongType, "condition"),
        ("SELECT ward + 1 AS x FROM visits", WrongType, "TEXT"),
    ],
)
def test_what_is_unclear_is_refused(text, error, words):
    with pytest.raises(error) as found:
        bound(text)
    assert words in str(found.value)


def test_a_condition_keeps_its_place():
    assert isinstance(bound("SELECT * FROM visits WHERE paid").relation.children()[0], Filter)
