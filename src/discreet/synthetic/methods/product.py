"""Independent: measure every column by itself, and take columns for independent.  The baseline.

Trust: kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from discreet.mechanisms import Gaussian, Laplace
from discreet.synthetic.evidence import Evidence
from discreet.synthetic.inference.inference import Model
from discreet.synthetic.inference.values import ImpossibleCells
from discreet.synthetic.measurer import JointMeasurer
from discreet.synthetic.methods.fitting import best_fit, check_zeros
from discreet.synthetic.methods.method import Schedule, Task, rounded_up, variance_for


@final
@dataclass(frozen=True, slots=True)
class Independent:
    """Measure single columns alone.

    >>> Independent().document
    {'name': 'product'}
    """

    @property
    def document(self) -> Mapping[str, Any]:
        """Its name."""
        return {"name": "product"}

    def schedule(self, task: Task) -> Schedule:
        """Give every column the same price."""
        check_zeros(task.domain, task.zeros)
        noise = _noise(task)
        steps = (task.moves.measured(noise),) * task.domain.columns
        return Schedule.fixed(steps, task, rounds=0, deviation=noise.width)

    def run(self, task: Task, measurer: JointMeasurer) -> None:
        """Measure every column."""
        for column in range(task.domain.columns):
            measurer.measure((column,), _noise(task))

    def model(self, evidence: Evidence, zeros: tuple[ImpossibleCells, ...]) -> Model:
        """Multiply the columns."""
        return best_fit(evidence.coded, evidence.measurements, zeros=zeros)


def _noise(task: Task) -> Gaussian | Laplace:
    return noise_for(task, Fraction(1, task.domain.columns))


def noise_for(task: Task, share: Fraction, *, single: bool = False) -> Gaussian | Laplace:
    """Return the noise of a marginal, or of a single count, that gets this share of the price."""
    if task.rho is not None:
        return Gaussian(variance=variance_for(task, share * task.rho, single=single))
    distance = task.moves.rows if single else task.moves.l1
    return Laplace(scale=rounded_up(distance / (share * (task.epsilon or 0))))
