"""Models that keep something of the rows: refused before anything is paid, or in the step."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

import discreet as dp
from discreet.accounting import Budget
from discreet.errors import EngineFailed, ExamplesMix, OtherRun, OutOfRange, QuestionClosed
from discreet.ledger import Ledger
from discreet.torch import Training
from discreet.torch import loop as training_loop


@pytest.fixture
def ledger(tmp_path):
    with Ledger.open(
        tmp_path / "a.ledger", unit=dp.row(), budget=Budget(epsilon=20, delta="1e-3")
    ) as opened:
        yield opened


def training(ledger, model, x, y=None, **changed):
    given = {
        "objective": nn.functional.cross_entropy,
        "data": (x, torch.zeros(len(x), dtype=torch.long) if y is None else y),
        "optimizer": torch.optim.SGD(model.parameters(), lr=0.1),
        "ledger": ledger,
        "unit": ledger.unit,
        "population": 60,
        "batch": 60,
        "steps": 3,
        "sigma": 10,
        "delta": "1e-5",
        "processes": 0,
    }
    return Training(model, **(given | changed))


def rows():
    x = torch.randn(60, 4, generator=torch.Generator().manual_seed(1))
    x[3] = 123.456
    return x


class Tokens(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.table, self.last = table.requires_grad_(requires_grad=False), nn.Linear(8, 2)

    def forward(self, x):
        found = self.table(x)
        return self.last(found if found.dim() == 2 else found.mean(1))


@pytest.mark.parametrize("kind", [nn.Embedding, nn.EmbeddingBag])
def test_embeddings_that_are_scaled_in_place_are_refused(ledger, kind):
    with pytest.raises(ExamplesMix, match="max_norm"):
        training(ledger, Tokens(kind(50, 8, max_norm=1.0)), torch.randint(0, 40, (60, 3)))


def normalized():
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8, affine=False), nn.Linear(8, 2))
    model[1].eval()
    return model


def test_a_normalization_that_wakes_up_is_refused_before_anything_is_computed(ledger, monkeypatch):
    model = normalized()
    run = training(ledger, model, rows())
    loop = run.steps()
    next(loop)
    monkeypatch.setattr(run._run.sums, "total", None)
    model.eval()
    model.train()
    with pytest.raises(OtherRun, match="mode"):
        next(loop)
    assert torch.equal(model[1].running_mean, torch.zeros(8))


def test_a_failure_in_a_step_quotes_nothing_and_closes_the_run(ledger):
    tokens = torch.zeros(60, 3, dtype=torch.long)
    tokens[0, 0] = 987654
    run = training(ledger, Tokens(nn.Embedding(50, 8)), tokens)
    with pytest.raises(EngineFailed) as caught:
        run.fit(bar=False)
    assert "987654" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None
    with pytest.raises(QuestionClosed):
        run.fit(bar=False)


class Repeated(nn.Module):
    """Shows each row to its layer at some positions."""

    def __init__(self):
        super().__init__()
        self.layer, self.how = nn.Linear(4, 2), SimpleNamespace(times=2)  # not looked into

    def forward(self, x):
        return self.layer(x[:, None, :].expand(-1, self.how.times, -1)).mean(1)


@pytest.mark.parametrize(("times", "fits"), [(1, True), (2, True), (3, False), (500, False)])
def test_rounding_is_priced_for_all_positions_there_are(ledger, times, fits):
    model = Repeated()
    run = training(ledger, model, rows(), micro_batch=8)
    model.how.times = times
    if fits:
        assert run.fit(bar=False).taken == 3
        return
    with pytest.raises(OtherRun, match="positions"):
        run.fit(bar=False)


class Scheduled(nn.Module):
    """Uses its layer once at planning, and later as an object says that nobody looks into."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2, bias=False)
        self.how = SimpleNamespace(loops=1, halves=False)

    def forward(self, x):
        if self.how.halves:  # each row of the layer is two rows of the data
            pairs = self.layer(x.reshape(len(x) // 2, 2, 4))
            return pairs.reshape(len(x), 2)
        return sum(self.layer(x) for _ in range(self.how.loops))


@pytest.mark.parametrize("changed", [{"loops": 2}, {"loops": 16}, {"halves": True}])
def test_a_layer_that_is_used_otherwise_in_a_step_closes_the_run(ledger, changed, monkeypatch):
    """Norms of several calls would be added as if their contributions were orthogonal."""
    model = Scheduled()
    run = training(ledger, model, rows(), micro_batch=8)
    assert "recorded" in run.plan.layers[0]
    vars(model.how).update(changed)
    told = []
    monkeypatch.setattr(training_loop, "handed_over", lambda *given: told.append(given))
    with pytest.raises(OtherRun, match="used a layer"):
        run.fit(bar=False)
    assert told == []
    assert "fail" in [entry["kind"] for entry in ledger.entries()]
    with pytest.raises(QuestionClosed):
        run.fit(bar=False)


def test_a_total_that_cannot_be_one_closes_the_run(ledger, monkeypatch):
    """It would be taken once more by the next call, and paid for once."""
    model = nn.Linear(4, 2)
    run = training(ledger, model, rows())
    total = run._run.sums.total
    monkeypatch.setattr(
        run._run.sums, "total", lambda *given, **named: total(*given, **named).fill_(float("inf"))
    )
    with pytest.raises(OutOfRange):
        run.fit(bar=False)
    assert all(p.isfinite().all() for p in model.parameters())
    with pytest.raises(QuestionClosed):
        run.fit(bar=False)
