"""The script of the explorer says what the library says; what is vendored is what was published."""

import hashlib
import json
import subprocess
from fractions import Fraction
from pathlib import Path

import pytest

import discreet as dp
from discreet.explain import explain
from discreet.loss import Pure
from discreet.mechanisms import Laplace
from discreet.web.explorer import curve_of, group_errors
from discreet.web.question_builder import Clicked
from discreet.web.rendering import HTMX, assets
from tests.servers.node import node
from tests.web.served import HOSTILE, POLICY, write_visits

ASSETS = Path(__file__).parents[2] / "src" / "discreet" / "web" / "assets"
PUBLISHED = "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717"
LICENSE = "d3d2456f76414f2456104660ebd65aff1c04cd7966b942bdabd63f3cdb316a38"
EPSILONS = (0.01, 0.05, 0.1, 0.3, 1.0, 2.5)


def computed(expression):
    """Return what a JavaScript expression gives, with the functions of the explorer at hand."""
    script = (
        f"import * as explorer from {json.dumps((ASSETS / 'explorer.mjs').as_uri())};"
        f"console.log(JSON.stringify({expression}));"
    )
    done = subprocess.run(
        [str(node()), "--input-type=module", "-e", script],
        capture_output=True,
        check=True,
        text=True,
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clinic")
    write_visits(folder / "visits.csv", rows=10)
    with dp.open(folder / "visits.csv", policy=POLICY, ledger=folder / "visits.ledger") as opened:
        yield opened


def test_what_is_vendored_is_what_was_published():
    content, kind, _ = assets()[HTMX]
    assert hashlib.sha256(content).hexdigest() == PUBLISHED
    assert hashlib.sha256((ASSETS / "htmx-LICENSE.txt").read_bytes()).hexdigest() == LICENSE
    assert kind == "text/javascript"
    assert b'version:"2.0.11"' in content


@pytest.mark.parametrize(
    ("aggregate", "column"), [("count", ""), ("people", ""), ("sum", "cost"), ("avg", "cost")]
)
def test_the_curve_is_that_of_plans_at_other_prices(clinic, aggregate, column):
    clicked = Clicked(table="visits", aggregate=aggregate, column=column, groups=("ward",))

    def planned(question, price):
        return clinic.plan(question, **price)

    curve = curve_of(clicked, clinic.schema, planned, people=6000, confidence="0.95")
    numbers = f"{curve.offset}, {min(curve.most, 1e300)}"
    shown = computed(
        f"{list(EPSILONS)}.map((spent) => explorer.errorAt({curve.k}, spent, {numbers}))"
    )
    for spent, error in zip(EPSILONS, shown, strict=True):
        plan = clinic.plan(curve.question, epsilon=str(spent), size=2000)
        exact = float(plan.predicted[-1].half_width)
        assert error == curve.error(epsilon=spent)
        assert error == pytest.approx(exact, rel=0.05, abs=1.0)
    back = computed(f"explorer.epsilonFor({curve.k}, {shown[-1]}, {curve.offset})")
    assert back == pytest.approx(EPSILONS[-1]) == curve.epsilon(error=shown[-1])


@pytest.mark.parametrize(("aggregate", "column"), [("count", ""), ("sum", "cost"), ("avg", "cost")])
def test_the_error_of_a_group_is_that_of_a_plan_for_its_size(clinic, aggregate, column):
    clicked = Clicked(table="visits", aggregate=aggregate, column=column, groups=("ward",))

    def planned(question, price):
        return clinic.plan(question, **price)

    curve = curve_of(clicked, clinic.schema, planned, people=6000, confidence="0.95")
    sizes = {0: 1000, 1: 4000}
    groups = group_errors(clicked, clinic.schema, curve, sizes=sizes, epsilon=1.0)
    assert [group.size for group in groups] == [1000, 4000, 2000]
    assert [group.name for group in groups] == ["A", "B", HOSTILE]
    for group in groups:
        plan = clinic.plan(curve.question, epsilon="1", size=group.size)
        exact = float(plan.predicted[-1].half_width)
        assert group.error == pytest.approx(exact, rel=0.05, abs=1.0)
        middle = {"count": group.size, "sum": 450 * group.size, "avg": 450}[aggregate]
        assert group.relative == pytest.approx(group.error / middle)


def test_the_odds_are_those_of_explanations():
    shown = computed(
        f"{list(EPSILONS)}.map((spent) => [explorer.oddsWithout(spent), explorer.oddsWith(spent)])"
    )
    for spent, (without, within) in zip(EPSILONS, shown, strict=True):
        odds = explain(Pure(epsilon=str(spent))).figures.one
        assert (without, within) == (odds.without, odds.within)


def test_the_dots_are_quantiles_of_the_noise():
    scale = 40
    half = float(Laplace(scale=Fraction(scale)).error(confidence="0.95"))
    shown = computed(f"explorer.dots({half}, 0.95)")
    law = dp.noise.DiscreteLaplace(scale=scale)
    exact = [law.quantile(Fraction(2 * at + 1, 50)) for at in range(25)]
    assert len(shown) == 25
    assert max(abs(one - other) for one, other in zip(shown, exact, strict=True)) <= 2


@pytest.mark.parametrize("how", ["equal", "error", "squares"])
def test_a_budget_is_shared_whole_and_what_is_locked_stays(how):
    questions = [
        {"k": 1, "epsilon": 0.1, "locked": False},
        {"k": 8, "epsilon": 0.2, "locked": True},
        {"k": 27, "epsilon": 0.3, "locked": False},
    ]
    first, locked, last = computed(f"explorer.share(1, {json.dumps(questions)}, '{how}')")
    assert locked == 0.2
    assert first + last == pytest.approx(0.8)
    ratio = {"equal": 1, "error": 27, "squares": 9}[how]
    assert last / first == pytest.approx(ratio)


def test_least_squares_is_least():
    def error(first):
        return (1 / first) ** 2 + (27 / (1 - first)) ** 2

    questions = [{"k": 1, "epsilon": 0, "locked": False}, {"k": 27, "epsilon": 0, "locked": False}]
    first, _ = computed(f"explorer.share(1, {json.dumps(questions)}, 'squares')")
    assert error(first) <= min(error(k / 1000) for k in range(1, 1000)) * (1 + 1e-9)
