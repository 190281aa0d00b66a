"""Distances of tables and vectors: the formula is the shortest path, by brute force."""

import itertools
import math
from collections import Counter

import pytest

from discreet.errors import OutOfRange, WrongKind
from discreet.units import NeighborGraph, Relation, table_distance
from tests.twins import units as twins

ROWS = ("a", "b", "c")
BAGS = [bag for n in range(4) for bag in itertools.combinations_with_replacement(ROWS, n)]


def one_step(left, right, relation):
    """Say whether two tables are neighbors, straight from the definition."""
    one, other = Counter(left), Counter(right)
    sizes = sorted((one.total(), other.total()))
    common = (one & other).total()
    grown = common == sizes[0] == sizes[1] - 1
    changed = sizes[0] == sizes[1] == common + 1
    match relation:
        case Relation.ADD_REMOVE:
            return grown
        case Relation.REPLACE:
            return changed
        case Relation.EITHER:
            return grown or changed
        case Relation.LOCAL:
            return sizes == [1, 1] and one != other
    raise AssertionError


def paths(relation):
    edges = [
        (i, j)
        for i, j in itertools.combinations(range(len(BAGS)), 2)
        if one_step(BAGS[i], BAGS[j], relation)
    ]
    return NeighborGraph(size=len(BAGS), edges=edges)


def check_metric(distance, relation):
    """Compare a claimed metric with shortest paths through all small tables."""
    for left, far in zip(BAGS, paths(relation).distances(), strict=True):
        for j, right in enumerate(BAGS):
            assert distance(left, right, relation=relation) == far.get(j, math.inf), (left, right)


@pytest.mark.theorem("canonical-metric")
@pytest.mark.parametrize("relation", Relation)
def test_the_distance_is_the_shortest_path(relation):
    check_metric(table_distance, relation)


@pytest.mark.parametrize("relation", Relation)
def test_what_a_relation_says_of_itself_is_true_of_all_its_neighbors(relation):
    rows = list(map(Counter, BAGS))
    moves = {
        ((rows[i] - rows[j]).total(), (rows[j] - rows[i]).total()) for i, j in paths(relation).edges
    }
    assert relation.adds == any(gone != come for gone, come in moves)
    assert relation.replaces == any(gone and come for gone, come in moves)
    assert relation.sides == max(gone + come for gone, come in moves)
    assert relation.size_is_public == all(gone == come for gone, come in moves)
    assert relation.adds or relation.replaces


@pytest.mark.parametrize("twin", twins.METRICS, ids=lambda twin: twin.__name__)
def test_a_wrong_distance_is_caught(twin):
    failures = 0
    for relation in Relation:
        try:
            check_metric(twin, relation)
        except AssertionError:
            failures += 1
    assert failures


@pytest.mark.parametrize("relation", Relation)
def test_the_order_of_rows_does_not_matter(relation):
    assert table_distance(["a", "b"], ["b", "a"], relation=relation) == 0


def test_bad_tables_are_refused():
    with pytest.raises(WrongKind, match="compared"):
        table_distance([["a"]], [], relation="replace")
    with pytest.raises(WrongKind):
        table_distance("ab", "b", relation="replace")
    with pytest.raises(OutOfRange, match="NaN"):
        table_distance([("a", math.nan)], [], relation="add_remove")
    with pytest.raises(WrongKind):
        table_distance([], [], relation="unbounded")
