"""What one layer knows about the contributions of a micro-batch: norms, and scaled sums.

Trust: kernel.

Definition.  Unit i contributes a vector v_i to the parameters of a layer.  A part gives, for each
unit, at least its squared norm and at least the sum of |g||a| over its products (its span), and for
scales c_i the total of c_i v_i in float64 (key ``gradient-sum``).
``Expanded`` holds every v_i as a vector of floats: the contribution *is* that vector, so it does
not matter how it was rounded on the way, as long as it depends on unit i alone.  Parts that hold
factors g and a multiply in float64, where products of float32 or narrower numbers neither overflow
nor underflow; float64 factors are flushed to zero below 2**-500.

Theorem (key ``short-sums``).  If each coordinate of a contribution is one product of floats (a
vector of floats, or an outer product), the products of a scaled contribution have its own norm, at
most C.  A chunk of them is added up in float32, and eight such sums: there are :func:`roundings`
between a product and a number that is then added up in float64.  So a total of B contributions is
off by at most g B C more, g being the rounding of these in float32.  Proof in
docs/proofs/learning.md.
Scales are float32, between 2**-126 and 2**10 or zero (:func:`discreet.torch.clipping.shortened`)
and factors are below 2**64, or else their squares overflow and their scale is zero.  So a number
that is flushed to zero below 2**-126 moves a product by less than 2**-50, and the slack has room.

Memory (:class:`Room`).  Fresh memory costs as much time as the products that are written to it, so
the vectors of a layer are written where those of the last micro-batch were, unless a part of that
micro-batch is still in use: values that are scaled by a unit's own norm must not change in the
meantime.

Streams of a GPU.  Work on one layer knows nothing of another's, but for inputs that two of them
share: values computed from an input (:meth:`Room.pairs`) are reused on the stream that computed
them.  Every stream begins after all that came before, and nothing goes on before all have ended.
Every tensor passed to a stream is kept until then: memory that is given back goes to the stream
that it was made on, and PyTorch lends out one stream under several names, so that this may be one
of these.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import torch
from torch import Tensor, nn

from discreet.torch.clipping import SINGLE, raised, rounding

_FEWEST: Final = 32
_MOST: Final = 256
_CHUNKS: Final = 8
_SHARE: Final = Fraction(1, 100)
_SMALL: Final = 1 << 20
"""Numbers of all outer products whose chunks are multiplied at once."""
_ROOM: Final = 1 << 19
"""Numbers of products of chunks that are held at a time, if lines are shorter than that."""
_MODES: Final = ("ONEDNN_DEFAULT_FPMATH_MODE", "DNNL_DEFAULT_FPMATH_MODE")
_kept = threading.local()


def chunk_lines(units: int) -> int:
    """Return how many lines are added up in a chunk, for batches of this number of units.

    Longer chunks are sooner done, and round more: so they are as long as rounding moves the totals
    of both neighbors by less than a hundredth of the bound, but no shorter than 32.

    >>> [chunk_lines(units) for units in (256, 1024, 4096)]
    [256, 64, 32]
    """
    lines = _FEWEST
    while lines < _MOST and 2 * units * rounding(roundings(2 * lines), SINGLE) <= _SHARE:
        lines *= 2
    return lines


def roundings(lines: int) -> int:
    """Return how many roundings a product passes, with this number of lines in a chunk.

    They are those of the scale, the product, the additions in a chunk, and seven of these sums.

    >>> roundings(32)
    40
    """
    return lines + _CHUNKS


def priced_lines(short: int) -> int:
    """Return how many lines a chunk may have if this many roundings are priced; 0 without.

    >>> priced_lines(40), priced_lines(0)
    (32, 0)
    """
    return max(0, short - _CHUNKS)


def add_short_products(  # noqa: PLR0913, PLR0917  two totals, two factors, and how they are added
    weight: Tensor, bias: Tensor | None, left: Tensor, right: Tensor, scales: Tensor, chunk: int
) -> None:
    """Add the sum of scaled outer products of lines to a float64 total, and that of the left ones.

    >>> total = torch.zeros(1, 2, dtype=torch.float64)
    >>> one, two = torch.tensor([[3.0], [1.0]]), torch.tensor([[1.0, 2.0], [5.0, 7.0]])
    >>> add_short_products(total, None, one, two, torch.tensor([1.0, 0.5]), 32)
    >>> total.tolist()
    [[5.5, 9.5]]
    """
    first = bias is not None or left.shape[1] <= right.shape[1]
    one, other = left.float(), right.float()
    one, other = (one * scales[:, None], other) if first else (one, other * scales[:, None])
    if one.shape[0] * weight.numel() <= _SMALL:
        for lines, others in zip(_chunks(one, chunk), _chunks(other, chunk), strict=True):
            weight += torch.bmm(lines.transpose(1, 2), others).double().sum(0)
    else:
        _add_blocks(weight, one, other, chunk)
    if bias is not None:
        for chunks in _chunks(one, chunk):
            bias += chunks.sum(1).double().sum(0)


def _add_blocks(weight: Tensor, one: Tensor, other: Tensor, chunk: int) -> None:
    """Add the products of blocks of chunks, some coordinates of ``one`` at a time."""
    tall, wide = weight.shape
    step = min(tall, max(1, _ROOM // (_CHUNKS * wide)))
    room = _room(one, _CHUNKS * step * wide)
    for first in range(0, tall, step):
        columns = slice(first, first + step)
        total = weight[columns]
        for start, chunks, size in _blocks(one.shape[0], chunk):
            rows = slice(start, start + chunks * size)
            lines, others = (each[rows].view(chunks, size, -1) for each in (one, other))
            found = room[: chunks * total.numel()].view(chunks, *total.shape)
            total += torch.bmm(lines[..., columns].transpose(1, 2), others, out=found).sum(0)


def _room(like: Tensor, numbers: int) -> Tensor:
    """Return memory that this thread has used before, if there is enough: fresh pages take long."""
    room: Tensor | None = getattr(_kept, "room", None)
    if room is None or room.numel() < numbers or room.device != like.device:
        room = like.new_empty(numbers)
        if numbers <= _ROOM:
            _kept.room = room
    return room


def add_short_lines(total: Tensor, lines: Tensor, scales: Tensor, chunk: int) -> None:
    """Add the sum of scaled lines to a flat float64 total."""
    both = _chunks(lines.float(), chunk), _chunks(scales[:, None], chunk)
    for chunks, each in zip(*both, strict=True):
        total += torch.bmm(each.transpose(1, 2), chunks).double().sum((0, 1))


def full_precision() -> bool:
    """Say whether settings let products of float32 keep all bits; else sums are in float64 (T6).

    >>> full_precision()
    True
    """
    modes = (os.environ.get(name, "STRICT") for name in _MODES)
    strict = all(mode.upper() == "STRICT" for mode in modes)
    return strict and torch.get_float32_matmul_precision() == "highest"


def _blocks(count: int, chunk: int) -> Iterator[tuple[int, int, int]]:
    """Yield where blocks of chunks begin, and how many chunks of how many lines they have."""
    start = 0
    for chunks, size in ((_CHUNKS, chunk), (1, chunk), (1, 1)):
        while count - start >= chunks * size:
            taken = size if size > 1 else count - start
            yield start, chunks, taken
            start += chunks * taken


def _chunks(lines: Tensor, chunk: int) -> Iterator[Tensor]:
    """Yield all full chunks of lines at once, and then those that are left."""
    full = lines.shape[0] // chunk * chunk
    if full:
        yield lines[:full].unflatten(0, (-1, chunk))
    if full < lines.shape[0]:
        yield lines[None, full:]


_BLOCK: Final = 1 << 17
"""Numbers of a block on a CPU: one megabyte of float64."""
_LARGE: Final = 1 << 26
"""Numbers of a block elsewhere: half a gigabyte of float64."""
_SHORT: Final = 4096
"""How many squares are added up in float32."""
LOST: Final = 2.0**-56
"""What every norm has added to it: more than squares below 2**-126 can add up to."""
_SMALLEST: Final = 2.0**-500
Totals = dict[nn.Parameter, Tensor]
"""Float64 totals of each trainable parameter, in its shape."""


def flat_zeros(parameters: Sequence[nn.Parameter]) -> tuple[Tensor, Totals]:
    """Return one line of float64 zeros, and its parts in the shapes of parameters."""
    sizes = [p.numel() for p in parameters]
    flat = torch.zeros(sum(sizes), dtype=torch.float64, device=parameters[0].device)
    parts = zip(parameters, flat.split(sizes), strict=True)
    return flat, {p: part.view(p.shape) for p, part in parts}


def zeros_of(model: nn.Module) -> Totals:
    """Return float64 zeros for every trainable parameter."""
    return flat_zeros([p for p in model.parameters() if p.requires_grad])[1]


class LayerPart(ABC):
    """The contributions of a micro-batch to some parameters."""

    squares: Tensor
    spans: Tensor

    @property
    @abstractmethod
    def owner(self) -> nn.Parameter:
        """One of its parameters; all of them are clipped together."""

    def lines(self) -> tuple[Tensor, ...]:
        """All that it knows of units, one line for each of them."""
        return self.squares, self.spans

    @abstractmethod
    def add(self, scales: Tensor, totals: Totals, *, drop: bool = True, chunk: int = 0) -> None:
        """Add the scaled contributions of all units to the totals.

        Sums are in float64.  Scales in float32 and chunks of some lines allow short sums in float32
        if each coordinate is one product (:mod:`discreet.torch.layer_parts`).
        ``drop`` may be false if all norms are finite.
        """


def squared(values: Tensor) -> Tensor:
    """Return at least the sum of squares of each line, in float64."""
    lines = values.flatten(1)
    return lengths(lines).square() * raised(4)


def lengths(lines: Tensor) -> Tensor:
    """Return at least the norm along the last dimension, in float64.

    Float32 and narrower numbers are squared and added up in float32, at most 4096 at a time: the
    root r is off by a factor of less than 1 + (n + 8) 2**-24, and what squares lose below 2**-126
    adds less than 2**-56 to the norm.  Both are added, so a norm is at most 1/4000 too large.
    If a square overflows, the norm is infinite: numbers above 2**63 count as not finite.
    """
    width = lines.shape[-1]
    if lines.dtype == torch.float64 or not width:
        return torch.linalg.vector_norm(lines, dim=-1, dtype=torch.float64) * raised(width + 6)
    if width <= _SHORT:
        return _raised_norms(_root_of_squares(lines), width)
    full = width // _SHORT * _SHORT
    parts = [_root_of_squares(lines[..., :full].unflatten(-1, (-1, _SHORT)))]
    if full < width:
        parts.append(_root_of_squares(lines[..., None, full:]))
    norms = _raised_norms(torch.cat(parts, -1), _SHORT)
    return norms.square().sum(-1).sqrt() * raised(norms.shape[-1] + 6)


def _raised_norms(roots: Tensor, width: int) -> Tensor:
    """Return upper bounds on norms, from float32 roots of sums of so many squares."""
    return roots.double().mul_(1.0 + (width + 8) * 2.0**-24).add_(LOST)


def _root_of_squares(lines: Tensor) -> Tensor:
    """Return norms in float32, infinite if a square is; PyTorch squares no number on its own."""
    if lines.shape[-1] == 1:
        return lines[..., 0].float().square().sqrt()
    return torch.linalg.vector_norm(lines, dim=-1, dtype=torch.float32)


def blocks(lines: Tensor) -> Iterator[slice]:
    """Yield rows that are worth converting at once: on a CPU, as many as its caches hold."""
    count = lines.shape[0]
    numbers = _BLOCK if lines.device.type == "cpu" else _LARGE
    size = max(1, numbers // max(1, lines.shape[1]))
    for start in range(0, count, size):
        yield slice(start, start + size)


def add_products(  # noqa: PLR0913, PLR0917  two totals, two factors, and how they are added
    weight: Tensor,
    bias: Tensor | None,
    left: Tensor,
    right: Tensor,
    scales: Tensor,
    chunk: int = 0,
) -> None:
    """Add the sum of scaled outer products of lines to a float64 total, and that of the left ones.

    One factor is multiplied by the scale, in float64: the narrower one, if both must be converted.
    A total of n lines is off by n roundings, for any division into blocks.
    """
    if chunk and torch.float64 not in {left.dtype, right.dtype}:
        add_short_products(weight, bias, left, right, scales, chunk)
        return
    scales = scales.double()
    first = left.shape[1] <= right.shape[1] or right.dtype == torch.float64
    for rows in blocks(right if first else left):
        each, one, other = scales[rows], left[rows], right[rows]
        if first:
            times = one * each[:, None]
            weight.addmm_(times.T, other.double())
            if bias is not None:
                bias += times.sum(0)
        else:
            wide = one.double()
            weight.addmm_(wide.T, other * each[:, None])
            if bias is not None:
                bias.addmv_(wide.T, each)


def add_lines(total: Tensor, lines: Tensor, scales: Tensor, chunk: int = 0) -> None:
    """Add the sum of scaled lines to a flat float64 total."""
    if chunk and lines.dtype != torch.float64:
        add_short_lines(total, lines, scales, chunk)
        return
    scales = scales.double()
    for rows in blocks(lines):
        wide, each = lines[rows].double(), scales[rows]
        if lines.device.type == "cpu":
            total[None].addmm_(each[None], wide)  # up to four times as fast as the transpose
        else:
            total.addmv_(wide.T, each)


@final
@dataclass(slots=True, eq=False)
class Expanded(LayerPart):
    """A vector of floats for each unit."""

    parameter: nn.Parameter
    vectors: Tensor
    squares: Tensor
    spans: Tensor
    channels_last: bool

    @classmethod
    def of(
        cls, parameter: nn.Parameter, vectors: Tensor, *, channels_last: bool = False
    ) -> Expanded:
        """Take one line for each unit, with one number for each coordinate.

        With ``channels_last``, the second dimension of the parameter is the last one of a line.
        """
        lines = vectors.flatten(1)
        squares = squared(lines)
        return cls(parameter, lines, squares, squares.sqrt() * raised(2), channels_last)

    @property
    def owner(self) -> nn.Parameter:
        """Its parameter."""
        return self.parameter

    def lines(self) -> tuple[Tensor, ...]:
        """Vectors and norms."""
        return self.vectors, self.squares, self.spans

    def add(self, scales: Tensor, totals: Totals, *, drop: bool = True, chunk: int = 0) -> None:
        """Add the scaled lines."""
        lines, total = finite(self.vectors, scales, drop), totals[self.parameter]
        if not self.channels_last:
            add_lines(total.view(-1), lines, scales, chunk)
            return
        ordered = total.movedim(1, -1)
        mine = total.new_zeros(ordered.shape)
        add_lines(mine.view(-1), lines, scales, chunk)
        ordered += mine


def finite(values: Tensor, scales: Tensor, drop: bool) -> Tensor:  # noqa: FBT001  chosen by callers
    """Return the values, with zeros for units whose scale is zero: infinity times 0 is NaN."""
    if not drop:
        return values
    kept = (scales != 0).view(-1, *[1] * (values.dim() - 1))
    return torch.where(kept, values, torch.zeros((), dtype=values.dtype, device=values.device))


def flushed(values: Tensor) -> Tensor:
    """Return float64 factors with zeros in place of numbers below 2**-500, whose squares underflow.

    A factor that is too small for its square is one whose product with a large one has no norm.
    Float32 and narrower numbers have none of these.
    """
    if values.dtype != torch.float64:
        return values
    return torch.where(values.abs() < _SMALLEST, torch.zeros_like(values), values)


def at_least_zero(squares: Tensor) -> Tensor:
    """Return sums with negative rounding errors removed; non-finite values become infinite."""
    return torch.where(squares.isfinite(), squares.clamp_min(0.0), torch.inf)


def positions(values: Tensor, units: int) -> Tensor:
    """Return values as units x positions x features; rows of a unit are positions, too."""
    return values.reshape(units, -1, values.shape[-1])


def gram(values: Tensor) -> Tensor:
    """Return the products of all pairs of positions of a unit, in float64."""
    wide = values.double()
    return torch.bmm(wide, wide.transpose(1, 2))


@final
class Room:
    """Lends one tensor for each parameter, to the parts of one micro-batch at a time.

    >>> room, weight = Room(), nn.Parameter(torch.zeros(2))
    >>> first = room.lines(weight, (3, 2), torch.float32)
    >>> room.begin()
    >>> room.lines(weight, (3, 2), torch.float32).data_ptr() == first.data_ptr()
    True
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        self._kept: dict[nn.Parameter, Tensor] = {}
        self._users: list[weakref.ref[LayerPart]] = []
        self._pairs: dict[object, tuple[Tensor, Tensor, Tensor]] = {}

    def begin(self) -> None:
        """Begin a micro-batch; what parts of the last one still hold is left to them."""
        if any(user() is not None for user in self._users):
            self._kept = {}
        self._users, self._pairs = [], {}

    def lines(self, parameter: nn.Parameter, shape: tuple[int, int], dtype: torch.dtype) -> Tensor:
        """Return memory for one line for each row of data, with any values."""
        kept = self._kept.get(parameter)
        if kept is None or len(kept) < shape[0] or kept.dtype != dtype:
            kept = self._kept[parameter] = torch.empty(shape, dtype=dtype)
        return kept[: shape[0]]

    def pairs(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Return inputs to be multiplied later, and the products of all pairs of positions.

        Inputs are found by their place in memory, which stays theirs as long as they are kept.
        """
        key = (inputs.data_ptr(), inputs.shape, inputs.stride(), inputs.dtype)
        if key not in self._pairs:
            wide = inputs.double()
            kept = inputs if inputs.device.type == "cpu" else wide  # a CPU widens block by block
            self._pairs[key] = inputs, kept, torch.bmm(wide, wide.transpose(1, 2))
        _, kept, products = self._pairs[key]
        return kept, products

    def lend(self, parts: Iterable[LayerPart]) -> None:
        """Remember who holds the memory until the next micro-batch."""
        self._users = [weakref.ref(part) for part in parts]
        self._pairs = {}


_STREAMS: Final = 4


@final
class Streams:
    """Streams of a device, which take inputs in turn; on a CPU there are none.

    >>> streams = Streams(torch.device("cpu"))
    >>> one, other = torch.zeros(2), torch.zeros(2)
    >>> with streams.beside():
    ...     [streams.place(each) for each in (one, other, one)]
    [0, 1, 0]
    """

    def __init__(self, device: torch.device) -> None:
        """Make the streams."""
        count = _STREAMS if device.type == "cuda" else 0
        self._streams = [torch.cuda.Stream(device) for _ in range(count)]
        self._places: dict[int, int] = {}
        self._held: list[Tensor] = []

    @contextlib.contextmanager
    def beside(self) -> Iterator[None]:
        """Begin streams with what comes now, and wait for all of them at the end."""
        self._places, self._held = {}, []
        if self._streams:
            main = torch.cuda.current_stream(self._streams[0].device)
            for stream in self._streams:
                stream.wait_stream(main)
        yield
        for stream in self._streams:
            main.wait_stream(stream)
        self._places, self._held = {}, []

    def place(self, given: Tensor) -> int:
        """Return the turn of an input: that of its place in memory."""
        key = given.data_ptr()
        if key not in self._places:
            self._places[key] = len(self._places)
        return self._places[key]

    @contextlib.contextmanager
    def on(self, given: Tensor, *others: Tensor) -> Iterator[None]:
        """Work on the stream of an input; all that is given here is kept until the end."""
        turn = self.place(given)
        if not self._streams:
            yield
            return
        self._held += [given, *others]
        with torch.cuda.stream(self._streams[turn % len(self._streams)]):
            yield
