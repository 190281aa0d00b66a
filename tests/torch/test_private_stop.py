"""A stop that looks at private rows: charged once, one row at a time, and exact in its counts."""

import numpy as np
import pytest
import torch
from torch import nn

import discreet as dp
from discreet.accounting import Budget
from discreet.errors import (
    EngineFailed,
    ExamplesMix,
    NotSampled,
    OtherRun,
    OverBudget,
    WrongKind,
)
from discreet.ledger import Ledger
from discreet.torch import PrivateStop, Training


def opened(path, unit=None, epsilon=8):
    return Ledger.open(path / "a.ledger", unit=unit or dp.row(), budget=Budget(epsilon=epsilon))


def rows(count=50):
    x = torch.randn(count, 4, generator=torch.Generator().manual_seed(1))
    return x, (x[:, 0] > 0).long()


def perfect():
    model = nn.Linear(4, 2)
    with torch.no_grad():
        model.weight.zero_()
        model.bias.zero_()
        model.weight[1, 0] = 1.0
    return model


class Mixing(nn.Module):
    """Classifies a row by the others beside it; alone, there are none."""

    def __init__(self):
        super().__init__()
        self.layer = perfect()

    def forward(self, x):
        return self.layer(x) * x.shape[0] if x.shape[0] == 1 else -self.layer(x)


@pytest.mark.theorem("above-threshold")
def test_it_is_charged_once_and_halts_for_good(tmp_path):
    with opened(tmp_path) as ledger:
        model = nn.Linear(4, 2)
        stop = PrivateStop(model, data=rows(), ledger=ledger, threshold=1000, epsilon=2)
        assert [e["kind"] for e in ledger.entries()] == ["open"]
        assert not any(stop.above() for _ in range(20))
        assert str(ledger.left()).startswith("epsilon 6")
        enough = PrivateStop(
            perfect(), data=rows(), ledger=ledger, threshold=-1000, epsilon=2, name="low"
        )
        assert enough.above()
        enough._count = None  # no row is read any more
        assert enough.above()
        again = PrivateStop(
            perfect(), data=rows(), ledger=ledger, threshold=-1000, epsilon=2, name="low"
        )
        assert again.above()  # on record
        assert str(ledger.left()).startswith("epsilon 4")
        assert ledger.verify().ok


@pytest.mark.theorem("above-threshold")
def test_one_row_moves_every_count_by_one_at_most(tmp_path):
    x, y = rows(12)
    x[3], x[4] = torch.nan, 1e30
    with opened(tmp_path) as ledger:
        for model in (perfect(), Mixing(), nn.Linear(4, 2)):
            whole = PrivateStop(model, data=(x, y), ledger=ledger, threshold=1, epsilon=1)._count()
            for gone in range(12):
                keep = [i for i in range(12) if i != gone]
                less = PrivateStop(
                    model, data=(x[keep], y[keep]), ledger=ledger, threshold=1, epsilon=1
                )._count()
                assert 0 <= whole - less <= 1


def test_units_count_with_as_many_rows_as_were_declared(tmp_path):
    x, y = rows(12)
    with opened(tmp_path, unit=dp.person("patient")) as ledger:
        stop = PrivateStop(
            perfect(),
            data=(x, y, np.array([0] * 10 + [1, 2])),
            ledger=ledger,
            threshold=1,
            epsilon=1,
            rows_per_unit=3,
        )
        assert stop._count() == 5
        assert stop.mechanism.sensitivity == 3
        assert stop.mechanism.monotone


def test_replacing_a_unit_is_not_monotone(tmp_path):
    with opened(tmp_path, unit=dp.row(relation="replace")) as ledger:
        stop = PrivateStop(perfect(), data=rows(), ledger=ledger, threshold=1, epsilon=1)
        assert not stop.mechanism.monotone


def test_another_process_and_an_empty_budget_are_refused(tmp_path):
    with opened(tmp_path) as ledger:
        given = {"data": rows(), "ledger": ledger, "threshold": 1000, "epsilon": 2}
        PrivateStop(perfect(), **given).above()
        with pytest.raises(OtherRun):
            PrivateStop(perfect(), **given).above()
        with pytest.raises(OverBudget):
            PrivateStop(perfect(), **(given | {"epsilon": 7})).above()


def test_a_failure_says_nothing_and_modes_are_given_back(tmp_path):
    class Failing(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.drop = nn.Linear(4, 2), nn.Dropout()

        def forward(self, x):
            if bool((x == 7).any()):
                raise ValueError("a seven")
            return self.layer(self.drop(x))

    x, y = rows()
    x[3, 1] = 7
    model = Failing()
    with opened(tmp_path) as ledger:
        stop = PrivateStop(model, data=(x, y), ledger=ledger, threshold=1, epsilon=1)
        with pytest.raises(EngineFailed) as failed:
            stop.above()
        assert "seven" not in str(failed.value)
        assert model.drop.training
        assert "fail" in [e["kind"] for e in ledger.entries()]


def test_a_model_that_writes_to_itself_closes_the_comparisons(tmp_path):
    class Writing(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 2)
            self.register_buffer("seen", torch.zeros(()))

        def forward(self, x):
            self.seen += x.sum()
            return self.layer(x)

    with opened(tmp_path) as ledger:
        stop = PrivateStop(Writing(), data=rows(), ledger=ledger, threshold=1, epsilon=1)
        with pytest.raises(ExamplesMix):  # on generated rows
            stop.above()
        assert kinds(ledger) == ["open"]


def kinds(ledger):
    return [entry["kind"] for entry in ledger.entries()]


def one_value(**given):
    x = torch.zeros(20, 1)
    x[7, 0] = 613.0  # that of one person
    y = torch.zeros(20, dtype=torch.long)
    return {"data": (x, y), "threshold": 10**6, "epsilon": "0.01"} | given


def linear(value=0.0, width=1):
    model = nn.Linear(width, 2)
    with torch.no_grad():
        model.weight.fill_(value)
        model.bias.zero_()
    return model


def training(ledger, model, **given):
    x, y = one_value()["data"]
    return Training(
        model,
        objective=nn.functional.cross_entropy,
        data=(x, y),
        optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
        ledger=ledger,
        unit=dp.row(),
        population=20,
        batch=5,
        steps=2,
        sigma=9,
        delta="1e-5",
        **given,
    )


def test_a_stop_of_a_run_is_the_same_at_other_weights_of_it(tmp_path):
    with opened(tmp_path) as ledger:
        plan = training(ledger, linear()).plan
        given = one_value(ledger=ledger, threshold=-(10**6), plan=plan)
        assert PrivateStop(linear(), **given).above()
        assert PrivateStop(linear(5.0), **given).above()
        assert kinds(ledger).count("charge") == 1


BAD = {
    "another width": (nn.Linear(5, 2), {}, WrongKind),
    "no parameters": (nn.Identity(), {}, WrongKind),
    "no model": ("model", {}, WrongKind),
    "several targets": (
        nn.Linear(1, 2),
        {"data": (torch.zeros(9, 1), torch.zeros(9, 3))},
        WrongKind,
    ),
    "objects": (
        nn.Linear(1, 2),
        {"data": (np.array([["a"]] * 9, object), np.zeros(9))},
        NotSampled,
    ),
    "texts": (nn.Linear(1, 2), {"data": (np.array([["a"]] * 9), np.zeros(9))}, NotSampled),
    "a number": (nn.Linear(1, 2), {"data": (np.zeros(()), np.zeros(()))}, NotSampled),
    "a name of no text": (nn.Linear(1, 2), {"name": 7}, WrongKind),
    "an address of a ledger": (nn.Linear(1, 2), {"ledger": "a.ledger"}, WrongKind),
    "a plan of no run": (nn.Linear(1, 2), {"plan": "training"}, WrongKind),
}


@pytest.mark.parametrize("which", BAD)
def test_public_mistakes_are_refused_before_the_charge(tmp_path, which):
    model, given, error = BAD[which]
    with opened(tmp_path) as ledger:
        with pytest.raises(error):
            PrivateStop(model, **({"ledger": ledger} | one_value(**given))).above()
        assert kinds(ledger) == ["open"]
