"""A Transformers ``Trainer`` that trains by DP-SGD.

Trust: public.  The data collator prepares one example at a time, so examples cannot meet in it; the
loss is that of each example alone, averaged over its own labels.  Loops, schedules, callbacks,
evaluation and checkpoints are those of the ``Trainer``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from discreet.extend import missing_extra

try:
    import torch
    from torch import Tensor, nn
    from transformers import Trainer
    from transformers.trainer_utils import TrainOutput
except ModuleNotFoundError:
    missing_extra("Transformers", "transformers")
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import whole
from discreet.torch.adapters.examples import RowLoss, RowModel, rows_of, token_loss
from discreet.torch.adapters.movement import Movement
from discreet.torch.arguments import steps_of
from discreet.torch.training import Training


class PrivateTrainer(Trainer):  # type: ignore[misc]  # transformers is not read
    """A ``Trainer`` whose ``train`` is a private run, charged to a ledger before it begins.

    The batch size is ``per_device_train_batch_size * gradient_accumulation_steps`` on average, and
    the first factor is how many examples are computed at once.  The clipping norm is
    ``max_grad_norm``.  Learning rate, schedule, optimizer, logging, evaluation, saving and
    callbacks are those of the arguments. The training loss is not logged, since it is private.
    """

    def __init__(
        self,
        *args: Any,
        privacy: Mapping[str, Any],
        length: int | None = None,
        unit_column: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Prepare a run; nothing is spent.

        Args:
            args: what a ``Trainer`` takes.
            privacy: what :class:`~discreet.torch.Training` takes about privacy: ledger, unit,
                population, epsilon or sigma, delta, rows_per_unit, clipping, name, folder.
            length: the public number of tokens to which examples are padded or cut.
            unit_column: the column of the data set that names the person of each example.
            kwargs: what a ``Trainer`` takes.
        """
        super().__init__(*args, **kwargs)
        self.control: Any  # what callbacks decide
        if self.train_dataset is None:
            raise WrongKind("the trainer has no train_dataset: give one.")
        self._people: list[Any] | None = None
        if unit_column is not None:
            self._people = [example[unit_column] for example in self.train_dataset]
        inputs, labels = rows_of(
            self.train_dataset,
            self._collate_one(unit_column),
            length=None if length is None else whole(length, name="length", low=2),
        )
        self.run = self._planned(inputs, labels, dict(privacy))
        self.movement: dict[str, float] = {}

    def _collate_one(self, unit_column: str | None) -> Callable[[list[Any]], Mapping[str, Any]]:
        """Return the collator of one example, without columns that the model does not take."""
        known = {*(self._signature_columns or self._taken()), "labels", "label", "label_ids"}

        def collate(examples: list[Any]) -> Mapping[str, Any]:
            kept = [
                {name: v for name, v in each.items() if name != unit_column and name in known}
                for each in examples
            ]
            found: Mapping[str, Any] = self.data_collator(kept)
            return found

        return collate

    def _taken(self) -> list[str]:
        self._set_signature_columns_if_needed()
        return list(self._signature_columns or ())

    def _check_dropout(self) -> None:
        """Refuse dropout inside attention, a function whose masks no trial can switch off."""
        config = self.model.config
        for name in ("attn_pdrop", "attention_probs_dropout_prob", "attention_dropout"):
            if getattr(config, name, 0):
                raise WrongKind(
                    f"the model drops attention weights ({name}={getattr(config, name)}): make it "
                    f"with {name}=0; dropout layers elsewhere may stay."
                )

    def _planned(
        self, inputs: dict[str, Tensor], labels: Tensor, privacy: dict[str, Any]
    ) -> Training:
        self._check_dropout()
        args, model = self.args, self.model
        names = list(inputs)
        stacked = [inputs[name] for name in names]
        texts = not stacked[0].is_floating_point()
        if not texts and len(names) > 1:
            raise WrongKind(f"inputs {', '.join(names)} cannot be put into one tensor.")
        rows = torch.stack(stacked, 1) if texts else stacked[0]
        wrapped = RowModel(model, names, positions=texts and "position_ids" in self._taken())
        custom = type(self).compute_loss is not Trainer.compute_loss
        body: nn.Module = wrapped
        objective: Callable[[Tensor, Tensor], Tensor] = self._objective(labels)
        if custom:
            if not texts or labels.shape[1:] != rows.shape[2:]:
                raise WrongKind("a compute_loss of one's own needs labels as long as the inputs.")
            body = RowLoss(model, wrapped, self.compute_loss)
            rows = torch.cat([rows, labels[:, None]], 1)
            objective = _as_it_is
        batch = args.per_device_train_batch_size * args.gradient_accumulation_steps
        steps = args.max_steps if args.max_steps > 0 else None
        epochs = None if steps else repr(args.num_train_epochs)
        population = privacy.get("population")
        if population is None:
            raise OutOfRange("privacy has no population: give an upper bound on the units, public.")
        total = steps_of(steps, epochs, population=population, batch=batch)
        self.create_optimizer_and_scheduler(num_training_steps=total)
        data = (rows, labels) if self._people is None else (rows, labels, self._people)
        body.train()
        return Training(
            body,
            objective=objective,
            data=data,
            optimizer=self.optimizer,
            batch=batch,
            steps=total,
            micro_batch=min(args.per_device_train_batch_size, batch),
            max_grad_norm=repr(args.max_grad_norm) if args.max_grad_norm else None,
            **privacy,
        )

    def _objective(self, labels: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
        if labels.dim() == 1:
            if labels.is_floating_point():
                return _squared_error
            known: Callable[[Tensor, Tensor], Tensor] = nn.functional.cross_entropy
            return known
        shift = bool(getattr(self.model.config, "is_decoder", False)) or type(
            self.model
        ).__name__.endswith(("ForCausalLM", "LMHeadModel"))
        base = getattr(self.model, "get_base_model", lambda: self.model)()
        shift = shift or type(base).__name__.endswith(("ForCausalLM", "LMHeadModel"))
        return lambda logits, given: token_loss(logits, given, shift=shift)

    def train(self, *_args: Any, **_kwargs: Any) -> TrainOutput:
        """Pay, train to the end, and record the weights; a run that was stopped goes on."""
        before = Movement.of(self.model)
        self.state.max_steps = self.run.plan.steps
        self.state.compute_steps(self.args, self.run.plan.steps)
        self.control = self.callback_handler.on_train_begin(self.args, self.state, self.control)
        for step in self.run.gradients():
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
            self.lr_scheduler.step()
            self.state.global_step = step.number
            self.state.epoch = step.number * self.run.plan.batch / self.run.plan.population
            if self._after_step():
                break
        self.control = self.callback_handler.on_train_end(self.args, self.state, self.control)
        self.movement = before.check(self.model)
        metrics = {
            "epsilon": float(self.run.plan.epsilon()),
            "noise_multiplier": float(self.run.plan.sigma),
        }
        return TrainOutput(self.state.global_step, float("nan"), metrics)

    def _after_step(self) -> bool:
        """Log, evaluate and save as the callbacks decide; say whether training stops."""
        handler = self.callback_handler
        self.control = handler.on_step_end(self.args, self.state, self.control)
        if self.control.should_log:
            self.log({"learning_rate": self.lr_scheduler.get_last_lr()[0]})
        if self.control.should_evaluate:
            modes = [(module, module.training) for module in self.model.modules()]
            self.evaluate()
            for module, training in modes:
                module.training = training
        if self.control.should_save:
            self.save_model(f"{self.args.output_dir}/checkpoint-{self.state.global_step}")
            self.control = handler.on_save(self.args, self.state, self.control)
        return bool(self.control.should_training_stop)


def _as_it_is(outputs: Tensor, _labels: Tensor) -> Tensor:
    return outputs[:, 0]


def _squared_error(outputs: Tensor, labels: Tensor) -> Tensor:
    return (outputs.flatten(1).mean(1) - labels).square()
