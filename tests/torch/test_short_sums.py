"""Sums in float32 against exact rationals, and what one unit can move them by."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import discreet as dp
from discreet.accounting import Budget
from discreet.errors import OutOfRange, TooImprecise
from discreet.ledger import Ledger
from discreet.torch import Clipping, PrivateSum, Training, layer_parts
from discreet.torch.clipping import SINGLE, rounding, shortened
from discreet.torch.layer_parts import (
    add_short_lines,
    add_short_products,
    chunk_lines,
    priced_lines,
    roundings,
)
from discreet.torch.layers import linear_parts
from discreet.torch.loss_function import SummedObjective
from discreet.torch.noisy_sum import BatchSums, ClipGroup
from discreet.torch.per_example import choose
from discreet.torch.rows import RowTensors

CPU = torch.device("cpu")
FLUSHED = Fraction(1, 2**50)
HARD = [0.0, 1.0, -1.0, 1e-45, 2.0**-130, 1e-30, 3.3, -1e10, 1e18, 1 + 2.0**-23, 2.0**-25]


def exactly(values):
    return [Fraction(float(v)) for v in values]


def errors_and_sizes(found, left, right, scales):
    """Return, coordinate by coordinate, how far a total is off and how large its products are."""
    c = exactly(scales)
    columns = [exactly(column) for column in left.T], [exactly(column) for column in right.T]
    for j, one in enumerate(columns[0]):
        for k, other in enumerate(columns[1]):
            terms = [x * y * z for x, y, z in zip(c, one, other, strict=True)]
            yield abs(Fraction(float(found[j, k])) - sum(terms)), sum(map(abs, terms))


def totals(left, right, scales, chunk):
    weight, bias = torch.zeros(left.shape[1], right.shape[1]), torch.zeros(left.shape[1])
    weight, bias = weight.double(), bias.double()
    add_short_products(weight, bias, left, right, scales, chunk)
    ones = torch.ones(left.shape[0], 1)
    lines = torch.zeros(left.shape[1], dtype=torch.float64)
    add_short_lines(lines, left, scales, chunk)
    return (weight, right), (bias[:, None], ones), (lines[:, None], ones)


@pytest.mark.theorem("short-sums")
@pytest.mark.parametrize("count", [1, 31, 32, 33, 255, 256, 600])
@pytest.mark.parametrize("shape", [(3, 2), (2, 3)])
@pytest.mark.parametrize("chunk", [32, 64, 256])
def test_sums_in_float32_lie_within_the_error_that_is_priced(count, shape, chunk):
    stream = np.random.default_rng(count)
    left, right = (torch.from_numpy(stream.standard_normal((count, n))).float() for n in shape)
    left[::3] *= 1e6
    scales = torch.from_numpy(shortened(stream.random(count)))
    for found, other in totals(left, right, scales, chunk):
        for error, size in errors_and_sizes(found, left, other, scales):
            assert error <= rounding(roundings(chunk), SINGLE) * size * (1 + Fraction(1, 2**20))


@pytest.mark.theorem("short-sums")
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), most=st.sampled_from([2.0**-126, 1e-20, 0.3, 1.0, 1024.0]))
def test_hard_numbers_move_a_sum_by_no_more_than_has_room(seed, most):
    stream = np.random.default_rng(seed)
    left, right = (torch.from_numpy(stream.choice(HARD, (40, 2))).float() for _ in range(2))
    sizes = left.abs().amax(1).double() * right.abs().amax(1).double()
    scales = np.minimum(stream.random(40) * most, 1 / (sizes.numpy() + 1e-300))  # as clipped ones
    scales = torch.from_numpy(shortened(scales))
    for found, other in totals(left, right, scales, 32):
        for error, size in errors_and_sizes(found, left, other, scales):
            room = 40 * FLUSHED + rounding(40, SINGLE) * size * (1 + Fraction(1, 2**20))
            assert error <= room


def one_and_many_small(count):
    """Rows of which the first is 1, and the others are lost beside it, one by one."""
    lines = torch.full((count, 2), 2.0**-25)
    lines[0] = 1.0
    return lines


@pytest.mark.theorem("short-sums")
@pytest.mark.parametrize("chunk", [32, 64, 256])
def test_longer_sums_break_what_is_priced(monkeypatch, chunk):
    """Many small numbers are lost beside a large one: as many roundings as there are in a sum."""
    count = 64 * chunk
    lines, ones = one_and_many_small(count), torch.ones(count)

    def worst(chunk):
        return [
            max(e / s for e, s in errors_and_sizes(found, lines, other, ones))
            for found, other in totals(lines, torch.ones(count, 2), ones, chunk)
        ]

    priced = rounding(roundings(chunk), SINGLE) * (1 + Fraction(1, 2**20))
    assert max(worst(chunk)) <= priced
    monkeypatch.setattr(layer_parts, "_CHUNKS", 1)
    assert max(worst(count)) > priced


def test_roundings_are_those_of_the_blocks():
    for chunk in (32, 64, 128, 256):
        assert roundings(chunk) == 1 + 1 + (chunk - 1) + (layer_parts._CHUNKS - 1)
        assert priced_lines(roundings(chunk)) == chunk
    assert list(layer_parts._blocks(300, 32)) == [(0, 8, 32), (256, 1, 32), (288, 1, 12)]
    assert list(layer_parts._blocks(700, 64)) == [
        (0, 8, 64),
        (512, 1, 64),
        (576, 1, 64),
        (640, 1, 60),
    ]


@pytest.mark.theorem("short-sums")
@pytest.mark.parametrize("room", [1, 100, 1 << 19])
@pytest.mark.parametrize("count", [32, 300])
def test_weights_are_added_up_some_coordinates_at_a_time(monkeypatch, room, count):
    """Whatever was left in the memory that is used again."""
    monkeypatch.setattr(layer_parts, "_ROOM", room)
    monkeypatch.setattr(layer_parts, "_SMALL", 0)
    monkeypatch.setattr(layer_parts._kept, "room", torch.full((9,), torch.nan), raising=False)
    stream = np.random.default_rng(room)
    left, right = (torch.from_numpy(stream.standard_normal((count, n))).float() for n in (5, 3))
    scales = torch.from_numpy(shortened(stream.random(count)))
    (found, other), *_ = totals(left, right, scales, 32)
    for error, size in errors_and_sizes(found, left, other, scales):
        assert error <= rounding(40, SINGLE) * size * (1 + Fraction(1, 2**20))


@pytest.mark.theorem("short-sums")
@settings(max_examples=200, deadline=None)
@given(st.floats(0, 1e30, allow_nan=False))
def test_short_scales_are_never_above_their_own(scale):
    short = float(shortened(np.array([scale]))[0])
    assert short <= scale
    assert short == 0 or 2.0**-126 <= short <= 1024
    assert scale < 2.0**-126 or scale > 1024 or short >= scale * (1 - 2.0**-23)


class Mixed(nn.Module):
    """An embedding, a linear layer at several positions, a convolution, and plain layers."""

    def __init__(self):
        super().__init__()
        self.tokens, self.many = nn.Embedding(5, 8), nn.Linear(8, 64)
        self.shared, self.head = nn.Conv1d(64, 3, 2), nn.Linear(3, 2)

    def forward(self, x):
        h = torch.tanh(self.many(self.tokens(x))).transpose(1, 2)
        return self.head(self.shared(h).mean(2))


def mixed_sums(x, y, *, single, weights=1.0):
    torch.manual_seed(0)
    model = Mixed()
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(weights)
    summed = SummedObjective(nn.functional.cross_entropy)
    group = ClipGroup(frozenset(model.parameters()), Clipping(bound=1), 1.0)
    sums = BatchSums(
        model,
        choose(model, summed, x[:16], y[:16], units=16),
        RowTensors(x, y),
        groups=(group,),
        micro=16,
        normalized=False,
        device=CPU,
        chunk=32 if single else 0,
    )
    one = PrivateSum(
        clipping=Clipping(bound=1),
        sigma=Fraction(1),
        coordinates=sums.coordinates,
        units=50,
        operations=16 * 4 + 12,
        short=40 if single else 0,
    )
    return sums, one


@pytest.mark.theorem("short-sums")
@pytest.mark.parametrize("weights", [0.1, 1.0, 30.0])
def test_neighbors_differ_by_at_most_the_squared_distance(weights):
    torch.manual_seed(1)
    x, y = torch.randint(0, 5, (50, 4)), torch.randint(0, 2, (50,))
    sums, one = mixed_sums(x, y, single=True, weights=weights)
    rows = np.arange(50)[:, None]
    whole = one.grid.to_grid(sums.total(rows).numpy())
    for left_out in (0, 31):
        part = one.grid.to_grid(sums.total(np.delete(rows, left_out, axis=0)).numpy())
        assert sum(int(a - b) ** 2 for a, b in zip(whole, part, strict=True)) <= one.squared


@pytest.mark.theorem("short-sums")
def test_positions_that_cancel_are_added_up_in_float64():
    """Their products are far longer than their sum, and float32 would round by a share of those."""

    layer = nn.Linear(40, 60, bias=False)
    torch.manual_seed(0)
    a = torch.randn(3, 1, 40).repeat(1, 2, 1) * 1e3
    g = torch.randn(3, 1, 60).repeat(1, 2, 1)
    g[:, 1] = -g[:, 1] * (1 + 2.0**-10)
    (part,) = linear_parts(layer, a, g, 3)
    scales = Clipping(bound=1).scales(part.squares.numpy(), part.spans.numpy())
    short = torch.from_numpy(shortened(scales))
    total = {layer.weight: torch.zeros(60, 40, dtype=torch.float64)}
    part.add(short, total, drop=False, chunk=32)
    truth = torch.einsum("n,nto,nti->oi", short.double(), g.double(), a.double())
    assert float((total[layer.weight] - truth).norm()) <= 1e-10


def ledger(tmp_path):
    return Ledger.open(tmp_path / "a.ledger", unit=dp.row(), budget=Budget(epsilon=8, delta="1e-4"))


def planned(books, *, batch, sums="single", dtype=torch.float32, population=100_000):
    model = nn.Linear(4, 2, dtype=dtype)
    return Training(
        model,
        objective=nn.functional.cross_entropy,
        data=(torch.randn(200, 4, dtype=dtype), torch.zeros(200, dtype=torch.long)),
        optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
        ledger=books,
        unit=dp.row(),
        population=population,
        batch=batch,
        steps=3,
        sigma=4,
        delta="1e-5",
        micro_batch=16,
        sums=sums,
    )


def test_a_run_with_sums_in_float32_is_priced_and_trains(tmp_path):
    with ledger(tmp_path) as books:
        run = planned(books, batch=40, population=200)
        assert run.fit(bar=False).taken == 3
        free = dataclasses.replace(run.plan, one=dataclasses.replace(run.plan.one, short=0))
        assert run.plan.one.short == roundings(chunk_lines(run.plan.one.units))
        assert run._run.sums.chunk == priced_lines(run.plan.one.short) == 256
        assert run.plan.tree != free.tree
        assert run.plan.digest != free.digest


@pytest.mark.parametrize(("units", "low", "high"), [(1024, 8, 9), (4096, 19, 21)])
def test_what_sums_in_float32_cost(units, low, high):
    """In thousandths of what one unit adds."""
    one = PrivateSum(
        clipping=Clipping(bound=1),
        sigma=Fraction(1),
        coordinates=1000,
        units=units,
        operations=300,
        short=roundings(chunk_lines(units)),
    )
    assert low <= 1000 * one.slack <= high


def test_sums_in_float32_are_refused_where_they_cost_too_much(tmp_path):
    with ledger(tmp_path) as books:
        with pytest.raises(TooImprecise, match="5 percent"):
            planned(books, batch=12_000)
        with pytest.raises(OutOfRange, match="float64 or not on a CPU"):
            planned(books, batch=40, dtype=torch.float64)
        with pytest.raises(OutOfRange, match="sums must be one of double, single"):
            planned(books, batch=40, sums="half")
