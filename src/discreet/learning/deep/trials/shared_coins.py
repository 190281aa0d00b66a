"""Do examples share coins?  Tried on generated rows, before anything is paid.

Trust: kernel.

One coin for a whole micro-batch, such as that of a layer that is left out or of a mask on a weight,
lets its examples contribute together; who shares one with whom may change when a unit enters, and
with it the law of the sum of all others.  So what an example contributes must follow from its own
row and its own coins:

* a pass with dropout off leaves all streams where they were, in the model and in the objective.
  ``vmap`` gives each row coins of PyTorch's own, and runs Python once for all of them: there the
  streams of Python and NumPy must stay.  What runs row by row may toss what it likes;
* dropout is given numbers of single rows, and what a unit contributes stays the same to the bit
  when the masks of others change (:mod:`discreet.learning.deep.trials.fixed_masks`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import torch
from torch import nn

from discreet.learning.deep.coins import own_streams, seeded, streams_of_torch
from discreet.learning.deep.examples import ExampleGradients
from discreet.learning.deep.generated import without_dropout
from discreet.learning.deep.objectives import SummedObjective
from discreet.learning.deep.trial import Trial
from discreet.learning.deep.trials.fixed_masks import (
    MaskedCall,
    masked_calls,
    moved_by_masks,
    sharing,
)

_SINGLE: Final = (nn.Dropout, nn.AlphaDropout)
"""These toss a coin for each number; others do for each line of the first two dimensions."""


def refuse_shared_coins(trial: Trial, objective: SummedObjective) -> None:
    """Refuse a model or an objective that tosses coins for several rows at once."""
    engine = trial.contributions
    examples = isinstance(engine, ExampleGradients)
    one_by_one = isinstance(engine, ExampleGradients) and engine.one_by_one
    x, y, inside = trial.batch(13)

    def contributed() -> None:
        engine.parts(x, y, inside, trial.units)

    def told() -> None:
        with torch.no_grad():
            objective.each(trial.model(x), y)

    with seeded(trial.device, 0):
        if not one_by_one:
            _refuse_draws(trial, contributed, each_row_has_its_own=examples)
        if trial.objective is not None:
            _refuse_draws(trial, told)
        if not examples or trial.objective is not None:
            _refuse_masks(trial)


def _refuse_draws(
    trial: Trial, run: Callable[[], None], *, each_row_has_its_own: bool = False
) -> None:
    """Refuse what draws coins in a pass of several rows, outside of dropout."""
    before = own_streams(), streams_of_torch(trial.device)
    with without_dropout(trial.model):
        run()
    drawn = not each_row_has_its_own and streams_of_torch(trial.device) != before[1]
    run()
    if drawn or own_streams() != before[0]:
        raise sharing("or the objective draws coins outside of nn.Dropout and its kin")


def _refuse_masks(trial: Trial) -> None:
    """Refuse dropout whose masks are not those of single rows."""
    few, more = (masked_calls(trial.model, trial.rows(13, count)[0]) for count in (2, 3))
    if [name for name, _ in few] != [name for name, _ in more]:
        raise sharing("uses dropout otherwise where there are more examples")
    calls = []
    for (name, one), (_, other) in zip(few, more, strict=True):
        module = trial.model.get_submodule(name)
        along = _dimension_of_rows(type(module), one, other)
        if along is None or "forward" in vars(module):
            raise sharing(f"has a dropout '{name}' whose masks are not those of single examples")
        calls.append(MaskedCall(module, along))
    moved = moved_by_masks(trial, calls)
    if moved is not None:
        raise sharing(f"lets masks of other examples move what one contributes to '{moved}'")


def _dimension_of_rows(kind: type[nn.Module], few: torch.Size, more: torch.Size) -> int | None:
    """Return the dimension along which masks are those of rows, given shapes for 2 and for 3."""
    others = [i for i, (a, b) in enumerate(zip(few, more, strict=False)) if a != b]
    if len(few) != len(more) or len(others) != 1:
        return None
    along = others[0]
    sizes = few[along], more[along]
    if kind in _SINGLE:
        return along if sizes[0] * 3 == sizes[1] * 2 else None
    return along if along == 0 and sizes == (2, 3) else None
