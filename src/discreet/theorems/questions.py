"""What questions, their plans and their bounds rest on.

Trust: public.
"""

from __future__ import annotations

from typing import Final

from discreet.theorems.theorem import Theorem

__all__ = ["ENTRIES"]

ENTRIES: Final = (
    Theorem(
        key="unit-local",
        statement="Every private relation that a question is bound to is the union over units of "
        "what is computed from the rows of that unit and from public tables alone.",
        source="proof in discreet.plan.bind, joins and unions",
    ),
    Theorem(
        key="fact-rules",
        statement="If arguments lie within their facts, what a function returns lies within the "
        "facts derived for it; bounds of floats are widened by what rounding can move them.",
        source="interval arithmetic; proof in discreet.plan.facts",
    ),
    Theorem(
        key="question-scope",
        statement="The answer to a question does not depend on units outside its box.",
        source="proof in discreet.plan.scope",
    ),
    Theorem(
        key="public-listing",
        statement="Where an outer join keeps SELECT DISTINCT of a public table and compares "
        "exactly the keys, the answer is that of the inner join with an empty group for every "
        "listed one that nobody matches.",
        source="proof in discreet.plan.listing",
    ),
    Theorem(
        key="fixed-point",
        statement="Whatever the data holds, every value of a fixed-point expression is NULL or an "
        "integer between its bounds.",
        source="proof in discreet.plan.fixed_point",
    ),
    Theorem(
        key="plan-distances",
        statement="A unit that adds a number from low to high to at most g of N groups moves "
        "totals by at most g D in L1 and g D^2 in squared L2 if it is added or removed; if it is "
        "replaced, by the largest of three corners of 2a + s <= 2g, a + s <= N, at s D + a W and "
        "s D^2 + a W^2, with D = max(|low|, |high|) and W = high - low.",
        source="proof in discreet.plan.distances",
    ),
    Theorem(
        key="leaf-scores",
        statement="One row more or less moves the rank score of every leaf by at most "
        "max(level, 1 - level), and one that is replaced by at most 1.",
        source="Smith 2011, in its discrete form; proof in discreet.plan.noises",
    ),
    Theorem(
        key="part-prices",
        statement="The scale of each mechanism of a plan keeps the share of epsilon or rho that it "
        "was given, for all groups of a unit together, also where units are replaced.",
        source="proof in discreet.plan.parts",
    ),
    Theorem(
        key="split-shares",
        statement="Of all shares with a given sum, those proportional to the roots of the weights "
        "have the smallest weighted sum of inverse shares.",
        source="Cauchy and Schwarz; proof in discreet.plan.split",
    ),
    Theorem(
        key="lattice-spread",
        statement="A sum of k terms exceeds the sum of their values, each rounded to the nearest "
        "multiple of u, by at most k u / 2.",
        source="proof in discreet.plan.spread",
    ),
    Theorem(
        key="mean-error",
        statement="With noises X and Y on a centered sum and a count of n rows, |S/n| <= h, the "
        "noisy mean is off by at most (R + u) / (n - r) with chance 1 - b, if X + h Y stays within "
        "R but for 9b/10 and Y above -r but for b/10, u a step of X.",
        source="proof in discreet.plan.errors_predicted",
    ),
    Theorem(
        key="variance-error",
        statement="If the means of centered values and of their squares are off by at most e and "
        "f, and |S/n| <= h, the variance is off by at most f + e (2h + e).",
        source="proof in discreet.plan.errors_predicted",
    ),
    Theorem(
        key="bounded-contribution",
        statement="If every unit keeps at most g groups, chosen from its own rows, and adds to "
        "each a number within [low, high] or nothing, adding or removing one unit changes at most "
        "g groups: the units in each by at most 1, a total by at most max(|low|, |high|), a count "
        "of distinct values by as many as a unit shows, a histogram by as many rows in L1.",
        source="the contribution bounding of Wilson et al. 2020, Differentially Private SQL with "
        "Bounded User Contribution; proof in plan/lowered.py",
    ),
)
