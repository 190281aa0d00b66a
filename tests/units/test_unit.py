"""Units: rows of one unit count as one row, and different units do not mix."""

import itertools

import pytest

from discreet.errors import OutOfRange, WrongKind
from discreet.units import PrivacyUnit, custom, person, row, same_unit

ROWS = [{"who": who, "day": day} for who in (1, 2) for day in ("mon", "tue")]
TABLES = [list(rows) for n in range(5) for rows in itertools.combinations(ROWS, n)]


def test_units_compare_by_columns_and_relation():
    assert same_unit(person("id"), person("id"), person("id")) == person("id")
    days = custom("x", columns=["a", "b"])
    assert same_unit(days, custom("x", columns=["b", "a"])) == days  # in whatever order
    with pytest.raises(WrongKind, match="units differ"):
        same_unit(person("id"), person("name"))
    with pytest.raises(WrongKind, match="under replace"):
        same_unit(row(), row(relation="replace"))
    with pytest.raises(WrongKind, match="not a PrivacyUnit"):
        same_unit(row(), "row")


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
    ],
)
def test_bad_input_is_refused(call, error):
    with pytest.raises(error):
        call()
