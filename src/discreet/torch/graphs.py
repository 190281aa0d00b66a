"""Contributions of plain models on a GPU, by graphs of kernels that are started at once.

Trust: kernel.

A small model spends most of a step on starting kernels one by one.  CUDA records them once, in two
graphs: factors and norms, and, once norms have become scales, the sums.  These are the kernels of
:mod:`discreet.torch.per_example`, on the same numbers.  Graphs are recorded on generated rows,
before a batch is read, and compared there with what they replace; what differs is not used.

A graph replays the recorded operations, even if the code would now do something else.  So models
are recorded only if they are made of layers of PyTorch that decide nothing in Python, and of
classes that promise the same by an attribute ``same_operations = True``: no forward of theirs
depends on anything but its inputs, parameters and buffers.  There must be no hooks, and the
objective must be known.  All others are computed call by call.  A graph is recorded again when a
parameter has moved, or when shapes change.  A broken promise changes what the model learns but not
the privacy loss: contributions are clipped by their own norms.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Final, final

import torch
from torch import Tensor, nn

from discreet.torch.clipping import raised
from discreet.torch.layer_parts import LayerPart, Streams, Totals, flat_zeros, zeros_of
from discreet.torch.layers import CONVOLUTIONS, NORMALIZATIONS
from discreet.torch.loss_function import KNOWN
from discreet.torch.per_example import ModelEngine, RecordedFactors
from discreet.torch.rows import RowShape

_PLAIN: Final = frozenset(
    {
        nn.Sequential,
        nn.ModuleList,
        nn.Linear,
        nn.Embedding,
        *CONVOLUTIONS,
        *NORMALIZATIONS,
        *(nn.ReLU, nn.Tanh, nn.GELU, nn.SiLU, nn.Sigmoid, nn.ELU, nn.LeakyReLU, nn.Softplus),
        *(nn.Identity, nn.Flatten, nn.Unflatten),
        *(nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d, nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d),
        *(nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d),
    }
)
_WARM: Final = 3

Batch = tuple[Tensor, Tensor, Tensor]
"""Inputs and targets of a micro-batch, and which rows are real."""
Work = Callable[[], None]
Recorder = Callable[[torch.device, Work, Work], tuple[Work, Work]]
"""Records two pieces of work, the second on what the first has left; returns how to repeat each."""


def cuda_graphs(device: torch.device, first: Work, second: Work) -> tuple[Work, Work]:
    """Record both as graphs of CUDA, after a few runs that let libraries choose their kernels."""
    aside = torch.cuda.Stream(device)
    aside.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(aside), torch.no_grad():
        for _ in range(_WARM):
            first()
            second()
    torch.cuda.current_stream(device).wait_stream(aside)
    factors, sums = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with torch.no_grad():
        with torch.cuda.graph(factors):
            first()
        with torch.cuda.graph(sums, pool=factors.pool()):
            second()
    return factors.replay, sums.replay


def captured(model: nn.Module, engine: ModelEngine, device: torch.device) -> ModelEngine:
    """Return an engine that records graphs, if model and device allow it."""
    found = engine.contributions
    if device.type != "cuda" or not isinstance(found, RecordedFactors):
        return engine
    if not is_plain(model) or found.objective.objective not in KNOWN:
        return engine
    return dataclasses.replace(engine, contributions=CapturedFactors(found))


def is_plain(model: nn.Module) -> bool:
    """Say whether all modules decide nothing in Python, or promise that, and have no hooks.

    >>> is_plain(nn.Sequential(nn.Linear(2, 3), nn.ReLU())), is_plain(nn.Dropout())
    (True, False)
    """
    return _held(model) is not None


def _held(model: nn.Module) -> list[tuple[int, bool]] | None:
    """Return where the tensors of a plain model are, and which are trained; else nothing."""
    places = []
    for module in model.modules():
        plain = (
            (type(module) in _PLAIN or getattr(type(module), "same_operations", False) is True)
            and not module._forward_hooks  # noqa: SLF001
            and not module._forward_pre_hooks  # noqa: SLF001
            and not module._backward_hooks  # noqa: SLF001
            and not module._backward_pre_hooks  # noqa: SLF001
        )
        if not plain:
            return None
        for held in (module._parameters, module._buffers):  # noqa: SLF001
            tensors = [tensor for tensor in held.values() if tensor is not None]
            places += [(tensor.data_ptr(), tensor.requires_grad) for tensor in tensors]
    return places


@final
class CapturedFactors:
    """Recorded factors whose kernels are started as graphs."""

    def __init__(self, eager: RecordedFactors, recorder: Recorder | None = None) -> None:
        """Take what finds contributions call by call, and who records; CUDA by default."""
        self._eager = eager
        self._recorder = cuda_graphs if recorder is None else recorder
        self._known: object = None
        self._graphs: _Graphs | None = None

    def prepare(self, shapes: tuple[RowShape, RowShape], *, rows: int, units: int) -> None:
        """Record graphs on generated rows, unless those of this model and these shapes are there.

        Whether there are any follows from the model, its weights, and shapes alone.
        """
        held = _held(self._eager.model)
        known = (held, shapes, rows, units)
        if known == self._known:
            return
        self._known, self._graphs = known, None
        if held is not None:
            self._graphs = _recorded(self._eager, shapes, rows, units, self._recorder)

    def parts(self, inputs: Tensor, targets: Tensor, inside: Tensor, units: int) -> list[LayerPart]:
        """Return the parts of all layers; as one, if graphs have been recorded."""
        shapes = (RowShape.of(inputs), RowShape.of(targets))
        self.prepare(shapes, rows=inputs.shape[0], units=units)
        if self._graphs is None:
            return self._eager.parts(inputs, targets, inside, units)
        return self._graphs.run(inputs, targets, inside)


def _recorded(
    eager: RecordedFactors,
    shapes: tuple[RowShape, RowShape],
    rows: int,
    units: int,
    recorder: Recorder,
) -> _Graphs | None:
    """Record graphs, and compare them with what they replace; nothing, if they are of no use."""
    device = next(iter(eager.model.parameters())).device
    x, y = (shape.rows(rows, seed=i, device=device) for i, shape in enumerate(shapes))
    inside = torch.ones(rows, dtype=torch.bool)
    inside[::2] = False  # padding takes the same graph
    try:
        graphs = _Graphs(eager, (x, y, inside), units, recorder)
        same = _agrees(graphs, eager, (x, y, inside), units)
    except RuntimeError:  # some kernel cannot be recorded
        return None
    return graphs if same else None


def _agrees(graphs: _Graphs, eager: RecordedFactors, batch: Batch, units: int) -> bool:
    """Say whether graphs give the norms and sums that they replace, but for rounding."""
    with torch.no_grad():
        (part,) = graphs.run(*batch)
        mine = graphs.squares.clone(), graphs.spans.clone()
        parts = eager.parts(*batch, units)
        squares, spans = _norms(parts)
        scales = torch.where(squares.isfinite(), 1.0 / (1.0 + squares), 0.0)
        drop = not bool(scales.all())
        one, other = zeros_of(eager.model), zeros_of(eager.model)
        part.add(scales, one, drop=drop)
        for each in parts:
            each.add(scales, other, drop=drop)
    compared = [*zip(mine, (squares, spans), strict=True), *((one[p], other[p]) for p in one)]
    return all(torch.allclose(a, b, rtol=1e-4, atol=1e-6) for a, b in compared)


def _norms(parts: list[LayerPart]) -> tuple[Tensor, Tensor]:
    """Return at least the squared norms and spans of all parts together."""
    squares, spans = parts[0].squares, parts[0].spans
    for part in parts[1:]:
        squares, spans = squares + part.squares, spans + part.spans
    return squares * raised(len(parts)), spans * raised(len(parts))


class _Graphs:
    """One graph for factors and norms, and one for sums, with the tensors that they work on."""

    def __init__(
        self, eager: RecordedFactors, batch: Batch, units: int, recorder: Recorder
    ) -> None:
        inputs, targets, inside = batch
        self.given: Batch = (
            inputs.clone(),
            targets.clone(),
            inside.to(inputs.device, copy=True),
        )
        self.scales = torch.ones(units, dtype=torch.float64, device=inputs.device)
        trained = [p for p in eager.model.parameters() if p.requires_grad]
        self.flat, self.totals = flat_zeros(trained)
        streams = Streams(inputs.device)

        def first() -> None:
            x, y, real = self.given
            self.parts = eager.parts(x, y, real, units, streams)
            self.squares, self.spans = _norms(self.parts)

        def second() -> None:
            self.flat.zero_()
            with streams.beside():
                for part in self.parts:
                    with streams.on(self.totals[part.owner]):
                        part.add(self.scales, self.totals, drop=False)

        self.factors, self.sums = recorder(inputs.device, first, second)
        self.owner = self.parts[0].owner

    def run(self, inputs: Tensor, targets: Tensor, inside: Tensor) -> list[LayerPart]:
        """Compute factors and norms of a micro-batch."""
        for static, value in zip(self.given, (inputs, targets, inside), strict=True):
            static.copy_(value)
        self.factors()
        return [_CapturedPart(self)]


@final
class _CapturedPart(LayerPart):
    """All layers of a model; it is overwritten by the next micro-batch."""

    def __init__(self, graphs: _Graphs) -> None:
        self.graphs, self.squares, self.spans = graphs, graphs.squares, graphs.spans

    @property
    def owner(self) -> nn.Parameter:
        return self.graphs.owner

    def add(self, scales: Tensor, totals: Totals, *, drop: bool = True, chunk: int = 0) -> None:  # noqa: ARG002  graphs add up in float64
        if drop:  # rare, and so not recorded
            for part in self.graphs.parts:
                part.add(scales, totals)
            return
        self.graphs.scales.copy_(scales)
        self.graphs.sums()
        flat = list(self.graphs.totals.values())
        torch._foreach_add_([totals[p] for p in self.graphs.totals], flat)
