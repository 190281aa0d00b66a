"""Budgets that are written and read: the same limits, and never looser than the promise."""

import itertools
import json
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.amounts import amount_up, amount_value
from discreet.accounting.budget import Budget, is_recorded
from discreet.errors import DiscreetError
from discreet.loss import GaussianDP, ZeroConcentrated

PROMISED = [
    Budget(epsilon=2, delta=1e-9),
    Budget(epsilon="1/3", delta="1/3000000"),
    Budget(epsilon=8, delta="1e-5"),
    Budget(epsilon=2, delta=1e-6).counted_like(Budget(epsilon=1, delta=1e-9)),
]
PLAIN = [
    Budget(epsilon=1),
    Budget(epsilon=0),
    Budget(rho="0.1"),
    Budget(rho="0.1", delta="1e-6"),
]
SHOWN = {"ids": lambda budget: f"{budget.currency.name} {budget.limit[0]}"}


def through_text(budget):
    return Budget.read(json.loads(json.dumps(budget.written(), allow_nan=False)))


@pytest.mark.parametrize("budget", [*PROMISED, *PLAIN], **SHOWN)
def test_what_was_written_is_what_is_read(budget):
    found = through_text(budget)
    assert found == budget
    assert (found.currency, found.limit, found.promise) == (
        budget.currency,
        budget.limit,
        budget.promise,
    )
    assert (hash(found), repr(found), str(found)) == (hash(budget), repr(budget), str(budget))
    assert found.written() == budget.written()


def test_the_form_is_the_documented_one():
    assert Budget(rho="0.5", delta="1e-6").written() == {
        "currency": "zcdp",
        "limit": ["500000000000000000000000", "1000000000000000000"],
        "promise": None,
    }
    found = Budget(epsilon=2, delta=1e-9).written()
    assert found["promise"] == found["counted_at"] == {"epsilon": "2", "delta": "1/1000000000"}
    assert found["limit"][:2] == [str(2 * 10**24), str(2 * 10**13)]
    assert found["limit"][4:] == [str(10**24), str(15 * 10**13)]
    assert set(found) == {"currency", "limit", "promise", "counted_at"}


def test_limits_are_read_again_though_conversions_change_in_their_last_digits(monkeypatch):
    """Somebody else's arithmetic may find delta a little larger; a theorem that was wrong, more."""
    data = Budget(epsilon=2, delta=1e-9).written()
    for factor, readable in ((1 + 5e-7, True), (1 + 1e-4, False)):
        for notion in (GaussianDP, ZeroConcentrated):
            exact = notion.delta

            def looser(loss, epsilon, *, exact=exact, factor=factor):
                return factor * exact(loss, epsilon=epsilon)

            monkeypatch.setattr(notion, "delta", looser)
        if readable:
            assert Budget.read(data).written() == data
        else:
            with pytest.raises(DiscreetError, match="promise"):
                Budget.read(data)
        monkeypatch.undo()


def test_what_is_promised_says_whether_a_budget_is_on_record():
    """Limits that were stored by other conversions are those of the same promise."""
    budget = Budget(epsilon=2, delta=1e-9)
    lower = list(budget.limit)
    lower[2] -= 10**10
    stored = Budget.read(with_limit(budget, lower))
    assert stored != budget
    assert is_recorded(stored, budget)
    assert not is_recorded(stored, Budget(epsilon=2, delta=1e-8))
    assert not is_recorded(Budget(epsilon=1), Budget(rho=1))


# --- never looser -------------------------------------------------------------------------------


def with_limit(budget, limit):
    return {**budget.written(), "limit": [str(amount) for amount in limit]}


@pytest.mark.parametrize("budget", PROMISED, **SHOWN)
def test_limits_above_the_promise_are_refused(budget):
    steps = (Fraction(1, 10**4), Fraction(1, 1000), Fraction(1), Fraction(10**6))
    for at, factor in itertools.product((2, 3, 4), steps):
        limit = list(budget.limit)
        limit[at] += amount_up(amount_value(limit[at]) * factor)
        with pytest.raises(DiscreetError, match="promise"):
            Budget.read(with_limit(budget, limit))
    limit = list(budget.limit)
    limit[-1] = amount_up(budget.promise.delta_bound)  # nothing is left to convert with
    with pytest.raises(DiscreetError, match="promise"):
        Budget.read(with_limit(budget, limit))
    limit[-1] = budget.limit[-1] + amount_up(budget.promise.delta_bound / 10)  # and less is
    with pytest.raises(DiscreetError, match="promise"):
        Budget.read(with_limit(budget, limit))


@pytest.mark.parametrize("budget", PROMISED, **SHOWN)
def test_a_promise_that_is_lowered_is_refused(budget):
    data = budget.written()
    epsilon, delta = budget.promise.epsilon_bound, budget.promise.delta_bound
    for promise in ((epsilon * Fraction(999, 1000), delta), (epsilon, delta * Fraction(99, 100))):
        lowered = {"epsilon": str(promise[0]), "delta": str(promise[1])}
        with pytest.raises(DiscreetError, match="promise"):
            Budget.read({**data, "promise": lowered})


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(PROMISED), st.integers(-(10**12), 10**18), st.integers(-(10**6), 10**6))
def test_all_that_is_read_keeps_the_promise(budget, more, aside):
    limit = list(budget.limit)
    limit[3], limit[-1] = max(limit[3] + more, 0), max(limit[-1] + aside, 0)
    try:
        found = Budget.read(with_limit(budget, limit))
    except DiscreetError:
        return
    epsilon, delta = budget.promise.epsilon_bound, budget.promise.delta_bound
    _, points, rho, square, _, chance = map(amount_value, found.limit)
    rest = (delta - chance) / (1 - chance) - points
    used = Fraction(ZeroConcentrated(rho=rho).delta(epsilon=epsilon))
    assert used + Fraction(GaussianDP(mu_squared=square).delta(epsilon=epsilon)) <= rest


# --- everything else is refused -----------------------------------------------------------------


def broken(data):
    """Yield what is not quite a written budget."""
    yield from (None, [], {}, "budget", {**data, "more": 1})
    yield from ({name: data[name] for name in data if name != out} for out in data)
    for name in ("zcdp ", "ZCDP", "", None, 1, ["zcdp"], "pure", "either", "gaussian"):
        yield {**data, "currency": name}
    limit = data["limit"]
    for wrong in (
        None,
        [],
        limit[:-1],
        [*limit, "0"],
        [int(text) for text in limit],
        [f"0{text}" for text in limit],
        [f"-{text}" for text in limit],
        [f"{text}.0" for text in limit],
        [*limit[:-1], str(10**24)],
        [*limit[:-1], None],
        ["9" * 200, *limit[1:]],
    ):
        yield {**data, "limit": wrong}
    for promise in (
        1,
        [],
        {},
        {"epsilon": "2"},
        {"epsilon": 2, "delta": 1e-9},
        {"epsilon": "2", "delta": "-1/1000"},
        {"epsilon": "2", "delta": "2"},
        {"epsilon": "2", "delta": "1"},
        {"epsilon": "2", "delta": "0"},
        {"epsilon": "-1", "delta": "1/1000"},
        {"epsilon": "1e7", "delta": "1/1000"},
        {"epsilon": "4/2", "delta": "1/1000"},
        {"epsilon": "2", "delta": "0.001"},
        {"epsilon": "2", "delta": "1/1000", "more": 1},
    ):
        yield {**data, "promise": promise}


@pytest.mark.parametrize("budget", [*PROMISED, *PLAIN], **SHOWN)
def test_everything_else_is_refused(budget):
    data = budget.written()
    for each in broken(data):
        with pytest.raises(DiscreetError):
            Budget.read(each)
