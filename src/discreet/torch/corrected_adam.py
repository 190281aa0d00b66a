"""Adam for noisy gradients: the noise variance is subtracted from the second moment.

Trust: public.  It processes released sums alone, so it costs nothing.

Adam divides by the root of the mean square of each coordinate.  In private training this is
dominated by noise, of a public variance: (sigma / batch)**2 for each coordinate of an update.
Taken off, small gradients are scaled up as Adam means them to be (Tang et al. 2024).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, final

import torch
from torch import Tensor

from discreet.errors import OutOfRange, WrongKind
from discreet.torch.training_plan import TrainingPlan


@final
class CorrectedAdam(torch.optim.Optimizer):  # type: ignore[misc]  # torch has no types here
    """Adam with the variance of the noise subtracted from the second moment.

    Tell it the noise of a run before the first step: ``optimizer.expect(run.plan)``.

    >>> weight = torch.nn.Parameter(torch.zeros(2))
    >>> adam = CorrectedAdam([weight], lr=0.5, floor=0.1)
    >>> weight.grad = torch.tensor([1.0, -1.0])
    >>> adam.step()
    >>> [round(value, 4) for value in weight.tolist()]
    [-0.5, 0.5]
    """

    def __init__(
        self,
        params: Iterable[Tensor],
        *,
        lr: float,
        betas: tuple[float, float] = (0.9, 0.999),
        floor: float = 1e-3,
    ) -> None:
        """Take parameters, the length of a step, how long moments last, and the least divisor."""
        if not (lr > 0 and floor > 0 and all(0 <= beta < 1 for beta in betas)):
            raise OutOfRange(
                "a learning rate or a floor is not above 0, or a beta not from 0 to below 1: give "
                "lr=0.01, say, and leave the others out."
            )
        super().__init__(params, {"lr": lr, "betas": betas, "floor": floor, "variance": 0.0})

    def expect(self, plan: TrainingPlan) -> None:
        """Take the variance of the noise from the plan of a run; banded noise has no single one."""
        if not isinstance(plan, TrainingPlan):
            raise WrongKind(
                f"a {type(plan).__name__} was given, not the plan of a run: call "
                "optimizer.expect(run.plan)."
            )
        if plan.band.width > 1:
            raise OutOfRange(
                "the noise of this run is banded: train with band=1, or with another optimizer."
            )
        for group in self.param_groups:
            group["variance"] = float(plan.sigma / plan.batch) ** 2

    @property
    def expecting(self) -> bool:
        """Whether the noise of all parameters is known."""
        return all(group["variance"] > 0 for group in self.param_groups)

    def step(self, closure: Callable[[], Any] | None = None) -> None:
        """Take one step; a closure would read data, and is refused."""
        if closure is not None:
            raise OutOfRange("a closure was given: call step() without one.")
        with torch.no_grad():
            for group in self.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        self._move(parameter, parameter.grad, group)

    def _move(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        state = self.state[parameter]
        if not state:
            state |= {
                "steps": torch.tensor(0.0),
                "first": torch.zeros_like(parameter),
                "second": torch.zeros_like(parameter),
            }
        state["steps"] += 1
        times, (slow, slower) = float(state["steps"]), group["betas"]
        state["first"].lerp_(gradient, 1 - slow)
        state["second"].lerp_(gradient.square(), 1 - slower)
        mean = state["first"] / (1 - slow**times)
        square = state["second"] / (1 - slower**times) - group["variance"]
        parameter -= group["lr"] * mean / square.clamp_min(group["floor"] ** 2).sqrt()
