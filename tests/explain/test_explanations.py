"""What explanations say: to whom, in which words, and never less than is proved."""

import json
import re

import pyarrow as pa
import pytest

import discreet as dp
from discreet.accounting import Contribution, Group, Leaf, Repeat, Sequential, account
from discreet.errors import DiscreetError
from discreet.explain import Guesses, explain
from discreet.ledger import Ledger
from discreet.plan.policy.policy import About

AUDIENCES = ("analyst", "subject", "steward", "auditor")
FORBIDDEN = re.compile(
    r"\b(anonym\w*|impossible|cannot|can't|guarantee\w*|perfectly|completely safe|no risk)\b",
    re.IGNORECASE,
)
POLICY = """
format = 1
unit = "patient"
[limits]
max_groups = 2
max_rows = 3
[about]
title = "Visits to the clinic"
period = "2026"
raw_access = ["the research team"]
[tables.visits.columns]
patient = { type = "integer" }
ward = { type = "text", categories = ["A", "B"] }
"""
QUESTION = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clinic")
    visits = pa.table({"patient": [1, 1, 2, 3], "ward": ["A", "B", "A", "B"]})
    session = dp.open(
        {"visits": visits},
        policy=POLICY,
        budget=dp.Budget(epsilon=2, delta=1e-9),
        ledger=str(folder / "clinic.ledger"),
    )
    session.ask(QUESTION, epsilon="0.5")
    session.ask("SELECT COUNT(*) AS n FROM visits", rho="0.001")
    yield session
    session.close()


EXTREMES = {
    "nothing": dp.loss.Pure(epsilon=0),
    "hardly anything": dp.loss.Pure(epsilon="1e-6"),
    "half": dp.loss.Pure(epsilon="0.5"),
    "absurd": dp.loss.Pure(epsilon=50),
    "with a delta": dp.loss.Approximate(epsilon=1, delta="0.1"),
    "zcdp": dp.loss.ZeroConcentrated(rho="0.05"),
    "gaussian": dp.loss.GaussianDP(mu=1),
    "budget": dp.Budget(epsilon=2, delta=1e-9),
    "tree": Sequential(
        Repeat(Leaf(dp.mechanisms.Laplace(scale=4)), 3), Leaf(dp.mechanisms.Gaussian(sigma=9))
    ),
}


def who(name, relation):
    """Return a unit; a tree does not say how many rows of a person it can touch."""
    if name == "tree":
        return dp.row(relation=relation)
    return dp.person("worker", relation=relation)


@pytest.mark.parametrize("audience", AUDIENCES)
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("name", EXTREMES)
def test_every_template_holds_extreme_values(name, relation, audience):
    about = About(title="Salaries", period="2026", raw_access=("the office",))
    explained = explain(EXTREMES[name], audience=audience, unit=who(name, relation), about=about)
    text = str(explained)
    assert not FORBIDDEN.search(text), FORBIDDEN.search(text)
    assert "nan" not in text.lower()
    assert "{" not in text
    assert "2026" in text
    json.dumps(explained.to_json(), allow_nan=False)
    assert explained.to_html().count("<svg ") == 1 + (audience in {"steward", "auditor"})


def told(text, pattern):
    return [int(number) for number in re.findall(pattern, text)]


@pytest.mark.parametrize("name", EXTREMES)
def test_no_text_tells_a_number_below_the_certified_bound(name):
    what = EXTREMES[name]
    explained = explain(what, audience="subject", unit=dp.row())
    figures, text = explained.figures, " ".join(str(explained).split())
    (within,) = {*told(text, r"at most (\d+) of 100")}  # as a picture, and in words
    (without,) = {*told(text, r"at least (\d+) of 100")}
    assert within >= 100 * figures.one.right - 1e-6
    assert without <= 100 * (1 - figures.one.right) + 1e-6
    assert within + without == 100  # one denominator for both worlds
    loss = {"budget": lambda: what.guarantee, "tree": lambda: account(what, unit=dp.row()).loss}
    bound = Guesses(loss.get(name, lambda: what)())
    assert figures.one.right == bound.right()


def syllables(word):
    groups = re.findall(r"[aeiouy]+", word.lower().removesuffix("e") or word)
    return max(1, len(groups))


def grade(text):
    """Return the Flesch-Kincaid grade of a text."""
    sentences = [part for part in re.split(r"[.!?:]\s", text) if part.strip()]
    words = re.findall(r"[A-Za-z]+", text)
    return (
        0.39 * len(words) / len(sentences) + 11.8 * sum(map(syllables, words)) / len(words) - 15.59
    )


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("name", EXTREMES)
def test_subjects_are_told_in_words_of_the_ninth_grade(name, relation):
    explained = explain(EXTREMES[name], audience="subject", unit=who(name, relation))
    lines = [line for section in explained.sections for line in section.lines]
    assert grade(" ".join(lines)) <= 9


def test_the_formula_of_grades_tells_hard_texts():
    hard = "Differential privacy characterizes distinguishability of neighboring distributions."
    assert grade(hard) > 15


@pytest.mark.parametrize("audience", AUDIENCES)
def test_plans_answers_sessions_and_ledgers_explain_themselves(clinic, audience):
    plan = clinic.plan(QUESTION, epsilon="0.5")
    answer = clinic.ask(QUESTION, epsilon="0.5")
    one = plan.explain(audience=audience)
    assert one.figures == answer.explain(audience=audience).figures
    everything = clinic.explain(audience=audience)
    assert everything.figures.one.right > one.figures.one.right
    assert "Visits to the clinic" in str(everything)
    assert everything.figures == clinic.ledger.explain(audience=audience).figures
    assert everything.figures.promise.right >= everything.figures.one.right


def test_an_answer_is_explained_from_its_curve_and_not_from_its_epsilon(clinic):
    answer = clinic.ask("SELECT COUNT(*) AS n FROM visits", rho="0.001")
    headline = Guesses(dp.loss.Pure(epsilon=str(answer.loss.epsilon(delta="1e-9"))))
    assert answer.explain().figures.one.right < headline.right() - 0.02


def test_what_is_not_hidden_is_said(clinic):
    text = " ".join(str(clinic.ask(QUESTION, epsilon="0.5").explain(audience="steward")).split())
    for words in ("smoking harms smokers", "values of ward", "keeps its patient", "At most 3 rows"):
        assert words in text


def test_bad_input_is_refused(clinic):
    with pytest.raises(DiscreetError, match="audience"):
        explain(dp.loss.Pure(epsilon=1), audience="press")
    with pytest.raises(DiscreetError, match="int cannot be explained"):
        explain(1)
    rehearsal = dp.open(
        {"visits": pa.table({"patient": [1], "ward": ["A"]})}, policy=POLICY, test_mode=True
    )
    with pytest.raises(DiscreetError, match="rehearsal"):
        rehearsal.explain()
    rehearsal.close()


def test_rows_of_one_person_count_together_where_leaves_are_about_rows(tmp_path):
    """Odds from leaves as if a person had one row would be too low."""
    place, unit = tmp_path / "rows.ledger", dp.person("patient")
    with Ledger.open(
        place, unit=unit, budget=dp.Budget(epsilon=9), contribution=Contribution(rows=4)
    ) as ledger:
        ledger.charge(Leaf(dp.mechanisms.Laplace(scale=2)), key="a")
        truth = Guesses(dp.mechanisms.Laplace(scale=2).loss(distance=4)).right()
        assert ledger.explain().figures.one.right >= truth - 1e-9


def test_groups_around_a_leaf_count(tmp_path):
    with Ledger.open(
        tmp_path / "group.ledger", unit=dp.row(), budget=dp.Budget(epsilon=9)
    ) as ledger:
        ledger.charge(Group(Leaf(dp.mechanisms.Laplace(scale=2)), distance=4), key="a")
        truth = Guesses(dp.mechanisms.Laplace(scale=2).loss(distance=4)).right()
        assert ledger.explain().figures.one.right >= truth - 1e-9


@pytest.mark.parametrize(
    ("relation", "matter"), [("add_remove", "is in the data"), ("replace", "one version")]
)
def test_beliefs_are_told_about_what_one_step_of_the_relation_changes(relation, matter):
    """A property of somebody in the data takes two steps under add/remove, and e**(2 epsilon)."""
    explained = explain(dp.loss.Pure(epsilon=1), unit=dp.row(relation=relation))
    (line,) = (line for section in explained.sections for line in section.lines if "belief" in line)
    assert matter in line
