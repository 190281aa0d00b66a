"""Units: rows of one unit count as one row, and different units do not mix."""

import itertools
import math

import pytest

from discreet.errors import OutOfRange, WrongKind
from discreet.units import NeighborGraph, PrivacyUnit, Relation, custom, person, row, same_unit

ROWS = [{"who": who, "day": day} for who in (1, 2) for day in ("mon", "tue")]
TABLES = [list(rows) for n in range(5) for rows in itertools.combinations(ROWS, n)]


def whole_people(left, right):
    """Say whether one table is the other without everything of one person."""
    for smaller, larger in ((left, right), (right, left)):
        for who in (1, 2):
            rest = [item for item in larger if item["who"] != who]
            if rest == smaller and len(rest) < len(larger):
                return True
    return False


def test_a_person_is_added_or_removed_with_all_rows():
    edges = [
        (i, j)
        for i, j in itertools.combinations(range(len(TABLES)), 2)
        if whole_people(TABLES[i], TABLES[j])
    ]
    graph = NeighborGraph(size=len(TABLES), edges=edges)
    for i, j in itertools.product(range(len(TABLES)), repeat=2):
        assert person("who").distance(TABLES[i], TABLES[j]) == graph.distance(i, j)


def test_for_people_null_is_absence():
    for left, right in itertools.product(TABLES, repeat=2):
        absent = person("who", relation="replace_null").distance(left, right)
        assert absent == person("who").distance(left, right)


def test_granularity_changes_the_distance():
    one = [{"who": 1, "day": "mon"}, {"who": 1, "day": "mon"}, {"who": 1, "day": "tue"}]
    assert row().distance(one, []) == 3
    assert custom("person-day", columns=["who", "day"]).distance(one, []) == 2
    assert person("who").distance(one, []) == 1
    assert person("who", relation="replace").distance(one, []) == math.inf
    assert person("who", relation="replace").distance(one, [{"who": 2, "day": "mon"}]) == 1
    assert person("who", relation="local").distance(one, [{"who": 2, "day": "mon"}]) == 1


def test_a_row_may_be_any_hashable_value():
    assert row(relation=Relation.REPLACE).distance(["x", 3], ["y", 3]) == 1
    assert row(relation="replace_null").distance([None, 3], [5, 4]) == 3


def test_units_compare_by_columns_and_relation():
    assert same_unit(person("id"), person("id"), person("id")) == person("id")
    with pytest.raises(WrongKind, match="units differ"):
        same_unit(person("id"), person("name"))
    with pytest.raises(WrongKind, match="under replace"):
        same_unit(row(), row(relation="replace"))
    with pytest.raises(WrongKind, match="not a PrivacyUnit"):
        same_unit(row(), "row")


def test_a_group_is_a_distance():
    people = [{"who": who} for who in range(3)]
    assert person("who").distance(people, []) == person("who").group(3) == 3


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: person(""), WrongKind),
        (lambda: person(3), WrongKind),
        (lambda: person("id", relation="bounded"), WrongKind),
        (lambda: person("id", relation=None), WrongKind),
        (lambda: custom("x", columns=[]), OutOfRange),
        (lambda: custom("x", columns=["a", "a"]), OutOfRange),
        (lambda: custom("x", columns="ab"), WrongKind),
        (lambda: PrivacyUnit(name=" "), WrongKind),
        (lambda: person("id").group(-1), OutOfRange),
        (lambda: person("id").group(math.nan), WrongKind),
        (lambda: person("id").distance([{"name": 1}], []), WrongKind),
        (lambda: person("id").distance([("id", 1)], []), WrongKind),
        (lambda: person("id").distance([{"id": None}], []), OutOfRange),
        (lambda: person("id").distance([{"id": math.nan}], []), OutOfRange),
        (lambda: person("id").distance({"id": 1}, []), WrongKind),
        (lambda: person("id").distance([{"id": [1]}], []), WrongKind),
        (lambda: person("id").distance([{"id": 1, "x": [1]}], []), WrongKind),
        (lambda: person("id").distance([{"id": 1, "x": math.nan}], []), OutOfRange),
        (lambda: row().distance([{"x": {}}], []), WrongKind),
    ],
)
def test_bad_input_is_refused(call, error):
    with pytest.raises(error):
        call()


def test_errors_keep_values_to_themselves():
    with pytest.raises(WrongKind) as caught:
        person("id").distance([{"name": "Ada Lovelace"}], [])
    assert "Ada" not in str(caught.value)
