"""What models, posteriors and tuning rest on.

Trust: public.
"""

from __future__ import annotations

from typing import Final

from discreet.theorems.theorem import Theorem

MODELS: Final = (
    Theorem(
        key="integer-rows",
        statement="Rows become integer vectors z with |z|**2 <= 4**14 m for m columns, and sums of "
        "integer vectors r(z) are exact; adding or removing k rows moves such a sum by at most k "
        "times the largest |r(z)|.",
        source="proof in learning/models/rows/bounded_rows.py and docs/proofs/models.md",
    ),
    Theorem(
        key="moment-matrix",
        statement="With 29 z_i**2 on the diagonal and 41 z_i z_j above it, one row adds at most "
        "29 |z|**2 in L2 to the second moments, and rows that replace others move them by at most "
        "the root of 2 times that.",
        source="proof in learning/models/rows/row_sums.py and docs/proofs/models.md",
    ),
    Theorem(
        key="row-tables",
        statement="If each row adds a vector v to one place of a table, and its place depends on "
        "its own values and released ones alone, the table moves by at most |v| in L2 and in L1, "
        "and by at most the root of 2 times that in L2 where a row is replaced and no entry is "
        "negative.",
        source="proof in learning/models/rows/row_sums.py and docs/proofs/models.md",
    ),
    Theorem(
        key="session-rows",
        statement="If an engine keeps a unit in m groups of r rows, adding or removing it adds or "
        "removes at most m r of the rows that a model is fitted on.",
        source="bounded-contribution; proof in learning/models/session_rows.py and "
        "docs/proofs/models.md",
    ),
    Theorem(
        key="noise-aware-beta",
        statement="Given z = s + two-sided geometric noise and a Beta(a, b) prior, a share has the "
        "mixture of Beta(a+s, b+n-s) with weights BetaBin(s; n, a, b) exp(-epsilon |z-s|).",
        source="Bayes' rule; proof in learning/bayes/beta_bernoulli.py",
    ),
    Theorem(
        key="noise-aware-dirichlet",
        statement="Given noisy counts of all categories and a Dirichlet prior, each share is a "
        "mixture of Beta laws whose weights are convolutions of Gamma(a_i+s)/s! "
        "exp(-epsilon |z_i-s|).",
        source="Bayes' rule; proof in learning/bayes/dirichlet.py",
    ),
    Theorem(
        key="noise-aware-moments",
        statement="With a flat number n of rows and flat possible moments of a row, true moments S "
        "given noisy ones W have the density of the noise at W - S times n**-(p-1), p entries.",
        source="Bayes' rule; Murray, Adams and MacKay 2010; proof in "
        "learning/bayes/linear_model.py",
    ),
    Theorem(
        key="posterior-draw",
        statement="One draw of a Beta posterior on a grid from w to 1-w is the exponential "
        "mechanism with a bounded score; its exact epsilon is the largest log ratio at the two "
        "ends of the grid over all counts.",
        source="Dimitrakakis and others 2014; Wang, Fienberg and Smola 2015; proof in "
        "learning/bayes/one_draw.py",
    ),
    Theorem(
        key="random-stopping",
        statement="The best of K runs of rho-zCDP, with K logarithmic with parameter g, has a "
        "Rényi divergence of order a of at most rho a + (1-1/b) rho b + ln(1/g)/b + "
        "ln E[K]/(a-1) for every b > 1.",
        source="Papernot and Steinke 2022, theorem 2 with eta = 0",
    ),
    Theorem(
        key="logarithmic-draw",
        statement="A geometric number k that is kept with a chance of 1/k, and drawn again "
        "otherwise, has the logarithmic law.",
        source="proof in learning/tuning/tuning_price.py",
    ),
)
