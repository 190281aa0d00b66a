"""Optimal mechanisms: the published optima, exact privacy, and certified optimality."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import OutOfRange, WrongKind
from discreet.loss.elementary import exp
from discreet.mechanisms.finite import FiniteMechanism
from discreet.units import NeighborGraph
from discreet_course import optimal
from discreet_course.optimal import optimal_mechanism

LINE = NeighborGraph.line(11)
COSTS = {
    "absolute": lambda truth, answer: abs(truth - answer),
    "square": lambda truth, answer: (truth - answer) ** 2,
    "wrong": lambda truth, answer: truth != answer,
}
PRIORS = {
    "uniform": [Fraction(1, 11)] * 11,
    "binomial": [
        math.comb(10, k) * Fraction(3, 10) ** k * Fraction(7, 10) ** (10 - k) for k in range(11)
    ],
    "worst": None,
}
OPTIMA = {  # 11 counts on a line; epsilon 1/2 and 1
    ("uniform", "absolute"): (1.417356, 0.728544),
    ("uniform", "square"): (3.954718, 1.399746),
    ("uniform", "wrong"): (0.686438, 0.488984),
    ("binomial", "absolute"): (0.950148, 0.676211),
    ("binomial", "square"): (1.623042, 0.991800),
    ("binomial", "wrong"): (0.664753, 0.512580),
    ("worst", "absolute"): (1.478986, 0.803027),
    ("worst", "square"): (4.432671, 1.532391),
    ("worst", "wrong"): (0.738898, 0.536202),
}


@pytest.mark.theorem("certified-optimum")
@pytest.mark.parametrize(("prior", "cost"), list(OPTIMA))
@pytest.mark.parametrize("at", [0, 1])
def test_the_optima_on_a_line_of_counts(prior, cost, at):
    epsilon = (Fraction(1, 2), Fraction(1))[at]
    best = optimal_mechanism(graph=LINE, epsilon=epsilon, cost=COSTS[cost], prior=PRIORS[prior])
    assert float(best.cost.high) == pytest.approx(OPTIMA[prior, cost][at], abs=6e-7)
    assert best.cost.high - best.cost.low < Fraction(1, 10**9)
    assert best.mechanism.odds_ratio() <= exp(epsilon).low


@pytest.mark.parametrize("k", [2, 5])
def test_randomized_response_is_optimal_in_the_local_model(k):
    best = optimal_mechanism(
        graph=NeighborGraph.complete(k),
        epsilon=1,
        cost=COSTS["wrong"],
        prior=[Fraction(1, k)] * k,
    )
    assert float(best.cost.high) == pytest.approx((k - 1) / (math.e + k - 1), abs=1e-9)
    if k == 5:
        assert float(best.cost.high) == pytest.approx(0.595390, abs=6e-7)


@pytest.mark.parametrize("epsilon", [0, "0.001", 3, 12])
def test_privacy_is_exact_and_the_bound_holds_at_any_epsilon(epsilon):
    best = optimal_mechanism(
        graph=NeighborGraph.line(4), epsilon=epsilon, cost=COSTS["square"], prior=["0.25"] * 4
    )
    assert best.mechanism.odds_ratio() <= exp(Fraction(epsilon)).high
    assert best.cost.low <= best.cost.high < best.cost.low + Fraction(1, 10**6)


def test_without_neighbors_nothing_is_hidden():
    free = optimal_mechanism(
        graph=NeighborGraph(size=3, edges=[]), epsilon=1, cost=COSTS["absolute"]
    )
    assert free.cost.high < Fraction(1, 10**12)


@pytest.mark.parametrize("unit", ["1e-300", "1e300", -7])
def test_the_unit_of_the_cost_does_not_matter(unit):
    scale = Fraction(unit)
    best = optimal_mechanism(
        graph=NeighborGraph.line(3),
        epsilon=1,
        cost=lambda truth, answer: scale * abs(truth - answer),
        prior=["1/3"] * 3,
    )
    assert best.mechanism.odds_ratio() <= exp(Fraction(1)).low
    assert best.cost.high - best.cost.low <= abs(scale) / 10**9


def test_a_prior_without_neighbors():
    free = optimal_mechanism(
        graph=NeighborGraph(size=2, edges=[]), epsilon=1, cost=COSTS["wrong"], prior=["1/2"] * 2
    )
    assert free.cost.high < Fraction(1, 10**12)


def test_components_are_repaired_apart():
    graph = NeighborGraph(size=4, edges=[(0, 1), (2, 3)])
    best = optimal_mechanism(graph=graph, epsilon=0, cost=COSTS["wrong"], prior=["0.25"] * 4)
    assert best.mechanism.odds_ratio() == 1
    assert float(best.cost.high) == pytest.approx(0.5)


def test_other_outputs_than_inputs():
    best = optimal_mechanism(
        graph=NeighborGraph.line(3),
        epsilon=1,
        cost=lambda truth, answer: answer == "few" if truth == 2 else answer == "many",
        outputs=["few", "many"],
    )
    assert set(best.mechanism.outputs) == {"few", "many"}
    assert best.mechanism.run(2) in {"few", "many"}


def brute_force(graph, growth, cost, steps):
    """Return the least worst-case cost over all private matrices with entries k / steps."""
    width = len(cost[0])
    rows = [
        tuple(Fraction(part, steps) for part in (*cut, steps - sum(cut)))
        for cut in itertools.product(range(steps + 1), repeat=width - 1)
        if sum(cut) <= steps
    ]
    return min(
        max(
            sum(p * c for p, c in zip(row, costs, strict=True))
            for row, costs in zip(m, cost, strict=True)
        )
        for m in itertools.product(rows, repeat=graph.size)
        if FiniteMechanism(matrix=m, graph=graph).odds_ratio() <= growth
    )


@pytest.mark.theorem("certified-optimum")
def test_no_private_matrix_on_a_grid_beats_the_certificate():
    graph = NeighborGraph.line(2)
    best = optimal_mechanism(graph=graph, epsilon="0.7", cost=COSTS["wrong"])
    grid = brute_force(graph, exp(Fraction(7, 10)).low, [[0, 1], [1, 0]], steps=30)
    assert best.cost.low <= best.cost.high <= grid <= best.cost.high + Fraction(1, 20)


# --- the repair carries the privacy: without it, or with a worse solver ---------------------------


def test_rounding_alone_is_not_private():
    epsilon = Fraction(1)
    growth = exp(epsilon).low
    best = optimal_mechanism(graph=LINE, epsilon=epsilon, cost=COSTS["absolute"])
    rounded = [
        [Fraction(round(float(p) * 2**20), 2**20) for p in row] for row in best.mechanism.matrix
    ]
    for row in rounded:
        row[row.index(max(row))] += 1 - sum(row)
    assert FiniteMechanism(matrix=rounded, graph=LINE).odds_ratio() > growth


@pytest.mark.parametrize("noise", [1e-12, 1e-6, 1e-2, 1.0])
def test_a_bad_solver_costs_accuracy_and_never_privacy(noise, monkeypatch):
    honest = optimal.solve
    source = np.random.default_rng(5)

    def sloppy(problem):
        solved = honest(problem)
        laws = solved.laws + noise * source.random(solved.laws.shape)
        multipliers = solved.multipliers * (1 - noise * source.random(solved.multipliers.shape))
        return optimal.Solution(laws / laws.sum(axis=1, keepdims=True), multipliers, solved.prior)

    monkeypatch.setattr(optimal, "solve", sloppy)
    best = optimal_mechanism(graph=LINE, epsilon=1, cost=COSTS["absolute"])
    assert best.mechanism.odds_ratio() <= exp(Fraction(1)).low
    assert float(best.cost.low) < 0.80302713 < float(best.cost.high) + 1e-8


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"graph": 11}, WrongKind),
        ({"epsilon": -1}, OutOfRange),
        ({"epsilon": math.nan}, OutOfRange),
        ({"epsilon": 31}, OutOfRange),
        ({"cost": [[0, 1], [1, 0]]}, WrongKind),
        ({"cost": lambda truth, answer: math.inf}, OutOfRange),
        ({"cost": lambda truth, answer: None}, WrongKind),
        ({"prior": [1]}, WrongKind),
        ({"prior": ["0.5", "0.6"]}, OutOfRange),
        ({"outputs": []}, WrongKind),
        ({"outputs": ["a", "a"], "cost": lambda truth, answer: 0}, WrongKind),
    ],
)
def test_bad_input_is_refused(changes, error):
    good = {"graph": NeighborGraph.line(2), "epsilon": 1, "cost": COSTS["wrong"]}
    with pytest.raises(error):
        optimal_mechanism(**good | changes)
