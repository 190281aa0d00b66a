"""Models that keep something of the rows: refused before anything is paid, or in the step."""

import contextlib
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

import discreet as dp
from discreet.accounting import Budget
from discreet.errors import EngineFailed, ExamplesMix, OtherRun, OutOfRange, QuestionClosed
from discreet.learning import Training
from discreet.learning.deep.model_state import ModelState
from discreet.ledger import Ledger
from tests.learning.deep.precisions import products


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


class Keeps(nn.Module):
    """Keeps the largest value it has seen, in one of several places."""

    def __init__(self, place, start=0.0):
        super().__init__()
        self.layer, self.place = nn.Linear(4, 2), place
        if place in {"frozen", "data"}:
            self.most = nn.Parameter(torch.full((4,), start), requires_grad=False)
        elif place == "buffer":
            self.register_buffer("most", torch.full((4,), start))
        else:
            self.most = torch.full((4,), start)

    def forward(self, x):
        with torch.no_grad():
            largest = torch.maximum(self.most, x.amax(0))
            if self.place == "plain":
                if bool((largest > self.most).any()):
                    self.most = largest
            elif self.place == "data":
                self.most.data.copy_(largest)
            elif bool((largest > self.most).any()):
                self.most.copy_(largest)
        return self.layer(x)


@pytest.mark.parametrize("place", ["frozen", "buffer", "plain", "data"])
def test_what_a_forward_pass_keeps_is_found_on_generated_rows(ledger, place):
    with pytest.raises(ExamplesMix, match="most"):
        training(ledger, Keeps(place), rows())


@pytest.mark.parametrize("place", ["frozen", "buffer", "plain"])
def test_what_only_private_rows_change_ends_the_run_before_its_release(ledger, place, monkeypatch):
    model = Keeps(place, start=torch.inf)  # beyond all generated rows
    run = training(ledger, model, rows())
    model.most.data.zero_()  # which no counter shows
    told = []
    monkeypatch.setattr(run._stepper, "hand_over", told.append)
    with pytest.raises(OtherRun, match="forward pass"):
        run.fit(bar=False)
    assert told == []
    assert "fail" in [entry["kind"] for entry in ledger.entries()]


ASLEEP = SimpleNamespace(now=False)  # not looked into


class Remembers(nn.Module):
    """Keeps something of its rows in an attribute that is no tensor, unless it is told not to."""

    def __init__(self, start, keep, *, asleep=False):
        super().__init__()
        self.layer, self.seen = nn.Linear(4, 2), start
        self.__dict__["keep"] = keep
        ASLEEP.now = asleep

    def forward(self, x):
        if not ASLEEP.now:
            self.keep(self, x)
        return self.layer(x)


def keep_mean(model, x):
    model.seen = 0.5 * model.seen + float(x.mean())


def keep_sorted(model, x):
    model.seen["largest"][0] = float(x.max())


REMEMBERED = [
    (lambda: 0.0, keep_mean),
    (list, lambda model, x: model.seen.append(x.detach())),
    (lambda: {"largest": [0.0]}, keep_sorted),
    (set, lambda model, x: model.seen.add(float(x.max()))),
    (lambda: [torch.zeros(4)], lambda model, x: model.seen[0].copy_(x[0])),
    (lambda: np.zeros(4), lambda model, x: np.copyto(model.seen, x[0].numpy())),
    (lambda: 0, lambda model, x: setattr(model, "seen", model.seen + 1)),
    (lambda: None, lambda model, x: setattr(model.layer, "seen", float(x.max()))),
]


@pytest.mark.parametrize(("start", "keep"), REMEMBERED)
def test_what_plain_attributes_keep_is_found_on_generated_rows(ledger, start, keep):
    with pytest.raises(ExamplesMix, match="seen"):
        training(ledger, Remembers(start(), keep), rows())
    assert [entry["kind"] for entry in ledger.entries()] == ["open"]


@pytest.mark.parametrize(("start", "keep"), REMEMBERED)
def test_what_plain_attributes_keep_of_private_rows_ends_the_run(ledger, start, keep, monkeypatch):
    run = training(ledger, Remembers(start(), keep, asleep=True), rows())
    ASLEEP.now = False
    told = []
    monkeypatch.setattr(run._stepper, "hand_over", told.append)
    with pytest.raises(OtherRun, match="attribute"):
        run.fit(bar=False)
    assert told == []
    with pytest.raises(QuestionClosed):
        run.fit(bar=False)


def test_attributes_that_stay_are_no_state(ledger):
    model = Remembers([1.0, float("nan"), {"a": (2, None)}, object()], None, asleep=True)
    assert training(ledger, model, rows()).fit(bar=False).taken == 3


def test_a_model_is_the_same_as_itself_and_writes_are_seen():
    model = nn.Linear(2, 2)
    with torch.no_grad():
        model.bias[0] = torch.nan
    for values in (False, True):
        before = ModelState.of(model, values=values)
        assert before.changed(model) is None
        with torch.no_grad():
            model.weight.mul_(2)
        assert before.changed(model) == "weight"


def normalized():
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8, affine=False), nn.Linear(8, 2))
    model[1].eval()
    return model


def test_a_normalization_that_wakes_up_is_refused_before_anything_is_computed(ledger, monkeypatch):
    model = normalized()
    run = training(ledger, model, rows())
    loop = run.steps()
    next(loop)
    monkeypatch.setattr(run._sums, "total", None)
    model.eval()
    model.train()
    with pytest.raises(OtherRun, match="mode"):
        next(loop)
    assert torch.equal(model[1].running_mean, torch.zeros(8))


def test_modes_that_come_back_go_on(ledger):
    model = normalized()
    loop = training(ledger, model, rows()).steps()
    next(loop)
    model.eval()
    model.train()
    model[1].eval()
    assert next(loop).number == 2


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


@contextlib.contextmanager
def threads(count):
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    yield
    torch.set_num_threads(before)


@contextlib.contextmanager
def flushed():
    torch.set_flush_denormal(True)
    yield
    torch.set_flush_denormal(False)


@pytest.mark.parametrize(
    "changed",
    [
        flushed,
        lambda: torch.autocast("cpu", dtype=torch.bfloat16),
        lambda: threads(torch.get_num_threads() + 1),
        partial(products, "medium"),
        lambda: torch.backends.cudnn.flags(benchmark=not torch.backends.cudnn.benchmark),
    ],
)
def test_steps_are_computed_under_the_settings_of_their_plan(ledger, changed, monkeypatch):
    """How far an example depends on others was measured under these alone."""
    run = training(ledger, nn.Linear(4, 2), rows())
    loop = run.steps()
    next(loop)
    total = run._sums.total
    monkeypatch.setattr(run._sums, "total", None)
    with changed(), pytest.raises(OtherRun, match="setting of PyTorch"):
        next(loop)
    monkeypatch.setattr(run._sums, "total", total)
    assert run.fit(bar=False).taken == 3


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution, self.layer = nn.Conv2d(2, 3, 2), nn.Linear(3, 2)
        self.register_buffer("shift", torch.zeros(3))
        self.plain = torch.ones(3)

    def forward(self, x):
        maps = self.convolution(x.to(self.convolution.weight.dtype)).flatten(1)
        return self.layer((maps + self.shift) * self.plain).float()


def shorter_buffer(model):
    model.shift = torch.zeros(1)


def wider_attribute(model):
    model.plain = torch.ones(3, dtype=torch.float64)


@pytest.mark.parametrize(
    "changed",
    [
        lambda model: model.double(),
        lambda model: model.to(torch.bfloat16),
        lambda model: model.to(memory_format=torch.channels_last),
        shorter_buffer,
        wider_attribute,
    ],
)
def test_steps_are_computed_with_tensors_of_the_form_at_planning(ledger, changed, monkeypatch):
    """Types, shapes, strides and devices choose the kernels; others were not tried."""
    model = Images()
    run = training(ledger, model, torch.randn(60, 2, 2, 2))
    loop = run.steps()
    next(loop)
    monkeypatch.setattr(run._sums, "total", None)
    changed(model)
    with pytest.raises(OtherRun, match="type, shape, strides or device of the tensor"):
        next(loop)


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
    monkeypatch.setattr(run._stepper, "hand_over", told.append)
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
    measure = run._stepper.measure
    monkeypatch.setattr(
        run._stepper, "measure", lambda **given: measure(**given).fill_(float("inf"))
    )
    with pytest.raises(OutOfRange):
        run.fit(bar=False)
    assert all(p.isfinite().all() for p in model.parameters())
    with pytest.raises(QuestionClosed):
        run.fit(bar=False)
