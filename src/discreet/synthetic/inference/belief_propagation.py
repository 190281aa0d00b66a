"""Marginals of all cliques of a tree from a potential for each: two passes of messages.

Trust: public.

Definition.  With log-potentials f_C, the law is proportional to exp(sum of f_C[x_C]).  Messages go
from the leaves to the root and back; afterwards the belief of each clique is the logarithm of its
marginal, up to one constant (Lauritzen and Spiegelhalter 1988).  All sums are taken in log space,
so that no parameter is too large.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange
from discreet.synthetic.inference.triangulation import CliqueTree
from discreet.synthetic.inference.values import Marginal

Vector = NDArray[np.float64]


def calibrated(tree: CliqueTree, potentials: Sequence[Vector]) -> list[Vector]:
    """Return the log-marginals of all cliques, each normalized to chances that sum to one.

    >>> tree = CliqueTree(((0, 1), (1, 2)), (-1, 0))
    >>> beliefs = calibrated(tree, [np.log([[1, 2], [3, 4]]), np.log([[1, 1], [1, 3]])])
    >>> np.exp(beliefs[0]).sum(axis=0).round(6).tolist()
    [0.25, 0.75]
    >>> np.exp(beliefs[1]).sum(axis=1).round(6).tolist()
    [0.25, 0.75]
    """
    beliefs = [potential.copy() for potential in potentials]
    separators = tree.separators
    sent: dict[int, Vector] = {}
    for number in range(len(beliefs) - 1, 0, -1):
        parent, separator = tree.parents[number], separators[number]
        sent[number] = log_marginal(beliefs[number], tree.cliques[number], separator)
        beliefs[parent] += widened(sent[number], separator, tree.cliques[parent])
    mass = log_marginal(beliefs[0], tree.cliques[0], ())
    if not np.isfinite(mass):
        raise OutOfRange(
            what="the constraints leave no row possible.",
            why="a model needs at least one row to give its mass to.",
            do="correct the statements about impossible combinations.",
        )
    beliefs[0] -= mass
    for number in range(1, len(beliefs)):
        parent, separator = tree.parents[number], separators[number]
        back = log_marginal(beliefs[parent], tree.cliques[parent], separator)
        known = np.isfinite(sent[number])
        back = np.subtract(back, sent[number], out=np.full_like(back, -np.inf), where=known)
        beliefs[number] += widened(back, separator, tree.cliques[number])
    return beliefs


def log_marginal(belief: Vector, clique: Marginal, kept: Marginal) -> Vector:
    """Sum a belief over all columns but some, in log space.

    >>> log_marginal(np.zeros((2, 2)), (0, 1), (1,)).round(3).tolist()
    [0.693, 0.693]
    """
    axes = tuple(axis for axis, column in enumerate(clique) if column not in kept)
    if not axes:
        return belief
    top = belief.max(axis=axes, keepdims=True)
    top[~np.isfinite(top)] = 0.0
    sums = np.asarray(np.exp(belief - top).sum(axis=axes))
    with np.errstate(divide="ignore"):
        logs: Vector = np.log(sums) + top.reshape(sums.shape)
    return logs


def widened(values: Vector, columns: Marginal, clique: Marginal) -> Vector:
    """Give values of some columns an axis for each column of a clique.

    >>> widened(np.zeros(3), (1,), (0, 1, 2)).shape
    (1, 3, 1)
    """
    sizes = dict(zip(columns, values.shape, strict=True))
    return values.reshape([sizes.get(column, 1) for column in clique])
