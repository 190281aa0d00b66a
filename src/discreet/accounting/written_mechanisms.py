"""How mechanisms are written: all that are plain data.

Trust: kernel.
"""

from __future__ import annotations

from typing import Final

from discreet.accounting.forms import Form, choice, kind, kinds, many, optional
from discreet.accounting.written_values import FLAG, NAME, NUMBER, POSITIVE, WHOLE
from discreet.mechanisms import (
    AboveThreshold,
    BoundedGeometric,
    Exponential,
    FiniteMechanism,
    Gaussian,
    Histogram,
    Laplace,
    NoisyKeys,
    NoisyMax,
    NumericSparse,
    OptimalKeys,
    PermuteAndFlip,
    Quantile,
    RandomizedResponse,
    ScoreChange,
    Sparse,
    Staircase,
    TruncatedGeometric,
)
from discreet.noise.grid import DyadicGrid
from discreet.units import NeighborGraph, Relation

__all__ = ["MECHANISM_KINDS", "RELATION"]

RELATION: Final = choice(Relation)

_GRID: Final = optional(kinds("a grid", [kind(DyadicGrid, exponent=WHOLE)]))
_LAPLACE: Final = kind(Laplace, scale=NUMBER, grid=_GRID)
_GAUSSIAN: Final = kind(Gaussian, variance=NUMBER, grid=_GRID)
_CHANGE: Final = choice(ScoreChange)
_EDGES: Final = many(many(WHOLE))
_SORTED: Final = Form(lambda edges, depth: _EDGES.write(sorted(edges), depth), _EDGES.read)
_GRAPH: Final = kinds("a graph", [kind(NeighborGraph, size=WHOLE, edges=_SORTED)])

MECHANISM_KINDS: Final = (
    _LAPLACE,
    _GAUSSIAN,
    kind(TruncatedGeometric, scale=NUMBER, low=WHOLE, high=WHOLE),
    kind(BoundedGeometric, scale=NUMBER, low=WHOLE, high=WHOLE),
    kind(Staircase, epsilon=POSITIVE, sensitivity=WHOLE, step=WHOLE),
    kind(Exponential, candidates=WHOLE, scale=NUMBER, change=_CHANGE),
    kind(PermuteAndFlip, candidates=WHOLE, scale=NUMBER, change=_CHANGE),
    kind(NoisyMax, candidates=WHOLE, scale=NUMBER, change=_CHANGE),
    kind(Quantile, level=NUMBER, candidates=many(WHOLE), scale=NUMBER, relation=RELATION),
    kind(Histogram, cells=WHOLE, noise=kinds("noise", [_LAPLACE, _GAUSSIAN]), relation=RELATION),
    kind(
        OptimalKeys,
        epsilon=POSITIVE,
        delta=POSITIVE,
        groups=WHOLE,
        relation=RELATION,
        fewest=WHOLE,
    ),
    kind(
        NoisyKeys,
        noise=kinds("noise", [_LAPLACE, _GAUSSIAN]),
        threshold=WHOLE,
        groups=WHOLE,
        relation=RELATION,
        fewest=WHOLE,
    ),
    kind(RandomizedResponse, epsilon=POSITIVE, categories=many(NAME)),
    kind(
        FiniteMechanism,
        matrix=many(many(NUMBER)),
        graph=_GRAPH,
        inputs=many(NAME),
        outputs=many(NAME),
    ),
    kind(AboveThreshold, threshold=WHOLE, epsilon=NUMBER, sensitivity=WHOLE, monotone=FLAG),
    kind(Sparse, threshold=WHOLE, answers=WHOLE, epsilon=NUMBER, sensitivity=WHOLE, monotone=FLAG),
    kind(
        NumericSparse,
        threshold=WHOLE,
        answers=WHOLE,
        epsilon=NUMBER,
        share=NUMBER,
        sensitivity=WHOLE,
        monotone=FLAG,
    ),
)
"""Adding a mechanism is one line here."""
