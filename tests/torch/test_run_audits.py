"""An audit of whole training runs by canaries: below the claim, and above it for broken twins."""

import numpy as np
import pytest
import torch
from torch import nn

import discreet as dp
from discreet.accounting import Budget
from discreet.attacks import guessed
from discreet.ledger import Ledger
from discreet.torch import Clipping, Training
from discreet.torch.loop import TrainingRun

CANARIES, SURE = 4000, 1000
DELTA = "1e-10"  # times the canaries, this is below the level of the audit


def product(outputs, targets):
    """Have the gradient x of each row, whatever the weights are."""
    return -outputs[:, 0] * targets


def audited(folder, **changed):
    """Train on a random half of the canaries, each in a place of its own; guess which half."""
    bits = np.random.default_rng(8).integers(0, 2, CANARIES)
    x = 1000 * torch.eye(CANARIES)[torch.from_numpy(bits == 1)]
    model = nn.Linear(CANARIES, 1, bias=False)
    nn.init.zeros_(model.weight)
    with Ledger.open(
        folder / "a.ledger", unit=dp.row(), budget=Budget(epsilon=20, delta="1e-3")
    ) as ledger:
        run = Training(
            model,
            objective=product,
            data=(x, torch.ones(len(x))),
            optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
            ledger=ledger,
            unit=dp.row(),
            population=CANARIES,
            batch=CANARIES // 2,
            steps=12,  # so that hardly any canary is never drawn
            epsilon=3,
            delta=DELTA,
            processes=0,
            **changed,
        )
        run.fit(bar=False)
    order = np.argsort(model.weight.detach().numpy()[0], kind="stable")
    guess = np.full(CANARIES, -1)
    guess[order[:SURE]], guess[order[-SURE:]] = 0, 1
    return guessed(bits, guess, claim=run.plan.epsilon(), delta=DELTA, most=2 * SURE)


@pytest.mark.parametrize(
    "changed",
    [{}, {"band": 2}, {"clipping": "adaptive", "metrics": {"objective": 1}}],
    ids=["plain", "banded", "adaptive"],
)
def test_canaries_of_a_run_tell_no_more_than_it_claims(tmp_path, changed):
    found = audited(tmp_path, **changed)
    assert not found.violates
    assert found.lower > 0  # they do tell something


def no_clipping(patch):
    patch.setattr(Clipping, "scales", lambda self, squares, *_, **__: np.ones_like(squares))


def noise_of_the_mean(patch):
    step = TrainingRun._release
    patch.setattr(
        TrainingRun,
        "_release",
        lambda self, total, noise: step(self, total, noise // self.plan.batch),
    )


@pytest.mark.parametrize("broken", [no_clipping, noise_of_the_mean])
def test_canaries_of_broken_runs_tell_more(tmp_path, monkeypatch, broken):
    broken(monkeypatch)
    assert audited(tmp_path).violates
