"""What a GPU does otherwise, as far as it can be seen without one."""

import gc
import weakref
from contextlib import nullcontext

import pytest
import torch
from torch import nn

from discreet.learning.deep.factors import RecordedFactors
from discreet.learning.deep.layers import wide
from discreet.learning.deep.objectives import SummedObjective
from discreet.learning.deep.streams import Streams
from tests.learning.deep.test_layer_sums import Heads

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _compared_anew():
    wide._right.cache_clear()
    yield
    wide._right.cache_clear()


def above(values):
    return torch.nextafter(values, torch.full_like(values, torch.inf))


def test_kernels_that_are_right_are_used(monkeypatch):
    monkeypatch.setattr(wide, "_widened", lambda values: values.to(torch.float64))
    monkeypatch.setattr(wide, "_scaled", lambda lines, scales: lines.double() * scales[:, None])
    assert wide._right(CPU)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda lines, scales: (lines * scales[:, None].float()).double(),
        lambda lines, scales: above(lines * scales[:, None]),
        lambda lines, scales: torch.where(lines.abs() < 2.0**-126, 0.0, lines * scales[:, None]),
        lambda lines, scales: torch.nan_to_num(lines * scales[:, None]),
        lambda lines, scales: (lines * scales[:, None]).abs(),
    ],
    ids=["float32", "one bit", "subnormal numbers", "not a number", "signs"],
)
def test_kernels_that_differ_in_anything_are_left_alone(monkeypatch, wrong):
    monkeypatch.setattr(wide, "_widened", lambda values: values.double())
    monkeypatch.setattr(wide, "_scaled", wrong)
    assert not wide._right(CPU)


def test_a_compiler_that_fails_leaves_pytorch_to_it(monkeypatch):
    def fails(*_):
        raise RuntimeError

    monkeypatch.setattr(wide, "_widened", fails)
    assert not wide._right(CPU)


def test_layers_that_share_an_input_are_computed_on_one_stream(monkeypatch):
    """What one of them makes of it would be read by another before it is there."""
    torch.manual_seed(0)
    model, turns = Heads(), []
    place = Streams.place
    monkeypatch.setattr(
        Streams, "place", lambda self, given: turns.append(place(self, given)) or turns[-1]
    )
    factors = RecordedFactors(model, SummedObjective(torch.nn.functional.cross_entropy))
    factors.parts(
        torch.randn(4, 2, 16),
        torch.tensor([0, 1, 2, 1]),
        torch.ones(4, dtype=torch.bool),
        4,
        Streams(CPU),
    )
    assert turns == [0, 1, 2, 2, 2]  # the last layer first, and three heads at the end


class StandIn:
    """Stands in for streams of CUDA, on which nothing is computed."""

    device = CPU

    def wait_stream(self, other):
        pass


def test_what_streams_read_is_kept_until_all_have_ended(monkeypatch):
    """One of them may be the stream whose memory is given back, under another name."""
    monkeypatch.setattr(torch.cuda, "stream", lambda _: nullcontext())
    monkeypatch.setattr(torch.cuda, "current_stream", lambda _: StandIn())
    streams = Streams(CPU)
    streams._streams = [StandIn(), StandIn()]
    factors = [torch.zeros(3), torch.ones(3)]
    alive = [weakref.ref(each) for each in factors]
    with streams.beside():
        with streams.on(*factors):
            factors.clear()
        gc.collect()
        assert all(each() is not None for each in alive)
    gc.collect()
    assert all(each() is None for each in alive)


def test_layers_give_streams_all_that_they_read(monkeypatch):
    given = []
    on = Streams.on
    monkeypatch.setattr(Streams, "on", lambda self, *all: given.append(all) or on(self, *all))
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    factors = RecordedFactors(model, SummedObjective(nn.functional.cross_entropy))
    factors.parts(torch.randn(5, 3), torch.zeros(5).long(), torch.ones(5, dtype=torch.bool), 5)
    assert [[tuple(each.shape) for each in pair] for pair in given] == [
        [(5, 4), (5, 2)],
        [(5, 3), (5, 4)],
    ]
