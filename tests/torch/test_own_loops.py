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
from discreet.errors import NotPerExample, OtherRun, RunFenced
from discreet.ledger import Ledger
from discreet.torch import Training
from discreet.torch.loop import TrainingRun
from discreet.torch.marks import run_history
from discreet.torch.progress import Checkpoint


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


def test_whatever_the_loop_does_there_is_one_release_a_step(ledger, monkeypatch):
    """Skip updates, update twice, change gradients, or call backward on rows of one's own."""
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    run = training(ledger, model, optimizer)
    released, original = [], TrainingRun._release

    def step_seen(self, total, noise):
        released.append(noise.numpy().tobytes())
        return original(self, total, noise)

    monkeypatch.setattr(TrainingRun, "_release", step_seen)
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


@pytest.fixture
def interrupts():
    """Ctrl-C as in a terminal; jobs in the background begin without."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
@pytest.mark.parametrize("loop", ["steps", "gradients", "fit"])
def test_ctrl_c_in_the_middle_of_a_sum_costs_nothing(ledger, tmp_path, loop):
    """Nothing of the step was released, and nothing is paid again."""
    model = Pressed()
    run = training(ledger, model, folder=tmp_path / "run", steps=5, every=4)
    before = signal.getsignal(signal.SIGINT)
    model.keys.times = 1
    with pytest.raises(KeyboardInterrupt):
        run.fit(bar=False) if loop == "fit" else next(getattr(run, loop)())
    assert signal.getsignal(signal.SIGINT) is before
    assert run.report.taken == 0
    assert Checkpoint.read(tmp_path / "run", run=run.plan.digest).step == 0
    model.keys.times = 0
    again = training(ledger, model, folder=tmp_path / "run", steps=5, every=4)
    for going_on in (run, again):
        report = going_on.fit(bar=False)
        assert (report.taken, report.charged_again) == (5, 0)
    assert kinds(ledger).count("charge") == 1


def test_a_loop_after_an_interrupted_fit_goes_on_to_the_end(ledger):
    model = Pressed()
    run = training(ledger, model)
    model.keys.times = 1
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run.fit(bar=False)
    finally:
        signal.signal(signal.SIGINT, before)
    model.keys.times = 0
    assert [step.number for step in run] == [1, 2, 3, 4, 5, 6]
    assert run.report.weights


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
