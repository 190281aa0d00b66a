"""What one unit moves, by brute force on all small tables; and the figures of published runs."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting import account
from discreet.errors import InputError
from discreet.loss import ZeroConcentrated
from discreet.mechanisms import Exponential
from discreet.synthetic.dual_query.conjunctions import Conjunctions, count_conjunctions
from discreet.synthetic.dual_query.settings import DualQuerySettings, default_settings, query_scores
from discreet.synthetic.inference.inference import CodedDomain
from discreet.units import row

DOMAIN = CodedDomain(("a", "b"), (2, 2))
QUERIES = Conjunctions.of(
    DOMAIN, [[(0, 1, True), (1, 1, True)], [(0, 1, True), (1, 1, False)], [(0, 0, True)] * 2]
)
CELLS = list(itertools.product(range(2), range(2)))
SETTINGS = DualQuerySettings(rounds=3, samples=2, rate=Fraction(3, 2), rows=5)


def counts_of(table):
    """The counts of all queries, by their definition."""
    codes = [np.array([cell[c] for cell in CELLS]) for c in range(2)]
    return count_conjunctions(QUERIES, codes, np.array(table, np.int64))


def log_ratios(one, other, *, earlier, answered):
    """The range of log-ratios of the laws of a draw, in units of the rate over N."""
    scores = [
        query_scores(*counts_of(table), answered, earlier=earlier, rows=SETTINGS.rows)
        for table in (one, other)
    ]
    change = scores[0] - scores[1]
    return int(change.max() - change.min())


def added(table, unit):
    return tuple(a + b for a, b in zip(table, unit, strict=True))


@pytest.mark.theorem("query-counts")
@pytest.mark.theorem("dual-query")
@pytest.mark.parametrize("moved", [1, 2])
@pytest.mark.parametrize("earlier", [0, 1, 2])
def test_ranges_are_attained_and_never_exceeded(moved, earlier):
    tables = list(itertools.product(range(3), repeat=4))
    units = [u for u in itertools.product(range(moved + 1), repeat=4) if sum(u) <= moved]
    answered = np.array([earlier, 0, 0])
    comes = max(
        log_ratios(table, added(table, unit), earlier=earlier, answered=answered)
        for table in tables[::7]
        for unit in units
    )
    swaps = max(
        log_ratios(added(table, unit), added(table, other), earlier=earlier, answered=answered)
        for table in tables[::19]
        for unit in units
        for other in units
    )
    for found, replaces in ((comes, False), (swaps, True)):
        claim = SETTINGS.draw_range(earlier, moved=moved, replaces=replaces)
        assert found * SETTINGS.rate / SETTINGS.rows == claim


@pytest.mark.theorem("query-counts")
def test_a_number_of_rows_that_moves_would_double_the_range():
    """The twin that divides by the true size: its log-ratios exceed what add/remove is charged."""
    one, other = (0, 0, 0, 2), (0, 0, 0, 1)  # dividing by 2 and by 1: shares stay, sizes move
    shares = [Fraction(c, sum(t)) for t in (one, other) for c in counts_of(t)[0].tolist()]
    assert shares[:3] == shares[3:]
    one, other = (1, 0, 0, 0), (1, 0, 0, 1)
    change = [
        Fraction(b, sum(other)) - Fraction(a, sum(one))
        for counts_a, counts_b in zip(counts_of(one), counts_of(other), strict=True)
        for a, b in zip(counts_a.tolist(), counts_b.tolist(), strict=True)
    ]
    assert max(change) - min(change) == 2 * Fraction(1, sum(other))  # twice that of a fixed N = 2


@pytest.mark.theorem("dual-query")
@pytest.mark.parametrize(
    ("eta", "rounds", "samples", "rows", "rho", "epsilon"),
    [
        ("2", 60, 384, 30162, 0.05927, 0.9988),
        ("1.5", 250, 2488, 494021, 0.05937, 0.9998),
    ],
)
def test_golden_prices_of_the_upgraded_runs(  # noqa: PLR0917  one figure each
    eta, rounds, samples, rows, rho, epsilon
):
    settings = DualQuerySettings(rounds=rounds, samples=samples, rate=Fraction(eta), rows=rows)
    price = settings.rho(moved=1, replaces=True)
    assert float(price) == pytest.approx(rho, abs=5e-6)
    assert ZeroConcentrated(rho=price).epsilon(delta=1e-3) == pytest.approx(epsilon, abs=5e-5)
    printed = samples * Fraction(eta) ** 2 * rounds * (rounds - 1) * (2 * rounds - 1)
    assert price == printed / (12 * rows**2)
    assert settings.rho(moved=1, replaces=False) == price / 4
    assert settings.rho(moved=3, replaces=True) == 9 * price


@pytest.mark.theorem("dual-query")
def test_what_was_published_at_epsilon_one_costs_a_third():
    """Gaboardi et al. 2014, Adult: eta = 1.2, T = 40, s = 488, delta = 0.001."""
    settings = DualQuerySettings(rounds=40, samples=488, rate=Fraction("1.2"), rows=30162)
    assert settings.advanced_epsilon(moved=1, replaces=True, delta=1e-3) == pytest.approx(
        1, abs=5e-3
    )
    loss = ZeroConcentrated(rho=settings.rho(moved=1, replaces=True))
    assert loss.epsilon(delta=1e-3) == pytest.approx(0.3095, abs=1e-3)


@pytest.mark.slow
@pytest.mark.theorem("dual-query")
def test_the_accountant_agrees_about_the_published_run():
    settings = DualQuerySettings(rounds=40, samples=488, rate=Fraction("1.2"), rows=30162)
    tree = settings.tree(queries=500_000, moved=1, unit=row(relation="replace"))
    assert account(tree, relation="replace").epsilon(delta=1e-3) == pytest.approx(0.3095, abs=5e-5)


@pytest.mark.theorem("dual-query")
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_the_tree_has_the_draws_of_every_round_but_the_first(relation):
    settings = DualQuerySettings(rounds=4, samples=7, rate=Fraction(2), rows=100)
    tree = settings.tree(queries=3, moved=2, unit=row(relation=relation))
    replaces = relation == "replace"
    steps = (1, 1) if replaces else (1, 0)
    assert len(tree.children) == 3
    for earlier, repeat in enumerate(tree.children, start=1):
        assert repeat.count == 7
        assert repeat.child.source.candidates == 6
        wanted = settings.draw_range(earlier, moved=2, replaces=replaces)
        same = Exponential(candidates=6, scale=2 / wanted).loss()
        assert repeat.child.price(*steps).epsilon(delta=0) == same.epsilon(delta=0)
    whole = account(tree, relation=relation).epsilon(delta=1e-6)
    zcdp = ZeroConcentrated(rho=settings.rho(moved=2, replaces=replaces)).epsilon(delta=1e-6)
    assert whole <= zcdp * 1.001


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_many_rounds_are_charged_as_one_leaf(relation):
    settings = DualQuerySettings(rounds=65, samples=7, rate=Fraction(2), rows=1000)
    tree = settings.tree(queries=3, moved=2, unit=row(relation=relation))
    replaces = relation == "replace"
    assert tree.source == ZeroConcentrated(rho=settings.rho(moved=2, replaces=replaces))
    assert account(tree, relation=relation).epsilon(delta=1e-6) == pytest.approx(
        tree.source.epsilon(delta=1e-6)
    )


@pytest.mark.parametrize("replaces", [False, True])
@pytest.mark.parametrize("moved", [1, 5])
@pytest.mark.parametrize("rows", [1, 100, 30162, 10**12])
@pytest.mark.parametrize("rho", ["0.0001", "0.0593", "3"])
def test_default_settings_spend_what_they_may(rho, rows, moved, replaces):
    bound = Fraction(rho)
    settings = default_settings(rows=rows, rho=bound, moved=moved, replaces=replaces)
    price = settings.rho(moved=moved, replaces=replaces)
    assert price <= bound
    more = DualQuerySettings(
        rounds=settings.rounds, samples=settings.samples + 1, rate=settings.rate, rows=rows
    )
    capped = settings.rounds == 1 or settings.samples == 8192
    assert more.rho(moved=moved, replaces=replaces) > bound or capped
    assert settings.rounds <= 1024


@pytest.mark.parametrize(
    "wrong", [{"rounds": 0}, {"samples": 0}, {"rows": 0}, {"rate": 0}, {"rows": 2**50}]
)
def test_settings_that_make_no_game_are_refused(wrong):
    with pytest.raises(InputError):
        DualQuerySettings(**{"rounds": 2, "samples": 3, "rate": Fraction(1), "rows": 10, **wrong})


def test_the_rate_is_exact():
    settings = DualQuerySettings(rounds=2, samples=1, rate="0.1", rows=10)
    assert settings.rate == Fraction(1, 10)
    assert math.isclose(
        settings.advanced_epsilon(moved=1, replaces=True, delta=0.1), 0.0434, rel_tol=0.01
    )
