"""The model that runs is the one that was tried; nothing stays untried without a word."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from discreet.errors import LayerNotProvable
from tests.torch.small_runs import X, Y, run_of


class Tempered(nn.Module):
    """Outputs are divided by a temperature that is learned: one number, without a dimension."""

    def __init__(self):
        super().__init__()
        self.layer, self.temperature = nn.Linear(6, 2), nn.Parameter(torch.tensor(1.5))

    def forward(self, x):
        return self.layer(x) / self.temperature


def test_a_single_number_is_trained(ledger):
    torch.manual_seed(0)
    model = Tempered()
    run = run_of(ledger, model, clip=1000)
    assert run.plan.one.coordinates == 1 + 12 + 2
    total = run._run.sums.total(np.array([[3]]))
    value = functional.cross_entropy(model(X[3:4]), Y[3:4])
    each = torch.autograd.grad(value, list(model.parameters()))
    truth = torch.cat([g.double().reshape(-1) for g in each]) / 1000
    assert torch.allclose(total, truth, rtol=1e-5, atol=1e-10)
    before = model.temperature.item()
    assert run.fit(bar=False).taken == 3
    assert model.temperature.item() != before


# --- the model that runs is the one that was tried --------------------------------------------


# --- weights that nothing is contributed to ----------------------------------------------------


# --- tokens -----------------------------------------------------------------------------------


def test_complex_weights_are_refused_by_name(ledger):
    model = nn.Linear(6, 2)
    model.phase = nn.Parameter(torch.zeros(2, dtype=torch.complex64))
    with pytest.raises(LayerNotProvable, match="'phase' holds complex numbers"):
        run_of(ledger, model)
