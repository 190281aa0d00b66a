"""Arguments of a training run, checked before anything is spent.

Trust: kernel.
"""

from __future__ import annotations

import hashlib
import inspect
import math
import warnings
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

from discreet.certified import sqrt
from discreet.errors import NotSampled, OutOfRange, WrongKind
from discreet.exact import decimal, float_down, positive, whole
from discreet.ledger import Ledger
from discreet.session import Inquiry
from discreet.torch.clipping import Clipping
from discreet.torch.corrected_adam import CorrectedAdam
from discreet.torch.noisy_sum import ClipGroup
from discreet.torch.rows import Augment
from discreet.torch.sampling import UnitRows, unit_column
from discreet.units import PrivacyUnit


def check_mode() -> None:
    """Refuse to train if PyTorch records nothing."""
    if torch.is_inference_mode_enabled():
        raise WrongKind("training is called inside torch.inference_mode(): call it outside.")


def check_ledger(ledger: object) -> Ledger:
    """Refuse anything but a ledger."""
    if not isinstance(ledger, Ledger):
        raise WrongKind(
            f"`ledger` must be a Ledger, got {type(ledger).__name__}: give "
            "dp.ledger.Ledger.open('study.ledger', unit=..., budget=...)."
        )
    return ledger


def check_payer(ledger: object, unit: PrivacyUnit) -> None:
    """Refuse the unit of another ledger."""
    if unit != check_ledger(ledger).unit:
        raise WrongKind("the unit of the run is not that of its ledger: give unit=ledger.unit.")


def check_optimizer(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Refuse an optimizer of another model, and one that asks for more than a gradient a step."""
    known = {id(p) for p in model.parameters()}
    groups = getattr(optimizer, "param_groups", None)
    if groups is None or any(id(p) not in known for g in groups for p in g["params"]):
        raise WrongKind(
            "the optimizer is not one of the parameters of this model: give, say, "
            "torch.optim.SGD(model.parameters(), lr=1)."
        )
    closure = inspect.signature(optimizer.step).parameters.get("closure")
    if closure is not None and closure.default is inspect.Parameter.empty:
        raise WrongKind(
            f"{type(optimizer).__name__} needs a closure: give an optimizer that needs gradients "
            "alone, such as SGD or Adam."
        )


def check_updates(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Refuse trainable parameters that no step would update, and Adam without its noise."""
    if isinstance(optimizer, CorrectedAdam) and not optimizer.expecting:
        raise WrongKind(
            "CorrectedAdam was not told the noise of this run: call optimizer.expect(run.plan) "
            "first."
        )
    updated = {id(p) for group in optimizer.param_groups for p in group["params"]}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad and id(parameter) not in updated:
            raise WrongKind(
                f"the parameter '{name}' is trainable, and the optimizer does not update it: give "
                "the optimizer all trainable parameters, or freeze this one with "
                "requires_grad_(False); with several optimizers, loop over run.gradients()."
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


def either(usual: object, **given: object) -> Any:
    """Return the one of two names of a parameter that was given."""
    named = {name: value for name, value in given.items() if value is not None}
    if len(named) > 1:
        raise WrongKind(f"{' and '.join(named)} are two names of one parameter: give one of them.")
    return next(iter(named.values()), usual)


def steps_of(steps: object, epochs: object, *, population: int, batch: int) -> int:
    """Return how many steps a run has; an epoch draws each unit once on average."""
    if (steps is None) == (epochs is None):
        raise WrongKind(
            "neither or both of steps and epochs are given: give steps=1000, say, or epochs=20."
        )
    if steps is not None:
        return whole(steps, name="steps", low=1)
    people = whole(population, name="population", low=1)
    times = positive(decimal(epochs, name="epochs"), name="epochs")
    return math.ceil(times * people / whole(batch, name="batch", low=1, high=people))


def checked_rows(rows: int, unit: PrivacyUnit) -> int:
    """Read how many rows of a unit count."""
    most = whole(rows, name="rows_per_unit", low=1)
    if most > 1 and not unit.columns:
        raise OutOfRange(
            f"rows_per_unit is {most}, and the unit is one row: leave it out, or protect people: "
            "unit=dp.person('patient')."
        )
    return most


def checked_views(views: int, augment: Augment | None) -> int:
    """Read how many views there are of each row."""
    times = whole(views, name="views", low=1, high=1 << 16)
    if times > 1 and augment is None:
        raise OutOfRange(
            "there are several views of each row, and no augment: give augment, a function of one "
            "row that returns a random view of it."
        )
    return times


def data_of(data: object, unit: PrivacyUnit) -> tuple[Tensor, Tensor, Any]:
    """Return inputs, targets, and the unit of each row; refuse what cannot be drawn from."""
    if isinstance(data, Inquiry):
        raise NotSampled(
            what="the data is a table of a session.",
            why="a run is refused if there are more units than its population, and anyone who asks "
            "a session must not learn from a refusal how many there are.",
            do="fit a model of discreet.models on the table, such as "
            "LogisticRegression(...).fit(table, label=...); whoever holds the rows gives arrays.",
        )
    if isinstance(data, TensorDataset):
        data = data.tensors
    expected = 3 if unit.columns else 2
    if not isinstance(data, tuple) or len(data) != expected:
        parts = "(X, y, units)" if unit.columns else "(X, y)"
        do = f"give data={parts}."
        if isinstance(data, DataLoader):
            do = "give data=loader.dataset, if that is a TensorDataset, or " + do[5:]
        elif isinstance(data, Dataset):
            do = f"stack its rows: data={parts} with X = torch.stack([x for x, _ in dataset])."
        raise NotSampled(
            what=f"data must be a tuple of {parts}, got {type(data).__name__}.",
            why="each step draws every unit by a coin of its own (Poisson sampling); a loader has "
            "drawn its minibatches already, in a way that nobody can price.",
            do=do,
        )
    tensors = [_tensor(values) for values in data[:2]]
    names = None if expected == 2 else unit_column(data[2])
    lengths = {int(t.shape[0]) for t in tensors} | (set() if names is None else {len(names)})
    if len(lengths) != 1:
        raise NotSampled(
            what="inputs, targets or units differ in length.",
            why="each row has one of each.",
            do="give arrays with one line for each row.",
        )
    return tensors[0], tensors[1], names


def _tensor(values: object) -> Tensor:
    """Return a part of the data as a dense tensor of rows; its type is public."""
    if isinstance(values, np.ndarray):
        kind = values.dtype
        try:
            native = np.asarray(values, kind.newbyteorder("="), order="C")
            with warnings.catch_warnings():  # the data is never written to
                warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
                values = torch.from_numpy(native)
        except TypeError:
            raise NotSampled(
                what=f"an array of the data holds {kind}, for which there is no tensor.",
                why="a model computes with numbers of one type.",
                do="give numbers: X.astype('float32'), and classes as integers.",
            ) from None
    if not isinstance(values, Tensor) or values.layout != torch.strided or values.is_nested:
        raise NotSampled(
            what=f"a part of the data is a {type(values).__name__}, not a dense array.",
            why="rows are read one by one, in any order, and all have one shape.",
            do="give dense tensors or NumPy arrays.",
        )
    if values.dim() == 0:
        raise NotSampled(
            what="a part of the data is a single number.",
            why="units are drawn from rows.",
            do="give arrays with one line for each row.",
        )
    return values


def clip_groups(model: nn.Module, clip: object) -> tuple[tuple[str, Fraction], ...]:
    """Return the threshold of each group of parameters, by prefix."""
    if not isinstance(clip, Mapping):
        return (("", _threshold(clip)),)
    groups = tuple((str(p), _threshold(c)) for p, c in clip.items())
    for name, parameter in model.named_parameters():
        owners = [p for p, _ in groups if name.startswith(p)]
        if parameter.requires_grad and len(owners) != 1:
            raise OutOfRange(
                f"the parameter '{name}' belongs to {len(owners)} groups of clip: give prefixes of "
                "which exactly one fits each trainable parameter."
            )
    return groups


def normalized_groups(
    model: nn.Module, groups: tuple[tuple[str, Fraction], ...], *, views: int = 1
) -> tuple[ClipGroup, ...]:
    """Scale groups so that all of them together add at most 1.

    The mean over views is clipped, so their sum is, to as many times the threshold.
    """
    length = Fraction(sqrt(sum((c**2 for _, c in groups), Fraction(0)), 64)[1], 1 << 64)
    named = list(model.named_parameters())
    found = []
    for prefix, threshold in groups:
        share = Fraction(1) if len(groups) == 1 else threshold / length
        mine = frozenset(p for n, p in named if n.startswith(prefix) and p.requires_grad)
        found.append(ClipGroup(mine, Clipping(bound=share), float_down(views * threshold)))
    return tuple(found)


def checked_sums(sums: str, model: nn.Module) -> bool:
    """Read how contributions are added up; say whether in float32."""
    checked_word(sums, {"double", "single"}, name="sums")
    wide = any(
        p.device.type != "cpu" or p.dtype == torch.float64
        for p in model.parameters()
        if p.requires_grad
    )
    if sums == "single" and wide:
        raise OutOfRange(
            "sums in float32 are asked for a model that is in float64 or not on a CPU: leave sums "
            "out."
        )
    return sums == "single"


def checked_word(word: object, known: set[str], *, name: str) -> str:
    """Read one of a few words."""
    if not isinstance(word, str) or word not in known:
        raise OutOfRange(f"{name} must be one of {', '.join(sorted(known))}, got {word!r}.")
    return word


def _threshold(clip: object) -> Fraction:
    return Clipping(bound=decimal(clip, name="clip")).bound  # refuses what floats do not hold


def weights_digest(model: nn.Module) -> str:
    """Return a digest of all values of a model, independent of the file they are in."""
    digest = hashlib.sha256()
    for name, value in sorted(model.state_dict().items()):
        digest.update(name.encode() + b"\0" + str(value.dtype).encode() + b"\0")
        digest.update(
            value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes()
        )
    return digest.hexdigest()
