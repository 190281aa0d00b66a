"""What the analyst of private reports rests on.

Trust: public.
"""

from __future__ import annotations

from typing import Final

from discreet.theorems.theorem import Theorem

LOCAL_ANALYSIS: Final = (
    Theorem(
        key="two-coin-interval",
        statement="M coins of chance p and n - M coins of chance q < p show C heads. The M at "
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
    Theorem(
        key="simplex-posterior",
        statement="Of all laws under which shares have means that add up to 1, the nearest in "
        "relative entropy to a product of laws is its tilt by exp(-t F), F being the sum of all "
        "shares; a normal law within [0, 1] keeps its form, and its centre moves by -t s^2.",
        source="Csiszar 1975, I-Divergence Geometry of Probability Distributions and Minimization "
        "Problems; proof in discreet.local.analysis.posterior",
    ),
    Theorem(
        key="pool-bias",
        statement="If no value has a share above F, m hash functions to g cells move the estimate "
        "of a value by more than sqrt(2 F L / ((g - 1) m)) + 2 L / (3 m), L = ln(2/a), with a "
        "chance of at most a over their choice.",
        source="Bernstein's inequality; proof in discreet.local.analysis.pool_bias",
    ),
    Theorem(
        key="deviation-bound",
        statement="For independent variables in an interval of length R, the root of the expected "
        "sample variance exceeds that of the sample variance by R sqrt(2 ln(1/a) / (n - 1)) with a "
        "chance of at most a.",
        source="Maurer and Pontil 2009, Empirical Bernstein Bounds and Sample Variance "
        "Penalization, theorem 10",
    ),
    Theorem(
        key="normal-interval",
        statement="The standardized sum of n independent variables in an interval of length R, of "
        "variance at least s^2 each, is within 0.56 R / (s sqrt(n)) of the normal law.",
        source="Shevtsova 2010, An Improvement of Convergence Rate Estimates in the Lyapunov "
        "Theorem",
    ),
    Theorem(
        key="empirical-bernstein",
        statement="The mean of n independent variables in an interval of length R, with sample "
        "variance S^2, is above its expectation by more than S sqrt(2 L / n) + "
        "7 R L / (3 (n - 1)), L = ln(2/a), with a chance of at most a.",
        source="Maurer and Pontil 2009, Empirical Bernstein Bounds and Sample Variance "
        "Penalization, theorem 4",
    ),
    Theorem(
        key="weighted-shares",
        statement="n times the variance of a weighted sum of k estimated shares is at most "
        "k / (k - 1) times the sum of squared weights times n times the variances of shares.",
        source="correlations of exchangeable sets; proof in discreet.local.analysis.weighted_sums",
    ),
    Theorem(
        key="range-variance",
        statement="The mean variance of all ranges follows from the sum of squares and the square "
        "of the sum of the weights of nodes in all thresholds.",
        source="Cormode, Kulkarni and Srivastava 2019, Answering Range Queries Under Local "
        "Differential Privacy; proof in discreet.local.analysis.ranges",
    ),
    Theorem(
        key="signed-hadamard",
        statement="A Hadamard report about a node, with its sign turned for the right side, loses "
        "epsilon and estimates the share of the left side minus that of the right one.",
        source="Cormode, Kulkarni and Srivastava 2019, Answering Range Queries Under Local "
        "Differential Privacy; proof in discreet.local.randomizers.signed_hadamard",
    ),
    Theorem(
        key="linear-hash",
        statement="Under a uniform linear map over two elements to t bits, different words share a "
        "cell with chance 2^-t, pairwise independently.",
        source="Carter and Wegman 1979, Universal Classes of Hash Functions; proof in "
        "discreet.local.hitters.hash_pool",
    ),
    Theorem(
        key="linear-hash-decoding",
        statement="The numbers of reports of linear hashes that support all extensions of a prefix "
        "are one Walsh-Hadamard transform of their counters.",
        source="proof in discreet.local.hitters.hash_pool",
    ),
    Theorem(
        key="prefix-response",
        statement="Randomized response on a hash of a prefix, with length and hash drawn without "
        "looking at the word, loses what randomized response on the cells does.",
        source="post-processing and mixtures; proof in discreet.local.hitters.prefix_response",
    ),
    Theorem(
        key="hitter-intervals",
        statement="Intervals for all candidates from a group of people who had no part in choosing "
        "them hold at their level.",
        source="conditioning; Wang, Li and Jha 2019, Locally Differentially Private Heavy Hitter "
        "Identification; proof in discreet.local.hitters.prefixes",
    ),
)
