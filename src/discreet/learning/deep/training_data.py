"""Arguments of a training run that are about tensors: data, groups of parameters, weights.

Trust: kernel.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from discreet.certified import sqrt
from discreet.errors import NotSampled, OutOfRange
from discreet.exact import decimal, float_down
from discreet.learning.clipping import Clipping
from discreet.learning.deep.batch_sums import ClipGroup
from discreet.learning.sampling import unit_column
from discreet.session.inquiry import Inquiry
from discreet.units import PrivacyUnit


def data_of(data: object, unit: PrivacyUnit) -> tuple[Tensor, Tensor, Any]:
    """Return inputs, targets, and the unit of each row; refuse what cannot be drawn from."""
    if isinstance(data, Inquiry):
        raise NotSampled(
            what="the data is a table of a session.",
            why="a run is refused where there are more units than its population, and whoever asks "
            "a session must not learn from a refusal how many there are.",
            do="fit a model of discreet.learning.models on the table, such as "
            "LogisticRegression(...).fit(table, label=...); whoever holds the rows gives arrays.",
        )
    expected = 3 if unit.columns else 2
    if not isinstance(data, tuple) or len(data) != expected:
        raise NotSampled(
            what="the data is not a tuple of inputs and targets"
            + (", and the unit of each row." if unit.columns else "."),
            why="units are drawn by exact coins, one for each; a loader or an iterator has drawn "
            "already, in a way that nobody can price.",
            do="give data=(X, y)"
            + (", with the column of the unit third." if unit.columns else "."),
        )
    tensors = []
    for values in data[:2]:
        if not isinstance(values, Tensor | np.ndarray):
            raise NotSampled(
                what=f"a part of the data is a {type(values).__name__}, not an array.",
                why="each unit is read by itself, in whatever order chance decides.",
                do="give tensors or NumPy arrays.",
            )
        tensors.append(values if isinstance(values, Tensor) else _tensor(values))
        if tensors[-1].layout != torch.strided or tensors[-1].is_nested:
            raise NotSampled(
                what="a part of the data is a sparse or nested tensor.",
                why="rows are drawn one by one, and all have one shape.",
                do="give dense tensors, as X.to_dense() returns them.",
            )
        if tensors[-1].dim() == 0:
            raise NotSampled(
                what="a part of the data is a single number.",
                why="units are drawn from rows.",
                do="give arrays with one line for each row.",
            )
    names = None if expected == 2 else unit_column(data[2])
    lengths = {int(t.shape[0]) for t in tensors} | (set() if names is None else {len(names)})
    if len(lengths) != 1:
        raise NotSampled(
            what="inputs, targets or units differ in length.",
            why="each row has one of each.",
            do="give arrays with one line for each row.",
        )
    return tensors[0], tensors[1], names


def _tensor(values: np.ndarray[Any, np.dtype[Any]]) -> Tensor:
    """Return an array as a tensor; its type is public, and some have none."""
    kind = values.dtype
    try:
        torch.from_numpy(np.empty(0, kind.newbyteorder("=")))
    except TypeError:
        raise NotSampled(
            what=f"an array of the data holds {kind}, for which there is no tensor.",
            why="a model computes with numbers of one type.",
            do="give numbers: X.astype('float32'), and classes as whole numbers.",
        ) from None
    native = np.asarray(values, kind.newbyteorder("="), order="C")
    with warnings.catch_warnings():  # nobody writes to the data
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return torch.from_numpy(native)


def clip_groups(model: nn.Module, clip: object) -> tuple[tuple[str, Fraction], ...]:
    """Return the threshold of each group of parameters, by prefix."""
    if not isinstance(clip, Mapping):
        return (("", _threshold(clip)),)
    groups = tuple((str(p), _threshold(c)) for p, c in clip.items())
    for name, parameter in model.named_parameters():
        owners = [p for p, _ in groups if name.startswith(p)]
        if parameter.requires_grad and len(owners) != 1:
            raise OutOfRange(
                what=f"the parameter '{name}' belongs to {len(owners)} groups of clip.",
                why="each parameter is clipped once.",
                do="give prefixes of which exactly one fits each trainable parameter.",
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
    if sums not in {"double", "single"}:
        raise OutOfRange(
            what="sums is neither 'double' nor 'single'.",
            why="it says whether contributions are added up in float64, or in float32 first.",
            do="leave it out, or give one of the two.",
        )
    wide = any(
        p.device.type != "cpu" or p.dtype == torch.float64
        for p in model.parameters()
        if p.requires_grad
    )
    if sums == "single" and wide:
        raise OutOfRange(
            what="sums in float32 are asked for a model that is in float64 or not on a CPU.",
            why="they are faster for float32 on CPUs alone, and their rounding is paid for.",
            do="leave sums out.",
        )
    return sums == "single"


def checked_clipping(clipping: str) -> str:
    """Read how contributions are clipped."""
    if clipping not in {"norm", "normalized", "adaptive"}:
        raise OutOfRange(
            what="clipping is none of 'norm', 'normalized' and 'adaptive'.",
            why="it says what happens to contributions that are short, and to the threshold.",
            do="leave it out, or give one of the three.",
        )
    return clipping


def _threshold(clip: object) -> Fraction:
    return Clipping(bound=decimal(clip, name="clip")).bound  # refuses what floats do not hold


def weights_digest(model: nn.Module) -> str:
    """Return a digest of all values of a model, whatever file they are in."""
    digest = hashlib.sha256()
    for name, value in sorted(model.state_dict().items()):
        digest.update(name.encode() + b"\0" + str(value.dtype).encode() + b"\0")
        digest.update(
            value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes()
        )
    return digest.hexdigest()
