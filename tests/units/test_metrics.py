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
PLACED = list(itertools.product((None, *ROWS), repeat=3))


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
    differ = [(x, y) for x, y in zip(left, right, strict=True) if x != y]
    return len(differ) == 1 and None in differ[0]


def tables(relation):
    return PLACED if relation is Relation.REPLACE_NULL else BAGS


def paths(relation):
    chosen = tables(relation)
    edges = [
        (i, j)
        for i, j in itertools.combinations(range(len(chosen)), 2)
        if one_step(chosen[i], chosen[j], relation)
    ]
    return NeighborGraph(size=len(chosen), edges=edges)


def check_metric(distance, relation):
    """Compare a claimed metric with shortest paths through all small tables."""
    chosen, graph = tables(relation), paths(relation)
    for i, left in enumerate(chosen):
        far = graph._reach(i, graph._adjacent())
        for j, right in enumerate(chosen):
            assert distance(left, right, relation=relation) == far.get(j, math.inf), (left, right)


@pytest.mark.theorem("canonical-metric")
@pytest.mark.parametrize("relation", Relation)
def test_the_distance_is_the_shortest_path(relation):
    check_metric(table_distance, relation)


@pytest.mark.parametrize("relation", Relation)
def test_what_a_relation_says_of_itself_is_true_of_all_its_neighbors(relation):
    chosen, graph = tables(relation), paths(relation)
    rows = [Counter(row for row in table if row is not None) for table in chosen]
    moves = {((rows[i] - rows[j]).total(), (rows[j] - rows[i]).total()) for i, j in graph.edges}
    assert relation.adds == any(gone != come for gone, come in moves)
    assert relation.replaces == any(gone and come for gone, come in moves)
    assert relation.sides == max(gone + come for gone, come in moves)
    assert relation.size_is_public == all(gone == come for gone, come in moves)
    assert relation.adds or relation.replaces
    shuffled = [
        table_distance(table, again, relation=relation)
        for table in {chosen[i] for edge in graph.edges for i in edge}
        for again in itertools.permutations(table)
        if again != table
    ]
    assert relation.has_places == all(distance > 0 for distance in shuffled)


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
def test_the_order_of_rows_does_not_matter_unless_rows_have_places(relation):
    same = table_distance(["a", "b"], ["b", "a"], relation=relation)
    assert same == (4 if relation is Relation.REPLACE_NULL else 0)


def test_bad_tables_are_refused():
    with pytest.raises(WrongKind, match="compared"):
        table_distance([["a"]], [], relation="replace")
    with pytest.raises(WrongKind):
        table_distance("ab", "b", relation="replace")
    with pytest.raises(OutOfRange, match="NaN"):
        table_distance([("a", math.nan)], [], relation="add_remove")
    with pytest.raises(WrongKind):
        table_distance([], [], relation="unbounded")
