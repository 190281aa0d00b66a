"""Mistakes that libraries for private training have made, and the tests that would show them here.

Each test names its trap.
Mistakes that no other file has a test for are tried out below.
"""

import io

import numpy as np
import pytest
import torch
from torch import nn

import discreet as dp
from discreet.accounting import Budget
from discreet.errors import OutOfRange
from discreet.ledger import Ledger
from discreet.torch import Training
from discreet.torch import loop as training_loop
from discreet.torch.progress import Checkpoint


@pytest.fixture
def ledger(tmp_path):
    with Ledger.open(
        tmp_path / "a.ledger", unit=dp.row(), budget=Budget(epsilon=200, delta="1e-3")
    ) as opened:
        yield opened


def training(ledger, model, **changed):
    x = torch.randn(60, 4, generator=torch.Generator().manual_seed(1))
    given = {
        "objective": nn.functional.cross_entropy,
        "data": (x, (x[:, 0] > 0).long()),
        "optimizer": torch.optim.SGD(model.parameters(), lr=1.0),
        "ledger": ledger,
        "unit": ledger.unit,
        "population": 60,
        "batch": 20,
        "steps": 3,
        "sigma": 3,
        "delta": "1e-5",
        "processes": 0,
    }
    return Training(model, **(given | changed))


def test_steps_without_anybody_are_released_like_any_other(ledger):
    """Nobody is drawn, and still each step has its noise."""
    model = nn.Linear(4, 2)
    before = model.weight.detach().clone()
    x, y = torch.zeros(0, 4), torch.zeros(0, dtype=torch.long)
    run = training(ledger, model, data=(x, y), steps=1)
    assert run.fit(bar=False).taken == 1
    moved = (model.weight.detach() - before) * 20
    assert float(moved.abs().max()) > 0.1
    assert float(moved.abs().max()) < 30


def test_every_trainable_parameter_learns(ledger):
    """All kinds of layers; each parameter moves toward its gradient, and frozen ones do not."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Unflatten(1, (1, 4)),
        nn.Conv1d(1, 4, 2),
        nn.GroupNorm(2, 4),
        nn.Tanh(),
        nn.Flatten(),
        nn.Linear(12, 6),
        nn.LayerNorm(6),
        nn.Linear(6, 2),
    )
    model[5].bias.requires_grad_(False)
    x = torch.randn(60, 4, generator=torch.Generator().manual_seed(1))
    y = (x[:, 0] > 0).long()
    run = training(ledger, model, data=(x, y), batch=60, steps=1, sigma=1, clip=1000)
    total = run._run.sums.total(np.arange(60)[:, None])
    nn.functional.cross_entropy(model(x), y, reduction="sum").backward()
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    start = 0
    for name, parameter in named:
        part = total[start : start + parameter.numel()].view(parameter.shape) * 1000
        assert float(parameter.grad.abs().max()) > 0, name
        assert torch.allclose(part.float(), parameter.grad, rtol=1e-3, atol=1e-4), name
        start += parameter.numel()
    frozen = model[5].bias.detach().clone()
    before = {name: p.detach().clone() for name, p in named}
    run.fit(bar=False)
    assert torch.equal(model[5].bias, frozen)
    assert all(not torch.equal(before[name], p) for name, p in named)


def test_the_divisor_is_declared_and_not_counted(ledger):
    """With the same noise, an update is the sum over the declared batch, whoever was drawn."""
    model = nn.Linear(4, 2)
    run = training(ledger, model, steps=1)
    noise = torch.zeros(10, dtype=torch.int64)
    for count in (0, 1, 7, 30):
        total = torch.full((10,), float(count), dtype=torch.float64)
        run._run._release(total, noise)
        given = torch.cat([p.grad.flatten() for p in model.parameters()])
        assert torch.allclose(given, torch.full((10,), count / 20), atol=1e-6)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_released_gradients_are_multiples_of_a_public_step(ledger, scale, monkeypatch):
    """No bit below the step of the grid, and so none that noise has not covered."""
    model = nn.Linear(4, 2)
    x = scale * torch.randn(60, 4, generator=torch.Generator().manual_seed(1))
    run = training(ledger, model, data=(x, (x[:, 0] > 0).long()), steps=1)
    kept = []
    monkeypatch.setattr(
        training_loop, "handed_over", lambda values, _: kept.append(values.double() * 20)
    )
    for _ in run.gradients():
        pass
    cells = kept[0] / float(run.plan.one.grid.step) - 0.5
    assert float((cells - cells.round()).abs().max()) < 1e-6
    assert len(set(cells.round().long().remainder(64).tolist())) > 3  # low bits are noise


def test_checkpoints_hold_the_users_own_names_and_no_generator(ledger, tmp_path):
    model = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2))
    names = list(model.state_dict())
    run = training(ledger, model, folder=tmp_path / "run", steps=2, every=1)
    for step in run:
        if step.number == 1:
            break
    assert list(model.state_dict()) == names
    kept = Checkpoint.read(tmp_path / "run", run=run.plan.digest)
    state = torch.load(io.BytesIO(kept.state), weights_only=True)
    assert set(state) == {"model", "optimizer", "factor"}
    assert list(state["model"]) == names
    plain = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2))
    plain.load_state_dict(state["model"])  # without anything of ours
    assert torch.equal(plain[0].weight, model[0].weight)


def test_a_model_that_is_frozen_is_refused(ledger):
    with pytest.raises(OutOfRange, match="trainable"):
        training(ledger, nn.Linear(4, 2).requires_grad_(False))
    assert [entry["kind"] for entry in ledger.entries()] == ["open"]
