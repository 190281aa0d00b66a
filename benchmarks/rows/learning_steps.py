"""Plain and private steps on one fixed batch, for CPUs and GPUs; imports no other benchmark."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from torch import nn

from discreet.torch.clipping import Clipping
from discreet.torch.layer_parts import chunk_lines, roundings
from discreet.torch.loss_function import SummedObjective
from discreet.torch.noise_ahead import NoiseAhead
from discreet.torch.noisy_sum import (
    BatchSums,
    ClipGroup,
    DeviceNoise,
    handed_over,
    refuse_unsound,
    released,
)
from discreet.torch.per_example import choose
from discreet.torch.private_sum import PrivateSum
from discreet.torch.rows import RowShape

OBJECTIVE = nn.functional.cross_entropy


def plain_step(make: Callable[[], nn.Module], x: Any, y: Any) -> Callable[[], None]:
    """Return a step of plain SGD."""
    model = make().to(x.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        OBJECTIVE(model(x), y).backward()
        optimizer.step()

    return step


class FixedBatch:
    """One batch that is there already, as it is for the other contenders."""

    def __init__(self, inputs: Any, targets: Any) -> None:
        self.rows = (
            inputs,
            targets,
            torch.ones(inputs.shape[0], dtype=torch.bool),
        )

    @property
    def shapes(self) -> tuple[RowShape, RowShape]:
        """Shape and type of one row of each."""
        return RowShape.of(self.rows[0]), RowShape.of(self.rows[1])

    @property
    def views(self) -> int:
        """How many rows are made of one."""
        return 1

    def take(self, rows: Any, device: torch.device) -> Any:  # noqa: ARG002  it is there already
        """Return a micro-batch, of rows that follow each other."""
        part = slice(int(rows[0, 0]), int(rows[0, 0]) + len(rows))
        return tuple(values[part] for values in self.rows)


class Ours:
    """Private steps on one fixed batch."""

    def __init__(  # noqa: PLR0913  a model, its batch, and how it is added up
        self,
        make: Callable[[], nn.Module],
        x: Any,
        y: Any,
        *,
        micro: int,
        processes: int,
        sums: str = "double",
    ) -> None:
        self.model = make().to(x.device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        data: Any = FixedBatch(x, y)
        with torch.no_grad():
            summed = SummedObjective.tested(OBJECTIVE, self.model(x[:8]), y[:8])
        self._chosen = lambda: choose(self.model, summed, x[:micro], y[:micro], units=micro)
        self.engine = self._chosen()
        parameters = frozenset(p for p in self.model.parameters() if p.requires_grad)
        units = x.shape[0]
        chunk = chunk_lines(units) if sums == "single" else 0
        self.sums = BatchSums(
            self.model,
            self.engine,
            data,
            groups=(ClipGroup(parameters, Clipping(bound=1), 1.0),),
            micro=micro,
            normalized=False,
            device=x.device,
            chunk=chunk,
        )
        self.one = PrivateSum(
            clipping=Clipping(bound=1),
            sigma=Fraction(1),
            coordinates=sum(p.numel() for p in parameters),
            units=units,
            operations=(units + micro) * self.engine.positions + 8,
            short=roundings(chunk) if chunk else 0,
        )
        ahead = NoiseAhead(self.one.law, self.one.coordinates, processes=processes)
        self.noise = DeviceNoise(ahead, x.device)
        self.rows = np.arange(units, dtype=np.int64)[:, None]
        self.units = units

    def renew(self) -> None:
        """Forget the memory that was kept since the trial, so that steps are seen to take it."""
        self.engine = self.sums.engine = self._chosen()

    def sum(self) -> Any:
        """Return the float64 total alone."""
        return self.sums.total(self.rows)

    def step(self) -> None:
        """Take one whole step."""
        total = self.sum()
        noisy, sound = released(self.one, total, self.noise.take())
        handed_over(noisy.div_(self.units), self.sums.parameters)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        refuse_unsound(sound)
