"""Histograms: one noise vector, and the right price under each relation."""

import itertools

import pytest

from discreet.loss import Pure
from discreet.mechanisms import Gaussian, Laplace
from discreet_course.counting import Histogram
from discreet_course.sensitivity import count_sensitivity

AGES = 11  # [0, 10), ..., [100, 110)


def ages(relation, noise=Laplace(scale=1), cells=AGES):  # noqa: B008  a frozen value
    return Histogram(cells=cells, noise=noise, relation=relation)


@pytest.mark.theorem("histogram-moves")
@pytest.mark.parametrize(
    ("relation", "sensitivity"),
    [("add_remove", 1), ("replace", 2), ("either", 2), ("local", 2)],
)
def test_the_age_histogram(relation, sensitivity):
    """Row L7: one cell moves when a row is added, two when one is replaced."""
    assert ages(relation).loss().epsilon(delta=0) == sensitivity
    assert count_sensitivity(relation, conditions=AGES).l1 == sensitivity


@pytest.mark.theorem("histogram-moves")
def test_two_cells_that_move_by_one_cost_less_than_one_that_moves_by_two():
    noise = Laplace(scale=1)
    pair, single = ages("replace").loss(), noise.loss(distance=2)
    assert pair.epsilon(delta=0) == single.epsilon(delta=0) == 2
    assert pair.delta(epsilon=1) < single.delta(epsilon=1)
    assert pair == noise.loss(distance=1).compose(noise.loss(distance=1))


@pytest.mark.theorem("histogram-moves")
@pytest.mark.parametrize("noise", [Laplace(scale=2), Gaussian(sigma=2)], ids=repr)
def test_no_pair_of_tables_costs_more(noise):
    """All moves by two replaced rows among three cells, against one cell up and one down by two."""
    claim = ages("replace", noise, cells=3).loss(distance=2)
    for up, down in itertools.product([(2,), (1, 1)], repeat=2):
        if len(up) + len(down) > 3:
            continue
        moves = [noise.loss(distance=step) for step in (*up, *down)]
        loss = moves[0]
        for move in moves[1:]:
            loss = loss.compose(move)
        for epsilon in (0, 0.5, 1.5):
            found = loss.delta_interval(epsilon=epsilon).low
            assert found <= claim.delta(epsilon=epsilon)


def test_a_single_cell_is_the_number_of_rows():
    assert ages("replace", cells=1).loss(distance=3) == Pure(epsilon=0)
    assert ages("add_remove", cells=1).loss(distance=3).epsilon(delta=0) == 3
    assert ages("either", cells=1).loss(distance=3).epsilon(delta=0) == 3


def test_in_the_local_model_all_inputs_are_neighbors():
    assert ages("local").loss(distance=5) == ages("local").loss(distance=1)


def test_all_cells_are_within_the_error_at_once():
    counts = ages("add_remove")
    assert counts.error(confidence=0.95) == Laplace(scale=1).error(confidence=0.95, coordinates=11)
