"""Arguments of a training run that do not fit together, refused before anything is spent.

Trust: kernel.
"""

from __future__ import annotations

import inspect

import torch
from torch import nn

from discreet.errors import NotSampled, OutOfRange, WrongKind
from discreet.exact import whole
from discreet.learning.deep.augmentation import Augment
from discreet.learning.deep.corrected_adam import CorrectedAdam
from discreet.learning.sampling import UnitRows
from discreet.ledger import Ledger
from discreet.units import PrivacyUnit


def check_mode() -> None:
    """Refuse to train where PyTorch records nothing."""
    if torch.is_inference_mode_enabled():
        raise WrongKind(
            what="training is called inside torch.inference_mode().",
            why="nothing is recorded there, and so nothing can be differentiated.",
            do="call it outside.",
        )


def check_ledger(ledger: object) -> Ledger:
    """Refuse what is no open ledger."""
    if not isinstance(ledger, Ledger):
        raise WrongKind(
            what="no ledger is given."
            if ledger is None
            else f"the ledger is a {type(ledger).__name__}, not an open ledger.",
            why="everything is charged to it before a row is read.",
            do="give dp.ledger.Ledger.open('study.ledger', unit=..., budget=...).",
        )
    return ledger


def check_payer(ledger: object, unit: PrivacyUnit) -> None:
    """Refuse what is no ledger, and a unit of another ledger."""
    if unit != check_ledger(ledger).unit:
        raise WrongKind(
            what="the unit of the run is not that of its ledger.",
            why="the ledger promises protection to its own unit.",
            do="give unit=ledger.unit.",
        )


def check_optimizer(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Refuse an optimizer of another model, and one that asks for more than a gradient a step."""
    known = {id(p) for p in model.parameters()}
    groups = getattr(optimizer, "param_groups", None)
    if groups is None or any(id(p) not in known for g in groups for p in g["params"]):
        raise WrongKind(
            what="the optimizer is not one of the parameters of this model.",
            why="it would update something else with noisy gradients, or nothing.",
            do="give, say, torch.optim.SGD(model.parameters(), lr=1).",
        )
    closure = inspect.signature(optimizer.step).parameters.get("closure")
    if closure is not None and closure.default is inspect.Parameter.empty:
        raise WrongKind(
            what=f"{type(optimizer).__name__} needs a closure.",
            why="it would compute the objective of private rows again and again in each step, and "
            "a step releases one noisy gradient.",
            do="give an optimizer that needs gradients alone, such as SGD or Adam.",
        )


def check_updates(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Refuse trainable parameters that no step would update, and a noise that was not told."""
    if isinstance(optimizer, CorrectedAdam) and not optimizer.expecting:
        raise WrongKind(
            what="CorrectedAdam was not told the noise of this run.",
            why="it would take nothing off the second moment, as Adam does.",
            do="call optimizer.expect(run.plan) first.",
        )
    updated = {id(p) for group in optimizer.param_groups for p in group["params"]}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad and id(parameter) not in updated:
            raise WrongKind(
                what=f"the parameter '{name}' is trainable, and the optimizer does not update it.",
                why="it would never learn, and still take its part of every clipped contribution.",
                do="give the optimizer all trainable parameters, or freeze this one with "
                "requires_grad_(False); with several optimizers, loop over run.gradients().",
            )


def check_population(units: UnitRows, population: int) -> None:
    """Refuse data with more units than were promised."""
    if units.units > whole(population, name="population", low=1):
        raise NotSampled(
            what="the data has more units than its declared population.",
            why="the population is a public promise, and the chance of a large batch is "
            "computed from it.",
            do="declare a larger population; that it is an upper bound is enough.",
        )


def checked_rows(rows: int, unit: PrivacyUnit) -> int:
    """Read how many rows of a unit count."""
    most = whole(rows, name="rows_per_unit", low=1)
    if most > 1 and not unit.columns:
        raise OutOfRange(
            what=f"rows_per_unit is {most}, and the unit is one row.",
            why="places for further rows would be computed in vain.",
            do="leave rows_per_unit out, or protect people: unit=dp.person('patient').",
        )
    return most


def checked_views(views: int, augment: Augment | None) -> int:
    """Read how many views there are of each row."""
    times = whole(views, name="views", low=1, high=1 << 16)
    if times > 1 and augment is None:
        raise OutOfRange(
            what="there are several views of each row, and no augment.",
            why="views that are all the same cost time and change nothing.",
            do="give augment, a function of one row that returns a random view of it.",
        )
    return times
