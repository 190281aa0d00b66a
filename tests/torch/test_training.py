"""Training runs: what is charged, in which order, and what a kill between two writes can do."""

import contextlib

import numpy as np
import pytest
import torch
from torch import nn

import discreet as dp
from discreet.accounting import Budget
from discreet.errors import (
    BadCheckpoint,
    EngineStopped,
    NotPerExample,
    NotSampled,
    OtherRun,
    OutOfRange,
    RunFenced,
    WrongKind,
)
from discreet.ledger import Ledger
from discreet.torch import Training
from discreet.torch.loop import TrainingRun
from discreet.torch.marks import Marks
from discreet.torch.progress import Checkpoint


@pytest.fixture
def ledger(tmp_path):
    with Ledger.open(
        tmp_path / "a.ledger", unit=dp.row(), budget=Budget(epsilon=20, delta="1e-3")
    ) as opened:
        yield opened


def rows(count=60):
    stream = torch.Generator().manual_seed(1)
    x = torch.randn(count, 4, generator=stream)
    return x, (x[:, 0] > 0).long()


def training(ledger, *, model=None, **changed):
    model = nn.Linear(4, 2) if model is None else model
    given = {
        "objective": nn.functional.cross_entropy,
        "data": rows(),
        "optimizer": torch.optim.SGD(model.parameters(), lr=1.0),
        "ledger": ledger,
        "unit": ledger.unit,
        "population": 60,
        "batch": 20,
        "steps": 6,
        "epsilon": 2,
        "delta": "1e-5",
        "every": 2,
        "processes": 0,
    }
    return Training(model, **(given | changed))


def kinds(ledger):
    return [entry["kind"] for entry in ledger.entries()]


def test_the_run_is_charged_and_started_before_a_row_is_read(ledger, monkeypatch):
    run = training(ledger)
    assert kinds(ledger) == ["open"]
    seen = []
    original = run._run.sums.total

    def total(drawn, **given):
        seen.append(kinds(ledger))
        return original(drawn, **given)

    monkeypatch.setattr(run._run.sums, "total", total)
    report = run.fit(bar=False)
    assert seen[0] == ["open", "charge", "start", "describe"]
    assert kinds(ledger)[-1] == "release"
    assert (report.taken, report.charged_again) == (6, 0)
    assert ledger.verify().ok


def test_training_learns_and_says_nothing_about_rows(ledger, capfd):
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    x, y = rows(2000)
    run = training(ledger, model=model, data=(x, y), population=2000, batch=500, steps=40)
    report = run.fit()
    assert float((model(x).argmax(1) == y).float().mean()) > 0.9
    assert capfd.readouterr().err == ""
    assert all(p.grad is None for p in model.parameters())
    for word in ("accuracy", "objective", "norm of"):
        assert word not in str(report)


def test_plans_are_equal_for_neighbors(ledger):
    x, y = rows()
    first = training(ledger)
    second = training(ledger, data=(x[:-1] * 100, y[:-1]))
    assert first.plan == second.plan
    assert first.plan.digest == second.plan.digest


def test_a_run_that_ended_is_not_drawn_again(ledger, tmp_path):
    run = training(ledger, folder=tmp_path / "run")
    run.fit(bar=False)
    weights = run.model.weight.detach().clone()
    again = training(ledger, folder=tmp_path / "run")
    again.fit(bar=False)
    assert torch.equal(again.model.weight, weights)
    assert kinds(ledger).count("release") == 1
    with pytest.raises(OtherRun):
        training(ledger, name="training").fit(bar=False)


def test_leaving_the_loop_gives_nothing_back_and_going_on_costs_nothing(ledger, tmp_path):
    run = training(ledger, folder=tmp_path / "run")
    for step in run:
        if step.number == 3:
            break
    paid = str(ledger.left())
    other = training(ledger, folder=tmp_path / "run")
    report = other.fit(bar=False)
    assert (report.taken, report.charged_again) == (6, 0)
    assert str(ledger.left()) == paid


class Killed(BaseException):
    """What a kill looks like from inside."""


WRITES = [
    (Ledger, "charge"),
    (Ledger, "start"),
    (Ledger, "describe"),
    (Ledger, "release"),
    (Checkpoint, "write"),
    (Checkpoint, "_write_aside"),  # and the rename after it
]


def count_steps(monkeypatch):
    """Count noisy sums over all processes."""
    drawn = []
    original = TrainingRun._release

    def step(self, total, noise):
        drawn.append(noise.numpy().copy())
        return original(self, total, noise)

    monkeypatch.setattr(TrainingRun, "_release", step)
    return drawn


def charged_steps(ledger):
    """Read off the chain how many steps were paid for."""
    total = 0
    for entry in ledger.entries():
        if entry["kind"] == "charge":
            total += _repeats(entry["tree"])
    return total


def _repeats(node):
    if isinstance(node, dict):
        if "count" in node:
            return int(node["count"])
        return sum(_repeats(value) for value in node.values())
    return sum(_repeats(value) for value in node) if isinstance(node, list) else 0


@pytest.mark.theorem("marked-steps")
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(("owner", "method"), WRITES)
@pytest.mark.parametrize("nth", [1, 3])
def test_a_kill_beside_any_write_draws_no_more_than_was_charged(  # noqa: PLR0917
    ledger, tmp_path, monkeypatch, owner, method, after, nth
):
    drawn = count_steps(monkeypatch)
    original = getattr(owner, method)
    calls = []

    def killed(self, *args, **kwargs):
        calls.append(1)
        if len(calls) != nth:
            return original(self, *args, **kwargs)
        if after:
            original(self, *args, **kwargs)
        raise Killed

    with monkeypatch.context() as planted:
        planted.setattr(owner, method, killed)
        with contextlib.suppress(Killed):
            training(ledger, folder=tmp_path / "run").fit(bar=False)
    assert len(drawn) <= charged_steps(ledger) or not drawn
    report = training(ledger, folder=tmp_path / "run").fit(bar=False)
    assert report.taken == 6
    assert len(drawn) <= charged_steps(ledger)
    assert len({noise.tobytes() for noise in drawn}) == len(drawn)  # no noise is used twice
    assert ledger.verify().ok


@pytest.mark.theorem("marked-steps")
@pytest.mark.parametrize("at", [1, 3, 4, 6])
def test_steps_that_were_lost_are_charged_again(ledger, tmp_path, monkeypatch, at):
    drawn = count_steps(monkeypatch)
    run = training(ledger, folder=tmp_path / "run")
    loop = run.steps()
    for _ in range(at):
        next(loop)
    run._run.progress.save = lambda *_: None  # a kill writes nothing
    monkeypatch.setattr(Marks, "stop", lambda *_: None)
    loop.close()
    report = training(ledger, folder=tmp_path / "run").fit(bar=False)
    marked = min(-(-at // 2) * 2, 6)
    kept = (at - 1) // 2 * 2
    assert report.charged_again == marked - kept
    assert len(drawn) <= charged_steps(ledger) == 6 + marked - kept


@pytest.mark.theorem("marked-steps")
@pytest.mark.parametrize("error", [EngineStopped, OtherRun])
def test_a_step_that_an_optimizer_has_seen_is_not_taken_again_for_nothing(
    ledger, tmp_path, monkeypatch, error
):
    drawn, failed = count_steps(monkeypatch), []
    original = torch.optim.SGD.step

    def step(self, *given):
        if len(failed) < 3:
            failed.append(self.param_groups[0]["params"][0].grad.clone())
            raise error(what="seen.", why="it was handed over.", do="nothing.")
        return original(self, *given)

    monkeypatch.setattr(torch.optim.SGD, "step", step)
    for _ in range(4):
        with contextlib.suppress(error):
            report = training(ledger, folder=tmp_path / "run").fit(bar=False)
    assert report.taken == 6
    assert report.charged_again > 0
    assert len(drawn) <= charged_steps(ledger)


def test_the_owner_may_vouch_for_lost_steps(ledger, tmp_path, monkeypatch):
    run = training(ledger, folder=tmp_path / "run")
    loop = run.steps()
    next(loop)
    monkeypatch.setattr(Marks, "stop", lambda *_: None)
    run._run.progress.save = lambda *_: None
    loop.close()
    report = training(ledger, folder=tmp_path / "run").fit(bar=False, lost="untold")
    assert report.untold
    assert charged_steps(ledger) == 6
    assert "vouches" in str(report)
    with pytest.raises(OutOfRange):
        training(ledger, name="other").fit(bar=False, lost="maybe")


@pytest.mark.theorem("marked-steps")
def test_of_two_resumes_of_one_copy_the_first_is_fenced(ledger, tmp_path, monkeypatch):
    drawn = count_steps(monkeypatch)
    first = training(ledger, folder=tmp_path / "one").steps()
    next(first)
    second = training(ledger, folder=tmp_path / "two").steps()
    next(second)
    next(first)  # the block that was marked before the second began
    with pytest.raises(RunFenced):
        next(first)
    for _ in second:
        pass
    assert len(drawn) <= charged_steps(ledger)


def test_checkpoints_of_other_runs_and_torn_ones_are_refused(ledger, tmp_path):
    training(ledger, folder=tmp_path / "run").fit(bar=False)
    with pytest.raises(OtherRun):
        training(ledger, folder=tmp_path / "run", steps=7).fit(bar=False)
    file = tmp_path / "run" / "checkpoint"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(BadCheckpoint):
        training(ledger, folder=tmp_path / "run").fit(bar=False)
    file.write_bytes(b"nothing")
    with pytest.raises(BadCheckpoint):
        training(ledger, folder=tmp_path / "run").fit(bar=False)
    assert b"Generator" not in file.read_bytes()


def test_empty_data_and_rows_that_are_not_finite_train_on(ledger):
    x, y = rows()
    x[0], x[1] = torch.nan, torch.inf
    run = training(ledger, data=(x, y))
    run.fit(bar=False)
    assert torch.isfinite(run.model.weight).all()
    none = training(ledger, data=(x[:0], y[:0]), name="none")
    assert none.fit(bar=False).taken == 6
    assert torch.isfinite(none.model.weight).all()


def test_units_with_several_rows_add_up_before_clipping(tmp_path):
    unit = dp.person("patient")
    with Ledger.open(
        tmp_path / "c.ledger", unit=unit, budget=Budget(epsilon=20, delta="1e-3")
    ) as book:
        x, y = rows()
        names = np.arange(60) // 3
        run = training(
            book, data=(x, y, names), population=20, batch=5, rows_per_unit=2, clip="1e-3"
        )
        total = run._run.sums.total(run._run.units.of(np.array([4])))
        assert 0.99 < float(total.square().sum().sqrt()) <= 1
        assert run.fit(bar=False).taken == 6
        assert str(book.left()).startswith("90 %")


def test_groups_of_parameters_and_normalized_contributions(ledger):
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    run = training(ledger, model=model, clip={"0.": 3, "2.": 4}, name="groups")
    total = run._run.sums.total(np.array([[0]]))
    first = float(total[:40].square().sum().sqrt())
    second = float(total[40:].square().sum().sqrt())
    assert first <= 0.6
    assert second <= 0.8
    run.fit(bar=False)
    every = training(ledger, clipping="normalized", name="normalized")
    total = every._run.sums.total(np.array([[0]]))
    assert 0.9 < float(total.square().sum().sqrt()) <= 1
    with pytest.raises(OutOfRange):
        training(ledger, model=model, clip={"0.": 3})
    with pytest.raises(OutOfRange):
        training(ledger, clipping="other")


@pytest.mark.parametrize("clip", ["1e-400", "1e-30", "1e30", "1e400", {"0.": 1, "2.": "1e-30"}])
def test_thresholds_that_no_float_holds_are_refused_before_anything_is_paid(ledger, clip):
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    with pytest.raises(OutOfRange, match="clipping bound"):
        training(ledger, model=model, clip=clip)
    assert [entry["kind"] for entry in ledger.entries()] == ["open"]


def test_long_contributions_fill_the_share_of_each_group(ledger):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2))
    x, y = rows()
    run = training(ledger, model=model, data=(1e4 * x, y), clip={"0.": 3, "1.": 4})
    total = run._run.sums.total(np.array([[0]]))  # a row that the fresh model gets wrong
    shares = [float(part.square().sum().sqrt()) for part in (total[:40], total[40:])]
    assert 0.599 < shares[0] <= 0.6
    assert 0.799 < shares[1] <= 0.8


def bad_inputs():
    x, y = rows()
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y))
    return [
        ({"data": loader}, NotSampled),
        ({"data": iter([(x, y)])}, NotSampled),
        ({"data": (x, y[:-1])}, NotSampled),
        ({"data": (x.tolist(), y)}, NotSampled),
        ({"data": (x, y, y)}, NotSampled),
        ({"population": 59}, NotSampled),
        ({"optimizer": torch.optim.SGD(nn.Linear(2, 2).parameters(), lr=1)}, WrongKind),
        ({"unit": dp.person("patient")}, WrongKind),
        ({"objective": nn.CrossEntropyLoss(weight=torch.tensor([1.0, 9.0]))}, NotPerExample),
        ({"objective": lambda o, t: (o - o.mean(0)).square().sum(1)}, NotPerExample),
        ({"clip": 0}, OutOfRange),
        ({"every": 0}, OutOfRange),
        ({"rows_per_unit": 0}, OutOfRange),
    ]


@pytest.mark.parametrize("number", range(13))
def test_bad_input_is_refused_before_anything_is_spent(ledger, number):
    changed, error = bad_inputs()[number]
    with pytest.raises(error):
        training(ledger, **changed)
    assert kinds(ledger) == ["open"]
