"""The pictures of private training, beside those of ``draw.py``."""

from __future__ import annotations

import tempfile

import torch
from sklearn.datasets import load_digits  # type: ignore[import-untyped]

import discreet as dp
from discreet.accounting import Budget
from discreet.charts import Axis, Chart
from discreet.ledger import Ledger
from discreet.noise import KeyedEntropy
from discreet.torch import Training

EPSILONS, RUNS = ("0.5", "1", "3", "8"), 3
Pair = tuple[torch.Tensor, torch.Tensor]


def digits() -> tuple[Pair, Pair]:
    """Return four digits of five to learn from and the others, each scaled to length 1."""
    pixels, digit = load_digits(return_X_y=True)
    x, y = torch.from_numpy(pixels).float(), torch.from_numpy(digit).long()
    x /= x.norm(dim=1, keepdim=True)
    held = torch.arange(len(y)) % 5 == 0
    return (x[~held], y[~held]), (x[held], y[held])


def digit_accuracy() -> Chart:
    """How many of 360 digits are read rightly, after training at four epsilons."""
    known, others = digits()
    found = {e: [_trained(known, others, e, run) for run in range(RUNS)] for e in EPSILONS}
    chart = Chart(
        title="A linear model of 1,437 digits: how many others it reads (δ = 1e-5)",
        x=Axis(label="ε", low=0.4, high=10, ticks=(0.5, 1, 3, 8), log=True),
        y=Axis(label="share", low=0.5, high=1, ticks=(0.5, 0.6, 0.7, 0.8, 0.9, 1)),
    )
    plain = _without_noise(known, others)
    chart.line([(0.4, plain), (10.0, plain)], color=2, label="no privacy", dashed=True)
    chart.line([(float(e), sum(found[e]) / RUNS) for e in EPSILONS], color=0, label="mean")
    runs = [(float(e), share) for e in EPSILONS for share in found[e]]
    chart.dots(runs, color=1, label="one run")
    return chart


def _fresh() -> torch.nn.Linear:
    model = torch.nn.Linear(64, 10)
    torch.nn.init.zeros_(model.weight)
    torch.nn.init.zeros_(model.bias)
    return model


def _share(model: torch.nn.Linear, others: Pair) -> float:
    return float((model(others[0]).argmax(1) == others[1]).sum()) / len(others[1])


def _trained(known: Pair, others: Pair, epsilon: str, run: int) -> float:
    """Train with noise from a public key, so that the picture can be drawn again."""
    model = _fresh()
    with (
        tempfile.TemporaryDirectory() as folder,
        Ledger.open(
            f"{folder}/a.ledger", unit=dp.row(), budget=Budget(epsilon=20, delta="1e-3")
        ) as ledger,
    ):
        Training(
            model,
            objective=torch.nn.functional.cross_entropy,
            data=known,
            optimizer=torch.optim.SGD(model.parameters(), lr=8.0),
            ledger=ledger,
            unit=dp.row(),
            population=1500,
            batch=480,
            steps=60,
            clip="0.2",
            epsilon=epsilon,
            delta="1e-5",
            entropy=KeyedEntropy(key=bytes(32), label=f"digits {epsilon} {run}"),
        ).fit(bar=False)
    return _share(model, others)


def _without_noise(known: Pair, others: Pair) -> float:
    """Train on all digits in each of 600 steps, without clipping and noise."""
    model = _fresh()
    optimizer = torch.optim.SGD(model.parameters(), lr=8.0)
    for _ in range(600):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(known[0]), known[1]).backward()
        optimizer.step()
    return _share(model, others)


TRAINING = {"digit-accuracy": digit_accuracy}
