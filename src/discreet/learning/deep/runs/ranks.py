"""Several processes that compute one sum: each floors its share to the grid, and integers add up.

Trust: kernel.

The first process (rank 0) has the data, the ledger, the coins and the noise.  In each step it sends
every other one the trainable parameters, whatever else of the model was written to, and the rows of
its share of the batch; each adds up the contributions of its share, floors the total to the grid,
and the integers are added up.  Noise is added once, by rank 0: noises of k processes together would
be another law, and a process that kept its own would hold a sum with a part of the noise.

Theorem (key ``floored-shares``).  With k processes, the integers for two batches of which one has
one unit more differ by less than (C + slack) / step + k sqrt(d) steps in L2, if the seats of all
others are the same in both (key ``random-seats``): shares are made of seats, so that each unit
stays in its process.
    Proof.  The sum of the floors of S_1, ..., S_k is the sum of the S_r less k fractions from
    [0, 1) in each coordinate.  The sums of the S_r of neighbors differ by at most C + slack (key
    ``gradient-sum``): no other unit sits in another share, or adds anything else there.  The
    fractions differ by less than k.
Processes may round differently.  That they hold one model and one objective is found out by
:mod:`discreet.learning.deep.runs.rank_agreement`; what is added is clipped in each of them.

A process that fails tells so and adds zeros, and the run is closed.  One that has ended is like the
end of this one: the run stops, and is resumed.  Nothing of its step was released; but a row may
have ended it, so that step counts as drawn, and is charged again (key ``marked-steps``).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor, nn

from discreet.errors import EngineFailed, EngineStopped, WrongKind
from discreet.learning.clipping import Clipping
from discreet.learning.deep.batch_sums import ClipGroup
from discreet.learning.deep.companions import GROSS
from discreet.learning.deep.generated import RowShape
from discreet.learning.deep.model_state import ModelState
from discreet.learning.deep.runs.rank_agreement import (
    ModelParts,
    SharedState,
    generated_batches,
    parts_of,
    share_from_first,
)
from discreet.learning.deep.runs.rank_messages import send, told
from discreet.learning.deep.runs.step_sums import StepSums
from discreet.learning.deep.trial import Trial
from discreet.learning.deep.tried_model import TriedModel
from discreet.learning.side_counts import SideCounts
from discreet.noise import SYSTEM, Entropy

_LARGEST: Final = 2.0**62


@final
class RankLost(Exception):
    """Another process has ended, before anything of a step was released."""

    def __init__(self, told: EngineStopped) -> None:
        """Take what the owner of the run is told."""
        super().__init__(told)
        self.told = told


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RankTask:
    """What all processes must agree on; it is made of public values."""

    shapes: tuple[RowShape, RowShape]
    units: int
    rows: int
    groups: tuple[tuple[tuple[str, ...], Fraction, float], ...]
    normalized: bool
    chunk: int
    side: SideCounts
    parts: ModelParts


@final
class Ranks:
    """The other processes, as rank 0 sees them; they run :func:`serve_rank`.

    It needs ``torch.distributed.init_process_group`` in every process.

    >>> Ranks()
    Traceback (most recent call last):
        ...
    discreet.errors.WrongKind: this is not the first process of a group...
    """

    def __init__(self) -> None:
        """Find out how many processes there are."""
        if not dist.is_initialized() or dist.get_rank() != 0:
            raise WrongKind(
                what="this is not the first process of a group.",
                why="one process holds the ledger, tosses the coins and draws the noise.",
                do="call torch.distributed.init_process_group in all processes, make Ranks in the "
                "one with rank 0, and call serve_rank in the others.",
            )
        self.count = dist.get_world_size()
        self._sums: StepSums | None = None
        self._state: SharedState | None = None
        self._parts: ModelParts = ()
        self._step = 1.0

    def prepare(self, task: RankTask, tried: TriedModel) -> None:
        """Let all hold and try this model, and refuse processes that compute something else."""
        told(("prepare", task))
        self._answers(True, "has a model of other parts")
        self._state, self._parts = SharedState(tried.model), task.parts
        told(("try", names := self._state.stale()))
        self._state.exchange(names)
        for settings in self._answers(tried.settings, "has refused the model"):
            if (name := tried.settings.differs_from(settings)) is not None:
                raise _differs(f"has another setting of PyTorch: {name}")
        told(("compare",))
        trial = trial_of(tried, task)
        found = share_from_first(generated_batches(trial), trial.groups)
        apart = max(self._answers(found, None))
        if not apart <= GROSS:
            raise _differs("finds other contributions than this one")

    def _answers(self, own: Any, refusal: str | None) -> list[Any]:
        """Return what all processes answer; refuse if one of them says no."""
        answers: list[Any] = [None] * self.count
        dist.gather_object(own, answers, dst=0)
        if any(answer is None or answer is False for answer in answers):
            raise _differs(refusal or "has failed")
        return answers

    def begin(self, sums: StepSums, step: Fraction) -> None:
        """Take this process's own sums, and the step of the grid."""
        self._sums, self._step = sums, float(step)

    def total(
        self, rows: NDArray[np.int64], *, factor: float = 1.0, entropy: Entropy = SYSTEM
    ) -> Tensor:
        """Return the total of all shares, a multiple of the step in each coordinate."""
        assert self._sums is not None  # noqa: S101  begun before the first step
        assert self._state is not None  # noqa: S101
        if parts_of(self._sums.sums.model) != self._parts:
            raise _differs("has a model of other parts by now")
        shares, here = np.array_split(rows, self.count), torch.device("cpu")
        with self._sums.nothing_kept():
            taken = [self._sums.sums.data.take(share, here) for share in shares[1:]]
        try:
            names = self._state.stale()
            told(("add", factor, self._step, [len(share) for share in shares], names))
            self._state.exchange(names)
            for rank, share in enumerate(taken, start=1):
                for values in share:
                    send(values, rank)
            cells = floored_share(self._sums, shares[0], factor, self._step, entropy)
            dist.reduce(cells, dst=0)
        except RuntimeError as failure:
            lost = EngineStopped(
                what="a process that computes a share of the sums has ended.",
                why="a sum without all of its shares is not the one that was planned.",
                do="resume the run with a new group of processes; its steps so far are kept, and "
                "the one that was lost is charged again.",
            )
            raise RankLost(lost) from failure
        if int(cells[-1]):
            raise EngineFailed(
                what="a process has failed in its share of a step.",
                why="its reason may quote the data.",
                do="see the closed run.",
            )
        return (cells[:-1].double() * self._step).to(self._sums.sums.device)

    def close(self) -> None:
        """Let the other processes end."""
        told(("end",))


def trial_of(tried: TriedModel, task: RankTask) -> Trial:
    """Return micro-batches of the task, for this process's model."""
    device = next(iter(tried.model.parameters())).device
    found = tried.engine.contributions
    trial = Trial(tried.model, found, *task.shapes, task.units, task.rows, device)
    trial.groups = tuple(group.parameters for group in groups_of(tried.model, task))
    trial.objective = tried.objective if "objective" in task.side.names else None
    return trial


def _differs(how: str) -> WrongKind:
    return WrongKind(
        what=f"another process {how}.",
        why="all of them compute shares of one sum, and units move from one share to another.",
        do="call serve_rank with the same model and objective, and the same libraries, in every "
        "process.",
    )


def groups_of(model: nn.Module, task: RankTask) -> tuple[ClipGroup, ...]:
    """Return the groups of a task, for the parameters of this process's model."""
    named = dict(model.named_parameters())
    return tuple(
        ClipGroup(frozenset(named[name] for name in names), Clipping(bound=bound), threshold)
        for names, bound, threshold in task.groups
    )


def parameters_of(model: nn.Module) -> tuple[tuple[str, tuple[int, ...], str], ...]:
    """Return names, shapes and types of what is trained."""
    return tuple(
        (name, tuple(p.shape), str(p.dtype))
        for name, p in model.named_parameters()
        if p.requires_grad
    )


def floored_share(  # noqa: PLR0913, PLR0917  one share
    sums: StepSums,
    rows: NDArray[np.int64],
    factor: float,
    step: float,
    entropy: Entropy,
    share: TriedModel | None = None,
) -> Tensor:
    """Return the floors of a share, and whether it failed: then zeros, and a one at the end."""
    length = sum(p.numel() for p in sums.sums.parameters) + len(sums.side.names)
    cells = torch.zeros(length + 1, dtype=torch.int64)
    cells[-1] = 1
    try:
        if share is not None:
            share.check()
        before = ModelState.of(sums.sums.model)
        floors = torch.floor(sums.total(rows, factor=factor, entropy=entropy).cpu() / step)
        if before.changed(sums.sums.model) is None and bool((floors.abs() < _LARGEST).all()):
            cells[:-1] = floors.to(torch.int64)
            cells[-1] = 0
    except Exception:  # noqa: BLE001, S110  its text may quote the data; told by the one at the end
        pass
    return cells
