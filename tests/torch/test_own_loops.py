"""Loops of one's own: gradients are released one at a time, and updates are free."""

import contextlib
import signal
import sys
from types import SimpleNamespace

import pytest
import torch
from torch import nn

import discreet as dp
from discreet.accounting import Budget
from discreet.errors import NotPerExample, OtherRun
from discreet.ledger import Ledger
from discreet.torch import Training
from discreet.torch.loop import TrainingRun


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
    original = TrainingRun._release
    monkeypatch.setattr(
        TrainingRun, "_release", lambda *given: (released.append(1), original(*given))[1]
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


@pytest.mark.parametrize("misuse", ["weights", "frozen", "modes"])
def test_a_loop_that_changes_the_model_is_stopped_before_the_next_draw(ledger, misuse):
    model = nn.Sequential(nn.Linear(4, 2), nn.Dropout())
    run = training(ledger, model)
    drawn, original = [], run._run._clipped_sum
    run._run._clipped_sum = lambda *given: (drawn.append(1), original(*given))[1]
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


class Pressed(nn.Module):
    """A layer, in the middle of whose sums somebody presses Ctrl-C."""

    def __init__(self):
        super().__init__()
        self.layer, self.keys = nn.Linear(4, 2), SimpleNamespace(times=0)

    def forward(self, x):
        for _ in range(self.keys.times):
            signal.raise_signal(signal.SIGINT)
        return self.layer(x)


def lines_of(function):
    """Return the lines of a function that are executed."""
    return sorted({line for *_, line in function.__code__.co_lines() if line})[1:]


@pytest.mark.parametrize("line", [pytest.param(n, id=str(n)) for n in lines_of(TrainingRun.steps)])
def test_ctrl_c_between_any_two_lines_of_a_loop_costs_nothing(ledger, line):
    """Pressed once, on each line after the second step: the loop leaves in order, or goes on."""
    run = training(ledger, nn.Linear(4, 2), steps=5, every=4)
    pressed = []

    def trace(frame, event, _):
        if frame.f_code is not TrainingRun.steps.__code__:
            return None
        if event == "line" and frame.f_lineno == line and run.report.taken >= 2 and not pressed:
            pressed.append(line)
            signal.raise_signal(signal.SIGINT)
        return trace

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    tracing = sys.gettrace()
    try:
        sys.settrace(trace)
        with contextlib.suppress(KeyboardInterrupt):
            list(run)
    finally:
        sys.settrace(tracing)
        signal.signal(signal.SIGINT, before)
    report = run.fit(bar=False)
    assert (report.taken, report.charged_again) == (5, 0)
