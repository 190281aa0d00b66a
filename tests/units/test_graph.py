"""Neighbor graphs: paths, groups, components."""

import itertools
import math

import pytest

from discreet.errors import OutOfRange, WrongKind
from discreet.units import NeighborGraph


def test_a_line_and_a_complete_graph():
    for i, j in itertools.product(range(6), repeat=2):
        assert NeighborGraph.line(6).distance(i, j) == abs(i - j)
        assert NeighborGraph.complete(6).distance(i, j) == (i != j)
    assert NeighborGraph.complete(1).edges == NeighborGraph.line(1).edges == frozenset()


@pytest.mark.theorem("group-distance")
@pytest.mark.parametrize("size", range(5))
def test_a_group_divides_distances(size):
    line, joined = NeighborGraph.line(6), NeighborGraph.line(6).group(size)
    for i, j in itertools.combinations(range(6), 2):
        expected = math.ceil(line.distance(i, j) / size) if size else math.inf
        assert joined.distance(i, j) == expected


def test_components_are_infinitely_far_apart():
    graph = NeighborGraph(size=5, edges=[(0, 1), (3, 2)])
    assert graph.components() == [[0, 1], [2, 3], [4]]
    assert graph.distance(0, 4) == graph.distance(1, 2) == math.inf
    assert list(graph.ordered()) == [(0, 1), (1, 0), (2, 3), (3, 2)]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: NeighborGraph(size=0, edges=[]), OutOfRange),
        (lambda: NeighborGraph(size=2, edges=7), WrongKind),
        (lambda: NeighborGraph(size=2, edges=[(0, 2)]), OutOfRange),
        (lambda: NeighborGraph(size=2, edges=[(1, 1)]), OutOfRange),
        (lambda: NeighborGraph(size=2, edges=[(0, 1, 1)]), WrongKind),
        (lambda: NeighborGraph(size=2, edges=[(0, 1.0)]), WrongKind),
        (lambda: NeighborGraph.line(2).distance(0, 2), OutOfRange),
        (lambda: NeighborGraph.line(2).group(-1), OutOfRange),
    ],
)
def test_bad_input_is_refused(call, error):
    with pytest.raises(error):
        call()
