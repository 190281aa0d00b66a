"""Training runs that break: forks, fenced attempts, full disks, torn files, lost noise."""

import gc
import os

import numpy as np
import pytest
import torch
from torch import nn

import discreet as dp
from discreet.accounting import Budget
from discreet.errors import (
    BadCheckpoint,
    EntropyCopied,
    EntropyUnavailable,
    LedgerUnavailable,
    RunFenced,
    WrongKind,
)
from discreet.ledger import Ledger
from discreet.torch import Training
from discreet.torch import loop as training_loop
from discreet.torch.banded_noise import BandedSums
from discreet.torch.marks import Marks
from discreet.torch.noise_ahead import NoiseAhead
from discreet.torch.progress import Checkpoint


@pytest.fixture
def ledger(tmp_path):
    with Ledger.open(
        tmp_path / "a.ledger", unit=dp.row(), budget=Budget(epsilon=20, delta="1e-3")
    ) as opened:
        yield opened


def training(ledger, *, rate=1.0, **changed):
    model = nn.Linear(4, 2)
    x = torch.randn(60, 4, generator=torch.Generator().manual_seed(1))
    given = {
        "objective": nn.functional.cross_entropy,
        "data": (x, (x[:, 0] > 0).long()),
        "optimizer": torch.optim.SGD(model.parameters(), lr=rate),
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


def charges(ledger):
    return [entry for entry in ledger.entries() if entry["kind"] == "charge"]


def in_child(work):
    """Return the exit status of work in a forked process: 7 where it is fenced."""
    child = os.fork()
    if not child:
        status = 1
        try:
            work()
            status = 0
        except (RunFenced, EntropyCopied):
            status = 7
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.theorem("marked-steps")
@pytest.mark.parametrize("at", [1, 2, 6])
def test_a_forked_child_takes_no_step_of_its_parent(ledger, tmp_path, at):
    run = training(ledger, folder=tmp_path / "run")
    loop = run.steps()
    for _ in range(at):
        next(loop)
    before = list(ledger.entries())
    assert in_child(lambda: next(loop)) == 7
    assert in_child(loop.close) == 0  # leaving is no error
    assert list(ledger.entries()) == before
    assert [step.number for step in loop] == list(range(at + 1, 7))
    assert run.report.weights


@pytest.mark.parametrize("left", [False, True])
def test_a_fenced_attempt_leaves_the_finished_model_alone(ledger, tmp_path, left):
    loop = training(ledger, folder=tmp_path / "run").steps()
    next(loop)
    report = training(ledger, folder=tmp_path / "run").fit(bar=False)
    if left:
        loop.close()
    else:
        next(loop)
        with pytest.raises(RunFenced):
            next(loop)
    del loop
    gc.collect()
    again = training(ledger, folder=tmp_path / "run").fit(bar=False)
    assert again.weights == report.weights


def test_an_attempt_that_is_overtaken_while_it_saves_replaces_nothing(
    ledger, tmp_path, monkeypatch
):
    first, second = (training(ledger, folder=tmp_path / "run") for _ in range(2))
    original, reports = Checkpoint._write_aside, []

    def overtaken(self, folder):
        if self.step == 2 and not reports:
            reports.append(None)
            reports[0] = second.fit(bar=False)
        return original(self, folder)

    monkeypatch.setattr(Checkpoint, "_write_aside", overtaken)
    with pytest.raises(RunFenced):
        first.fit(bar=False)
    assert [file.name for file in (tmp_path / "run").iterdir()] == ["checkpoint"]
    assert Checkpoint.read(tmp_path / "run", run=first.plan.digest).step == 6
    again = training(ledger, folder=tmp_path / "run").fit(bar=False)
    assert (again.weights, again.charged_again) == (reports[0].weights, 0)


@pytest.mark.parametrize("at", [2, 6])
def test_a_full_disk_keeps_weights_in_memory_and_costs_nothing(ledger, tmp_path, monkeypatch, at):
    run = training(ledger, folder=tmp_path / "run")
    original = Checkpoint._write_aside

    def full(self, folder):
        if self.step == at:
            raise OSError(28, "No space left on device")
        return original(self, folder)

    with monkeypatch.context() as planted:
        planted.setattr(Checkpoint, "_write_aside", full)
        with pytest.raises(BadCheckpoint, match="No space left"):
            run.fit(bar=False)
    weights = run.model.weight.detach().clone()
    loop = run.steps()
    if at == 6:
        assert list(loop) == []
        assert torch.equal(run.model.weight, weights)
    else:
        assert next(loop).number == at + 1
    assert len(charges(ledger)) == 1


@pytest.mark.theorem("marked-steps")
@pytest.mark.parametrize("overtaken", [False, True])
def test_a_stop_that_a_full_ledger_has_not_taken_is_recorded_by_the_next_attempt(
    ledger, tmp_path, monkeypatch, overtaken
):
    given = {"every": 5, "folder": tmp_path / "run"}
    run = training(ledger, **given)
    loop = run.steps()
    for _ in range(2):
        next(loop)

    def full(*_, **__):
        raise LedgerUnavailable(what="full.", why="", do="")

    with monkeypatch.context() as planted:
        planted.setattr(Checkpoint, "_write_aside", lambda *_: full())
        planted.setattr(Ledger, "describe", full)
        with pytest.raises(LedgerUnavailable):
            loop.close()
        with pytest.raises(LedgerUnavailable):
            next(run.steps())
    if overtaken:  # somebody else has paid for steps that may have been lost
        report = training(ledger, **given).fit(bar=False)
        assert (report.taken, report.charged_again) == (6, 5)
        before = len(list(ledger.entries()))
        assert run.fit(bar=False).weights == report.weights
        assert len(list(ledger.entries())) == before
    else:
        report = run.fit(bar=False)
        assert (report.taken, report.charged_again) == (6, 0)
    assert ledger.verify().ok


def test_a_folder_that_cannot_be_used_costs_nothing(ledger, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadCheckpoint, match="no checkpoint can be kept"):
        training(ledger, folder=tmp_path / "file").fit(bar=False)
    folder = tmp_path / "torn"
    folder.mkdir()
    (folder / "checkpoint").write_bytes(b"torn")
    with pytest.raises(BadCheckpoint, match="delete the file"):
        training(ledger, folder=folder).fit(bar=False)
    run = training(ledger, folder=folder)
    Checkpoint(run.plan.digest, 2, b"no state").write(folder)
    with pytest.raises(BadCheckpoint, match="delete the file"):
        run.fit(bar=False)
    Checkpoint(run.plan.digest, 2, training(ledger)._run.progress._written()).write(folder)
    run.model.register_buffer("more", torch.zeros(3))
    with pytest.raises(BadCheckpoint, match="other parts"):
        run.fit(bar=False)
    assert not charges(ledger)


def test_a_flipped_bit_anywhere_in_a_checkpoint_is_found(tmp_path):
    Checkpoint("a" * 64, 7, b"weights").write(tmp_path)
    file = tmp_path / "checkpoint"
    good = file.read_bytes()
    assert Checkpoint.read(tmp_path, run="a" * 64) == Checkpoint("a" * 64, 7, b"weights")
    for place in range(8 * len(good)):
        bad = bytearray(good)
        bad[place // 8] ^= 1 << place % 8
        file.write_bytes(bytes(bad))
        with pytest.raises(BadCheckpoint, match="torn"):
            Checkpoint.read(tmp_path, run="a" * 64)
    for length in range(len(good)):
        file.write_bytes(good[:length])
        with pytest.raises(BadCheckpoint, match="torn"):
            Checkpoint.read(tmp_path, run="a" * 64)


def test_a_state_that_cannot_be_read_back_costs_nothing(ledger, tmp_path):
    with pytest.raises(WrongKind, match="lr=float"):
        training(ledger, rate=np.float64(1), folder=tmp_path / "run").fit(bar=False)
    assert not charges(ledger)
    assert not list((tmp_path).glob("run/*"))


def test_a_noise_process_that_ends_costs_nothing(ledger, tmp_path, monkeypatch):
    run = training(ledger, folder=tmp_path / "run", every=6)
    original, calls = NoiseAhead.take, []

    def take(self):
        calls.append(1)
        if len(calls) == 4:
            raise EntropyUnavailable(what="a.", why="b.", do="c.")
        return original(self)

    monkeypatch.setattr(NoiseAhead, "take", take)
    with pytest.raises(EntropyUnavailable):
        run.fit(bar=False)
    report = training(ledger, folder=tmp_path / "run", every=6).fit(bar=False)
    assert (report.taken, report.charged_again) == (6, 0)
    assert len(calls) == 7


@pytest.mark.theorem("banded-sums")
@pytest.mark.parametrize("place", ["measured", "estimate", "hand over"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_release_that_breaks_off_is_not_remembered_by_the_next(ledger, monkeypatch, place, error):
    """A sum that was kept and taken once more would be in a band twice, with one noise."""
    run = training(ledger, band=2)
    loop = run.steps()
    next(loop)
    owner, name = {
        "measured": (BandedSums, "measured"),
        "estimate": (BandedSums, "estimate"),
        "hand over": (training_loop, "handed_over"),
    }[place]
    original, broken = getattr(owner, name), []

    def breaks_off(*given, **named):
        found = original(*given, **named)
        if not broken:
            broken.append(found)
            raise error
        return found

    monkeypatch.setattr(owner, name, breaks_off)
    with pytest.raises(error):
        next(loop)
    turns, taken = run._run._turns, run.report.taken
    assert taken == (2 if error is KeyboardInterrupt else 1)  # Ctrl-C counts it as taken
    goes_on = run._run._banded.next_step == taken
    assert goes_on <= (place == "hand over" or (place, error) == ("estimate", KeyboardInterrupt))
    report = run.fit(bar=False)
    assert (run._run._turns is turns) is goes_on  # or new parts, and no earlier sums
    lost = 0 if error is KeyboardInterrupt else 2  # one lost, and one since its block began
    assert (report.taken, report.charged_again) == (6, lost)


def test_lost_steps_pay_their_share_of_delta(ledger, tmp_path, monkeypatch):
    run = training(ledger, folder=tmp_path / "run")
    loop = run.steps()
    next(loop)
    monkeypatch.setattr(Marks, "stop", lambda *_: None)
    run._run.progress.save = lambda *_: None
    loop.close()
    asked = []
    original = Ledger.charge

    def charge(self, tree, **given):
        asked.append((tree, given["delta"]))
        return original(self, tree, **given)

    monkeypatch.setattr(Ledger, "charge", charge)
    training(ledger, folder=tmp_path / "run").fit(bar=False)
    plan = run.plan
    assert asked == [(plan.tree, plan.delta), (plan.tree_of(2), plan.delta / 3)]
    assert len(charges(ledger)) == 2
