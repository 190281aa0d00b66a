"""The trial on made-up rows (T9): each of its parts finds what no other part does."""

import itertools

import pytest
import torch
from torch import nn
from torch.nn import functional

from discreet.errors import ExamplesMix, LayerNotProvable, NotPerExample
from discreet.torch.rows import RowShape
from discreet.torch.trial import try_model


class Scaled(nn.Module):
    """A linear layer, times a number that a row should not depend on."""

    def __init__(self, factor):
        super().__init__()
        self.layer, self.factor = nn.Linear(6, 3), factor

    def forward(self, x):
        return self.layer(x) * self.factor(x)


def try_out(model, objective=functional.cross_entropy, *, units=8, rows=1):
    shapes = RowShape((6,), torch.float32), RowShape((), torch.int64)
    return try_model(model, objective, shapes=shapes, units=units, cap=units, rows=rows)


CALLS = itertools.count()
DEPENDS = {
    "on company": lambda x: 1 + 0.1 * x.mean(),
    "a little on company": lambda x: 1 + 0.01 * x.mean(),
    "on one companion": lambda x: 1 + 0.1 * x[-1, 0].clamp(-3, 3),
    "on places": lambda x: 1 + 0.1 * torch.arange(len(x))[:, None],
    "on calls": lambda _: 1 + 0.1 * next(CALLS),
    "on functional dropout": lambda x: functional.dropout(torch.ones(len(x), 1), 0.5),
}


@pytest.mark.parametrize("factor", DEPENDS)
def test_what_a_row_must_not_depend_on_is_found(factor):
    with pytest.raises(ExamplesMix, match=r"'layer\.weight' depends on the examples beside it"):
        try_out(Scaled(DEPENDS[factor]))


@pytest.mark.parametrize("rows", [1, 3])
def test_a_row_on_its_own_is_tried_and_found_good(rows):
    tried = try_out(Scaled(lambda x: 1 + 0.1 * x.mean(1, keepdim=True)), rows=rows)
    assert tried.engine.layers == ("layer: Linear, recorded",)


def test_last_bits_are_not_compared():
    tiny = Scaled(lambda x: 1 + 1e-7 * torch.arange(len(x))[:, None])
    assert try_out(tiny).engine.layers


def test_weights_come_back_and_are_not_written_to():
    model = Scaled(lambda x: 1 + 0 * x[:, :1])
    before = [(p.data_ptr(), p._version, p.detach().clone()) for p in model.parameters()]
    try_out(model)
    for parameter, (place, writes, value) in zip(model.parameters(), before, strict=True):
        assert (parameter.data_ptr(), parameter._version) == (place, writes)
        assert torch.equal(parameter, value)


class Keeps(nn.Module):
    """A linear layer beside a buffer that is written to."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 3)
        self.register_buffer("mean", torch.zeros(6))

    def forward(self, x):
        self.mean.lerp_(x.detach().mean(0), 0.1)
        return self.layer(x)


def test_buffers_that_are_written_to_are_found():
    with pytest.raises(ExamplesMix, match="'mean' changes"):
        try_out(Keeps())


class Outside(nn.Module):
    """A weight that is used outside its layer as well, where nothing is recorded."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 3)

    def forward(self, x):
        return self.layer(x) + x @ self.layer.weight.T


def test_contributions_that_are_not_the_gradient_are_found():
    with pytest.raises(LayerNotProvable, match="do not add up"):
        try_out(Outside())


class Meter:
    """Divides by the mean of what it has seen before: one example's gradient needs others (T9)."""

    def __init__(self):
        self.mean = 1.0

    def __call__(self, outputs, targets):
        value = functional.cross_entropy(outputs, targets, reduction="none")
        self.mean = 0.9 * self.mean + 0.1 * value.detach().mean()
        return value / self.mean


def test_a_meter_in_the_loss_is_refused():
    with pytest.raises((NotPerExample, ExamplesMix)):
        try_out(nn.Linear(6, 3), Meter())


class MeterInTheModel(nn.Module):
    """The same in a model that is differentiated example by example."""

    def __init__(self):
        super().__init__()
        self.weight, self.seen = nn.Parameter(torch.ones(6, 3)), 1.0

    def forward(self, x):
        found = x @ self.weight
        self.seen = self.seen + found.detach().abs().mean()
        return found / self.seen


def test_a_meter_in_a_model_without_layers_is_refused():
    with pytest.raises(Exception, match=r"(?s).+"):
        try_out(MeterInTheModel())
