"""An audit of whole training runs by canaries: below the claim, and above it for broken twins."""

import warnings

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

with warnings.catch_warnings():  # its own
    warnings.simplefilter("ignore")
    from peft import LoraConfig, get_peft_model

pytestmark = pytest.mark.filterwarnings("ignore::Warning:(peft|transformers).*")

CANARIES, SURE = 4000, 1000
DELTA = "1e-10"  # times the canaries, this is below the level of the audit


def product(outputs, targets):
    """Have the gradient x of each row, whatever the weights are."""
    return -outputs[:, 0] * targets


def low_rank():
    """Return LoRA of rank 4 of a frozen layer, whose second factor is not zero at first."""
    torch.manual_seed(3)
    chosen = LoraConfig(r=4, target_modules=["0"], init_lora_weights=False)
    return get_peft_model(nn.Sequential(nn.Linear(CANARIES, 1, bias=False)), chosen)


def effect(model):
    """Return what a model multiplies each place with."""
    return model(torch.eye(CANARIES)).detach().numpy()[:, 0]


def audited(folder, make=lambda: nn.Linear(CANARIES, 1, bias=False), **changed):
    """Train on a random half of the canaries, each in a place of its own; guess which half."""
    bits = np.random.default_rng(8).integers(0, 2, CANARIES)
    x = 1000 * torch.eye(CANARIES)[torch.from_numpy(bits == 1)]
    model = make()
    before = effect(model)
    with Ledger.open(
        folder / "a.ledger", unit=dp.row(), budget=Budget(epsilon=20, delta="1e-3")
    ) as ledger:
        run = Training(
            model,
            objective=product,
            data=(x, torch.ones(len(x))),
            optimizer=torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=1.0),
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
    order = np.argsort(effect(model) - before, kind="stable")
    guess = np.full(CANARIES, -1)
    guess[order[:SURE]], guess[order[-SURE:]] = 0, 1
    return guessed(bits, guess, claim=run.plan.epsilon(), delta=DELTA, most=2 * SURE)


@pytest.mark.parametrize(
    "changed",
    [{}, {"band": 2}, {"clipping": "adaptive", "metrics": {"objective": 1}}, {"make": low_rank}],
    ids=["plain", "banded", "adaptive", "LoRA"],
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


@pytest.mark.parametrize(
    ("broken", "changed"),
    [(no_clipping, {}), (noise_of_the_mean, {}), (noise_of_the_mean, {"make": low_rank})],
    ids=["no clipping", "noise of the mean", "noise of the mean, LoRA"],
)
def test_canaries_of_broken_runs_tell_more(tmp_path, monkeypatch, broken, changed):
    broken(monkeypatch)
    assert audited(tmp_path, **changed).violates
