"""Several real processes that compute shares of one sum, and what happens when one of them ends."""

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
from discreet.errors import EngineFailed, EngineStopped, WrongKind
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

torch.set_num_threads(1)
store, kind = sys.argv[1:]
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
        return self.layer(self.drop(given))

def smooth(outputs, targets):
    return nn.functional.cross_entropy(outputs, targets, label_smoothing=0.1)

objective = smooth if kind == "objective" else nn.functional.cross_entropy
served = serve_rank(Model(), objective=objective)
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
        [sys.executable, "-c", OTHER, store, request.param],
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
    with torch.no_grad():  # frozen, and changed between steps
        run._stepper.tried.model.shift.fill_(0.25)
        alone._stepper.tried.model.shift.fill_(0.25)
    moved = ranks.total(everyone, factor=0.5)
    floats = alone._stepper.sums.total(everyone, factor=0.5)
    assert float((moved - floats).abs().max()) <= 2 * step + 1e-9
    assert float(ranks.total(everyone[:0]).abs().max()) == 0
    noises = drawn_noise(monkeypatch)
    assert run.fit(bar=False).taken == 4
    assert len(noises) == 4  # drawn once for each step, here
    ranks.close()
    assert int(other.communicate(timeout=60)[0]) == 10


@pytest.mark.parametrize("group", ["another", "drops", "code", "objective"], indirect=True)
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
def test_a_process_that_dies_ends_the_run_in_order_and_alone_it_goes_on(
    ledger, group, tmp_path, monkeypatch
):
    noises = drawn_noise(monkeypatch)
    run = training(ledger, data=rows(sevens=True), ranks=group[0], folder=tmp_path / "r")
    with pytest.raises(EngineStopped):
        run.fit(bar=False)
    assert run.report.taken == 0
    run._stepper.ranks = None  # the plan has paid for two floors; one is fewer
    assert run.fit(bar=False).taken == 4
    assert run.report.charged_again == 0  # nothing was released of the step that was lost
    assert len({noise.tobytes() for noise in noises}) == len(noises)
    assert ledger.verify().ok


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
            for program, words in ((FIRST, (str(tmp_path), last)), (OTHER, ("same",)))
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
