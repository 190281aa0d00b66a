"""Rows become short integers, sums are exact, and no row moves them further than is said."""

from fractions import Fraction
from itertools import product as combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import models
from discreet.errors import OverBudget
from discreet.extend import AskedPrice, BoundedSum, Measurer, PlannedSum, scheduled
from discreet.models import row_sums
from discreet.models.bounded_rows import LEVELS, BoundedRows, CategoryColumn, Encoding, NumberColumn
from discreet.models.row_sums import (
    RESIDUALS,
    counts,
    gradients,
    moment_bound,
    moments,
    scores,
    table,
)
from discreet.noise import SYSTEM
from discreet.session import Rehearsal
from discreet.units import row

ANYTHING = st.floats(allow_nan=True, allow_infinity=True, width=64)
MIXED = Encoding(
    features=(
        NumberColumn(Fraction(-1, 3), Fraction(10)),
        NumberColumn(Fraction(0), Fraction(1, 10**6)),
        CategoryColumn(("A", "B")),
    ),
    target=NumberColumn(Fraction(-5), Fraction(5)),
    constant=True,
)


@pytest.mark.theorem("integer-rows")
@given(ANYTHING, ANYTHING, st.sampled_from(["A", "B", "C", None, 7]), ANYTHING)
def test_no_value_makes_a_row_longer_than_its_bound(first, second, third, target):
    columns = [np.array([first]), np.array([second]), np.array([third], object)]
    rows = MIXED.rows(columns, np.array([target]))
    whole = [int(cell) for cell in rows.cells.ravel()]
    assert all(float(w) == c for w, c in zip(whole, rows.cells.ravel(), strict=True))
    assert sum(cell * cell for cell in whole) <= MIXED.squared == 5 * LEVELS**2


def test_rows_that_break_the_bound_add_nothing():
    planted = BoundedRows(np.array([[1e6, 0.0], [0.5, 0.0], [1.0, 1.0]]), np.zeros(3, int), 2)
    assert planted.cells.tolist() == [[0, 0], [0, 0], [1, 1]]


@pytest.mark.theorem("integer-rows")
@given(st.integers(0, 2**32), st.integers(1, 60), st.integers(1, 4))
def test_sums_are_exact(seed, count, width):
    draw = np.random.default_rng(seed)
    cells = draw.integers(-LEVELS, LEVELS + 1, (count, width)).astype(float)
    rows = BoundedRows(cells, np.zeros(count, np.int64), width * LEVELS**2)
    residuals = draw.uniform(-1.2, 1.2, (count, 1))
    cut = np.trunc(residuals[:, 0] * RESIDUALS).astype(int).tolist()
    whole = [r if abs(r) <= RESIDUALS else 0 for r in cut]
    slow = [sum(int(z) * r for z, r in zip(column, whole, strict=True)) for column in cells.T]
    assert gradients(rows, residuals).values.tolist() == slow


@pytest.mark.theorem("moment-matrix")
@pytest.mark.parametrize("place", [(0, 0), (0, 1)])
@pytest.mark.parametrize("sign", [-1, 1])
def test_moments_of_a_billion_rows_do_not_wrap_around(monkeypatch, place, sign):
    """Beyond 64 bits, the sums of neighbors would lie at opposite ends."""
    one = BoundedRows(np.full((1, 2), float(LEVELS)), np.zeros(1, np.int64), 2 * LEVELS**2)
    scale = {(0, 0): row_sums.DIAGONAL, (0, 1): row_sums.MIXED}[place]
    for most in ((2**63 - 1) // scale, (2**63 - 1) // row_sums.MIXED, 2**61):
        found = []
        for total in (most - LEVELS**2 // 2, min(most + LEVELS**2 // 2, 2**61)):
            square = np.zeros((2, 2), np.int64)
            square[place] = sign * total
            monkeypatch.setattr(row_sums, "product", lambda *_, found=square: found)
            found.append(int(moments(one).values[sum(place)]) * sign)
        assert 0 <= found[1] - found[0] <= scale * LEVELS**2


@pytest.mark.theorem("moment-matrix")
def test_moments_of_every_small_row_keep_the_bound():
    vectors = [np.array(v, float) for v in combinations(range(-3, 4), repeat=3)]
    sums = {}
    for vector in vectors:
        square = int(vector @ vector)
        rows = BoundedRows(vector[None], np.zeros(1, np.int64), square)
        sums[tuple(vector)] = moments(rows).values
        assert int((sums[tuple(vector)] ** 2).sum()) <= moment_bound(square)
    held = np.array(list(sums.values()))
    assert (held @ held.T).min() >= 0  # so a replacement moves by the root of 2 at most
    assert 29**2 * 2 >= 41**2
    assert not (29**2 * 2 >= 42**2)


@pytest.mark.theorem("moment-matrix")
def test_larger_weights_off_the_diagonal_would_break_it():
    vector = np.array([3.0, 3.0])
    upper = np.array([29 * 9, 42 * 9, 29 * 9])
    assert (upper**2).sum() > moment_bound(int(vector @ vector))


@pytest.mark.theorem("row-tables")
@pytest.mark.parametrize("linear", [9, 11])  # the L2 norm implies the latter
@given(st.integers(0, 2**32))
def test_one_row_moves_one_place_of_a_table(linear, seed):
    draw = np.random.default_rng(seed)
    places = draw.integers(-1, 5, 12)
    vectors = draw.integers(-6, 7, (12, 3)).astype(float)
    bound = {"squared": 40, "linear": linear, "opposed": True}
    whole = table(places, 4, vectors, **bound).values
    for gone in range(12):
        rest = np.arange(12) != gone
        moved = whole - table(places[rest], 4, vectors[rest], **bound).values
        assert (moved**2).sum() <= 40
        assert np.abs(moved).sum() <= linear
    assert counts(places, 4).values.tolist() == [(places == p).sum() for p in range(4)]


def planned(**more):
    usual = {"name": "n", "squared": 4, "linear": 4, "opposed": False, "coordinates": 2}
    return PlannedSum(**usual | more)


@pytest.mark.parametrize(
    ("name", "total"),
    [
        ("other", BoundedSum(np.zeros(2, int), 4, 4, False)),
        ("n", BoundedSum(np.zeros(2, int), 5, 4, False)),
        ("n", BoundedSum(np.zeros(2, int), 4, 5, False)),
        ("n", BoundedSum(np.zeros(3, int), 4, 4, False)),
        ("n", BoundedSum(np.zeros(2, int), 4, 4, True)),
    ],
)
def test_sums_beyond_the_plan_are_refused(name, total):
    asked = AskedPrice.read(epsilon=1, delta=None, rho=None)
    see = Measurer(scheduled([planned()], asked, unit=row(), rows=1), SYSTEM)
    with pytest.raises(OverBudget, match="not planned"):
        see.measure(name, total)


def test_noise_that_is_drawn_ahead_is_used_once(monkeypatch):
    """Two sums with the same noise would tell their difference."""
    monkeypatch.setattr("discreet.extend.measurement._AHEAD", 6)  # three times at once
    asked = AskedPrice.read(epsilon=None, delta=None, rho="1e-12")
    see = Measurer(scheduled([planned(times=8)], asked, unit=row(), rows=1), SYSTEM)
    zero = BoundedSum(np.zeros(2, int), 4, 4, False)
    drawn = [tuple(see.measure("n", zero)) for _ in range(8)]
    assert len(set(drawn)) == 8


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("rows", [1, 6])
@pytest.mark.parametrize(
    "price",
    [
        {"epsilon": "0.5", "delta": None, "rho": None},
        {"epsilon": "0.5", "delta": "1e-6", "rho": None},
        {"epsilon": 8, "delta": "1e-5", "rho": None},
        {"epsilon": None, "delta": None, "rho": "0.125"},
    ],
)
def test_the_price_is_kept_and_nearly_used_up(relation, rows, price):
    asked = AskedPrice.read(**price)
    sums = [planned(), planned(name="m", opposed=True, squared=9, linear=9, times=5)]
    schedule = scheduled(sums, asked, unit=row(relation=relation), rows=rows)
    cost = schedule.price
    if asked.rho is not None:
        assert Fraction(99, 100) * asked.rho <= cost.rho <= asked.rho * Fraction(101, 100)
    else:
        assert Fraction(97, 100) * asked.epsilon <= cost.epsilon <= asked.epsilon


@pytest.mark.theorem("integer-rows")
def test_what_a_row_scores_does_not_depend_on_its_neighbors():
    draw = np.random.default_rng(1)
    cells = draw.integers(-LEVELS, LEVELS + 1, (501, 7)).astype(float)
    weights = draw.normal(size=(7, 3)) * 50
    whole = scores(cells, weights)
    for start, stop in ((0, 1), (3, 500), (17, 18), (100, 333)):
        assert (scores(cells[start:stop], weights) == whole[start:stop]).all()
    exact = [[Fraction(int(c)) for c in line] for line in cells[:5]]
    steps = [[Fraction(round(w * 2**18), 2**18) for w in column] for column in weights.T]
    for line, found in zip(exact, whole[:5], strict=True):
        slow = [sum(c * w for c, w in zip(line, column, strict=True)) for column in steps]
        assert found.tolist() == [float(value) for value in slow]


@pytest.mark.parametrize("outputs", [1, 3])
def test_residuals_beyond_their_bound_add_nothing(outputs):
    rows = BoundedRows(np.array([[3.0, 4.0], [5.0, 0.0]]), np.zeros(2, np.int64), 25)
    long = np.zeros((2, outputs))
    long[:, 0] = 7.0, 1.0
    total = gradients(rows, long)
    assert total.values.reshape(2, outputs)[:, 0].tolist() == [5 * RESIDUALS, 0]
    assert int((total.values**2).sum()) <= total.squared


def fitted(kind, **more):
    draw = np.random.default_rng(9)
    x = draw.integers(0, 3, (400, 5))
    y = (x.sum(axis=1) + draw.integers(0, 2, 400) > 5).astype(int)
    return kind(rho=1, classes=(0, 1), ledger=Rehearsal(), **more).fit(x, y), x


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        (models.LogisticRegression, {"bounds": (0, 2)}),
        (models.SoftmaxRegression, {"bounds": (0, 2)}),
        (models.GaussianNB, {"bounds": (0, 2)}),
        (models.CategoricalNB, {"categories": 3}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_answer_for_a_row_is_about_that_row_alone(kind, more):
    """What decides is the same to the last bit in any company and any place."""
    model, x = fitted(kind, **more)
    cells = model._features(x)
    name = next(n for n in ("_scores", "_joint") if hasattr(model, n))
    decides = getattr(model, name)
    whole = decides(cells)
    for start, stop in ((0, 1), (3, 380), (17, 18), (100, 333)):
        assert (decides(cells[start:stop]) == whole[start:stop]).all()
    assert (decides(cells[::-1]) == whole[::-1]).all()
    assert (model.codes(cells) == whole.argmax(axis=1)).all() or whole.shape[1] == 1


def test_many_rows_are_answered_some_at_a_time(monkeypatch):
    model, x = fitted(models.GaussianNB, bounds=(0, 2))
    cells, seen = model._features(x), []
    best = type(model)._best
    monkeypatch.setattr(type(model), "_best", lambda m, c: seen.append(len(c)) or best(m, c))
    monkeypatch.setattr("discreet.models.estimator._CHUNK", 64)
    assert len(model.codes(cells)) == 400
    assert max(seen) == 64
