"""Adam that knows about the noise: against a loop, against Adam, and in a paid run."""

import numpy as np
import pytest
import torch
from torch import nn

import discreet as dp
from discreet.accounting import Budget
from discreet.ledger import Ledger
from discreet.torch import CorrectedAdam, Training


def moved(optimizer, weight, gradients):
    for gradient in gradients:
        weight.grad = gradient.clone()
        optimizer.step()
    return weight.detach()


def gradients(count=30, width=5):
    stream = torch.Generator().manual_seed(3)
    return torch.randn(count, width, generator=stream, dtype=torch.float64)


def test_without_noise_it_is_adam():
    here, there = (nn.Parameter(torch.zeros(5, dtype=torch.float64)) for _ in range(2))
    ours = moved(CorrectedAdam([here], lr=0.1, floor=1e-12), here, gradients())
    theirs = moved(torch.optim.Adam([there], lr=0.1, eps=0.0), there, gradients())
    assert torch.allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("variance", [0.25, 0.9])
def test_the_variance_is_taken_off_the_second_moment(variance):
    weight = nn.Parameter(torch.zeros(5, dtype=torch.float64))
    adam = CorrectedAdam([weight], lr=0.1, betas=(0.8, 0.95), floor=0.2)
    adam.param_groups[0]["variance"] = variance
    found = moved(adam, weight, gradients()).numpy()
    first = second = truth = np.zeros(5)
    for times, g in enumerate(gradients().numpy(), start=1):
        first, second = 0.8 * first + 0.2 * g, 0.95 * second + 0.05 * g**2
        square = np.maximum(second / (1 - 0.95**times) - variance, 0.04)
        truth = truth - 0.1 * first / (1 - 0.8**times) / np.sqrt(square)
    assert np.allclose(found, truth, rtol=1e-12)


def test_a_run_pays_the_same_and_its_noise_is_what_is_taken_off(tmp_path):
    prices = []
    with Ledger.open(
        tmp_path / "a.ledger", unit=dp.row(), budget=Budget(epsilon=20, delta="1e-3")
    ) as ledger:
        for make in (CorrectedAdam, torch.optim.SGD):
            model = nn.Linear(40, 50, bias=False)
            optimizer = make(model.parameters(), lr=1e-9)
            run = Training(
                model,
                objective=nn.functional.cross_entropy,
                data=(torch.zeros(100, 40), torch.zeros(100, dtype=torch.long)),
                optimizer=optimizer,
                ledger=ledger,
                unit=dp.row(),
                population=100,
                batch=20,
                steps=6,
                epsilon=2,
                delta="1e-5",
                processes=0,
            )
            if make is CorrectedAdam:
                optimizer.expect(run.plan)
                adam, plan = optimizer, run.plan
            run.fit(bar=False)
            prices.append((run.plan.sigma, run.plan.epsilon()))
    assert prices[0] == prices[1]
    variance = adam.param_groups[0]["variance"]
    assert variance == float(plan.sigma / 20) ** 2
    second = adam.state[next(iter(adam.state))]["second"] / (1 - 0.999**6)
    assert 0.85 < float(second.mean()) / variance < 1.15  # rows of zeros: noise alone, 12,000 draws
