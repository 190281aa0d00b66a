"""Runs name themselves, and take the names of other libraries."""

import pytest
import torch
from torch import nn

import discreet as dp
from discreet.accounting import Budget
from discreet.errors import OtherRun, WrongKind
from discreet.ledger import Ledger
from discreet.torch import Training

X = torch.randn(60, 4, generator=torch.Generator().manual_seed(1))
Y = (X[:, 0] > 0).long()


@pytest.fixture
def ledger(tmp_path):
    budget = Budget(epsilon=200, delta="1e-3")
    with Ledger.open(tmp_path / "a.ledger", unit=dp.row(), budget=budget) as opened:
        yield opened


def training(ledger, **changed):
    model = nn.Linear(4, 2)
    given = {
        "objective": nn.functional.cross_entropy,
        "data": (X, Y),
        "optimizer": torch.optim.SGD(model.parameters(), lr=1.0),
        "ledger": ledger,
        "unit": dp.row(),
        "population": 60,
        "batch": 20,
        "delta": "1e-5",
        "processes": 0,
    }
    if not {"sigma", "noise_multiplier"} & set(changed):
        given["sigma"] = 3
    if not {"steps", "epochs"} & set(changed):
        given["steps"] = 3
    return Training(model, **(given | changed))


def charged(ledger):
    return sum(entry["kind"] == "charge" for entry in ledger.entries())


def test_a_second_run_of_the_same_plan_names_itself_and_is_paid_for(ledger):
    runs = [training(ledger) for _ in range(1)]
    runs[0].fit(bar=False)
    runs.append(training(ledger))
    runs[1].fit(bar=False)
    assert [run.plan.name for run in runs] == ["training", "training 2"]
    assert charged(ledger) == 2
    assert runs[0].report.weights != runs[1].report.weights
    assert not torch.equal(runs[0].model.weight, runs[1].model.weight)


def test_a_name_that_was_given_stays_and_is_drawn_once(ledger):
    training(ledger, name="mine").fit(bar=False)
    with pytest.raises(OtherRun, match="'mine' has ended"):
        training(ledger, name="mine").fit(bar=False)
    assert charged(ledger) == 1


def test_a_folder_goes_on_with_its_own_run(ledger, tmp_path):
    first = training(ledger, folder=tmp_path / "one").fit(bar=False)
    second = training(ledger, folder=tmp_path / "two").fit(bar=False)
    assert charged(ledger) == 2
    for folder, report in (("one", first), ("two", second)):
        again = training(ledger, folder=tmp_path / folder)
        assert again.fit(bar=False).weights == report.weights
    assert charged(ledger) == 2


def test_a_run_that_was_left_goes_on_under_its_name(ledger):
    run = training(ledger)
    next(iter(run))
    assert training(ledger).plan.name == "training"


def test_names_of_opacus_are_taken(ledger):
    theirs = training(
        ledger,
        max_grad_norm=2,
        noise_multiplier=3,
        epochs=2,
        data=torch.utils.data.TensorDataset(X, Y),
    )
    ours = training(ledger, clip=2, sigma=3, steps=6)
    assert theirs.plan.digest == ours.plan.digest
    assert theirs.plan.steps == 6


TWICE = [{"clip": 1, "max_grad_norm": 1}, {"sigma": 1, "noise_multiplier": 1}]


@pytest.mark.parametrize("given", [*TWICE, {"steps": 3, "epochs": 1}, {"steps": None}])
def test_two_names_of_one_parameter_are_refused(ledger, given):
    with pytest.raises(WrongKind):
        training(ledger, **given)
