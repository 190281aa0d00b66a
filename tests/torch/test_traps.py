"""Mistakes that libraries for private training have made, and the tests that would show them here.

Each test names its trap.
Mistakes that no other file has a test for are tried out below.
"""

import io

import pytest
import torch
from torch import nn

import discreet as dp
from discreet.accounting import Budget
from discreet.ledger import Ledger
from discreet.torch import Training
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
