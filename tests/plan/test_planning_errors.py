"""Planning raises nothing but a ``DiscreetError``, whatever policy and question it meets."""

import contextlib
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import DiscreetError
from discreet.plan.policy.policy import read_policy
from discreet.planner import plan
from discreet.query.sql.parse import read
from discreet.requests.table_schema import Schema
from tests.plan.clinic import planned

UNITS = ('"row"', '"who"', '"row"\nrelation = "replace"', '"who"\nrelation = "replace"')
WIDTHS = ("5e-324", "1e-310", "1e-200", "1e-18", "1e-3", "1", "7.25", "1e6", "1e18", "1e300")
LIMITS = st.sampled_from([None, 1, 2, 50, 10**6])
PRICES = ("1e-999", "1e-20", "1e-3", "0.1", "0.5", "1", "3", "8", "1e5", "1e200")
CHANCES = ("0", "1e-999", "1e-100", "1e-20", "1e-9", "1e-6", "0.001", "0.99")
FACTORS = ("", "*0", "/0", "*1e300", "*1e300*1e300", "/1e300/1e300", "*1e-300*1e-300", "-1e18*1e18")
AGGREGATES = (
    "COUNT(*)",
    "COUNT(x)",
    "COUNT(DISTINCT {x})",
    "COUNTIF(a = 'A')",
    "SUM({x})",
    "AVG({x})",
    "VAR_SAMP({x})",
    "STDDEV_POP({x})",
    "MIN({x})",
    "MAX({x})",
    "PERCENTILE_CONT({x}, 0.5)",
    "MODE(a)",
    "SUM({x}, contribution_bounds_per_group => (0, {width}))",
    "AVG({x}, contribution_bounds_per_group => (-{width}, {width}))",
    "AVG({x}, contribution_bounds_per_row => (0, {width}), epsilon => 0.25)",
)
OPTIONS = (
    "",
    "WITH DIFFERENTIAL_PRIVACY OPTIONS(noise = GAUSSIAN)",
    "WITH DIFFERENTIAL_PRIVACY OPTIONS(noise = LAPLACE)",
    "WITH DIFFERENTIAL_PRIVACY OPTIONS(group_selection_strategy = laplace_threshold)",
    "WITH DIFFERENTIAL_PRIVACY OPTIONS(min_privacy_units_per_group = 5)",
    "WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed = 3, max_rows_per_group = 4)",
)


@st.composite
def bounds(draw):
    """Draw the bounds of a number, of any magnitude, or none."""
    width = draw(st.sampled_from(WIDTHS))
    low = draw(st.sampled_from(["0", "0", f"-{width}", f"-{width}", None]))
    return "" if low is None else f", low = {low}, high = {width}"


@st.composite
def policies(draw):
    """Draw a policy over one table."""
    limits = "".join(
        f"{name} = {limit}\n"
        for name in ("max_groups", "max_rows")
        if (limit := draw(LIMITS)) is not None
    )
    null = draw(st.sampled_from(["", ", nullable = false"]))
    categories = draw(st.sampled_from(["", ', categories = ["A", "B"]']))
    return f"""
format = 1
unit = {draw(st.sampled_from(UNITS))}
[limits]
{limits}[tables.t.columns]
who = {{ type = "integer" }}
a = {{ type = "text"{categories} }}
x = {{ type = "float"{draw(bounds())}{null} }}
n = {{ type = "integer"{draw(st.sampled_from(["", ", low = -5, high = 9223372036854775807"]))} }}
day = {{ type = "date" }}
"""


@st.composite
def questions(draw):
    """Draw a question of one to three aggregates, with formulas, filters and groups."""
    outputs = []
    for place in range(draw(st.integers(1, 3))):
        value = draw(st.sampled_from(["x", "x", "x", "n", "x*1e200", "n-1", "ABS(n)"]))
        form = draw(st.sampled_from(AGGREGATES))
        aggregate = form.format(x=value, width=draw(st.sampled_from(WIDTHS)))
        outputs.append(f"{aggregate}{draw(st.sampled_from(FACTORS))} AS o{place}")
    key = draw(st.sampled_from(["", "", "a", "n", "day", "EXTRACT(YEAR FROM day)"]))
    where = draw(st.sampled_from(["", "", " WHERE x > 1e300", " WHERE n = 3", " WHERE a = 'A'"]))
    group = f" GROUP BY {key}" if key else ""
    having = draw(st.sampled_from(["", "", " HAVING o0 > 1e300*1e300", " HAVING COUNT(*) > 5"]))
    shown = [key, *outputs] if key and draw(st.booleans()) else outputs
    options = draw(st.sampled_from(OPTIONS))
    return " ".join(["SELECT", options, ", ".join(shown), "FROM t", where, group, having])


@st.composite
def prices(draw):
    """Draw what a question may cost, or how far it may err."""
    amount = draw(st.sampled_from(PRICES))
    money = draw(st.sampled_from(["epsilon", "rho", "error"]))
    price = {money: {"o0": amount} if money == "error" else amount}
    price["delta"] = draw(st.sampled_from(CHANCES))
    price["size"] = draw(st.sampled_from([None, 1, 10**6, 10**30]))
    price["confidence"] = draw(st.sampled_from([None, "0.5", "0.999999", "1e-30"]))
    return price


def text_of_plan(policy_text, sql, price):
    """Plan, and print the plan."""
    policy = read_policy(policy_text)
    found = plan(
        read(sql),
        schema=Schema(policy.tables),
        policy=policy,
        unit=policy.unit,
        public_rows=lambda _: [],
        **price,
    )
    return str(found)


@given(policies(), questions(), prices())
@settings(max_examples=120)
def test_planning_raises_nothing_but_a_discreet_error(policy, sql, price):
    with contextlib.suppress(DiscreetError):
        assert text_of_plan(policy, sql, price)


@pytest.mark.parametrize("width", ["1e-200", "1e-18", "1", "1e15"])
def test_a_mean_is_planned_alike_at_every_magnitude(width):
    """Which law of noise is taken does not depend on the unit of measurement."""
    sql = "SELECT AVG(cost, contribution_bounds_per_row => (-{0}, {0})) AS mean FROM visits"
    scaled = planned(sql.format(width), epsilon=1, delta="1e-6")
    usual = planned(sql.format("8"), epsilon=1, delta="1e-6")
    assert [type(noise.mechanism) for noise in scaled.noises] == [
        type(noise.mechanism) for noise in usual.noises
    ]


@pytest.mark.parametrize("factor", ["1e300*1e300", "1e-300*1e-300"])
def test_an_error_beyond_all_floats_is_refused_or_printed(factor):
    form = "SELECT (SUM(cost) + COUNT(*)) * {} AS most FROM visits"
    sql = form.format(factor)
    if "-" in factor:
        assert "most" in str(planned(sql, epsilon=1))
        return
    with pytest.raises(DiscreetError, match="beyond the largest FLOAT"):
        planned(sql, epsilon=1)


@pytest.mark.parametrize("delta", ["0.02", "0.5", "0.999999"])
@pytest.mark.parametrize("noise", ["", "WITH DIFFERENTIAL_PRIVACY OPTIONS(noise = GAUSSIAN) "])
def test_a_large_delta_beside_a_choice_is_priced_at_once(noise, delta):
    started = time.process_time()
    sql = "SELECT {}MODE(ward), COUNT(*) FROM visits"
    found = planned(sql.format(noise), epsilon=1, delta=delta)
    assert found.price.epsilon <= 1
    assert time.process_time() - started < 2


def test_a_delta_that_hides_nothing_is_refused():
    with pytest.raises(DiscreetError, match="delta is below 1e-100"):
        planned("SELECT city, COUNT(*) FROM visits GROUP BY city", epsilon=1, delta="1e-999")
