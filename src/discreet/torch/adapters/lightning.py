"""A ``LightningModule`` that trains by DP-SGD under Lightning's own ``Trainer``.

Trust: public.  Optimization is manual: each training step releases one noisy gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any

from discreet.extend import missing_extra

try:
    from lightning.pytorch import LightningModule
    from torch import Tensor, nn
    from torch.optim import Optimizer
    from torch.utils.data import DataLoader
except ModuleNotFoundError:
    missing_extra("Lightning", "lightning")
from discreet.errors import WrongKind
from discreet.torch.adapters.movement import Movement
from discreet.torch.progress import Step
from discreet.torch.training import Training


class PrivateModule(LightningModule):  # type: ignore[misc]  # lightning is not read
    """A model, a loss function and data as a module of Lightning; override what you like.

    Loggers, callbacks, checkpoints and validation are Lightning's.  ``trainer.fit(module)`` runs
    the whole plan regardless of ``max_epochs``: the minibatches are Poisson samples that the run
    draws itself, so the training loader only counts steps.
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        objective: Callable[[Tensor, Tensor], Tensor],
        optimizer: Callable[[Iterator[nn.Parameter]], Optimizer],
        scheduler: Callable[[Optimizer], Any] | None = None,
        **training: Any,
    ) -> None:
        """Plan a run; nothing is spent.

        Args:
            model: any module.
            objective: the loss function, of outputs and targets.
            optimizer: makes the optimizer from the parameters.
            scheduler: makes a schedule of the learning rate, which moves once a step.
            training: what else :class:`~discreet.torch.Training` takes: data, ledger, unit,
                population, batch, steps, clip, epsilon, delta.
        """
        super().__init__()
        self.automatic_optimization = False
        self.model, self.objective = model, objective
        trained = (p for p in model.parameters() if p.requires_grad)
        self._optimizer = optimizer(trained)
        self._schedule = None if scheduler is None else scheduler(self._optimizer)
        self.run = Training(model, objective=objective, optimizer=self._optimizer, **training)
        self.movement: dict[str, float] = {}
        self._steps: Generator[Step, None, None] | None = None
        self._before = Movement({})

    def forward(self, *inputs: Any) -> Any:
        """Return the outputs of the model."""
        return self.model(*inputs)

    def configure_optimizers(self) -> Optimizer:
        """Return the optimizer that the run was planned with."""
        return self._optimizer

    def train_dataloader(self) -> DataLoader[int]:
        """Count the steps of the run."""
        return DataLoader(range(self.run.plan.steps), batch_size=None)

    def on_fit_start(self) -> None:
        """Refuse plugins that would change gradients, and begin the run."""
        trainer = self.trainer
        if trainer.gradient_clip_val or trainer.world_size > 1:
            raise WrongKind(
                "the Trainer clips gradients or runs on several devices: leave gradient_clip_val "
                "out, since each example is clipped by the run, and use one device."
            )
        self._before = Movement.of(self.model)
        self._steps = self.run.gradients()

    def training_step(self, batch: Any, batch_idx: int) -> None:  # noqa: ARG002  a step's number
        """Release one noisy gradient, and let the optimizer use it."""
        steps = self._steps
        step = None if steps is None else next(steps, None)
        if steps is None or step is None:  # a run that was finished before
            self.trainer.should_stop = True
            return
        optimizer = self.optimizers()
        optimizer.step()
        optimizer.zero_grad()
        if self._schedule is not None:
            self._schedule.step()
        self.log_dict({name: float(value) for name, value in step.metrics.items()})
        if step.number == self.run.plan.steps:
            next(steps, None)  # records the weights
            self.trainer.should_stop = True

    def on_fit_end(self) -> None:
        """End the run in order, and see that all weights have moved."""
        if self._steps is not None:
            self._steps.close()
            self._steps = None
        if self.run.report.taken:
            self.movement = self._before.check(self.model)
