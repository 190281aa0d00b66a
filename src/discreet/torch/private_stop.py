"""Stop a run once a model is right about enough private rows: AboveThreshold during training.

Trust: kernel.

Definition.  After some steps the number of rows that the model classifies rightly is compared with
a public threshold, both with noise; the answer is below, until it is above for the first time.
Theorem (key ``above-threshold``).  However often it is asked, all answers together cost epsilon,
if one unit moves every count by at most the rows of a unit that count.
A row is classified alone, so that it cannot be moved by others.  Adding a unit moves all counts the
same way (monotone); replacing one need not.  It is charged before the first row is read.  The noise
of the threshold lives in one process: a stop that has ended or failed there is not resumed, since
whether it fails can depend on one person (T2).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any, final

import numpy as np
import torch
from torch import Tensor, nn

from discreet.errors import DiscreetError, ExamplesMix, OtherRun, WrongKind
from discreet.exact import whole
from discreet.extend import ThresholdRun, answer_failed_error, checked_key, refuse_closed
from discreet.ledger import Ledger, StoredAnswer
from discreet.mechanisms import AboveThreshold
from discreet.noise import SYSTEM, Entropy
from discreet.torch.arguments import check_ledger, data_of, weights_digest
from discreet.torch.rows import RowTensors, fresh_coins
from discreet.torch.sampling import UnitRows
from discreet.torch.training_plan import TrainingPlan
from discreet.torch.trial import Writes


@final
class PrivateStop:
    """Whether a model is right about enough private rows yet.

    On record, a stop is known by its name, threshold, epsilon, rows of a unit, the shapes of a row
    and of the model, and the plan of its run or else the weights of the model.  Values and number
    of rows are private: for other rows, give another name.

    >>> import tempfile
    >>> import discreet as dp
    >>> from discreet.accounting import Budget
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger.open(f"{folder.name}/a.ledger", unit=dp.row(), budget=Budget(epsilon=8))
    >>> stop = PrivateStop(nn.Linear(4, 2), data=(torch.zeros(90, 4), torch.zeros(90)),
    ...     ledger=ledger, threshold=1000, epsilon=1)
    >>> stop.above()
    False
    >>> ledger.close(); folder.cleanup()
    """

    def __init__(  # noqa: PLR0913  a classifier, its rows and a price
        self,
        model: nn.Module,
        *,
        data: tuple[Any, ...],
        ledger: Ledger,
        threshold: int,
        epsilon: object,
        rows_per_unit: int = 1,
        name: str = "stop",
        plan: TrainingPlan | None = None,
        entropy: Entropy = SYSTEM,
    ) -> None:
        """Take a classifier and rows of people whom the ledger protects; nothing is spent yet.

        Args:
            model: gives one score for each class.
            data: inputs and classes, and the unit of each row if units are not rows.
            ledger: pays for it.
            threshold: how many right answers are enough, a public number.
            epsilon: what all answers together cost.
            rows_per_unit: how many rows of a unit count, at most.
            name: distinguishes stops of the same kind.
            plan: the plan of the run that it belongs to (``training.plan``).
            entropy: random bits.
        """
        first = next(iter(model.parameters()), None) if isinstance(model, nn.Module) else None
        if first is None:
            raise WrongKind(
                f"the model is a {type(model).__name__}, which has no parameters: give the "
                "torch.nn.Module that is trained."
            )
        self._device = first.device
        inputs, targets, names = data_of(data, check_ledger(ledger).unit)
        rows = whole(rows_per_unit, name="rows_per_unit", low=1)
        self._units = UnitRows(int(inputs.shape[0]) if names is None else names, rows=rows)
        self._rows, self._model, self._ledger = RowTensors(inputs, targets), model, ledger
        self.mechanism = AboveThreshold(
            threshold=threshold,
            epsilon=epsilon,  # type: ignore[arg-type]  # read there
            sensitivity=rows,
            monotone=not ledger.unit.relation.replaces,
        )
        shapes = [str(shape) for shape in self._rows.shapes]
        terms = [int(threshold), str(self.mechanism.epsilon), rows, shapes]
        self._key = _key(checked_key(name, name="name"), terms, model, plan)
        self._entropy = entropy
        self._run: ThresholdRun[bool] | None = None
        self._halted = False

    def above(self) -> bool:
        """Compare once; after the first True, no row is read any more."""
        if self._run is None and not self._halted:
            self._begin()
        run, self._run = self._run, None  # gone, unless this comparison ends well
        if run is None or self._halted:
            return self._halted
        refuse_closed(self._ledger.closed, self._key)  # by a copy, or a forked process
        if run.ask(self._count()):
            self._ledger.release(self._key, b'{"answer":"above"}')
            self._halted = True
        else:
            self._run = run
        return self._halted

    def _begin(self) -> None:
        """Try the model, pay for all comparisons, and draw the noise of the threshold."""
        self._try_out()
        self._ledger.charge(self.mechanism.loss(), key=self._key)
        started = self._ledger.start(self._key)
        if isinstance(started, StoredAnswer):
            self._halted = True
            return
        if started.attempt > 1:
            raise OtherRun(
                what="these comparisons were begun by another process or object, or broke off.",
                why="the noise of their threshold is gone, and a second one was not paid for.",
                do="give the stop another name.",
            )
        self._run = self.mechanism.start(entropy=self._entropy)

    def _try_out(self) -> None:
        """Refuse a model that cannot classify generated rows of the shape of the data."""
        x, y = (s.rows(2, seed=i, device=self._device) for i, s in enumerate(self._rows.shapes))
        try:
            self._right((x[i : i + 1], y[i : i + 1]) for i in range(2))
        except DiscreetError:
            raise
        except Exception as error:
            raise WrongKind(
                "the model does not classify a made-up row of the shape of the data: give a model "
                "with one score for each class, and one class for each row."
            ) from error

    def _count(self) -> int:
        """Return how many rows are classified rightly; any failure closes the charge (T2)."""
        right: int | None = None
        failure: DiscreetError = answer_failed_error()
        places = self._units.of(np.arange(self._units.units)).ravel()
        each = (np.array([[place]]) for place in places[places >= 0])
        try:
            right = self._right(self._rows.take(row, self._device)[:2] for row in each)
        except ExamplesMix as found:
            failure = found
        except Exception:  # noqa: BLE001, S110  its text may quote the data; replaced below
            pass
        finally:
            if right is None:
                self._ledger.fail(self._key)
        if right is None:  # raised here, outside the context of the other error
            raise failure
        return right

    def _right(self, rows: Iterable[tuple[Tensor, Tensor]]) -> int:
        """Count rows that are classified rightly, each by itself."""
        modes = [(module, module.training) for module in self._model.modules()]
        before = Writes.of(self._model)
        try:
            self._model.eval()
            with torch.no_grad(), fresh_coins(self._device, self._entropy):
                right = sum(bool(self._model(x)[0].argmax() == y[0]) for x, y in rows)
        finally:
            for module, training in modes:
                module.training = training
        if before.changed(self._model) is not None:
            raise ExamplesMix(
                what="the model writes to one of its tensors when it is used.",
                why="one row would move what is said of the next ones.",
                do="give a model that keeps nothing in .eval().",
            )
        return right


def _key(name: str, terms: list[Any], model: nn.Module, plan: TrainingPlan | None) -> str:
    """Return the name of a stop on record, which holds public facts alone."""
    if not isinstance(plan, TrainingPlan | None):
        raise WrongKind(f"plan must be that of a training run, got {type(plan).__name__}.")
    shapes = [(n, list(v.shape), str(v.dtype)) for n, v in sorted(model.named_parameters())]
    run = f"weights {weights_digest(model)}" if plan is None else plan.key
    text = json.dumps([name, *terms, type(model).__qualname__, shapes, run])
    return f"training stop {hashlib.sha256(text.encode()).hexdigest()}"
