"""How mechanisms are written: all that are plain data.

Trust: kernel.
"""

from __future__ import annotations

import functools
from typing import Final

from discreet.accounting.forms import Form, choice, kind, kinds, late, many, optional
from discreet.accounting.written_values import FLAG, NAME, NUMBER, POSITIVE, WHOLE
from discreet.mechanisms import ScoreChange
from discreet.noise.grid import DyadicGrid
from discreet.units import Relation

__all__ = ["MECHANISM_KINDS", "RELATION"]

RELATION: Final = choice(Relation)

_GRID: Final = optional(kinds("a grid", [kind(DyadicGrid, exponent=WHOLE)]))
_late: Final = functools.partial(late, "discreet.mechanisms")
_LAPLACE: Final = _late("Laplace", scale=NUMBER, grid=_GRID)
_GAUSSIAN: Final = _late("Gaussian", variance=NUMBER, grid=_GRID)
_CHANGE: Final = choice(ScoreChange)
_EDGES: Final = many(many(WHOLE))
_SORTED: Final = Form(lambda edges, depth: _EDGES.write(sorted(edges), depth), _EDGES.read)
_GRAPH: Final = kinds(
    "a graph", [late("discreet.units", "NeighborGraph", size=WHOLE, edges=_SORTED)]
)

MECHANISM_KINDS: Final = (
    _LAPLACE,
    _GAUSSIAN,
    _late("TruncatedGeometric", scale=NUMBER, low=WHOLE, high=WHOLE),
    _late("BoundedGeometric", scale=NUMBER, low=WHOLE, high=WHOLE),
    _late("Staircase", epsilon=POSITIVE, sensitivity=WHOLE, step=WHOLE),
    _late("Exponential", candidates=WHOLE, scale=NUMBER, change=_CHANGE),
    _late("PermuteAndFlip", candidates=WHOLE, scale=NUMBER, change=_CHANGE),
    _late("NoisyMax", candidates=WHOLE, scale=NUMBER, change=_CHANGE),
    _late("Quantile", level=NUMBER, candidates=many(WHOLE), scale=NUMBER, relation=RELATION),
    _late("Histogram", cells=WHOLE, noise=kinds("noise", [_LAPLACE, _GAUSSIAN]), relation=RELATION),
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
        noise=kinds("noise", [_LAPLACE, _GAUSSIAN]),
        threshold=WHOLE,
        groups=WHOLE,
        relation=RELATION,
        fewest=WHOLE,
        most=WHOLE,
    ),
    _late("RandomizedResponse", epsilon=POSITIVE, categories=many(NAME)),
    _late(
        "FiniteMechanism",
        matrix=many(many(NUMBER)),
        graph=_GRAPH,
        inputs=many(NAME),
        outputs=many(NAME),
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
