"""Attacks on the scope: conditions that are true for people whom an inference may forget."""

import itertools
import math

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import OverBudget, UnsupportedSQL

VICTIM = 63
PEOPLE = range(60, 70)
POLICY = """
format = 1
unit = "patient"
[limits]
max_rows = 1
[tables.visits.columns]
patient = {type = "integer"}
born = {type = "integer", constant = true}
weight = {type = "float", constant = true}
town = {type = "text", constant = true}
native = {type = "boolean", constant = true}
joined = {type = "date", constant = true}
ill = {type = "boolean"}
"""
BY_ROW = POLICY.replace('"patient"', '"row"').replace(", constant = true", "")
ATTACKS = [
    ("(born <> 5) IS NOT TRUE", "(born <> 6) IS NOT TRUE"),
    ("(born = 5) IS NOT FALSE", "(born = 6) IS NOT FALSE"),
    ("NOT ((NOT native) IS TRUE)", "NOT (native IS TRUE)"),
    ("NOT ((NOT native) IS TRUE)", "(NOT native) IS NOT FALSE"),
    ("(born NOT IN (5, 6)) IS NOT TRUE", "(born NOT IN (7, 8)) IS NOT TRUE"),
    ("(town NOT IN ('x')) IS NOT TRUE", "(town NOT IN ('y')) IS NOT TRUE"),
    ("(weight <> 5) IS NOT TRUE", "(weight <> 6.5) IS NOT TRUE"),
    ("(weight < 5) IS NOT FALSE", "(weight > 6.5) IS NOT FALSE"),
    ("(joined <> DATE '2020-01-01') IS NOT TRUE", "(joined = DATE '2020-01-01') IS NOT TRUE"),
    ("(born <> 5 AND town <> 'x') IS NOT TRUE", "(born = 5) IS NOT TRUE"),
]
"""Pairs of conditions that NULL passes both, and that were held to exclude each other."""


def visits():
    """The victim has NULL everywhere, and NaN for a weight; everybody else has values."""
    rows = [
        {
            "patient": who,
            "born": None if who == VICTIM else who % 9,
            "weight": math.nan if who == VICTIM else float(who % 9),
            "town": None if who == VICTIM else "xyz"[who % 3],
            "native": None if who == VICTIM else who % 2 == 0,
            "joined": None,
            "ill": who == VICTIM,
        }
        for who in PEOPLE
    ]
    table = pa.Table.from_pylist(rows)
    return table.set_column(5, "joined", table.column("joined").cast(pa.date32()))


def opened(folder, policy=POLICY, epsilon=1):
    return dp.open(
        {"visits": visits()},
        policy=policy,
        budget=dp.Budget(epsilon=epsilon),
        ledger=folder / "clinic.ledger",
    )


def attack(first, second):
    """Ask whether one person is ill, through two conditions that seem to exclude each other."""
    inner = f"SELECT * FROM visits WHERE {first}"  # noqa: S608
    return (
        f"SELECT COUNT(*) AS n FROM ({inner}) AS t WHERE {second} "  # noqa: S608
        f"AND patient = {VICTIM} AND ill"
    )


@pytest.mark.parametrize("policy", [POLICY, BY_ROW], ids=["people", "rows"])
@pytest.mark.parametrize("pair", ATTACKS)
def test_nobody_is_asked_about_for_nothing(tmp_path, policy, pair):
    with opened(tmp_path, policy) as session:
        for first, second in itertools.permutations(pair):
            for text in (attack(first, second), attack(f"{first} AND {second}", "TRUE")):
                with pytest.raises(OverBudget):
                    session.ask(text, epsilon=1000, confirm=True)
        left = session.plan("SELECT COUNT(*) AS n FROM visits", epsilon=1).budget_preview
        assert left.fits  # nothing was charged, and nothing answered


@pytest.mark.parametrize("pair", ATTACKS)
def test_the_victim_pays(tmp_path, pair):
    """What is answered is taken from the budget of the person whom it is about."""
    with opened(tmp_path) as session:
        session.ask(attack(*pair), epsilon=1)
        text = f"SELECT COUNT(*) AS n FROM visits WHERE patient = {VICTIM}"  # noqa: S608
        with pytest.raises(OverBudget):
            session.ask(text, epsilon="0.01")


@pytest.mark.parametrize(
    "condition",
    [
        "born = 5 AND born = 6",
        "patient = 63 AND patient = 64",
        "patient IS NULL",
        "born = NULL",
        "ill AND NOT ill",
        "FALSE",
    ],
)
def test_a_question_about_nobody_is_refused_before_anything_is_charged(tmp_path, condition):
    with opened(tmp_path) as session:
        before = list(session.ledger.entries())
        with pytest.raises(UnsupportedSQL, match="nobody can meet"):
            session.ask(f"SELECT COUNT(*) AS n FROM visits WHERE {condition}", epsilon=1000)  # noqa: S608
        assert list(session.ledger.entries()) == before
