"""The dialect, rule by rule: what is read as what, and what is refused where."""

# ruff: noqa: S608 (texts to be read, not to be run)

import re

import pytest

from discreet.errors import QuestionError, UnreadableSQL, UnsupportedSQL
from discreet.query import read
from discreet.query import source_text as refusals
from discreet.query.functions import AGGREGATES, FUNCTIONS, PARTS, WINDOWS
from discreet.query.question import STRATEGIES
from discreet.query.sql.functions import SYNONYMS
from discreet.query.sql.privacy_clause import OPTIONS
from discreet.query.types import TYPES_BY_NAME
from tests.query.dialect import ACCEPTED, REFUSED, underlined
from tests.query.question_text import drawn

DRAWN = "\n".join(entry.drawn for entry in ACCEPTED)
WRITTEN = "\n".join(entry.sql for entry in ACCEPTED).upper()


@pytest.mark.parametrize("entry", ACCEPTED, ids=lambda entry: entry.rule)
def test_accepted(entry):
    assert drawn(read(entry.sql)).strip() == entry.drawn


@pytest.mark.parametrize("entry", REFUSED, ids=lambda entry: entry.rule)
def test_refused(entry):
    with pytest.raises(QuestionError) as caught:
        read(entry.sql)
    assert caught.value.code == entry.code
    assert underlined(caught.value).strip() == entry.words
    assert caught.value.do == entry.do


def test_rules_have_different_names():
    names = [entry.rule for entry in [*ACCEPTED, *REFUSED]]
    assert len(set(names)) == len(names)


SHOWN_OTHERWISE = {"NEGATE": "-a", "IS FALSE": "IS FALSE", "NOT": "NOT", "CONCAT": "CONCAT"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_has_a_rule(name):
    shown = SHOWN_OTHERWISE.get(name, name if name.isupper() else f" {name} ")
    assert shown in DRAWN


@pytest.mark.parametrize("name", [*AGGREGATES, *(f"{name}(" for name in AGGREGATES)])
def test_every_aggregate_has_a_rule(name):
    assert name in DRAWN


def test_every_window_is_read():
    for name, function in WINDOWS.items():
        values = ", ".join(["a", "1"][: len(function.takes)])
        window = f"{name}({values}) OVER (PARTITION BY p ORDER BY d)"
        text = drawn(read(f"SELECT COUNT(*) FROM (SELECT {window} AS w FROM t)"))
        assert window in text


@pytest.mark.parametrize("name", [*OPTIONS, *SYNONYMS])
def test_every_option_and_synonym_has_a_rule(name):
    if name in {"CHAR_LENGTH", "CHARACTER_LENGTH", "SUBSTRING"}:
        values = {"SUBSTRING": "x, 1"}.get(name, "x")
        read(f"SELECT SUM({name}({values})) FROM t")
    else:
        assert name.upper() in WRITTEN


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_is_read(name):
    clause = f"WITH DIFFERENTIAL_PRIVACY OPTIONS(group_selection_strategy = '{name.lower()}')"
    question = read(f"SELECT {clause} COUNT(*) FROM t")
    assert question.clause is not None
    assert question.clause.group_selection_strategy == name


@pytest.mark.parametrize("name", TYPES_BY_NAME)
def test_every_name_of_a_type_is_read(name):
    question = read(f"SELECT COUNT(CAST(x AS {name})) FROM t")
    assert f"AS {TYPES_BY_NAME[name].value})" in drawn(question)


@pytest.mark.parametrize("part", PARTS["EXTRACT"])
def test_every_part_of_a_date_is_read(part):
    assert f"EXTRACT({part} FROM d)" in drawn(read(f"SELECT SUM(EXTRACT({part} FROM d)) FROM t"))


@pytest.mark.parametrize("name", refusals.FUNCTIONS)
def test_every_function_that_is_not_answered_says_why(name):
    with pytest.raises(QuestionError) as caught:
        read(f"SELECT SUM({name}(x)) FROM t")
    assert caught.value.code == "E502"
    assert underlined(caught.value) == name
    assert (caught.value.why, caught.value.do) == refusals.FUNCTIONS[name]


@pytest.mark.parametrize("word", refusals.CLAUSES)
@pytest.mark.parametrize(
    "place",
    ["SELECT COUNT(*) FROM t {} x", "SELECT {} x FROM t", "SELECT COUNT(*) FROM t WHERE {} x"],
)
def test_every_clause_that_is_not_answered_is_refused_or_a_name(word, place):
    try:
        question = read(place.format(word))
    except (UnreadableSQL, UnsupportedSQL):
        return
    assert re.search(rf"\b{word}\b", drawn(question)), "the word was dropped"
