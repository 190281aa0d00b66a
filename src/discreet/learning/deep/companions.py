"""Do the units beside one move what it contributes?  Compared bit by bit, at every place.

Trust: kernel.

Units of a generated micro-batch stay where they are, and others around them are replaced: by
ordinary rows, by padding, by numbers that are huge, tiny or not finite, by targets that are ignored
or no class; where rows are tokens, also by rows with and without one of them, beside rows that end
in it.  Who stays is drawn: half of all places and then the other half, or one and then all
others.  So every place is compared beside every kind of companion, and two places are parted in
every second comparison, on average.
A unit in a micro-batch of its own has nobody beside it; then others are computed before it, so that
a memory of them is found.
It is a test and no proof: what one value of a companion does in one seat alone may be missed.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Final

import torch
from torch import Tensor, nn

from discreet.errors import ExamplesMix, TooImprecise
from discreet.learning.deep.trial import Trial
from discreet.learning.deep.trials.tokens import token_batches

Batch = tuple[Tensor, Tensor, Tensor]
Lines = list[tuple[nn.Parameter | None, Tensor]]

GROSS: Final = 1e-4
"""By what share contributions may differ before they are not the same but for rounding."""

_FAILURES: Final = (IndexError, RuntimeError)
COMPARED: Final = 100
"""Which generated micro-batch is compared, beyond a seed."""


def compare_companions(trial: Trial, seed: int) -> None:
    """Refuse a model in which a companion moves what a unit contributes, at any place."""
    stream, one = torch.Generator().manual_seed(seed), seed % 2 == 1
    batch = trial.batch(seed + COMPARED)
    before = _kept_lines(trial, batch)
    _refuse_companions(trial, before, trial.lines(*batch), torch.arange(trial.units))
    for others in trial.companions(seed + 200):
        _compare_beside(trial, batch, before, others, _halves(trial.units, stream, one=one))
    for others in trial.bad_targets(seed + 200):
        halves = _halves(trial.units, stream, one=one)
        _compare_beside(trial, batch, before, others, halves, fails=_FAILURES)


def compare_tokens(trial: Trial, seed: int) -> None:
    """Refuse a model in which tokens of companions move what a unit contributes."""
    stream = torch.Generator().manual_seed(seed)
    for batch, companions in token_batches(trial, seed):
        before: Lines = []
        with suppress(*_FAILURES):  # no token of this model, on a CPU
            before = _kept_lines(trial, batch)
        for others in companions if before else ():
            single = _halves(trial.units, stream, one=True)[:1]
            _compare_beside(trial, batch, before, others, single, fails=_FAILURES)


def _compare_beside(  # noqa: PLR0913, PLR0917  two micro-batches, and who stays
    trial: Trial,
    batch: Batch,
    before: Lines,
    others: Batch,
    halves: tuple[Tensor, ...],
    fails: tuple[type[Exception], ...] = (),
) -> None:
    """Compare units that stay; a pass that fails so would do so in a step, which tells nothing."""
    if trial.units == 1:
        with suppress(*_FAILURES):
            trial.lines(*others)
        _refuse_companions(trial, before, trial.lines(*batch), torch.arange(1))
    for kept in halves:
        after: Lines | None = None
        with suppress(*fails):
            after = trial.lines(*_mixed(trial, batch, others, kept))
        if after is not None:
            _refuse_companions(trial, before, after, kept)


def _kept_lines(trial: Trial, batch: Batch) -> Lines:
    return [(owner, value.clone()) for owner, value in trial.lines(*batch)]


def _halves(units: int, stream: torch.Generator, *, one: bool) -> tuple[Tensor, ...]:
    """Return some places of a micro-batch, and all others: half of them, or a single one.

    Each place is kept once and given to a companion once; two places are parted every second time.
    """
    if units == 1:
        return ()
    order = torch.randperm(units, generator=stream)
    count = 1 if one else units // 2
    return order[:count], order[count:]


def _mixed(trial: Trial, batch: Batch, others: Batch, kept: Tensor) -> Batch:
    """Return a micro-batch in which all but some units are others."""
    places = torch.zeros(trial.units, dtype=torch.bool)
    places[kept] = True
    rows = places.repeat_interleave(trial.count).to(trial.device)

    def chosen(ours: Tensor, theirs: Tensor) -> Tensor:
        return torch.where(rows.view(-1, *[1] * (ours.dim() - 1)), ours, theirs)

    (x, y, inside), (x_other, y_other, inside_other) = batch, others
    return chosen(x, x_other), chosen(y, y_other), chosen(inside, inside_other)


def _refuse_companions(trial: Trial, before: Lines, after: Lines, kept: Tensor) -> None:
    """Refuse a difference of one bit in what is known of the units that were kept."""
    worst, where = 0.0, None  # of no parameter: the objective
    for (owner, was), (_, now) in zip(before, after, strict=True):
        chosen = kept.to(was.device)
        one, another = was[chosen], now[chosen]
        if not torch.equal(one, another):
            share = _line_share(one, another)
            worst, where = max((worst, where), (share, owner), key=lambda each: each[0])
    if worst > GROSS:
        names = (n for n, p in trial.model.named_parameters() if p is where)
        if where is None:
            raise mixing("the objective of an example")
        raise mixing(f"what an example contributes to '{next(names)}'")
    if worst > 0:
        raise TooImprecise(
            what="last bits of what an example contributes depend on the examples beside it.",
            why="rows that are made for it magnify last bits without a bound, so that one example "
            "moves more than any price covers.",
            do="set torch.backends.cudnn.deterministic = True on a GPU, or give micro_batch=1.",
        )


def _line_share(one: Tensor, another: Tensor) -> float:
    """Return the largest difference of lines over the largest norm; infinite for what is none."""
    if one.shape != another.shape:
        return math.inf
    first, second = (values.double().reshape(len(values), -1) for values in (one, another))
    norm = float(first.norm(dim=1).max())
    share = float((first - second).norm(dim=1).max()) / norm if norm else math.inf
    return math.inf if math.isnan(share) else max(share, math.ulp(0.0))  # squares may underflow


def mixing(what: str) -> ExamplesMix:
    """Return the error for a model whose examples mix."""
    return ExamplesMix(
        what=f"{what} depends on the examples beside it.",
        why="then one example moves more than its own contribution, and clipping bounds nothing.",
        do="replace what looks across the batch before that layer: batch statistics by GroupNorm, "
        "functional dropout by nn.Dropout, tensors with the batch in another place than first.",
    )
