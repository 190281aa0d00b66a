"""A linear model of scikit-learn's digits, trained privately at four epsilons.

Learning rate, steps, clipping bound and batch were fixed on these public digits beforehand, and
are the same at every epsilon.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import torch
from sklearn.datasets import load_digits  # type: ignore[import-untyped]

import discreet as dp
from discreet.torch import Training

EPSILONS: Final = ("0.5", "1", "3", "8")
STEPS, RATE, CLIP, POPULATION = 120, 8.0, "0.1", 1500
MIDDLE: Final = 1 / 9
"""About the mean of a pixel where each digit has length 1."""
CONSTANT: Final = 0.3
"""What stands for an offset: a bias of 1 would be the longest part of a contribution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The share of 360 held-out digits that one run reads rightly."""

    epsilon: str
    accuracy: float


def readings(runs: int) -> Iterator[Reading]:
    """Train with noise of the system, some times at each epsilon."""
    pixels, digit = load_digits(return_X_y=True)
    x, y = torch.from_numpy(pixels).float(), torch.from_numpy(digit).long()
    x = x / x.norm(dim=1, keepdim=True) - MIDDLE
    x = torch.cat([x, torch.full((len(x), 1), CONSTANT)], dim=1)
    held = torch.arange(len(y)) % 5 == 0
    for epsilon in EPSILONS:
        for _ in range(runs):
            model = torch.nn.Linear(65, 10, bias=False)
            torch.nn.init.zeros_(model.weight)
            with tempfile.TemporaryDirectory() as folder:
                _train(model, (x[~held], y[~held]), epsilon, f"{folder}/digits.ledger")
            right = (model(x[held]).argmax(1) == y[held]).double().mean()
            yield Reading(epsilon=epsilon, accuracy=float(right))


def _train(
    model: torch.nn.Module, data: tuple[torch.Tensor, torch.Tensor], epsilon: str, place: str
) -> None:
    budget = dp.Budget(epsilon=20, delta="1e-3")
    with dp.ledger.Ledger.open(place, unit=dp.row(), budget=budget) as ledger:
        Training(
            model,
            objective=torch.nn.functional.cross_entropy,
            data=data,
            optimizer=torch.optim.SGD(model.parameters(), lr=RATE),
            ledger=ledger,
            unit=dp.row(),
            population=POPULATION,
            batch=POPULATION,
            steps=STEPS,
            clip=CLIP,
            epsilon=epsilon,
            delta="1e-5",
        ).fit(bar=False)
