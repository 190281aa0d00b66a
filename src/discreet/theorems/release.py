"""What answers, their intervals and their odds rest on.

Trust: public.
"""

from __future__ import annotations

from typing import Final

from discreet.theorems.theorem import Theorem

RELEASE: Final = (
    Theorem(
        key="answer-loss",
        statement="An answer is a function of its plan and of one run of each mechanism of the "
        "plan's tree, on totals that move no further than the plan's distances; so it loses no "
        "more than the tree.",
        source="post-processing and composition; proof in discreet.release.answer",
    ),
    Theorem(
        key="leaf-runs",
        statement="Leaves without rows between two that have some share their score; to choose "
        "such a run by its length times exp(score / scale), and a leaf in it evenly, is the "
        "exponential mechanism over all leaves.",
        source="direct; proof in discreet.release.choices.leaf_choice",
    ),
    Theorem(
        key="weighted-noise-reach",
        statement="If independent variables that are stochastically larger than the weighted "
        "noises, rounded up to a grid of step h, exceed m in sum with chance at most (1 - c) / 2, "
        "the sum of the weighted noises stays within m h with chance at least c.",
        source="stochastic order is kept by independent sums; proof in discreet.release.half_width",
    ),
    Theorem(
        key="reach-rises",
        statement="For X symmetric and unimodal on the multiples of s, and Y symmetric and "
        "independent, P[|X + t' Y| <= r] <= P[|X + t Y| <= r + s] for 0 <= t <= t'.",
        source="a discrete form of Anderson's inequality (1955); proof in "
        "discreet.release.aggregates.means",
    ),
    Theorem(
        key="paired-reach",
        statement="Let C be continuous, symmetric and unimodal with P[Z >= k] <= P[C >= k - 1], "
        "and W stochastically larger than |Y|. If |s C + t W| exceeds r with some chance at most, "
        "|s Z - u Y| exceeds r + s with no larger one, for all u from 0 to t.",
        source="Anderson's inequality (1955) in one dimension; proof in "
        "discreet.release.noise_tails",
    ),
    Theorem(
        key="clear-count",
        statement="Given that a group is shown by a noisy count that reached a threshold, the "
        "chance that this count is far above the threshold and an error of chance m (1 - h) occurs "
        "is at most m, where h is the chance that a group far above it is hidden.",
        source="likelihood ratios of log-concave noise rise; proof in discreet.release.half_width",
    ),
    Theorem(
        key="ratio-interval",
        statement="All theta within bounds for which |noisy sum - theta noisy count| is at most "
        "the reach of its noise hold the true ratio with at least the confidence.",
        source="after Fieller 1954, Some Problems in Interval Estimation; proof in "
        "discreet.release.aggregates.means",
    ),
    Theorem(
        key="quantile-ends",
        statement="Among k leaves, a choice of scale s whose rank is aimed at least "
        "s ln((k - 1) (1 - m) / m) + q - 1 / d ranks below level q, d the denominator of q, with "
        "as many rows more in the first leaf, lies above the quantile with chance at most m, "
        "whatever the rows are; the same holds above it.",
        source="the accuracy of the exponential mechanism, McSherry and Talwar 2007, on one side; "
        "proof in discreet.plan.forecast.noise_quantiles",
    ),
    Theorem(
        key="tree-ends",
        statement="Going down a tree of noisy counts, the first part whose end is estimated at no "
        "less than M + q below rank q n leads to a leaf no higher than that of the quantile at "
        "level q but for a chance of m, if each estimate errs by at most M but for m over the "
        "number of levels; the same holds above it.",
        source="inversion of a test along the path to the quantile; proof in "
        "discreet.release.choices.quantile_tree",
    ),
    Theorem(
        key="joint-box",
        statement="If k independent noises stay within their reaches with chance c^(1/k) each, the "
        "range of any function over the box of totals that are so near holds its true value with "
        "chance at least c.",
        source="independence; proof in discreet.release.noisy_totals",
    ),
    Theorem(
        key="variance-box",
        statement="Over a box of count, sum and sum of squares a variance is largest at the "
        "vertex of a concave parabola in 1 / n, or at the nearest end, and smallest at one of its "
        "ends.",
        source="direct; proof in discreet.release.aggregates.variances",
    ),
    Theorem(
        key="formula-range",
        statement="Interval arithmetic with outward rounding over the intervals of all aggregates "
        "holds the value of a formula, or says where it may be NULL.",
        source="Moore 1966, Interval Analysis; proof in discreet.release.formula_ranges",
    ),
    Theorem(
        key="inverse-variance",
        statement="Of all weighted means of two independent unbiased numbers the one with weights "
        "in inverse proportion to their variances v, w has the least variance, v w / (v + w).",
        source="direct; proof in discreet.release.combination",
    ),
    Theorem(
        key="guessing-odds",
        statement="With d = delta(0), no observer names the right one of two equally likely "
        "neighbors with a chance above (1 + d) / 2; and one with false alarms of chance a at most "
        "detects with a chance of at most e^eps a + delta(eps), for every eps >= 0.",
        source="Kairouz, Oh and Viswanath 2015, The Composition Theorem for Differential Privacy; "
        "Dong, Roth and Su 2022, Gaussian Differential Privacy",
    ),
    Theorem(
        key="bounds-found",
        statement="With a chance of at least 1 - beta, every bin whose noisy number is above r, a "
        "size that no noise exceeds with that chance, holds somebody, and every bin with more than "
        "2 r units stands out.",
        source="a union over bins; proof in discreet.release.noisy_thresholds",
    ),
    Theorem(
        key="keyed-bins",
        statement="If groups are put into bins by their keys, and the mechanisms of a plan run on "
        "each bin, sorted, with words of its own stream of a fresh secret key, then a bin that is "
        "computed again is the same, and all bins together have the law of one run of every "
        "mechanism, up to telling the streams from uniform words.",
        source="independence of the draws of different groups; proof in discreet.release.answer",
    ),
)
