"""Schemas of losses and mechanisms: all that are plain data, one line for each.

Trust: kernel.

Every notion of loss can be written, and every profile: its pairs and the shapes of curved ones
(samples of fixed size, shuffles, envelopes, groups) are plain data all the way down; of mechanisms,
those that are.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

from discreet.accounting.storage.decoding import undecodable
from discreet.accounting.storage.schema import (
    FLAG,
    NAME,
    NUMBER,
    POSITIVE,
    WHOLE,
    ClassSchema,
    FieldSchema,
    class_schema,
    enum_schema,
    lazy_class_schema,
    lazy_enum_schema,
    optional_schema,
    tuple_schema,
    union_schema,
)
from discreet.loss.composition import Composition
from discreet.loss.parameters import checked_rate
from discreet.mechanisms import ScoreChange
from discreet.noise.grid import DyadicGrid
from discreet.units import Relation

_loss: Final = functools.partial(lazy_class_schema, "discreet.loss")

_CURVE: Final = union_schema(
    "a curve",
    [
        _loss(
            "RenyiCurve", rho=POSITIVE, orders=tuple_schema(POSITIVE), values=tuple_schema(POSITIVE)
        )
    ],
)
_LAW: Final = tuple_schema(POSITIVE, low=1)


def _read_rate(data: object, depth: int) -> Fraction:
    return checked_rate(NUMBER.read(data, depth))


_RATE: Final = FieldSchema(NUMBER.write, _read_rate)


def _response(of: type, *, epsilon: Fraction, delta: Fraction) -> object:
    if delta > 1:
        raise undecodable("a delta is above one")
    return of(epsilon, delta)


def _counted(form: Callable[[], FieldSchema], what: str) -> FieldSchema:
    """Return the form of something beside how often it occurs."""

    def write(counted: tuple[object, int], depth: int) -> list[object]:
        return [form().write(counted[0], depth), WHOLE.write(counted[1], depth)]

    def read(data: object, depth: int) -> tuple[Any, int]:
        match data:
            case [value, count]:
                return form().read(value, depth), WHOLE.read(count, depth)
        raise undecodable(f"{what} does not stand beside its count")

    return FieldSchema(write, read)


def _write_corners(corners: tuple[tuple[float, float], ...], depth: int) -> list[object]:
    return [[NUMBER.write(Fraction(value), depth) for value in corner] for corner in corners]


def _read_corners(data: object, depth: int) -> tuple[tuple[float, float], ...]:
    """Read corners (epsilon, delta) of a profile: from 0 on, to the right and down."""
    if not isinstance(data, list) or not all(
        isinstance(each, list) and len(each) == 2 for each in data
    ):
        raise undecodable("corners are no list of pairs")
    found = tuple((float(POSITIVE.read(x, depth)), float(POSITIVE.read(y, depth))) for x, y in data)
    falling = all(a < b and c >= d for (a, c), (b, d) in itertools.pairwise(found))
    if not found or found[0][0] != 0 or found[0][1] > 1 or not falling:
        raise undecodable("corners are not those of a profile")
    return found


_CORNERS: Final = FieldSchema(_write_corners, _read_corners)


def _routed(of: type, *, parts: tuple[tuple[Composition, int], ...]) -> object:
    if any(count < 1 for _, count in parts):
        raise undecodable("a part occurs less than once")
    return of(parts)


def _pair(
    file: str, name: str, *, make: Callable[..., Any] | None = None, **fields: FieldSchema
) -> ClassSchema:
    return lazy_class_schema(
        f"discreet.loss.{file}", name, make=make, kept=None, marks=(), **fields
    )


_DIRECTION: Final = lazy_enum_schema("discreet.loss.poisson_sampling", "Direction")
_COUNTED: Final = tuple_schema(_counted(lambda: _PAIR, "a pair of laws"))
_COMPOSITION: Final = union_schema(
    "a product of pairs", [_loss("Composition", pairs=_COUNTED, renyi=optional_schema(_CURVE))]
)
_SIDE: Final = tuple_schema(_COMPOSITION, low=1)

_PARTS: Final = tuple_schema(_counted(lambda: _COMPOSITION, "a product of pairs"), low=1)
_SHAPE: Final = union_schema(
    "a shape",
    [
        _pair("curved_pair", "CompositionShape", composition=_COMPOSITION),
        _pair("envelope", "EnvelopeShape", parts=_SIDE),
        _pair(
            "interop",
            "ImportedShape",
            forward=_CORNERS,
            backward=_CORNERS,
            grain=optional_schema(POSITIVE),
        ),
        _pair("envelope", "TwoStepShape", first=_COMPOSITION, second=_COMPOSITION),
        _pair("amplification", "RoutedShape", make=_routed, parts=_PARTS),
        _pair("amplification", "SampledGroupShape", towards=_SIDE, rate=_RATE, turned=FLAG),
        _pair("amplification", "FixedSizeShape", parts=_SIDE, rate=_RATE),
        _pair(
            "amplification",
            "ReplacedShape",
            removed=_COMPOSITION,
            inserted=_COMPOSITION,
            replaced=_COMPOSITION,
            rate=_RATE,
        ),
        _loss(
            "Shuffle", epsilon=POSITIVE, population=WHOLE, binary=FLAG, kept={"epsilon": "local"}
        ),
    ],
)
"""Adding a shape of curved pairs is one line here."""

_PAIR: FieldSchema = union_schema(
    "a pair of laws",
    [
        _pair("pure_pairs", "BoundedRangePair", epsilon=POSITIVE),
        _pair("curved_pair", "CurvedPair", shape=_SHAPE),
        _pair("gaussian", "DiscreteGaussianPair", variance=POSITIVE, distance=WHOLE),
        _pair("pure_pairs", "DiscreteLaplacePair", scale=POSITIVE, distance=WHOLE),
        _pair("finite", "FinitePair", p=_LAW, q=_LAW),
        _pair("gaussian", "GaussianPair", mu_squared=POSITIVE),
        _pair("pure_pairs", "LaplacePair", epsilon=POSITIVE),
        _pair(
            "pure_pairs",
            "ResponsePair",
            make=_response,
            epsilon=POSITIVE,
            delta=POSITIVE,
        ),
        _pair(
            "gaussian",
            "SmoothedGaussianPair",
            mu_squared=POSITIVE,
            leak=POSITIVE,
            rho=POSITIVE,
        ),
        _pair(
            "poisson_sampling",
            "SampledPair",
            inner=_COMPOSITION,
            rate=POSITIVE,
            direction=_DIRECTION,
        ),
    ],
)

LOSS_SCHEMAS: Final = (
    _loss("Pure", epsilon=POSITIVE, kept={"epsilon": "bound"}),
    _loss(
        "Approximate",
        epsilon=POSITIVE,
        delta=POSITIVE,
        kept={"epsilon": "epsilon_bound", "delta": "delta_bound"},
    ),
    _loss("ZeroConcentrated", rho=POSITIVE),
    _loss("GaussianDP", mu_squared=POSITIVE),
    _pair("notions", "ContinuousLaplace", scale=POSITIVE),
    _loss("RenyiDP", orders=tuple_schema(POSITIVE), values=tuple_schema(POSITIVE)),
    _loss("Profile", remove=_SIDE, add=_SIDE, marks=("indivisible",)),
)
"""Adding a notion of loss is one line here."""


RELATION: Final = enum_schema(Relation)

_GRID: Final = optional_schema(union_schema("a grid", [class_schema(DyadicGrid, exponent=WHOLE)]))
_late: Final = functools.partial(lazy_class_schema, "discreet.mechanisms")
_LAPLACE: Final = _late("Laplace", scale=NUMBER, grid=_GRID)
_GAUSSIAN: Final = _late("Gaussian", variance=NUMBER, grid=_GRID)
_CHANGE: Final = enum_schema(ScoreChange)
_EDGES: Final = tuple_schema(tuple_schema(WHOLE))
_SORTED: Final = FieldSchema(lambda edges, depth: _EDGES.write(sorted(edges), depth), _EDGES.read)
_GRAPH: Final = union_schema(
    "a graph", [lazy_class_schema("discreet.units", "NeighborGraph", size=WHOLE, edges=_SORTED)]
)

MECHANISM_SCHEMAS: Final = (
    _LAPLACE,
    _GAUSSIAN,
    _late("Exponential", candidates=WHOLE, scale=NUMBER, change=_CHANGE),
    _late(
        "OptimalKeys",
        epsilon=POSITIVE,
        delta=POSITIVE,
        groups=WHOLE,
        relation=RELATION,
        fewest=WHOLE,
    ),
    _late(
        "NoisyKeys",
        noise=union_schema("noise", [_LAPLACE, _GAUSSIAN]),
        threshold=WHOLE,
        groups=WHOLE,
        relation=RELATION,
        fewest=WHOLE,
        most=WHOLE,
    ),
    _late("RandomizedResponse", epsilon=POSITIVE, categories=tuple_schema(NAME)),
    _late(
        "FiniteMechanism",
        matrix=tuple_schema(tuple_schema(NUMBER)),
        graph=_GRAPH,
        inputs=tuple_schema(NAME),
        outputs=tuple_schema(NAME),
    ),
    _late("AboveThreshold", threshold=WHOLE, epsilon=NUMBER, sensitivity=WHOLE, monotone=FLAG),
    _late(
        "Sparse", threshold=WHOLE, answers=WHOLE, epsilon=NUMBER, sensitivity=WHOLE, monotone=FLAG
    ),
    _late(
        "NumericSparse",
        threshold=WHOLE,
        answers=WHOLE,
        epsilon=NUMBER,
        share=NUMBER,
        sensitivity=WHOLE,
        monotone=FLAG,
    ),
)
"""Adding a mechanism is one line here."""
