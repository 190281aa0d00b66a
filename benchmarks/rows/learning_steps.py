"""Plain and private steps of a case, for CPUs and GPUs; knows no other file of the benchmarks."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import torch
from torch.nn import functional

from discreet.learning.clipping import Clipping
from discreet.learning.deep.factors import RecordedFactors
from discreet.learning.deep.objectives import SummedObjective
from discreet.learning.private_sum import PrivateSum

Step = Callable[[], None]
OBJECTIVE = functional.cross_entropy


def plain(case: Any, device: str = "cpu") -> Step:
    """Return a step of stochastic gradient descent."""
    model, (inputs, targets) = case.made(device), case.data(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        OBJECTIVE(model(inputs), targets).backward()
        optimizer.step()

    return step


def private(case: Any, device: str = "cpu", *, noise: bool = True) -> Step:
    """Return a step that clips, adds up in float64, and adds exact noise unless told not to."""
    model, (inputs, targets) = case.made(device), case.data(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    recorder = RecordedFactors(model, SummedObjective(OBJECTIVE, "mean"))
    inside = torch.ones(case.batch, dtype=torch.bool, device=device)
    parameters = [one for one in model.parameters() if one.requires_grad]
    count = sum(one.numel() for one in parameters)
    one_sum = PrivateSum(
        clipping=Clipping(bound=1),
        sigma=Fraction(2),
        coordinates=count,
        units=case.batch,
        operations=case.batch * 1024,
    )
    grid = float(one_sum.grid.step)

    def step() -> None:
        parts = recorder.parts(inputs, targets, inside, case.batch)
        squares = torch.stack([part.squares for part in parts]).sum(0)
        spans = torch.stack([part.spans for part in parts]).sum(0)
        scales = one_sum.clipping.scales(squares.cpu().numpy(), spans.cpu().numpy())
        totals = {one: torch.zeros_like(one, dtype=torch.float64) for one in parameters}
        chosen = torch.from_numpy(scales).to(device)
        for part in parts:
            part.add(chosen, totals)
        flat = torch.cat([totals[one].flatten() for one in parameters])
        cells = torch.floor(flat / grid)
        if noise:
            cells += torch.from_numpy(one_sum.noise()).to(device)
        update = (cells * (grid / case.batch)).to(torch.float32)
        for one, values in zip(
            parameters, update.split([one.numel() for one in parameters]), strict=True
        ):
            one.grad = values.view_as(one)
        optimizer.step()

    return step
