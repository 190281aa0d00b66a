"""Training runs of three steps on forty rows, for tests that change one thing about them."""

import torch
from torch import nn
from torch.nn import functional

import discreet as dp
from discreet.torch import Training

X = torch.randn(40, 6, generator=torch.Generator().manual_seed(1))
Y = (X[:, 0] > 0).long()


def run_of(ledger, model=None, **changed):
    model = nn.Linear(6, 2) if model is None else model
    given = {
        "objective": functional.cross_entropy,
        "data": (X, Y),
        "ledger": ledger,
        "unit": dp.row(),
        "population": 40,
        "batch": 20,
        "steps": 3,
        "sigma": 4,
        "delta": "1e-5",
        "processes": 0,
        "micro_batch": 8,
    } | changed
    if "optimizer" not in given:
        given["optimizer"] = torch.optim.SGD(model.parameters(), lr=1.0)
    return Training(model, **given)
