"""Norms from above, sums in blocks, and what may be recorded as a graph."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from discreet.torch import graphs, layer_parts, layers
from discreet.torch.clipping import Clipping
from discreet.torch.graphs import is_plain
from discreet.torch.layer_parts import add_lines, add_products, lengths
from discreet.torch.loss_function import SummedObjective
from discreet.torch.per_example import ModelEngine, RecordedFactors

CPU = torch.device("cpu")
HARD = [0.0, 1.0, -1.0, 1e-45, 1e-30, 2.0**-75, 1e10, -3e18, 1 + 2.0**-23]


def exact(line):
    return sum(Fraction(float(v)) ** 2 for v in line)


@pytest.mark.theorem("gradient-sum")
@settings(max_examples=60, deadline=None)
@given(
    width=st.sampled_from([1, 2, 7, 64, 300]),
    seed=st.integers(0, 10**6),
    power=st.integers(-140, 60),
    dtype=st.sampled_from([torch.float32, torch.bfloat16, torch.float64]),
)
def test_norms_are_never_too_small(width, seed, power, dtype):
    stream = np.random.default_rng(seed)
    lines = stream.standard_normal((3, width)) * 2.0**power
    lines[1] = stream.choice(HARD, width)
    values = torch.from_numpy(lines).to(dtype)
    for line, found in zip(values, lengths(values), strict=True):
        assert math.isinf(found) or Fraction(float(found)) ** 2 >= exact(line)


@pytest.mark.theorem("gradient-sum")
@pytest.mark.parametrize("places", [1, 2, 40])
@pytest.mark.parametrize("tiny", ["inputs", "gradients"])
def test_what_one_thread_flushes_and_another_does_not_stays_small(places, tiny):
    """A factor that is zero for its norm, and not for the sum, is not scaled up."""
    layer = nn.Linear(16, 16, bias=False)
    small, large = (torch.full((3, places, 16), value) for value in (1e-40, 1e17))
    a, g = (small, large) if tiny == "inputs" else (large, small)
    torch.set_flush_denormal(True)
    try:
        parts = layers.linear_parts(layer, a, g, 3)
    finally:
        torch.set_flush_denormal(False)
    squares, spans = (sum(getattr(p, name) for p in parts) for name in ("squares", "spans"))
    scales = Clipping(bound=1).scales(squares.numpy(), spans.numpy(), most=2.0**60)
    total = {layer.weight: torch.zeros(16, 16, dtype=torch.float64)}
    for each in parts:
        each.add(torch.from_numpy(scales), total)
    formed = places == 40  # as vectors of floats, of which a thread may have flushed nothing
    room = 3 * 2.0**-14 if formed else 3 * places * 2.0**-64
    assert float(total[layer.weight].abs().max()) <= room


def test_numbers_whose_squares_overflow_are_not_finite():
    assert math.isinf(lengths(torch.tensor([[1e20, 1.0]]))[0])
    assert math.isnan(lengths(torch.tensor([[math.nan, 1.0]]))[0])


@pytest.mark.theorem("gradient-sum")
@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 4)])
@pytest.mark.parametrize("block", [1, 8, 1 << 17])
def test_sums_of_few_bits_are_exact_to_the_last_bit(monkeypatch, shape, block):
    """Whichever factor is scaled, and however lines are cut into blocks."""
    monkeypatch.setattr(layer_parts, "_BLOCK", block)
    stream = np.random.default_rng(2)
    left, right = (torch.from_numpy(stream.integers(-999, 999, (11, n))).float() for n in shape)
    scales = torch.from_numpy(stream.integers(0, 64, 11) / 64.0)
    weight, bias = (torch.zeros(s, dtype=torch.float64) for s in (shape, shape[:1]))
    add_products(weight, bias, left, right, scales)
    for j in range(shape[0]):
        terms = [Fraction(float(c)) * int(g) for c, g in zip(scales, left[:, j], strict=True)]
        assert Fraction(float(bias[j])) == sum(terms)
        for k in range(shape[1]):
            products = (term * int(a) for term, a in zip(terms, right[:, k], strict=True))
            assert Fraction(float(weight[j, k])) == sum(products)
    flat = torch.zeros(shape[0], dtype=torch.float64)
    add_lines(flat, left, scales)
    assert torch.equal(flat, bias)


@pytest.mark.parametrize("held", [True, False])
def test_parts_that_are_held_keep_their_numbers(held):
    """Memory is used again, but never under a part that somebody may still scale and add."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv1d(2, 3, 3), nn.Flatten(), nn.Unflatten(1, (18, 1)), nn.Linear(1, 2)
    )
    factors = RecordedFactors(model, SummedObjective(lambda o, t: (o.flatten(1).sum(1) * t) ** 2))
    inside, ones = torch.ones(4, dtype=torch.bool), torch.ones(4, dtype=torch.float64)

    def parts():
        return factors.parts(torch.randn(4, 2, 8), torch.randn(4), inside, 4)

    def vectors(found):
        return {p.owner: p.vectors for p in found if p.owner.dim() > 1}

    first = parts()
    before = {owner: lines.clone() for owner, lines in vectors(first).items()}
    places = [lines.data_ptr() for lines in vectors(first).values()]
    assert len(places) == 2
    if not held:
        del first
        assert [lines.data_ptr() for lines in vectors(parts()).values()] == places
        return
    second = parts()
    assert not set(places) & {lines.data_ptr() for lines in vectors(second).values()}
    for each in first:
        total = {p: torch.zeros(p.shape, dtype=torch.float64) for p in model.parameters()}
        each.add(ones, total)
        if each.owner in before:
            truth = before[each.owner].double().sum(0).view(each.owner.shape)
            assert torch.allclose(total[each.owner], truth)


class Promised(nn.Module):
    same_operations = True

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 3)

    def forward(self, x):
        return self.layer(x) + 1


class Unpromised(Promised):
    same_operations = "perhaps"


def hooked():
    model = nn.Linear(2, 3)
    model.register_forward_hook(lambda *_: None)
    return model


@pytest.mark.parametrize(
    ("model", "plain"),
    [
        (nn.Sequential(nn.Conv2d(1, 2, 3), nn.Tanh(), nn.Flatten(), nn.Linear(2, 2)), True),
        (Promised(), True),
        (Unpromised(), False),
        (nn.Sequential(nn.Linear(2, 2), nn.Dropout()), False),
        (hooked(), False),
    ],
)
def test_only_models_that_decide_nothing_are_recorded(model, plain):
    assert is_plain(model) is plain
    known = RecordedFactors(model, SummedObjective(nn.functional.cross_entropy))
    engine = ModelEngine(known, (), 1)
    on_gpu = graphs.captured(model, engine, torch.device("cuda"))
    assert (on_gpu is not engine) is plain
    assert graphs.captured(model, engine, CPU) is engine
    other = ModelEngine(RecordedFactors(model, SummedObjective(lambda o, t: o)), (), 1)
    assert graphs.captured(model, other, torch.device("cuda")) is other


class Heads(nn.Module):
    """Three layers that share an input of two positions, and one with an input of its own."""

    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleList(nn.Linear(16, 16) for _ in range(3))
        self.after, self.last = nn.Linear(16, 16), nn.Linear(16, 3)

    def forward(self, x):
        inner = sum(torch.tanh(head(x)) for head in self.heads)
        return self.last(torch.tanh(self.after(inner)).mean(1))


def test_layers_that_share_an_input_share_its_pairs_in_one_micro_batch_alone(monkeypatch):
    """Norms of an earlier micro-batch would let a unit add any multiple of its bound."""
    torch.manual_seed(0)
    model, y = Heads(), torch.tensor([0, 1, 2, 1])
    objective = SummedObjective(nn.functional.cross_entropy)
    kept = RecordedFactors(model, objective)
    x = torch.randn(4, 2, 16)
    made = []
    monkeypatch.setattr(
        "discreet.torch.layer_parts.torch.bmm",
        lambda one, other: made.append(one.shape) or torch.matmul(one, other),
    )
    for _ in range(2):
        made.clear()
        parts = kept.parts(x, y, torch.ones(4, dtype=torch.bool), 4)
        assert made.count((4, 2, 16)) == 2 + 4  # of two inputs, and of four gradients
        for found in parts:
            for unit in range(4):
                one = nn.functional.cross_entropy(model(x[unit : unit + 1]), y[unit : unit + 1])
                given = [found.owner]
                if found.owner is model.last.weight:  # with its bias
                    given.append(model.last.bias)
                square = sum(g.square().sum() for g in torch.autograd.grad(one, given)).item()
                assert square * (1 - 1e-6) <= found.squares[unit].item() <= square * 1.01 + 1e-9
        x.mul_(3)  # other rows, in the same place
