"""One mechanism for everyone: the geometric mechanism on a range of counts.

Trust: kernel.

Definition.  On counts 0, ..., n, with a = e^-epsilon, the truncated geometric mechanism answers o
on input i with chance (1 - a)/(1 + a) a^|i-o|, and a^|i-o| / (1 + a) for o = 0 and o = n.
Theorem (key ``universal-geometric``; Ghosh, Roughgarden and Sundararajan 2012).  For every prior
and every cost that grows with |truth - answer|, the best epsilon-DP mechanism is this one followed
by a function of its output: the answer of least expected cost given that output.

Here a is rounded up to a multiple of 2**-64, which keeps every chance rational and the mechanism
epsilon-DP.  ``TruncatedGeometric`` is the same mechanism at the exact a, for any range.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from fractions import Fraction
from typing import Final

from discreet.arrays import listed
from discreet.errors import WrongKind
from discreet.exact import fixed_up, whole
from discreet.loss.elementary import exp
from discreet.mechanisms.arguments import Number, factor
from discreet.mechanisms.costs import Cost, cost_table, expectation, prior_on
from discreet.mechanisms.finite import FiniteMechanism
from discreet.units import NeighborGraph

__all__ = ["bayes_remap", "geometric_on_counts"]

_BITS: Final = 64


def geometric_on_counts(*, largest: int, epsilon: Number) -> FiniteMechanism:
    """Return the truncated geometric mechanism on 0, ..., largest as an exact matrix.

    >>> vote = geometric_on_counts(largest=10, epsilon=1)
    >>> round(vote.epsilon(), 12), vote.epsilon() <= 1
    (1.0, True)
    """
    n = whole(largest, name="largest", low=1, high=1000)
    decay = exp(-factor(epsilon, name="epsilon")).high
    a = min(Fraction(1), Fraction(fixed_up(decay, fraction_bits=_BITS), 1 << _BITS))
    powers = [a**k for k in range(n + 1)]
    inner, end = (1 - a) / (1 + a), 1 / (1 + a)
    matrix = [
        [(end if o in {0, n} else inner) * powers[abs(i - o)] for o in range(n + 1)]
        for i in range(n + 1)
    ]
    return FiniteMechanism(matrix=matrix, graph=NeighborGraph.line(n + 1))


def bayes_remap(
    mechanism: FiniteMechanism,
    *,
    prior: Iterable[object],
    cost: Cost,
    answers: Iterable[Hashable] | None = None,
) -> FiniteMechanism:
    """Replace each output by the answer of least expected cost given that output.

    This is post-processing: the loss does not change, and no other function of the output does
    better on average over the prior.

    >>> vote = geometric_on_counts(largest=2, epsilon="0.1")
    >>> sure = bayes_remap(vote, prior=[0, 1, 0], cost=lambda truth, answer: truth != answer)
    >>> sure.outputs  # who knows the truth beforehand answers it
    (1,)
    """
    if not isinstance(mechanism, FiniteMechanism):
        raise WrongKind(
            what=f"the mechanism is a {type(mechanism).__name__}, not a FiniteMechanism.",
            why="the posterior is computed from its matrix.",
            do="give a FiniteMechanism.",
        )
    weights = prior_on(prior, len(mechanism.inputs))
    choices = mechanism.inputs if answers is None else tuple(listed(answers, name="answers"))
    table = cost_table(cost, mechanism.inputs, choices)
    best = {}
    for at, output in enumerate(mechanism.outputs):
        joint = [w * row[at] for w, row in zip(weights, mechanism.matrix, strict=True)]
        costs = [expectation(joint, column) for column in zip(*table, strict=True)]
        best[output] = choices[costs.index(min(costs))]
    return mechanism.relabel(best.__getitem__)
