"""One draw of a posterior: its law and its loss, exactly."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.attacks import exact_law
from discreet.errors import DiscreetError, OverBudget
from discreet.ledger import Ledger
from discreet.models import PosteriorDraw

GOLDEN = [("0.01", 8.09), ("0.05", 5.55), ("0.1", 4.21), ("0.2", 2.68)]


@pytest.mark.theorem("posterior-draw")
@pytest.mark.parametrize(("lowest", "epsilon"), GOLDEN)
def test_golden_losses_of_the_continuous_law(lowest, epsilon):
    fine = PosteriorDraw(people=50, lowest=lowest, points=2501)
    assert abs(float(fine.epsilon) - epsilon) < 0.012
    bound = 2 * math.log((1 - float(lowest)) / float(lowest))
    assert fine.epsilon < bound


@pytest.mark.theorem("posterior-draw")
@pytest.mark.parametrize("prior", [(1, 1), (2, 3), (9, 1), (1, 7)])
def test_the_loss_is_the_largest_ratio_of_all_outcomes(prior):
    """Over all counts and all points, though two of each are worked out."""
    draw = PosteriorDraw(people=6, lowest="0.2", yes=prior[0], no=prior[1], points=5)
    grid = [Fraction(1, 5) + Fraction(3, 20) * k for k in range(5)]
    laws = []
    for count in range(7):
        weights = [
            t ** (prior[0] + count - 1) * (1 - t) ** (prior[1] + 6 - count - 1) for t in grid
        ]
        laws.append([weight / sum(weights) for weight in weights])
    worst = max(
        max(one[k] / other[k], other[k] / one[k])
        for one, other in itertools.pairwise(laws)
        for k in range(5)
    )
    assert 0 <= float(draw.epsilon) - math.log(worst) < 1e-12
    assert draw.loss.epsilon(delta=0) == float(draw.epsilon)


@pytest.mark.theorem("posterior-draw")
def test_the_law_of_a_draw_by_enumeration():
    draw = PosteriorDraw(people=2, lowest="1/4", points=3)
    law = exact_law(lambda entropy: draw.run(1, entropy=entropy), unexplored="96/256")
    # one attempt: of 256 words 160 are kept, in parts of t (1 - t) = 3/16, 4/16 and 3/16
    assert law.unexplored == Fraction(96, 256)
    assert law.mass == {0.25: Fraction(48, 256), 0.5: Fraction(64, 256), 0.75: Fraction(48, 256)}


@pytest.mark.parametrize("lowest", ["0", "1/2", "-1", "0.7"])
def test_a_plain_posterior_is_refused(lowest):
    with pytest.raises(DiscreetError, match="between"):
        PosteriorDraw(people=10, lowest=lowest)


def test_too_much_work_is_refused():
    for people, points in ((10**6, 2), (10**5, 257)):
        with pytest.raises(DiscreetError, match="too many"):
            PosteriorDraw(people=people, lowest="0.1", points=points)


@pytest.mark.theorem("posterior-draw")
def test_a_large_poll_is_priced_at_once_and_from_above():
    """By floats with logarithms, over all counts; the limit of many people is the bound itself."""
    draw = PosteriorDraw(people=3000, lowest="0.1", points=65, yes=2)
    t = np.linspace(0.1, 0.9, 65)
    counts = np.arange(3001)[:, None]
    logs = (1 + counts) * np.log(t) + (3000 - counts) * np.log1p(-t)
    laws = logs - np.logaddexp.reduce(logs, axis=1, keepdims=True)
    worst = np.abs(np.diff(laws, axis=0)).max()
    assert -1e-10 < float(draw.epsilon) - worst < 1e-9
    assert draw.epsilon <= Fraction(2 * math.log(9) + 1e-12)
    assert 0.1 <= draw.run(1000) <= 0.9


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_each_draw_is_charged_its_exact_epsilon_and_a_named_one_comes_back(tmp_path, relation):
    draw = PosteriorDraw(people=50, lowest="0.2", points=17)
    answers = np.arange(50) % 3 == 0
    budget = dp.Budget(epsilon=2 * draw.epsilon + Fraction(1, 10**9))  # for two draws and no more
    place = tmp_path / "poll.ledger"
    with Ledger.open(place, unit=dp.row(relation=relation), budget=budget) as ledger:
        first = draw.release(answers, ledger=ledger, key="May")
        assert 0.2 <= first <= 0.8
        assert draw.release(~answers, ledger=ledger, key="May") == first
        draw.release(answers, ledger=ledger)
        kinds = [entry["kind"] for entry in ledger.entries()]
        with pytest.raises(OverBudget):
            draw.release(answers, ledger=ledger)
        assert [entry["kind"] for entry in ledger.entries()] == kinds
        assert ledger.verify()


def test_answers_that_are_no_yes_are_a_no_and_other_shapes_are_refused(tmp_path, monkeypatch):
    draw = PosteriorDraw(people=6, lowest="0.2", points=5)
    odd = np.array([True, "yes", None, 7, 1.0, {"a": 1}], object)
    seen, run = [], PosteriorDraw.run

    def spied(self, count, **more):
        seen.append((count, [entry["kind"] for entry in ledger.entries()]))
        return run(self, count, **more)

    monkeypatch.setattr(PosteriorDraw, "run", spied)
    with Ledger.open(tmp_path / "a.ledger", unit=dp.row(), budget=dp.Budget(epsilon=9)) as ledger:
        draw.release(odd, ledger=ledger)
        assert seen == [(2, ["open", "charge", "start"])]
        before = ledger.receipt
        for wrong in (np.zeros((2, 2)), True):  # a list among answers is one of them, and no yes
            with pytest.raises(DiscreetError, match="truth values"):
                draw.release(wrong, ledger=ledger)
        assert ledger.receipt == before


POLICY = """
format = 1
unit = "patient"
[limits]
max_groups = 2
max_rows = {most}
[tables.visits.columns.ill]
type = "boolean"
[tables.visits.columns.age]
type = "integer"
"""


def clinic(most, rows, **more):
    """A session of visits, of which a patient may have several."""
    patients, ill = zip(*rows, strict=True)
    ages = pa.array([1] * len(rows), pa.int64())
    table = pa.table({"patient": pa.array(patients), "ill": pa.array(ill, pa.bool_()), "age": ages})
    return dp.open({"visits": table}, policy=POLICY.format(most=most), **more)


@pytest.mark.theorem("posterior-draw")
@pytest.mark.parametrize("most", [1, 3])
def test_a_draw_in_a_session_is_paid_for_by_rows_of_a_unit(tmp_path, most):
    draw = PosteriorDraw(people=40, lowest="0.25", points=17)
    rows = [(who, who % 4 == 0) for who in range(40)]
    budget = dp.Budget(epsilon=most * draw.epsilon + Fraction(1, 10**9))  # for one draw
    with clinic(most, rows, ledger=tmp_path / "clinic.ledger", budget=budget) as session:
        share = draw.release(session.table("visits"), column="ill")
        assert 0.25 <= share <= 0.75
        assert draw.release(session.table("visits"), column="ill") == share  # on record
        with pytest.raises(OverBudget):
            PosteriorDraw(people=39, lowest="0.25", points=17).release(
                session.table("visits"), column="ill"
            )
    short = dp.Budget(epsilon=most * draw.epsilon - Fraction(1, 10**6))
    poor = clinic(most, rows, ledger=tmp_path / "poor.ledger", budget=short)
    with poor as session, pytest.raises(OverBudget):
        draw.release(session.table("visits"), column="ill")


@pytest.mark.theorem("posterior-draw")
def test_a_unit_beyond_all_limits_moves_the_count_by_no_more_than_is_paid_for(monkeypatch):
    """A patient with a hundred visits adds at most the rows that the policy allows."""
    seen = []
    monkeypatch.setattr(
        PosteriorDraw,
        "_stored",
        lambda self, count, entropy: seen.append(count) or b'{"share":0.5}',
    )
    draw = PosteriorDraw(people=40, lowest="0.25", points=17)
    rows = [(who, who % 4 == 0) for who in range(40)]
    for extra in ([], [(99, True)] * 100, [(99, True)] * 50 + [(99, False)] * 50):
        with clinic(3, rows + extra, test_mode=True) as session:
            draw.release(session.table("visits"), column="ill")
    assert seen[0] == 10
    assert max(seen) <= 13


def test_mistakes_with_a_table():
    draw = PosteriorDraw(people=40, lowest="0.25", points=17)
    with clinic(1, [(1, True)], test_mode=True) as session:
        table = session.table("visits")
        with pytest.raises(DiscreetError, match="beside a table"):
            draw.release(table, column="ill", ledger="other.ledger")
        with pytest.raises(DiscreetError, match="column="):
            draw.release(table)
        with pytest.raises(DiscreetError, match="boolean"):
            draw.release(table, column="age")
    with pytest.raises(DiscreetError, match="beside arrays"):
        draw.release([True], column="ill", ledger="some.ledger")


@pytest.mark.parametrize("odd", ["x", b"y", 1j, None, 2.5, [True], 10**400, float("nan"), {}])
def test_no_answer_changes_what_others_have_said(tmp_path, monkeypatch, odd):
    """One text among truth values turned all of them into texts, and a count of 49 into none."""
    counts = []
    monkeypatch.setattr(
        PosteriorDraw, "run", lambda self, count, *, entropy: counts.append(count) or 0.5
    )
    draw = PosteriorDraw(people=50, lowest="0.2")
    budget = dp.Budget(epsilon=100)
    with Ledger.open(tmp_path / "a.ledger", unit=dp.row(), budget=budget) as ledger:
        draw.release([True] * 49 + [False], ledger=ledger, key="plain")
        draw.release([True] * 49 + [odd], ledger=ledger, key="odd")
        draw.release([[True]] * 49 + [odd], ledger=ledger, key="lists")
    assert counts == [49, 49, 0]
