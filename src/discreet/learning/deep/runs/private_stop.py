"""Stop a run once a model is right about enough private rows: AboveThreshold beside the run.

Trust: kernel.

Definition.  After some steps the number of rows that the model classifies rightly is compared with
a public threshold, both with noise; the answer is below, until it is above for the first time.
Theorem (key ``above-threshold``).  However often it is asked, all answers together cost epsilon,
if one unit moves every count by at most the rows of a unit that count.
A row is classified alone, in a batch of one, so that it cannot be moved by others.  Adding a unit
moves all counts the same way (monotone); replacing one need not.
It is charged before the first row is read.  The noise of the threshold lives in one process: one
that has ended cannot be resumed, and another name is another charge.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, final

import numpy as np
import torch
from torch import nn

from discreet.errors import OtherRun
from discreet.exact import whole
from discreet.learning.deep.batch_sums import RowTensors
from discreet.learning.deep.model_state import ModelState, changed_in_a_step
from discreet.learning.deep.runs.step_sums import secret_seed
from discreet.learning.deep.training_data import data_of
from discreet.learning.sampling import UnitRows
from discreet.ledger import Ledger
from discreet.ledger.values import StoredAnswer
from discreet.mechanisms import AboveThreshold
from discreet.mechanisms.sparse_vector.threshold_run import ThresholdRun
from discreet.noise import SYSTEM, Entropy
from discreet.session.record import answer_failed_error


@final
class PrivateStop:
    """Whether a model is right about enough private rows yet.

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
        entropy: Entropy = SYSTEM,
    ) -> None:
        """Take a classifier and rows of people whom the ledger protects; nothing is spent yet.

        Args:
            model: gives one score for each class.
            data: inputs and classes, and the unit of each row where units are not rows.
            ledger: who pays.
            threshold: how many right answers are enough, a public number.
            epsilon: what all answers together cost.
            rows_per_unit: how many rows of a unit count, at most.
            name: tells stops of the same kind apart.
            entropy: random bits.
        """
        inputs, targets, names = data_of(data, ledger.unit)
        rows = whole(rows_per_unit, name="rows_per_unit", low=1)
        self._units = UnitRows(int(inputs.shape[0]) if names is None else names, rows=rows)
        self._rows, self._model, self._ledger = RowTensors(inputs, targets), model, ledger
        self.mechanism = AboveThreshold(
            threshold=threshold,
            epsilon=epsilon,  # type: ignore[arg-type]  # read there
            sensitivity=rows,
            monotone=not ledger.unit.relation.replaces,
        )
        text = json.dumps([name, threshold, str(self.mechanism.epsilon), rows])
        self._key = f"training stop {hashlib.sha256(text.encode()).hexdigest()}"
        self._entropy = entropy
        self._run: ThresholdRun[bool] | None = None
        self._halted = False

    def above(self) -> bool:
        """Compare once; after the first True, no row is read any more."""
        if self._run is None and not self._halted:
            self._begin()
        if self._run is None or self._halted:
            return self._halted
        if self._run.ask(self._count()):
            self._ledger.release(self._key, b'{"answer":"above"}')
            self._halted = True
        return self._halted

    def _begin(self) -> None:
        """Pay for all comparisons, and draw the noise of the threshold."""
        self._ledger.charge(self.mechanism.loss(), key=self._key)
        started = self._ledger.start(self._key)
        if isinstance(started, StoredAnswer):
            self._halted = True
            return
        if started.attempt > 1:
            raise OtherRun(
                what="these comparisons were begun by another process or object.",
                why="the noise of their threshold is gone, and a second one was not paid for.",
                do="give the stop another name, which is charged anew.",
            )
        self._run = self.mechanism.start(entropy=self._entropy)

    def _count(self) -> int:
        """Return how many rows are classified rightly; a failure closes the comparisons."""
        modes = [(module, module.training) for module in self._model.modules()]
        before, right = ModelState.of(self._model), None
        device = next(iter(self._model.parameters())).device
        try:
            self._model.eval()
            with torch.no_grad(), secret_seed(device, self._entropy):
                right = sum(self._right(int(row), device) for row in self._counted())
        except Exception:  # noqa: BLE001, S110  its text may quote the data; replaced below
            pass
        finally:
            for module, training in modes:
                module.training = training
        if right is None or before.changed(self._model) is not None:
            self._ledger.fail(self._key)
            raise answer_failed_error() if right is None else changed_in_a_step()
        return right

    def _counted(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the rows that count: of each unit, no more than were declared."""
        places = self._units.of(np.arange(self._units.units)).ravel()
        return places[places >= 0]

    def _right(self, row: int, device: torch.device) -> bool:
        """Classify one row by itself."""
        x, y, _ = self._rows.take(np.array([[row]]), device)
        return bool(self._model(x)[0].argmax() == y[0])
