"""What explanations in odds rest on.

Trust: public.
"""

from __future__ import annotations

from typing import Final

from discreet.theorems.theorem import Theorem

EXPLAIN: Final = (
    Theorem(
        key="posterior-bound",
        statement="Outside a set of answers that occurs with a chance of at most c, the "
        "likelihood ratio of two neighbors is at most e^r for r = epsilon(t c) - log(1 - t), for "
        "every t between 0 and 1; so a prior p becomes at most p e^r / (1 - p + p e^r).",
        source="Kasiviswanathan and Smith 2014, On the 'Semantics' of Differential Privacy; proof "
        "in discreet.explain.guesses",
    ),
    Theorem(
        key="chained-guesses",
        statement="If T bounds the catch rate at a rate of false alarms between neighbors, T "
        "applied k times bounds it between tables that are k steps apart, whatever the directions "
        "of the steps; and the total variation distance is at most k times that of one step.",
        source="Dong, Roth and Su 2022, Gaussian Differential Privacy, theorem 2.14; proof in "
        "discreet.explain.guesses",
    ),
    Theorem(
        key="budget-for-odds",
        statement="A pure loss keeps a bound on a posterior, on the catch rate at a rate of false "
        "alarms, or on an even guess if and only if epsilon is at most logit(posterior) - "
        "logit(prior), the larger of log(caught / alarms) and log((1 - alarms) / (1 - caught)), or "
        "logit(right).",
        source="Kairouz, Oh and Viswanath 2015, The Composition Theorem for Differential Privacy; "
        "proof in discreet.explain.budget_from_odds",
    ),
)
