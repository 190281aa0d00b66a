"""What numbers, records and repeated reports in the local model rest on.

Trust: public.
"""

from __future__ import annotations

from typing import Final

from discreet.theorems.theorem import Theorem

_PROOF: Final = "proof in docs/proofs/local.md"

LOCAL_NUMBERS: Final = (
    Theorem(
        key="stochastic-rounding",
        statement="A number that goes to the upper of its two neighboring points with the chance "
        "that is its share of the way there, else to the lower one, stays what it is on average, "
        "and keeps every promise that a randomizer makes between points.",
        source=f"joint convexity of hockey-stick divergences; {_PROOF}",
    ),
    Theorem(
        key="number-estimate",
        statement="If the mean level of the reports about each point is the point, the average "
        "level of n reports estimates the average number without bias, and a number x between "
        "points s and t has variance (1 - w) q_s + w q_t - x^2, w its share of the way to t and q "
        "the mean squares of levels.",
        source=f"Duchi, Jordan and Wainwright 2018 for two points; {_PROOF}",
    ),
    Theorem(
        key="window-response",
        statement="If the reports in a window of w out of N that slides with the code weigh "
        "e^epsilon and the others 1, all codes have the total weight w (e^epsilon - 1) + N, the "
        "loss is exactly epsilon, and symmetric levels are unbiased for points proportional to "
        "the sums of levels over windows.",
        source="Wang, Xiao, Yang, Zhao, Hui, Shin, Shin and Yu 2019, Collecting and Analyzing "
        f"Multidimensional Data with Local Differential Privacy, for even levels; {_PROOF}",
    ),
    Theorem(
        key="minimax-levels",
        statement="For any weights on the codes, no levels of a window have a worst variance below "
        "the least weighted variance over levels whose last point is 1, which is 1/(c' Q^-1 c) for "
        "the matrix Q of the weighted variance and the mean c'y at the last code.",
        source=f"weak duality for convex quadratics; {_PROOF}",
    ),
    Theorem(
        key="sampled-attribute",
        statement="Reporting one of d attributes, drawn evenly and named, loses the even mixture "
        "of what the parts lose.",
        source=f"the draw does not depend on the values; {_PROOF}",
    ),
    Theorem(
        key="memo-constant",
        statement="T reports of a value that stays, each a fresh k-ary response at b of one kept "
        "response at a, lose exactly ln((e^(a + T b) + k - 1) / (e^(T b) + e^a + k - 2)), which "
        "grows with T and stays below a.",
        source=_PROOF,
    ),
    Theorem(
        key="memo-changes",
        statement="With one kept response for each value, T reports lose at most T b between any "
        "two histories, and the bound of a for each value that is met is false.",
        source=f"{_PROOF}; counterexample by enumeration",
    ),
    Theorem(
        key="tree-over-changes",
        statement="If all signs are fair coins but the one of the dyadic interval that holds the "
        "drawn change, which is true with odds e^epsilon, all reports of a device together lose "
        "exactly epsilon, and counts at all times are estimated without bias.",
        source="Erlingsson, Feldman, Mironov, Raghunathan, Talwar and Thakurta 2019, "
        f"Amplification by Shuffling; {_PROOF}",
    ),
)
