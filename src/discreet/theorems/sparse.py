"""What the sparse vector technique rest on.

Trust: public.
"""

from __future__ import annotations

from typing import Final

from discreet.theorems.theorem import Theorem

__all__ = ["ENTRIES"]

ENTRIES: Final = (
    Theorem(
        key="above-threshold",
        statement="Comparing integer queries of sensitivity D with one noisy threshold "
        "(discrete Laplace, scale D/eps1; query noise of scale 2D/eps2, or D/eps2 for"
        " monotone queries) and halting at the first above is (eps1 + eps2)-DP for "
        "any number of adaptive queries, and no smaller epsilon holds for all "
        "numbers.",
        source="Dwork and Roth 2014, theorem 3.23; Lyu, Su and Li 2017; proof in "
        "discreet.mechanisms.above_threshold",
    ),
    Theorem(
        key="sparse-vector",
        statement="With c answers above, one noisy threshold of scale D/eps1 and query noise of"
        " scale 2cD/eps2 (monotone: cD/eps2), a run is (eps1 + eps2)-DP for any "
        "number of queries.",
        source="Lyu, Su and Li 2017, theorems 2 and 4; proof in discreet.mechanisms.sparse",
    ),
    Theorem(
        key="sparse-split",
        statement="At a given eps1 + eps2 the variance of the noise of a comparison is smallest"
        " where eps1 : eps2 = 1 : (2c)^(2/3), and 1 : c^(2/3) for monotone queries.",
        source="Lyu, Su and Li 2017, section 4.2",
    ),
    Theorem(
        key="numeric-sparse",
        statement="Answering the at most c queries above with fresh discrete Laplace noise of "
        "scale cD/eps3 adds eps3 to the loss of the comparisons.",
        source="Dwork and Roth 2014, theorem 3.28; proof in discreet.mechanisms.numeric_sparse",
    ),
    Theorem(
        key="threshold-law",
        statement="The chance of a pattern of belows and aboves is a sum over the noise of the "
        "threshold; terms in a window plus bounds of both tails enclose it, and an "
        "impossible pattern has chance zero exactly.",
        source="independence given the threshold, monotone tails; proof in "
        "discreet.mechanisms.threshold_law",
    ),
    Theorem(
        key="threshold-accuracy",
        statement="With k queries, adaptive or not, all answers are right within alpha with a "
        "chance of at least sum over t of P[rho = t] P[t - alpha - 1 <= nu <= t + "
        "alpha]^k.",
        source="an event about the noise alone; proof in discreet.mechanisms.threshold_accuracy",
    ),
)
