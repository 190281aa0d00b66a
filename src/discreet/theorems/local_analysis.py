"""What the analyst of private reports rests on.

Trust: public.
"""

from __future__ import annotations

from typing import Final

from discreet.theorems.theorem import Theorem

LOCAL_ANALYSIS: Final = (
    Theorem(
        key="two-coin-interval",
        statement="M coins of chance p and n - M coins of chance q < p show C heads.  The M at "
        "which neither C or more heads nor C or fewer have a chance of at most a are an interval, "
        "which misses the true M with a chance of at most 2a.",
        source="inverting monotone tests; proof in discreet.local.analysis.intervals",
    ),
    Theorem(
        key="hostile-reports",
        statement="If m of n reports are hostile, the interval from (n - m) low / n to "
        "((n - m) high + m) / n holds the share of all n people, and of the honest ones, where low "
        "and high are ends for the n - m honest reports with m supports fewer and with all.",
        source="counting; Cheu, Smith and Ullman 2021, Manipulation Attacks in Local Differential "
        "Privacy; proof in discreet.local.analysis.intervals",
    ),
    Theorem(
        key="simplex-projection",
        statement="The nearest point of the simplex is max(x - t, 0), for the one t at which this "
        "adds up to 1.",
        source="Held, Wolfe and Crowder 1974, Validation of Subgradient Optimization; Wang and "
        "others 2020, Locally Differentially Private Frequency Estimation with Consistency",
    ),
    Theorem(
        key="simplex-likelihood",
        statement="The likelihood of numbers of supports is largest on the simplex where all "
        "shares above 0 have one slope, and those at 0 a smaller one.",
        source="the conditions of Karush, Kuhn and Tucker; proof in "
        "discreet.local.analysis.consistency",
    ),
)
