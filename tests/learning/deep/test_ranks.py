"""Several real processes that compute shares of one sum, and what happens when one of them ends."""

import copy
import json
import os
import subprocess
import sys
from datetime import timedelta

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch import nn

import discreet as dp
from discreet.accounting import Budget
from discreet.errors import EngineFailed, EngineStopped, NotCharged, WrongKind
from discreet.learning import Training
from discreet.learning.deep.runs.ranks import Ranks
from discreet.learning.deep.runs.run_loop import RunLoop
from discreet.ledger import Ledger

OTHER = """
import os, sys
from datetime import timedelta
import torch
import torch.distributed as dist
from torch import nn
from discreet.learning.deep.runs.served_rank import serve_rank

store, kind, threads = sys.argv[1:]
torch.set_num_threads(int(threads) + (kind == "threads"))
dist.init_process_group("gloo", init_method=store, rank=1, world_size=2,
                        timeout=timedelta(seconds=300))

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Linear(4, 4).requires_grad_(False)  # other values than rank 0's
        self.register_buffer("shift", torch.randn(4))
        self.layer = nn.Linear(4, 3 if kind == "another" else 2)
        self.drop = nn.Dropout(0.5 if kind == "drops" else 0.0)

    def forward(self, x):
        if kind == "fails" and bool((x == 7).any()):
            raise ValueError("a row with a seven")
        if kind == "dies" and bool((x == 7).any()):
            os._exit(9)
        given = torch.tanh(self.base(x) + self.shift)
        if kind == "code":
            given = given * (1 + 1e-3)
        if kind == "rounds":
            given = given * (1 + 2.0**-20)
        if kind == "place" and len(x) == 5:  # neither the first, the middle nor the last one
            given = given * torch.tensor([1, 1, 1, 1.01, 1])[:, None]
        return self.layer(self.drop(given))

class Behind(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.layer = nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x):
        given = torch.tanh(self.hidden(x))
        return self.layer(given + 1e-2 * (given - given.detach()))  # another gradient alone

def smooth(outputs, targets):
    return nn.functional.cross_entropy(outputs, targets, label_smoothing=0.1)

objective = smooth if kind == "objective" else nn.functional.cross_entropy
network = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 16, 3, padding=1),
                        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 2))
made = {"images": network, "behind": Behind()}.get(kind) or Model()
served = serve_rank(made, objective=objective)
print(served)
dist.destroy_process_group()
"""

FIRST = """
import json, os, sys
from datetime import timedelta
import torch
import torch.distributed as dist
from torch import nn
import discreet as dp
from discreet.accounting import Budget
from discreet.learning import Ranks, Training
from discreet.ledger import Ledger

torch.set_num_threads(1)
store, folder, last = sys.argv[1:]
dist.init_process_group("gloo", init_method=store, rank=0, world_size=2,
                        timeout=timedelta(seconds=300))

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Linear(4, 4).requires_grad_(False)
        self.register_buffer("shift", torch.randn(4))
        self.layer = nn.Linear(4, 2)
        self.drop = nn.Dropout(0.0)

    def forward(self, x):
        return self.layer(self.drop(torch.tanh(self.base(x) + self.shift)))

torch.manual_seed(0)  # who goes on has the same frozen values
x = torch.randn(60, 4)
model, ranks = Model(), Ranks()
with Ledger.open(folder + "/a.ledger", unit=dp.row(),
                 budget=Budget(epsilon=200, delta="1e-3")) as ledger:
    run = Training(model, objective=nn.functional.cross_entropy, data=(x, (x[:, 0] > 0).long()),
        optimizer=torch.optim.SGD(model.parameters(), lr=1.0), ledger=ledger, unit=dp.row(),
        population=60, batch=40, steps=6, every=2, sigma=4, delta="1e-5", processes=0,
        micro_batch=5, folder=folder + "/run", ranks=ranks)
    for step in run:
        if step.number == int(last):
            os._exit(9)  # a kill: no checkpoint, no mark, no message to the others
    print(json.dumps([run.report.taken, run.report.charged_again, ledger.verify().ok]))
ranks.close()
"""


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Linear(4, 4).requires_grad_(False)
        self.register_buffer("shift", torch.randn(4))
        self.layer = nn.Linear(4, 2)
        self.drop = nn.Dropout(0.0)

    def forward(self, x):
        return self.layer(self.drop(torch.tanh(self.base(x) + self.shift)))


@pytest.fixture
def ledger(tmp_path):
    with Ledger.open(
        tmp_path / "a.ledger", unit=dp.row(), budget=Budget(epsilon=200, delta="1e-3")
    ) as opened:
        yield opened


@pytest.fixture
def group(tmp_path, request):
    """Yield the ranks of two processes, one of which is this one, and the other process."""
    store = (tmp_path / "store").as_uri()
    other = subprocess.Popen(
        [sys.executable, "-c", OTHER, store, request.param, str(torch.get_num_threads())],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    dist.init_process_group(
        "gloo",
        init_method=store,
        rank=0,
        world_size=2,
        timeout=timedelta(seconds=300),
    )
    try:
        yield Ranks(), other
    finally:
        dist.destroy_process_group()
        other.kill()
        other.communicate()


def rows(count=60, *, sevens=False):
    x = torch.randn(count, 4, generator=torch.Generator().manual_seed(1))
    if sevens:
        x[count // 2 :, 1] = 7
    return x, (x[:, 0] > 0).long()


def training(ledger, **changed):
    torch.manual_seed(0)
    model = changed.pop("model", None) or Model()
    given = {
        "objective": nn.functional.cross_entropy,
        "data": rows(),
        "optimizer": torch.optim.SGD(model.parameters(), lr=1.0),
        "ledger": ledger,
        "unit": ledger.unit,
        "population": 60,
        "batch": 40,
        "steps": 4,
        "sigma": 4,
        "delta": "1e-5",
        "processes": 0,
        "micro_batch": 5,
        "clipping": "adaptive",
    }
    return Training(model, **(given | changed))


def drawn_noise(monkeypatch):
    """Record every array of noise that is used."""
    seen = []
    original = RunLoop.release

    def step(self, total, noise):
        seen.append(noise.numpy().copy())
        original(self, total, noise)

    monkeypatch.setattr(RunLoop, "release", step)
    return seen


@pytest.mark.theorem("floored-shares")
@pytest.mark.parametrize("group", ["same"], indirect=True)
def test_two_processes_compute_the_sum_of_one(ledger, group, monkeypatch):
    ranks, other = group
    run = training(ledger, ranks=ranks)
    alone = training(ledger, name="alone")
    one, everyone = run.plan.one, np.arange(31)[:, None]
    assert one.floors == 2
    step = float(one.grid.step)
    whole = ranks.total(everyone, factor=0.5)
    cells = torch.round(whole / step)
    assert torch.equal(cells * step, whole)  # integers, from two floors
    floats = alone._stepper.sums.total(everyone, factor=0.5)
    assert float((whole - floats).abs().max()) <= 2 * step + 1e-9
    for gone in (0, 15, 30):  # one unit less moves others into another share
        rest = ranks.total(np.delete(everyone, gone, axis=0), factor=0.5)
        moved = torch.round(rest / step) - cells
        assert sum(int(v) ** 2 for v in moved.tolist()) <= one.squared
    with torch.no_grad():  # frozen, written to and sent again, with the same values
        run._stepper.tried.model.shift.mul_(1)
    again = ranks.total(everyone, factor=0.5)
    assert float((again - floats).abs().max()) <= 2 * step + 1e-9
    assert float(ranks.total(everyone[:0]).abs().max()) == 0
    noises = drawn_noise(monkeypatch)
    assert run.fit(bar=False).taken == 4
    assert len(noises) == 4  # drawn once for each step, here
    ranks.close()
    assert int(other.communicate(timeout=60)[0]) == 10


@pytest.mark.theorem("floored-shares")
@pytest.mark.parametrize("group", ["rounds"], indirect=True)
def test_units_of_several_processes_have_seats(ledger, group, monkeypatch):
    """Processes may round differently: whoever sits in a share stays in it, even one at a time."""
    ranks = group[0]
    shares = []
    monkeypatch.setattr(Ranks, "total", lambda _self, rows, **_given: shares.append(rows))
    for micro in (5, 1):
        run = training(ledger, ranks=ranks, micro_batch=micro, batch=20, name=f"by {micro}")
        assert run.plan.seats >= run.plan.one.units
        with pytest.raises(NotCharged):  # there is no sum, and no charge to close
            run._stepper.measure()
        rows = shares[-1].ravel()
        assert len(rows) == run.plan.seats
        taken = np.flatnonzero(rows >= 0)
        assert (np.diff(taken) > 1).any()  # and not the first ones: a chance below 1e-6
        assert (np.diff(rows[taken]) < 0).any()
    ranks.close()


@pytest.mark.parametrize("group", ["behind"], indirect=True)
def test_other_code_behind_a_layer_of_zeros_is_found(ledger, group):
    class Behind(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden, self.layer = nn.Linear(4, 4), nn.Linear(4, 2)
            nn.init.zeros_(self.layer.weight)

        def forward(self, x):
            return self.layer(torch.tanh(self.hidden(x)))

    with pytest.raises(WrongKind, match="finds other contributions"):
        training(ledger, model=Behind(), ranks=group[0])


@pytest.mark.parametrize("group", ["threads"], indirect=True)
def test_a_process_with_other_settings_is_refused(ledger, group):
    with pytest.raises(WrongKind, match="another setting of PyTorch: get_num_threads"):
        training(ledger, ranks=group[0])


@pytest.mark.parametrize("group", ["another", "drops", "code", "objective", "place"], indirect=True)
def test_a_process_with_another_model_is_refused_before_anything_is_spent(ledger, group):
    with pytest.raises(WrongKind, match="another process"):
        training(ledger, ranks=group[0])
    assert [entry["kind"] for entry in ledger.entries()] == ["open"]


@pytest.mark.parametrize("group", ["fails"], indirect=True)
def test_a_share_that_fails_closes_the_run_without_a_word(ledger, group):
    run = training(ledger, data=rows(sevens=True), ranks=group[0])
    with pytest.raises(EngineFailed) as failed:
        run.fit(bar=False)
    assert "seven" not in str(failed.value)
    assert failed.value.__cause__ is None
    assert "fail" in [entry["kind"] for entry in ledger.entries()]


@pytest.mark.parametrize("group", ["dies"], indirect=True)
def test_a_process_that_dies_ends_the_run_and_its_step_is_charged_again(
    ledger, group, tmp_path, monkeypatch
):
    noises = drawn_noise(monkeypatch)
    run = training(ledger, data=rows(sevens=True), ranks=group[0], folder=tmp_path / "r")
    with pytest.raises(EngineStopped):
        run.fit(bar=False)
    assert run.report.taken == 0
    marks = [entry["content"] for entry in ledger.entries() if entry["kind"] == "describe"]
    assert (marks[-1]["drawn"], marks[-1]["ended"]) == (1, True)
    run._stepper.ranks = None  # the plan has paid for two floors; one is fewer
    assert run.fit(bar=False).taken == 4
    assert run.report.charged_again == 1  # nothing was released, but a row has ended the process
    assert len({noise.tobytes() for noise in noises}) == len(noises)
    assert ledger.verify().ok


def hostile_images(model, count=40):
    """Return huge images with two outputs that hardly differ; channels lie last in memory."""
    wide = copy.deepcopy(model).double()
    start = torch.zeros(1, 3, 8, 8, dtype=torch.float64, requires_grad=True)
    between = wide(start)[0]
    (slope,) = torch.autograd.grad(between[0] - between[1], start)
    x = torch.randn(count, 3, 8, 8, dtype=torch.float64) * 1e9
    with torch.no_grad():
        for _ in range(2):
            apart = wide(x)
            share = (apart[:, 0] - apart[:, 1]) / slope.square().sum()
            x = (x - share.view(-1, 1, 1, 1) * slope).float().double()
    return x.float().to(memory_format=torch.channels_last)


@pytest.mark.theorem("floored-shares")
@pytest.mark.parametrize("group", ["images"], indirect=True)
def test_a_unit_contributes_the_same_in_every_process_however_its_rows_lie(ledger, group):
    """Rows are sent one after another; read from the data, they had the strides of the data."""
    torch.manual_seed(1)
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.Conv2d(16, 16, 3, padding=1),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(16, 2),
    )
    x = hostile_images(model)
    with torch.no_grad():
        other = model(x.contiguous())
        assert not torch.equal(model(x), other)  # else nothing is shown
    ranks = group[0]
    training(ledger, model=model, data=(x, torch.arange(40) % 2), ranks=ranks, micro_batch=1)
    for unit in range(0, 40, 2):  # one unit for each process, and then the other way around
        pair = np.array([[unit], [unit + 1]])
        assert torch.equal(ranks.total(pair), ranks.total(pair[::-1].copy()))
    ranks.close()


def test_a_killed_rank_0_takes_the_others_along_and_a_new_group_goes_on(tmp_path):
    """Steps that were lost are charged again, as for one process."""
    for last in ("3", "0"):
        store = (tmp_path / f"store{last}").as_uri()
        started = [
            subprocess.Popen(
                [sys.executable, "-c", program, store, *words],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
            for program, words in ((FIRST, (str(tmp_path), last)), (OTHER, ("same", "1")))
        ]
        told = [process.communicate(timeout=600) for process in started]
        codes = [process.returncode for process in started]
        if last == "3":
            assert codes[0] == 9
            assert codes[1] != 0  # it has ended by itself
        else:
            assert codes == [0, 0], told
            assert json.loads(told[0][0]) == [6, 2, True]


def test_ranks_need_a_group():
    with pytest.raises(WrongKind, match="first process"):
        Ranks()
