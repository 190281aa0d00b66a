"""Finite mechanisms: exact losses over a graph, algebra, law and error."""

import itertools
import math
import pickle
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.loss import Pure
from discreet.mechanisms.finite import FiniteMechanism, hockey_stick
from discreet.noise import categorical as noise_finite
from discreet.units import NeighborGraph
from tests.mechanisms import contract
from tests.noise.laws import TINY_TABLE, check_law
from tests.twins import finite as twins

F = Fraction
COIN = FiniteMechanism(matrix=[["3/4", "1/4"], ["1/4", "3/4"]])
LINE = FiniteMechanism(
    matrix=[["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["1/8", "3/8", "1/2"]],
    graph=NeighborGraph.line(3),
)


def sets(size):
    return [s for n in range(size + 1) for s in itertools.combinations(range(size), n)]


def is_private(matrix, graph, growth, delta=0):
    """Say whether a matrix is private, straight from the definition: over all events."""
    return all(
        sum(matrix[i][o] for o in event) <= growth * sum(matrix[j][o] for o in event) + delta
        for i, j in graph.ordered()
        for event in sets(len(matrix[0]))
    )


@st.composite
def mechanisms(draw, inputs=3, outputs=3, low=0):
    def row():
        weights = draw(
            st.lists(st.integers(low, 5), min_size=outputs, max_size=outputs).filter(any)
        )
        return [F(weight, sum(weights)) for weight in weights]

    everything = list(itertools.combinations(range(inputs), 2))
    edges = draw(st.sets(st.sampled_from(everything), min_size=1))
    return FiniteMechanism(
        matrix=[row() for _ in range(inputs)], graph=NeighborGraph(size=inputs, edges=edges)
    )


@pytest.mark.theorem("finite-mechanism")
@given(mechanisms())
def test_the_ratio_is_the_smallest_private_one(mechanism):
    ratio = mechanism.odds_ratio()
    if ratio == math.inf:
        assert not is_private(mechanism.matrix, mechanism.graph, F(10**9))
        assert mechanism.epsilon() == math.inf
    else:
        assert is_private(mechanism.matrix, mechanism.graph, ratio)
        smaller = ratio - F(1, 10**9)
        assert ratio == 1 or not is_private(mechanism.matrix, mechanism.graph, smaller)
        assert math.exp(mechanism.epsilon()) == pytest.approx(float(ratio))


@pytest.mark.theorem("finite-mechanism")
@given(mechanisms(), st.fractions(0, 2))
def test_delta_is_the_smallest_private_one(mechanism, epsilon):
    delta = mechanism.delta(epsilon=epsilon)
    assert delta.high - delta.low < F(1, 2**100)
    growth = F(math.exp(epsilon))
    assert is_private(mechanism.matrix, mechanism.graph, growth, delta.high + F(1, 10**12))
    below = delta.low - F(1, 10**6)
    assert below < 0 or not is_private(mechanism.matrix, mechanism.graph, growth, below)


@pytest.mark.parametrize("twin", twins.RATIOS, ids=lambda twin: twin.__name__)
def test_a_wrong_ratio_is_caught(twin):
    steep = FiniteMechanism(matrix=[["1/2", "1/2", 0], ["1/4", "1/4", "1/2"]])
    skew = FiniteMechanism(matrix=[["0.7", "0.29", "0.01"], ["0.6", "0.3", "0.1"]])
    claims = [(m, twin(m.matrix, m.graph)) for m in (steep, skew)]
    assert any(
        not is_private(m.matrix, m.graph, F(claim)) for m, claim in claims if claim < math.inf
    )


@pytest.mark.parametrize("twin", twins.DELTAS, ids=lambda twin: twin.__name__)
def test_a_wrong_delta_is_caught(twin):
    p, q = LINE.matrix[2], LINE.matrix[0]
    assert twin(p, q, F(5, 4)) != hockey_stick(p, q, F(5, 4))


def test_an_enormous_epsilon_leaves_what_no_epsilon_can_hide():
    leaky = FiniteMechanism(matrix=[["0.9", "0.1", 0], ["0.9", 0, "0.1"]])
    assert leaky.delta(epsilon=10**9).low == leaky.delta(epsilon=10**9).high == F(1, 10)
    assert COIN.delta(epsilon=10**9).high == 0


# --- distances -----------------------------------------------------------------------------------


@given(mechanisms(inputs=4, low=1))
@settings(max_examples=30)
def test_a_group_costs_at_most_its_size_in_epsilons(mechanism):
    for size in (0, 1, 2, 3):
        assert mechanism.odds_ratio(distance=size) <= mechanism.odds_ratio() ** size


def test_distance_follows_the_graph():
    assert LINE.odds_ratio(distance=0) == 1
    assert LINE.odds_ratio() == 2
    assert LINE.odds_ratio(distance=2) == LINE.odds_ratio(distance="7.5") == 4
    apart = FiniteMechanism(matrix=[[1, 0], [0, 1]], graph=NeighborGraph(size=2, edges=[]))
    assert apart.epsilon() == 0  # no neighbors, nothing to hide


# --- algebra -------------------------------------------------------------------------------------


@pytest.mark.theorem("matrix-algebra")
@given(mechanisms(), mechanisms(inputs=3, outputs=2))
def test_post_processing_never_costs(mechanism, second):
    processed = mechanism.then(second.matrix)
    assert processed.odds_ratio() <= mechanism.odds_ratio()
    for epsilon in (0, F(1, 2), 1):
        assert processed.delta(epsilon=epsilon).low <= mechanism.delta(epsilon=epsilon).high


# --- why closeness must be relative ---------------------------------------------------------------


def test_additive_closeness_lets_an_output_give_a_person_away():
    thousand = 1000
    lottery = [[0] * thousand + [1] for _ in range(2)]
    lottery[1] = [F(1, thousand)] + [0] * (thousand - 1) + [F(thousand - 1, thousand)]
    naive = FiniteMechanism(matrix=lottery)
    assert naive.delta(epsilon=0).high == F(1, thousand)  # every event is as likely, up to 0.001
    assert naive.epsilon() == math.inf  # yet one output proves which input it was


# --- the whole contract ---------------------------------------------------------------------------


def case(name, mechanism):
    return contract.Case(
        name=name,
        mechanism=mechanism,
        inputs=mechanism.inputs,
        distance=mechanism.graph.distance,
        miss=lambda y, x: abs(y - x),
    )


@pytest.mark.parametrize("which", [case("coin", COIN), case("line", LINE)], ids=str)
@pytest.mark.parametrize(
    "check", [contract.check_enclosures, contract.check_error, contract.check_sampler]
)
def test_the_contract(which, check):
    check(which.mechanism, which)


@pytest.mark.parametrize("distance", [1, 2])
def test_the_loss_is_tight_and_never_below_the_exact_value(distance):
    loss = LINE.loss(distance=distance)
    exact = LINE.epsilon(distance=distance)
    assert exact <= loss.epsilon(delta=0) <= exact * (1 + 1e-12)
    for epsilon in ("0.2", 0.5):
        delta = LINE.delta(epsilon=epsilon, distance=distance)
        assert delta.low <= Fraction(loss.delta(epsilon=epsilon)) <= delta.high + F(1, 10**6)


def test_a_loss_composes_like_the_matrices():
    once = LINE.loss()
    rows = [[p * q for p in row for q in row] for row in LINE.matrix]
    twice = FiniteMechanism(matrix=rows, graph=LINE.graph)
    exact = twice.delta(epsilon="0.7")
    assert exact.low <= Fraction(once.power(2).delta(epsilon="0.7")) <= exact.high + F(1, 10**6)


def test_dominated_pairs_do_not_multiply_the_work():
    assert len(COIN.loss().remove) == 1
    assert len(LINE.loss().remove) < 4


def test_no_distance_no_loss():
    assert LINE.loss(distance=0) == Pure(epsilon=0)


def test_every_word_leads_to_the_row(monkeypatch):
    monkeypatch.setattr(noise_finite, "TableSizes", lambda: TINY_TABLE)
    fresh = FiniteMechanism(matrix=LINE.matrix)
    law = fresh.reference_pmf(2)
    check_law(lambda entropy: fresh.run(2, entropy=entropy), law.__getitem__)


def test_it_can_be_stored_and_compared():
    again = pickle.loads(pickle.dumps(LINE))  # noqa: S301  our own bytes
    assert again == LINE
    assert hash(again) == hash(LINE)
    assert again.run(0) in {0, 1, 2}


def test_names_that_are_no_numbers():
    named = FiniteMechanism(matrix=COIN.matrix, inputs=("no", "yes"), outputs=("no", "yes"))
    assert named.run("yes") in {"no", "yes"}
    assert named.error(confidence="0.75") == 0
    assert named.error(confidence="0.76") == 1
    assert named.loss() == COIN.loss()
