"""Several processes that compute one sum: each floors its share to the grid, and integers add up.

Trust: kernel.

The first process (rank 0) has the data, the ledger, the coins and the noise.  In each step it sends
every other one the trainable parameters and the rows of its share of the batch; each adds up the
contributions of its share, floors the total to the grid, and the integers are added up.  Noise is
added once, by rank 0: noises of k processes together would be another law, and a process that
kept its own would hold a sum with a part of the noise.

Theorem (key ``floored-shares``).  With k processes, the integers for two batches of which one has
one unit more differ by less than (C + slack) / step + k sqrt(d) steps in L2, however units are
shared out.
    Proof.  The sum of the floors of S_1, ..., S_k is the sum of the S_r less k fractions from
    [0, 1) in each coordinate.  The sums of the S_r of neighbors differ by at most C + slack (key
    ``gradient-sum``), although a unit may sit in another share; the fractions by less than k.

A process that fails tells so and adds zeros, and the run is closed.  One that has ended is like the
end of this one: the run stops in order, and is resumed.
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
from discreet.learning.deep.batch_sums import BatchSums, ClipGroup, RowTensors
from discreet.learning.deep.choice import check_model
from discreet.learning.deep.generated import RowShape
from discreet.learning.deep.model_state import ModelState
from discreet.learning.deep.objectives import Objective
from discreet.learning.deep.runs.step_sums import StepSums, secret_seed
from discreet.learning.deep.tried_model import TriedModel, try_model
from discreet.learning.side_counts import SideCounts
from discreet.noise import SYSTEM, Entropy

_LARGEST: Final = 2.0**62


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RankTask:
    """What all processes must agree on; it is made of public values."""

    shapes: tuple[RowShape, RowShape]
    units: int
    rows: int
    groups: tuple[tuple[tuple[str, ...], Fraction, float], ...]
    normalized: bool
    side: SideCounts
    parameters: tuple[tuple[str, tuple[int, ...], str], ...]


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
        self._parameters: tuple[nn.Parameter, ...] = ()
        self._step = 1.0

    def prepare(self, task: RankTask) -> Fraction:
        """Tell all what to do; return the largest drift that any of them has measured."""
        _told(("prepare", task))
        answers: list[Any] = [None] * self.count
        dist.gather_object(("ready", Fraction(0)), answers, dst=0)
        if any(word != "ready" for word, _ in answers):
            raise WrongKind(
                what="another process has refused the model, or has another one.",
                why="all of them compute shares of one sum.",
                do="call serve_rank with the same model and objective in every process.",
            )
        drifts: list[Fraction] = [drift for _, drift in answers]
        return max(drifts)

    def begin(self, sums: StepSums, parameters: tuple[nn.Parameter, ...], step: Fraction) -> None:
        """Take this process's own sums, and the step of the grid."""
        self._sums, self._parameters, self._step = sums, parameters, float(step)

    def total(
        self, rows: NDArray[np.int64], *, factor: float = 1.0, entropy: Entropy = SYSTEM
    ) -> Tensor:
        """Return the total of all shares, a multiple of the step in each coordinate."""
        assert self._sums is not None  # noqa: S101  begun before the first step
        shares, here = np.array_split(rows, self.count), torch.device("cpu")
        with secret_seed(here, entropy):  # views of rows are random
            taken = [self._sums.sums.data.take(share, here) for share in shares[1:]]
        try:
            _told(("add", factor, self._step, [len(share) for share in shares]))
            for parameter in self._parameters:
                _broadcast(parameter.detach())
            for rank, share in enumerate(taken, start=1):
                for values in share:
                    _send(values, rank)
            cells = _cells(self._sums, shares[0], factor, self._step, entropy)
            dist.reduce(cells, dst=0)
        except RuntimeError as failure:
            raise EngineStopped(
                what="a process that computes a share of the sums has ended.",
                why="a sum without all of its shares is not the one that was planned.",
                do="resume the run with a new group of processes; its steps so far are kept.",
            ) from failure
        if int(cells[-1]):
            raise EngineFailed(
                what="a process has failed in its share of a step.",
                why="its reason may quote the data.",
                do="see the closed run.",
            )
        return (cells[:-1].double() * self._step).to(self._sums.sums.device)

    def close(self) -> None:
        """Let the other processes end."""
        _told(("end",))


def serve_rank(model: nn.Module, *, objective: Objective, entropy: Entropy = SYSTEM) -> int:
    """Compute shares of the sums of rank 0 until it closes; return how many there were.

    >>> serve_rank(nn.ReLU(), objective=nn.functional.mse_loss)
    Traceback (most recent call last):
        ...
    discreet.errors.OutOfRange: no parameter of the model is trainable...
    """
    checked = check_model(model)
    sums: StepSums | None = None
    task: RankTask | None = None
    tried: TriedModel | None = None
    served = 0
    while True:
        message = _told(None)
        if message[0] == "end":
            return served
        if message[0] == "prepare":
            task = message[1]
            tried, sums = _prepared(checked, objective, task)
            continue
        assert sums is not None  # noqa: S101  prepared before the first share
        assert task is not None  # noqa: S101
        assert tried is not None  # noqa: S101
        _, factor, step, sizes = message
        for parameter in tried.parameters:
            _broadcast(parameter.detach())
        count = sizes[dist.get_rank()] * task.rows
        x, y = (_received((count, *s.shape), s.dtype) for s in task.shapes)
        inside = _received((count,), torch.bool)
        sums.sums.data = RowTensors(x, y)
        places = torch.where(inside, torch.arange(count), -1).numpy().reshape(-1, task.rows)
        cells = _cells(sums, places, factor, step, entropy, share=tried)
        dist.reduce(cells, dst=0)
        served += 1


def _prepared(
    model: nn.Module, objective: Objective, task: RankTask
) -> tuple[TriedModel | None, StepSums | None]:
    """Try the model here, too, and answer with its drift."""
    answer: tuple[str, Fraction] = ("refused", Fraction(0))
    tried, sums = None, None
    try:
        if parameters_of(model) == task.parameters:
            groups = groups_of(model, task)
            tried = try_model(
                model,
                objective,
                shapes=task.shapes,
                units=task.units,
                rows=task.rows,
                groups=groups,
                told="objective" in task.side.names,
            )
            sums = StepSums(
                BatchSums(
                    model,
                    tried.engine,
                    RowTensors(torch.zeros(0), torch.zeros(0)),
                    groups=groups,
                    micro=task.units,
                    normalized=task.normalized,
                    device=next(iter(model.parameters())).device,
                ),
                task.side,
                tried.objective,
            )
            answer = ("ready", tried.drift)
    finally:
        dist.gather_object(answer, None, dst=0)
    return tried, sums


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


def _cells(  # noqa: PLR0913, PLR0917  one share
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


# --- messages ---------------------------------------------------------------------------------


def _told(message: Any) -> Any:
    """Send a message to all, or receive one."""
    held = [message]
    dist.broadcast_object_list(held, src=0)
    return held[0]


def _bytes(values: Tensor) -> Tensor:
    """Return values as bytes, which every backend carries."""
    return values.detach().cpu().contiguous().flatten().view(torch.uint8)


def _broadcast(values: Tensor) -> None:
    """Give all processes the values of rank 0."""
    carried = _bytes(values).clone()
    dist.broadcast(carried, src=0)
    if dist.get_rank():
        with torch.no_grad():
            values.copy_(carried.view(values.dtype).view(values.shape))


def _send(values: Tensor, rank: int) -> None:
    if values.numel():
        dist.send(_bytes(values), rank)


def _received(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    values = torch.empty(shape, dtype=dtype)
    if values.numel():
        carried = torch.empty(values.nbytes, dtype=torch.uint8)
        dist.recv(carried, 0)
        values = carried.view(dtype).view(shape)
    return values
