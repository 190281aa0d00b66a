"""Models and objectives that training must refuse or survive, and that nobody is told of rows."""

import re

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import discreet as dp
from discreet.accounting import Budget
from discreet.errors import ExamplesMix, LayerNotProvable, RunFenced
from discreet.ledger import Ledger
from discreet.torch import Training


def rows(count=40):
    x = torch.randn(count, 6, generator=torch.Generator().manual_seed(1))
    return x, (x[:, 0] > 0).long()


def training(ledger, model, **changed):
    given = {
        "objective": nn.functional.cross_entropy,
        "data": rows(),
        "optimizer": torch.optim.SGD(model.parameters(), lr=1.0),
        "ledger": ledger,
        "unit": ledger.unit,
        "population": 40,
        "batch": 20,
        "steps": 4,
        "sigma": 4,
        "delta": "1e-5",
        "processes": 0,
        "micro_batch": 8,
    }
    return Training(model, **(given | changed))


def kinds(ledger):
    return [entry["kind"] for entry in ledger.entries()]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the compiler, when it is loaded
def test_a_compiled_model_is_refused_with_the_way_out(ledger):
    with pytest.raises(LayerNotProvable, match=r"before torch\.compile"):
        training(ledger, torch.compile(nn.Linear(6, 2)))
    assert kinds(ledger) == ["open"]


class Checkpointed(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 5))
        self.last = nn.Linear(5, 2)

    def forward(self, x):
        return self.last(torch.tanh(checkpoint(self.first, x, use_reentrant=False)))


def test_forwards_that_run_twice_are_not_recorded(ledger):
    """They are differentiated example by example, and contribute what they do without it."""
    torch.manual_seed(0)
    model = Checkpointed()
    plain = nn.Sequential(*model.first, nn.Tanh(), model.last)
    twice, once = training(ledger, model), training(ledger, plain)
    assert "forwards run twice" in twice.plan.layers[0]
    assert "recorded" in once.plan.layers[0]
    rows = np.arange(12)[:, None]
    sums = [run._run.sums.total(rows) for run in (twice, once)]
    assert torch.allclose(*sums, atol=1e-5)
    assert kinds(ledger) == ["open"]


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(6, 6), nn.Linear(6, 6)
        self.last.weight = self.first.weight

    def forward(self, x):
        return self.last(torch.tanh(self.first(x)))


def test_shared_weights_are_differentiated_example_by_example(ledger):
    run = training(ledger, Tied())
    assert "shared by several layers" in run.plan.layers[0]
    assert run.plan.one.coordinates == 36 + 12
    assert run.fit(bar=False).taken == 4


def sometimes_no_number(outputs, targets):
    return outputs.square().sum(1) * torch.where(targets == 5, torch.nan, 1.0)


def endless_slope(outputs, targets):
    return (outputs[:, 0].abs() * (targets != 5)).sqrt()


@pytest.mark.parametrize("objective", [sometimes_no_number, endless_slope])
def test_objectives_that_are_not_finite_add_nothing(ledger, objective):
    """A run goes on, and no step is left out: that would tell of the row."""
    torch.manual_seed(0)
    model, (x, y) = nn.Linear(6, 2), rows()
    y[2:5] = 5
    run = training(ledger, model, data=(x, y), objective=objective)
    with_them = run._run.sums.total(np.arange(8)[:, None])
    without = run._run.sums.total(np.array([[0], [1], [5], [6], [7]]))
    assert torch.allclose(with_them, without, rtol=0, atol=1e-12)
    assert run.fit(bar=False).taken == 4
    assert torch.isfinite(model.weight).all()
    assert "fail" not in kinds(ledger)


def heard(ledger, tmp_path, capfd, x, y):
    """Return everything that a run says, prints, names or records, without noise and times."""
    torch.manual_seed(0)
    model, folder = nn.Linear(6, 2), tmp_path / "run"
    run = training(ledger, model, data=(x, y), folder=folder, name="heard")
    said = [str(run.plan), repr(run.plan), re.sub("at 0x[0-9a-f]+", "", repr(run))]
    first = run.steps()
    steps = [next(first).number]
    second = training(ledger, nn.Linear(6, 2), data=(x, y), name="heard")
    next(second.steps())
    with pytest.raises(RunFenced) as fenced:
        steps.extend(step.number for step in first)
    said += [str(fenced.value), str(run.report).split("sha256")[0], *map(str, steps)]
    said += sorted(path.name for path in folder.iterdir())
    said += [entry["kind"] for entry in ledger.entries()]
    return said + list(capfd.readouterr())


def test_neighbors_hear_the_same(tmp_path, capfd):
    x, y = rows()
    x[3] = 12345.678
    said = []
    for name, gone in (("with", 40), ("without", 3)):
        keep = [i for i in range(40) if i != gone]
        (tmp_path / name).mkdir()
        with Ledger.open(
            tmp_path / name / "a.ledger", unit=dp.row(), budget=Budget(epsilon=200, delta="1e-3")
        ) as book:
            said.append(heard(book, tmp_path / name, capfd, x[keep], y[keep]))
    assert said[0] == said[1]
    assert "12345" not in " ".join(said[0])


def short(seed, dtype):
    torch.manual_seed(seed)
    if seed % 2:
        return nn.Linear(6, 2).to(dtype)
    return nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 2)).to(dtype)


@pytest.mark.parametrize("seed", [0, 1, 6, 7, 8, 11, 13, 14])
def test_models_in_bfloat16_are_trained(ledger, seed):
    x, y = rows()
    run = training(ledger, short(seed, torch.bfloat16), data=(x.bfloat16(), y))
    assert "recorded" in run.plan.layers[0]
    full = run._run.sums.total(np.arange(12)[:, None])
    for gone in range(12):  # rounding of factors moves no unit beyond what is paid for
        less = run._run.sums.total(np.delete(np.arange(12), gone)[:, None])
        assert float((full - less).norm()) <= float(run.plan.one.distance)


def test_a_model_in_float16_is_refused_with_the_way_out(ledger):
    x, y = rows()
    with pytest.raises(LayerNotProvable, match="bfloat16 or float32"):
        training(ledger, short(0, torch.float16), data=(x.half(), y))
    assert kinds(ledger) == ["open"]


class MixedBackward(torch.autograd.Function):
    """Passes examples on as they are, and slopes as the mean of those that are numbers."""

    @staticmethod
    def forward(x):
        return x.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(_ctx, slopes):
        return slopes.nan_to_num(0, 0, 0).mean(0, keepdim=True).expand_as(slopes)


class BehindZeros(nn.Module):
    """A layer behind one that begins at zero, so that it is contributed nothing at planning."""

    def __init__(self, *, mixing):
        super().__init__()
        self.first, self.last, self.mixing = nn.Linear(6, 5), nn.Linear(5, 2), mixing
        nn.init.zeros_(self.last.weight)

    def forward(self, x):
        held = self.first(x)
        return self.last(MixedBackward.apply(held) if self.mixing else held)


def test_examples_that_mix_behind_zeros_are_found(ledger):
    """One step later the zeros are gone, and one example moves what all others contribute."""
    with pytest.raises(ExamplesMix, match=r"first\.weight"):
        training(ledger, BehindZeros(mixing=True))
    model = BehindZeros(mixing=False)
    before = [p.detach().clone() for p in model.parameters()]
    run = training(ledger, model)
    assert all(torch.equal(p, was) for p, was in zip(model.parameters(), before, strict=True))
    assert run.fit(bar=False).taken == 4
