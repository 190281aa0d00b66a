"""What counters of streams, hierarchies of counts and the sparse vector technique rest on.

Trust: public.
"""

from __future__ import annotations

from typing import Final

from discreet.theorems.theorem import Theorem

CONTINUAL: Final = (
    Theorem(
        key="linear-measurements",
        statement="Releasing linear functions of R x + Z loses what one row does in the "
        "composition in which every row of R is a leaf that reads its positions; d changed "
        "positions lose no more than one that counts d times.",
        source="post-processing and log-concave-moves; proof in continual/counter.py",
    ),
    Theorem(
        key="noisy-prefixes",
        statement="Noise on each of n prefix sums loses what n answers do, because the first "
        "value is in all of them, and no less.",
        source="sequential composition, attained by changing the first value",
    ),
    Theorem(
        key="noisy-bits",
        statement="Noise on each value, followed by sums, loses what one answer does; all sums "
        "are within r with a chance of at least 1 - 2 P[|S_n| > r].",
        source="parallel composition and post-processing; Lévy's inequality for the error",
    ),
    Theorem(
        key="dyadic-blocks",
        statement="The first t positions are the disjoint union of one block of 2^h positions "
        "for each binary digit 1 of t, and a position lies in at most one of the blocks of each "
        "size, the first one in floor(log2 n) + 1 in all.",
        source="binary expansion; Fenwick 1994, A New Data Structure for Cumulative Frequency "
        "Tables",
    ),
    Theorem(
        key="binary-tree",
        statement="Noise on dyadic blocks loses what floor(log2 n) + 1 answers do, and each "
        "prefix sum has the noise of as many draws as its length has binary digits 1.",
        source="Dwork, Naor, Pitassi and Rothblum 2010, Differential Privacy under Continual "
        "Observation; Chan, Shi and Song 2011, Private and Continual Release of Statistics",
    ),
    Theorem(
        key="refined-tree",
        statement="Blending a block with the blocks inside it, with weights inverse to their "
        "variances, estimates it with 2^h / (2^(h+1) - 1) of the variance of one draw, the least "
        "of all unbiased linear estimates from these blocks.",
        source="Honaker 2015, Efficient Use of Differentially Private Binary Trees",
    ),
    Theorem(
        key="matrix-mechanism",
        statement="R x with Gaussian noise of variance v, R an integer matrix, loses what a move "
        "by the longest column of R does: it is zero-concentrated with half its square over v.",
        source="Li, Miklau, Hay, McGregor and Rastogi 2015, The Matrix Mechanism; Fichtenberger, "
        "Henzinger and Upadhyay 2023, Constant Matters, for the root of the prefix sums",
    ),
    Theorem(
        key="tree-walk",
        statement="The chance that all prefix sums of a binary tree stay within a reach obeys "
        "f_(h+1)(s) = f_h(s) E[f_h(s + Z); |s + Z| <= r].",
        source="independence of the noise of disjoint blocks; proof in continual/sum_tails.py",
    ),
    Theorem(
        key="chernoff-sum",
        statement="A sum of draws with weights of at most m in size and squares that add up to f "
        "exceeds r in size with a chance of at most 2 exp(f/m^2 K(m t) - t r), where K is the "
        "logarithm of the moment generating function of one draw.",
        source="Chernoff 1952; K(t)/t^2 does not fall; proof in continual/sum_tails.py",
    ),
    Theorem(
        key="smoothed-sum",
        statement="P[|S| > r] <= P[|S + N| > r - u] / P[|N| <= u] for independent S and N; with "
        "normal N the right side is a fast Fourier series, and for discrete Gaussian draws almost "
        "a normal tail.",
        source="independence; Poisson's summation formula; proof in continual/sum_tails.py",
    ),
    Theorem(
        key="hierarchy-levels",
        statement="A hierarchy of counts loses one answer a level when rows are added or removed, "
        "and two a level below its root, which is public, when they are replaced.",
        source="Hay, Rastogi, Miklau and Suciu 2010; general-composition for replaced rows",
    ),
    Theorem(
        key="tree-least-squares",
        statement="One pass up and one down a tree of noisy counts give the least squares "
        "estimates of all nodes, and the same passes give their variances.",
        source="Hay, Rastogi, Miklau and Suciu 2010, Boosting the Accuracy of Differentially "
        "Private Histograms Through Consistency; proof in continual/consistency.py",
    ),
    Theorem(
        key="isotonic-contraction",
        statement="The nearest sequence that does not fall is no further, at its worst place, from "
        "a truth that does not fall than the sequence itself.",
        source="Ayer, Brunk, Ewing, Reid and Silverman 1955, for the max-min formula; proof in "
        "continual/consistency.py",
    ),
)


SPARSE_VECTOR: Final = (
    Theorem(
        key="above-threshold",
        statement="Comparing integer queries of sensitivity D with one noisy threshold "
        "(discrete Laplace, scale D/eps1; query noise of scale 2D/eps2, or D/eps2 for"
        " monotone queries) and halting at the first above is (eps1 + eps2)-DP for "
        "any number of adaptive queries, and no smaller epsilon holds for all "
        "numbers.",
        source="Dwork and Roth 2014, theorem 3.23; Lyu, Su and Li 2017; proof in "
        "discreet.mechanisms.sparse_vector.above_threshold",
    ),
    Theorem(
        key="sparse-vector",
        statement="With c answers above, one noisy threshold of scale D/eps1 and query noise of"
        " scale 2cD/eps2 (monotone: cD/eps2), a run is (eps1 + eps2)-DP for any "
        "number of queries.",
        source="Lyu, Su and Li 2017, theorems 2 and 4; proof in "
        "discreet.mechanisms.sparse_vector.sparse",
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
        source="Dwork and Roth 2014, theorem 3.28; proof in "
        "discreet.mechanisms.sparse_vector.sparse",
    ),
    Theorem(
        key="threshold-law",
        statement="The chance of a pattern of belows and aboves is a sum over the noise of the "
        "threshold; terms in a window plus bounds of both tails enclose it, and an "
        "impossible pattern has chance zero exactly.",
        source="independence given the threshold, monotone tails; proof in "
        "discreet.mechanisms.sparse_vector.threshold_law",
    ),
    Theorem(
        key="threshold-accuracy",
        statement="With k queries, adaptive or not, all answers are right within alpha with a "
        "chance of at least sum over t of P[rho = t] P[t - alpha - 1 <= nu <= t + "
        "alpha]^k.",
        source="an event about the noise alone; proof in "
        "discreet.mechanisms.sparse_vector.threshold_law",
    ),
)
