"""Theorems about choosing which groups to show.

Trust: public.
"""

from __future__ import annotations

from typing import Final

from discreet.theorems.theorem import Theorem

__all__ = ["ENTRIES"]

ENTRIES: Final = (
    Theorem(
        key="key-moves",
        statement="If units are counted in at most g groups each, and add up to M to each, k steps "
        "move no count by more than k M, in at most k s g moves of a group by a unit, s = 1, or 2 "
        "where units are replaced; where two moves cost at most as much as one of their sum, no "
        "such move costs more than s g groups that move by k M each, for k <= 2, and "
        "floor(2 k s g / (k + 1)) groups beyond.",
        source="first fit into boxes of size k; proof in mechanisms/key_selection.py",
    ),
    Theorem(
        key="optimal-keys",
        statement="p(0) = 0, p(n + 1) = min(e^eps p(n) + delta, 1 - e^-eps (1 - p(n) - delta), 1) "
        "are the largest chances to show a group of n units under (eps, delta)-privacy of one "
        "unit more or less; rounded downward step by step they stay private.",
        source="Desfontaines, Voss, Gipson and Mandayam 2022, Differentially Private Partition "
        "Selection; rounding: proof in mechanisms/key_selection_chances.py",
    ),
    Theorem(
        key="optimal-keys-loss",
        statement="Showing each group by its own optimal coin loses at most g-fold (eps, delta) "
        "for a unit in at most g groups, 2 g-fold where units are replaced, and for k units (k "
        "eps, delta_k) as often as key-moves says, with delta_k = delta (1 + e^eps + ... + "
        "e^((k-1) eps)).",
        source="randomized-response, group-approximate and key-moves; proof in "
        "mechanisms/key_selection_optimal.py",
    ),
    Theorem(
        key="threshold-leak",
        statement="k units in at most g groups each, on top of groups that count too little to be "
        "shown, are seen with chance at most max(1 - (1 - q(1))^(k g), 1 - (1 - q(k))^g), where "
        "q(j) is the chance that j of them lift a group to the threshold, for log-concave noise.",
        source="convexity of -ln(1 - q(j)); proof in mechanisms/key_selection_leak.py",
    ),
    Theorem(
        key="threshold-keys",
        statement="Showing the noisy counts that reach a threshold, of groups that count at least "
        "some number, loses at most what the noise loses on g counts that move by as much as a "
        "unit adds, or 2 g where units are replaced, and independently a leak with the chance of "
        "threshold-leak, which replacing does not raise.",
        source="dominating-pair and key-moves; the threshold is that of Korolova, Kenthapadi, "
        "Mishra and Ntoulas 2009, Releasing Search Queries and Clicks Privately; proof in "
        "mechanisms/key_selection_threshold.py",
    ),
    Theorem(
        key="shown-interval",
        statement="Given that a group of n units reaches the threshold, the n that its noisy count "
        "does not contradict at either tail of the law cut off there form an interval that holds "
        "the true n with at least the stated confidence, for log-concave noise.",
        source="inversion of tests in a family with monotone likelihood ratios; proof in "
        "mechanisms/key_selection_interval.py",
    ),
    Theorem(
        key="rare-coins",
        statement="Coins that are marked with geometric gaps of a chance q >= p, and of which each "
        "marked one shows heads with chance p / q, are independent coins of chance p.",
        source="waiting times of independent trials, thinned; proof in noise/rare.py",
    ),
    Theorem(
        key="noise-beyond",
        statement="Given that it is at least t >= 0, discrete Laplace noise is t plus a geometric "
        "number of its scale, and discrete Gaussian noise of parameter v is t plus a geometric "
        "number J of scale v / (t + c) that is accepted with chance exp(-(J - c)^2 / 2v), c > 0.",
        source="completing the square, as Robert 1995, Simulation of truncated normal variables, "
        "does for continuous noise; proof in noise/beyond.py",
    ),
    Theorem(
        key="zero-groups",
        statement="To flip a coin of chance P[Z >= t] for each of N groups, to leave out touched "
        "ones, and to draw noise beyond t for the others that show heads has, with the touched "
        "ones whose noisy counts reach t, the law of all N noisy counts without those below t.",
        source="independence across groups, rare-coins and noise-beyond; the idea is that of "
        "Cormode, Procopiuc, Srivastava and Tran 2012, Differentially Private Summaries for Sparse "
        "Data; proof in mechanisms/zero_groups.py",
    ),
)
