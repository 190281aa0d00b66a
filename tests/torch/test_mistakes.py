"""Common mistakes with a training run: each is named, with the way out, and nothing is spent."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from discreet.errors import NotPerExample, NotSampled, OutOfRange, WrongKind
from discreet.torch import CorrectedAdam
from tests.torch.small_runs import X, Y, run_of


class Squares(torch.utils.data.Dataset):
    def __getitem__(self, place):
        return torch.zeros(6), place % 2

    def __len__(self):
        return 40


MISTAKES = {
    "wrong number of columns": ({"data": (X[:, :5], Y)}, WrongKind, "made-up rows of 5"),
    "inputs in float64": ({"data": (X.double(), Y)}, WrongKind, r"float64.*X\.float\(\)"),
    "inputs of whole numbers": ({"data": (X.long(), Y)}, WrongKind, "int64"),
    "classes in float32": ({"data": (X, Y.float())}, WrongKind, r"y\.long\(\)"),
    "a loader": (
        {"data": torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, Y))},
        NotSampled,
        r"give data=loader\.dataset",
    ),
    "a dataset of Python": ({"data": Squares()}, NotSampled, r"torch\.stack"),
    "a sparse tensor": ({"data": (X.to_sparse(), Y)}, NotSampled, "give dense tensors"),
    "numbers beside outputs": (
        {"data": (X, X[:, 0]), "objective": functional.mse_loss, "model": nn.Linear(6, 1)},
        NotPerExample,
        r"broadcast.*y\[:, None\]",
    ),
    "no rows at once": ({"micro_batch": 0}, OutOfRange, "micro_batch"),
    "fewer processes than none": ({"processes": -1}, OutOfRange, "processes"),
    "several rows of a row": ({"rows_per_unit": 3}, OutOfRange, "the unit is one row"),
    "lists": ({"data": (X.tolist(), Y.tolist())}, NotSampled, "NumPy arrays"),
    "the address of a ledger": (
        {"ledger": "a.ledger"},
        WrongKind,
        r"must be a Ledger, got str.*Ledger\.open",
    ),
    "no ledger": ({"ledger": None}, WrongKind, "must be a Ledger, got NoneType"),
    "the name of an objective": ({"objective": "cross_entropy"}, WrongKind, "a str"),
    "the class of an objective": (
        {"objective": nn.CrossEntropyLoss},
        WrongKind,
        r"the class CrossEntropyLoss.*nn\.CrossEntropyLoss\(\)",
    ),
    "names of metrics": ({"metrics": ("objective", "clipped")}, OutOfRange, "not a mapping"),
    "a delta of one": ({"delta": 1}, OutOfRange, "drawn at all"),
    "a delta that needs no noise": (
        {"delta": "0.001", "population": 10**5, "batch": 20, "sigma": None, "epsilon": 1},
        OutOfRange,
        "drawn at all",
    ),
    "all are drawn, with a delta of one": (
        {"delta": 1, "batch": 40, "sigma": None, "epsilon": 1},
        OutOfRange,
        "drawn at all",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_named_before_anything_is_spent(ledger, name):
    changed, error, words = MISTAKES[name]
    given = {"ledger": ledger} | changed
    with pytest.raises(error) as refused:
        run_of(given.pop("ledger"), **given)
    refused.match(f"(?s){words}")
    assert [entry["kind"] for entry in ledger.entries()] == ["open"]


def test_nothing_is_trained_where_nothing_is_recorded(ledger):
    with torch.inference_mode(), pytest.raises(WrongKind, match="inference_mode"):
        run_of(ledger)
    run = run_of(ledger)
    with torch.inference_mode(), pytest.raises(WrongKind, match="inference_mode"):
        run.fit(bar=False)
    assert [entry["kind"] for entry in ledger.entries()] == ["open"]
    with torch.no_grad():
        assert run.fit(bar=False).taken == 3


def test_data_may_stay_in_a_file(ledger, tmp_path):
    model = nn.Linear(6, 2)
    for name, values in (("x", X), ("y", Y)):
        np.save(tmp_path / f"{name}.npy", values.numpy())
    mapped = tuple(np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "xy")
    run = run_of(ledger, model, data=mapped)
    held = run._run.sums.data.inputs.data_ptr()
    assert held == mapped[0].ctypes.data  # no copy of it was made
    same = run_of(ledger, model)._run.sums.total(np.arange(40)[:, None])
    assert torch.equal(run._run.sums.total(np.arange(40)[:, None]), same)


def test_an_optimizer_that_needs_a_closure_is_refused(ledger):
    """It would compute the objective of the rows again, at prices nobody has paid."""
    model = nn.Linear(6, 2)
    with pytest.raises(WrongKind, match="LBFGS needs a closure"):
        run_of(ledger, model, optimizer=torch.optim.LBFGS(model.parameters()))


def test_parameters_that_nobody_updates_are_named_before_the_charge(ledger):
    """Trap: modules that silently do not learn, and take their part of every contribution."""
    model = nn.Sequential(nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 2))
    last = torch.optim.SGD(model[2].parameters(), lr=1.0)
    run = run_of(ledger, model, optimizer=last)
    for begin in (lambda: run.fit(bar=False), lambda: next(iter(run))):
        with pytest.raises(WrongKind, match=r"'0\.weight' is trainable.*does not update"):
            begin()
    assert [entry["kind"] for entry in ledger.entries()] == ["open"]
    first = torch.optim.SGD(model[0].parameters(), lr=1.0)
    before = [p.detach().clone() for p in model.parameters()]
    for _step in run.gradients():  # the way out: several optimizers in a loop of one's own
        first.step()
        last.step()
    assert all((a != b).all() for a, b in zip(before, model.parameters(), strict=True))
    model[0].requires_grad_(requires_grad=False)  # the other way out
    frozen = run_of(ledger, model, optimizer=last, name="frozen")
    assert frozen.fit(bar=False).taken == 3


def test_an_adam_that_knows_no_noise_is_refused_before_the_charge(ledger):
    model = nn.Linear(6, 2)
    adam = CorrectedAdam(model.parameters(), lr=0.1)
    run = run_of(ledger, model, optimizer=adam)
    with pytest.raises(WrongKind, match=r"optimizer\.expect\(run\.plan\)"):
        run.fit(bar=False)
    with pytest.raises(WrongKind, match="not the plan of a run"):
        adam.expect(run)
    assert [entry["kind"] for entry in ledger.entries()] == ["open"]
    adam.expect(run.plan)
    assert run.fit(bar=False).taken == 3


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.cells, self.last = kind(3, 4, batch_first=True), nn.Linear(4, 2)

    def forward(self, x):
        return self.last(self.cells(x.view(len(x), -1, 3))[0][:, -1])


@pytest.mark.parametrize("kind", [nn.GRU, nn.RNN, nn.LSTM])
def test_recurrent_layers_contribute_gradients_of_single_rows(ledger, kind):
    torch.manual_seed(0)
    model = Recurrent(kind)
    run = run_of(ledger, model, batch=40, steps=1, sigma="0.1", micro_batch=16)
    each = "for each example" if kind is nn.LSTM else "after another"
    assert f"one gradient {each}" in run.plan.layers[0]
    wanted = torch.zeros(sum(p.numel() for p in model.parameters()), dtype=torch.float64)
    for x, y in zip(X, Y, strict=True):
        objective = functional.cross_entropy(model(x[None]), y[None])
        slopes = torch.autograd.grad(objective, list(model.parameters()))
        slope = torch.cat([g.flatten() for g in slopes]).double()
        wanted += slope * min(1.0, 1 / float(slope.norm()))
    found = run._run.sums.total(torch.arange(40).numpy()[:, None])
    assert torch.allclose(found[: len(wanted)], wanted, atol=1e-5)
    assert run.fit(bar=False).taken == 1
