"""Noisy totals of known numbers, for tests of what is computed from them."""

from fractions import Fraction

import numpy as np
from scipy import stats

from discreet.aggregates.noisy_totals import Noisy, NoisyTotal, Run
from discreet.mechanisms import Gaussian, Laplace
from discreet.query.expressions import Column, Literal
from discreet.query.relations import Scan
from discreet.query.types import Type
from discreet.requests.engine_request import EngineRequest, KeyColumn, Total
from tests.noise.laws import ALPHA, stream

CONFIDENCES = [Fraction(1, 2), Fraction(19, 20), Fraction(99, 100)]
LAWS = {"laplace": lambda size: Laplace(scale=size), "gaussian": lambda size: Gaussian(sigma=size)}


def drawn(truths, mechanisms, *, groups, label="draws"):
    """Add noise to the same totals in many groups."""
    source = stream(label)
    totals = {
        name: NoisyTotal(
            (
                Run(
                    values=mechanisms[name].run(np.full(groups, truth), entropy=source),
                    mechanism=mechanisms[name],
                ),
            )
        )
        for name, truth in truths.items()
    }
    return Noisy(size=groups, keys=(), totals=totals, chosen=())


def lowered(**bounds):
    """Return totals with these bounds on what a unit adds."""
    visits = Scan("visits", (("patient", Type.INTEGER), ("ward", Type.TEXT)))
    return EngineRequest(
        relation=visits,
        unit=(Column("patient"),),
        keys=(KeyColumn("ward", Column("ward"), Type.TEXT),),
        groups=1,
        measures=tuple(
            Total(name=name, row=Literal(1), low=low, high=high)
            for name, (low, high) in bounds.items()
        ),
    )


def held(ends, truth):
    """Count the intervals that hold a number."""
    return int(((ends[0] <= truth) & (truth <= ends[1])).sum())


def enough(count, groups, confidence):
    """Say whether so many hits agree with a coverage of at least the confidence.

    The false-alarm rate is that of every statistical test here, at most 1e-6.
    """
    return stats.binomtest(count, groups, float(confidence), "less").pvalue > ALPHA


def interval_of(estimator, known):
    """Return the intervals of one aggregate."""
    return estimator.interval(known)
