"""Check on generated rows, before payment, that contributions do not depend on the other rows.

Trust: kernel.

Layers that are known to mix examples are refused by type (:mod:`discreet.torch.per_example`).
A model that is differentiated example by example (``vmap``) cannot mix them.  For one whose layers
are recorded, micro-batches of generated rows are computed three times: unchanged, with half of the
units replaced by others, and in the opposite order.  The contribution of a unit must not move by
more than a share of 1e-4.  That finds custom batch statistics, layers that see the batch in another
dimension, and meters, all of them honest mistakes (T9).  It is tried with the weights as they are
and with all of them moved a little, since behind a layer that begins at zero nothing is contributed
and nothing could be compared.  The sum without clipping must be autograd's own gradient, and no
tensor of the model may be written to.

Last bits are not compared: that a float32 matrix product rounds a row alike in any position and
with any other rows is an assumption of the proof (docs/proofs/learning.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, final

import torch
from torch import Tensor, nn

from discreet.errors import (
    DiscreetError,
    ExamplesMix,
    LayerNotProvable,
    NotPerExample,
    OtherRun,
    WrongKind,
)
from discreet.torch.layer_parts import zeros_of
from discreet.torch.loss_function import Objective, SummedObjective
from discreet.torch.per_example import ModelEngine, RecordedFactors, choose
from discreet.torch.rows import RowShape

_GROSS: Final = 1e-4
"""By what share contributions may differ before they are not the same but for rounding."""
_SHAKES: Final = (0.0, 0.02)
_FEW: Final = 16
"""How many units there are in a trial."""
_LEAST_UNITS: Final = 8
_CPU_BYTES: Final = 1 << 24
_GPU_BYTES: Final = 1 << 30
_DROPOUTS: Final = {
    *(nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout),
    nn.FeatureAlphaDropout,
}
"""The exact types whose masks do not depend on the rows; a subclass may do anything."""

Rows = tuple[Tensor, Tensor]


@final
@dataclass(frozen=True, slots=True)
class Writes:
    """The tensors of a model, and how often each was written to in place.

    A buffer, a frozen weight or a plain parameter that a forward pass writes to carries something
    of the rows out of a step without noise: running statistics, for one (T9).
    """

    tensors: tuple[tuple[str, Tensor, int], ...]

    @classmethod
    def of(cls, model: nn.Module) -> Writes:
        """Read the counters that PyTorch keeps."""
        named = (*model.named_parameters(), *model.named_buffers())
        return cls(tuple((name, value, _writes_to(value)) for name, value in named))

    def changed(self, model: nn.Module) -> str | None:
        """Return the name of a tensor that was replaced or written to."""
        now = {name: value for name, value, _ in Writes.of(model).tensors}
        for name, value, writes in self.tensors:
            if now.pop(name, None) is not value or _writes_to(value) != writes:
                return name
        return next(iter(now), None)


def _writes_to(value: Tensor) -> int:
    return -1 if value.is_inference() else value._version  # noqa: SLF001  it has no other name


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TriedModel:
    """A model and its objective that were tried, and how contributions are found."""

    model: nn.Module
    objective: SummedObjective
    engine: ModelEngine
    parameters: tuple[nn.Parameter, ...]
    modes: tuple[tuple[nn.Module, bool], ...]
    units: int
    """How many units a micro-batch has at most."""

    def check(self) -> None:
        """Refuse a model whose modules, modes or trainable parameters are others than were tried.

        A batch normalization that was frozen by ``.eval()`` and wakes up would mix examples (T9).
        """
        now = tuple(p for p in self.model.parameters() if p.requires_grad)
        same = len(now) == len(self.parameters)
        same = same and all(a is b for a, b in zip(now, self.parameters, strict=True))
        if not same or modes_of(self.model) != self.modes:
            raise OtherRun(
                what="modules or parameters of the model were replaced, or changed between "
                ".train() and .eval().",
                why="contributions were tried with those at planning; a batch normalization that "
                "wakes up mixes examples.",
                do="set each module to its mode of that time, or make a new Training.",
            )


def modes_of(model: nn.Module) -> tuple[tuple[nn.Module, bool], ...]:
    """Return the modules of a model, and which of them are in training mode."""
    return tuple((module, module.training) for module in model.modules())


def try_model(  # noqa: PLR0913  a model, and the shape of its micro-batches
    model: nn.Module,
    objective: Objective,
    *,
    shapes: tuple[RowShape, RowShape],
    rows: int,
    cap: int,
    units: int | None = None,
) -> TriedModel:
    """Try a model on generated rows; refuse one whose examples mix.

    Args:
        model: any module.
        objective: a function of outputs and targets.
        shapes: those of one row of inputs and of targets.
        rows: how many rows each unit has, views included.
        cap: how many units a batch has at most.
        units: how many units a micro-batch has; fitted to the model by default.
    """
    device = next(iter(model.parameters())).device
    few = min(cap, _FEW)
    x, y = _made_up(shapes, few * rows, 1, device)
    writes = Writes.of(model)
    outputs = _outputs(model, x)
    if not isinstance(outputs, Tensor) or outputs.dim() == 0:
        raise NotPerExample(
            what=f"the model returns a {type(outputs).__name__}, not one line for each example.",
            why="an objective is a function of the outputs and targets of single examples.",
            do="let forward return one tensor; put several outputs side by side with torch.cat, "
            "and let the objective take them apart.",
        )
    summed = SummedObjective.tested(objective, outputs, y[: outputs.shape[0]])
    engine = choose(model, summed, x, y, units=few)
    units = min(cap, _fitting(engine, few, cap, device) if units is None else units)
    recorded = isinstance(engine.contributions, RecordedFactors)
    with without_dropout(model):
        for size in _SHAKES:
            with _shaken(model, size):
                _refuse_mixing(model, engine, shapes, few, rows, device)
        if recorded:
            _compare_with_autograd(model, engine, summed, x, y, few)
    _refuse_writes(writes, model)
    return TriedModel(
        model=model,
        objective=summed,
        engine=replace(engine, memory=engine.memory * units // few),
        parameters=tuple(p for p in model.parameters() if p.requires_grad),
        modes=modes_of(model),
        units=units,
    )


def _fitting(engine: ModelEngine, few: int, cap: int, device: torch.device) -> int:
    """Return how many units are computed at once, from the memory that a few of them take.

    The largest possible batch is cut into equal parts.

    Small micro-batches start the same kernels more often, and large ones leave the caches: with
    factors of 16 megabytes, every model of benchmarks/learning.py is within 6 percent of the best
    size on a CPU (a transformer and WRN-16-4 at 8 rows, a CNN at 512, an MLP at 1024).  Single
    gradients of each example are worth more memory, and a GPU has more.
    """
    budget, most = (_CPU_BYTES, 1024) if device.type == "cpu" else (_GPU_BYTES, 8192)
    if not isinstance(engine.contributions, RecordedFactors):
        budget *= 4
    fitting = max(_LEAST_UNITS, min(most, budget * few // max(1, engine.memory)))
    return -(-cap // -(-cap // fitting))


def _made_up(
    shapes: tuple[RowShape, RowShape], count: int, seed: int, device: torch.device
) -> Rows:
    x, y = (shape.rows(count, seed=2 * seed + i, device=device) for i, shape in enumerate(shapes))
    return x, y


def _outputs(model: nn.Module, rows: Tensor) -> object:
    """Run a model on generated rows; its error messages contain no data value."""
    try:
        with torch.no_grad():
            return model(rows)
    except DiscreetError:
        raise
    except Exception as failure:
        shape = " by ".join(map(str, rows.shape[1:])) or "one number"
        raise WrongKind(
            f"the model cannot be run on made-up rows of {shape}, {rows.dtype} "
            f"({type(failure).__name__}: {' '.join(str(failure).split())[:200]}): give inputs as "
            "the first layer takes them, such as X.float()."
        ) from failure


def _refuse_mixing(  # noqa: PLR0913, PLR0917  a model, and the shape of its micro-batches
    model: nn.Module,
    engine: ModelEngine,
    shapes: tuple[RowShape, RowShape],
    units: int,
    rows: int,
    device: torch.device,
) -> None:
    """Refuse a model if half of a micro-batch changes the contributions of the other half."""
    if units == 1:
        return
    count = units * rows
    inside = torch.ones(count, dtype=torch.bool)
    own, others = (_made_up(shapes, count, seed, device) for seed in (3, 4))
    if others[0].is_floating_point():  # non-finite values spread by any operation
        others[0][: rows * (units // 2 + 1)] = torch.nan
    stays = torch.randperm(units, generator=torch.Generator().manual_seed(5))[: units // 2]
    places = torch.zeros(units, dtype=torch.bool)
    places[stays] = True
    kept = places.repeat_interleave(rows).to(device)
    mixed = [
        torch.where(kept.view(-1, *[1] * (one.dim() - 1)), one, other)
        for one, other in zip(own, others, strict=True)
    ]

    def lines(x: Tensor, y: Tensor) -> list[tuple[nn.Parameter, Tensor]]:
        parts = engine.contributions.parts(x, y, inside, units)
        return [(part.owner, each.clone()) for part in parts for each in part.lines()]

    before = lines(*own)
    after = lines(mixed[0], mixed[1])
    turned = lines(*(each.unflatten(0, (units, rows)).flip(0).flatten(0, 1) for each in own))
    chosen = places.to(device)
    for (owner, one), (_, other), (_, third) in zip(before, after, turned, strict=True):
        shares = _share(one[chosen], other[chosen]), _share(one, third.flip(0))
        if not max(shares) <= _GROSS:
            name = next(n for n, p in model.named_parameters() if p is owner)
            raise ExamplesMix(
                what=f"what an example contributes to '{name}' depends on the examples beside it.",
                why="then one example moves more than its own contribution, and clipping bounds "
                "nothing.",
                do="replace what looks across the batch before that layer: batch statistics by "
                "GroupNorm, functional dropout by nn.Dropout, tensors with the batch in another "
                "place than first.",
            )


def _share(one: Tensor, other: Tensor) -> float:
    """Return the largest difference of two lines, over the largest norm of a line."""
    if not one.is_floating_point():
        return 0.0 if torch.equal(one, other) else float("inf")
    first, second = (values.double().reshape(len(values), -1) for values in (one, other))
    moved = float((first - second).norm(dim=1).max())
    norm = float(first.norm(dim=1).max())
    if moved == norm == 0.0:
        return 0.0
    return moved / norm if norm and moved == moved else float("inf")  # noqa: PLR0124  NaN


def _compare_with_autograd(  # noqa: PLR0913, PLR0917  a model, and one micro-batch
    model: nn.Module,
    engine: ModelEngine,
    objective: SummedObjective,
    x: Tensor,
    y: Tensor,
    units: int,
) -> None:
    """Refuse a model whose contributions do not add up to its gradient."""
    totals = zeros_of(model)
    ones = torch.ones(units, dtype=torch.float64, device=x.device)
    inside = torch.ones(len(x), dtype=torch.bool)
    for part in engine.contributions.parts(x, y, inside, units):
        part.add(ones, totals)
    parameters = list(totals)
    with torch.enable_grad():
        total = objective(model(x), y)
        gradients = torch.autograd.grad(total, parameters, allow_unused=True)
    coarse = max(torch.finfo(each.dtype).eps for each in (*parameters, total))
    scale = max(float(v.abs().max()) for v in totals.values() if v.numel())
    allowed = max(0.05, 16 * coarse) * scale + 1e-12
    for parameter, gradient in zip(parameters, gradients, strict=True):
        truth = torch.zeros_like(parameter) if gradient is None else gradient
        if not bool(((totals[parameter] - truth).abs() <= allowed).all()):
            raise LayerNotProvable(
                what="contributions do not add up to the gradient of the model.",
                why="an operation changes the input of a layer in place, uses a weight outside its "
                "layer, or decides something for all rows of a batch at once.",
                do="set inplace=False, use each weight through its own layer alone, and decide row "
                "by row, with torch.where.",
            )


def _refuse_writes(before: Writes, model: nn.Module) -> None:
    """Refuse a model that writes to itself when it is used."""
    name = before.changed(model)
    if name is not None:
        raise ExamplesMix(
            what=f"the tensor '{name}' changes when the model is used.",
            why="it carries something of the rows from one step to the next, without noise.",
            do="freeze the module that owns it with .eval(), or replace it.",
        )


@contextmanager
def without_dropout(model: nn.Module) -> Iterator[None]:
    """Switch dropout off, whose masks do not depend on the rows."""
    active = [m for m in model.modules() if type(m) in _DROPOUTS and m.training]
    for module in active:
        module.training = False
    try:
        yield
    finally:
        for module in active:
            module.training = True


@contextmanager
def _shaken(model: nn.Module, size: float) -> Iterator[None]:
    """Move all trained weights a little for a while, by values, and not by writes that count."""
    moved = [p for p in model.parameters() if p.requires_grad] if size else []
    kept = [p.data for p in moved]
    try:
        for seed, parameter in enumerate(moved):
            stream = torch.Generator().manual_seed(seed)
            step = size * torch.randn(parameter.shape, generator=stream)
            parameter.data = parameter.data + step.to(parameter.data)
        yield
    finally:
        for parameter, value in zip(moved, kept, strict=True):
            parameter.data = value
