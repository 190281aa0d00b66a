"""Loops of one's own: gradients are released one at a time, and updates are free."""

import pytest
import torch
from torch import nn

import discreet as dp
from discreet.accounting import Budget
from discreet.errors import NotPerExample, OtherRun, RunFenced
from discreet.learning import Training
from discreet.learning.checkpoint import Checkpoint
from discreet.learning.deep.runs.run_loop import RunLoop
from discreet.learning.marks import run_history
from discreet.ledger import Ledger


@pytest.fixture
def ledger(tmp_path):
    with Ledger.open(
        tmp_path / "a.ledger", unit=dp.row(), budget=Budget(epsilon=50, delta="1e-3")
    ) as opened:
        yield opened


def training(ledger, model, optimizer=None, **changed):
    x = torch.randn(60, 4, generator=torch.Generator().manual_seed(1))
    given = {
        "objective": nn.functional.cross_entropy,
        "data": (x, (x[:, 0] > 0).long()),
        "optimizer": optimizer or torch.optim.SGD(model.parameters(), lr=0.5),
        "ledger": ledger,
        "unit": ledger.unit,
        "population": 60,
        "batch": 20,
        "steps": 6,
        "sigma": 3,
        "delta": "1e-5",
        "every": 2,
        "processes": 0,
    }
    return Training(model, **(given | changed))


def kinds(ledger):
    return [entry["kind"] for entry in ledger.entries()]


def test_a_loop_that_steps_as_usual_is_a_run(ledger, monkeypatch):
    """Weights are those that the optimizer makes of the gradients that were released."""
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    run = training(ledger, model, optimizer)
    weights, released = model.weight.detach().clone(), []
    original = RunLoop.release
    monkeypatch.setattr(
        RunLoop, "release", lambda *given: (released.append(1), original(*given))[1]
    )
    for step in run.gradients():
        assert len(released) == step.number
        assert torch.equal(model.weight, weights)  # nobody has stepped yet
        weights = weights - 0.5 * model.weight.grad
        optimizer.step()
        optimizer.zero_grad()
        assert torch.equal(model.weight, weights)
    assert len(released) == run.report.taken == 6
    assert kinds(ledger)[-1] == "release"
    assert run.report.weights
    assert list(run.gradients()) == []  # on record: there is nothing left to draw
    assert len(released) == 6


def test_whatever_the_loop_does_there_is_one_release_a_step(ledger, monkeypatch):
    """Skip updates, update twice, change gradients, or call backward on rows of one's own."""
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    run = training(ledger, model, optimizer)
    released, original = [], RunLoop.release

    def step_seen(self, total, noise):
        released.append(noise.numpy().tobytes())
        original(self, total, noise)

    monkeypatch.setattr(RunLoop, "release", step_seen)
    for step in run.gradients():
        gradient = model.weight.grad.clone()
        if step.number == 1:
            continue
        for _ in range(step.number):
            optimizer.step()
        nn.functional.cross_entropy(model(torch.ones(3, 4)), torch.zeros(3).long()).backward()
        assert not torch.equal(gradient, model.weight.grad)  # public rows have been added to it
    assert len(set(released)) == len(released) == 6
    assert run_history(ledger, run.plan.key).drawn == 6


def test_checkpoints_hold_what_the_loop_has_made(ledger, tmp_path):
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    run = training(ledger, model, optimizer, folder=tmp_path / "run")
    for step in run.gradients():
        optimizer.step()
        if step.number == 3:
            break
    assert Checkpoint.read(tmp_path / "run", run=run.plan.digest).step == 3
    again = nn.Linear(4, 2)
    second = training(
        ledger,
        again,
        torch.optim.SGD(again.parameters(), lr=0.5, momentum=0.9),
        folder=tmp_path / "run",
    )
    loop = second.gradients()
    next(loop)
    assert torch.equal(again.weight, model.weight)
    assert second.fit(bar=False).taken == 6  # a loop and fit are the same run
    with pytest.raises(RunFenced):  # and the loop that was left behind draws no more
        list(loop)
    assert kinds(ledger).count("charge") <= 2


@pytest.mark.parametrize("misuse", ["weights", "frozen", "modes"])
def test_a_loop_that_changes_the_model_is_stopped_before_the_next_draw(ledger, misuse):
    model = nn.Sequential(nn.Linear(4, 2), nn.Dropout())
    run = training(ledger, model)
    drawn, original = [], run._stepper._total
    run._stepper._total = lambda *given: (drawn.append(1), original(*given))[1]
    loop = run.gradients()
    next(loop)
    if misuse == "weights":
        model[0] = nn.Linear(4, 2)
    elif misuse == "frozen":
        model[0].bias.requires_grad_(False)
    else:
        model.eval()
    with pytest.raises(OtherRun):
        next(loop)
    assert len(drawn) == 1


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x):
        found = self.layer(x)
        return found, found.square().sum(1)


def test_a_model_with_several_outputs_is_told_how_to_join_them(ledger):
    with pytest.raises(NotPerExample, match=r"torch\.cat"):
        training(ledger, Pair())
    assert kinds(ledger) == ["open"]
    both = nn.Sequential(Pair())
    both.forward = lambda x: torch.cat([(pair := both[0](x))[0], pair[1][:, None]], 1)
    run = training(
        ledger,
        both,
        objective=lambda out, y: nn.functional.cross_entropy(out[:, :2], y) + out[:, 2].mean() / 9,
    )
    assert run.fit(bar=False).taken == 6
