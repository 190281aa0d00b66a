"""What the reports of synthetic tables rest on.

Trust: public.
"""

from __future__ import annotations

from typing import Final

from discreet.theorems.theorem import Theorem

SYNTHETIC_REPORT: Final = (
    Theorem(
        key="noise-norm",
        statement="If the cells of a marginal have independent errors S with "
        "E exp(t |S|) <= M, the L1 norm of all n of them is at least "
        "(n ln M + ln(1 / beta)) / t with a chance of at most beta, for every t > 0.",
        source="Markov's inequality; proof in discreet.synthetic.report.noise_norms",
    ),
    Theorem(
        key="measured-marginal",
        statement="The L1 distance between the counts of a table and of a model on a marginal is "
        "at most that between noisy counts of a larger marginal, projected, and the model's, plus "
        "the L1 norm of the projected noise.",
        source="the triangle inequality; proof in discreet.synthetic.report.marginal_bounds",
    ),
    Theorem(
        key="noisy-distance",
        statement="Let D be the L1 distance between n counts and fixed whole numbers, S that "
        "between the counts with discrete Gaussian noise and these numbers, and h_t(k) the mean of "
        "exp(-t |k + noise|). With chance 1 - beta, D < n k for every k with "
        "t S + n ln h_t(k) <= ln beta for one of some rates t.",
        source="Markov's inequality; log-concave sequences (Hoggar 1974); proof in "
        "discreet.synthetic.report.noisy_distance",
    ),
    Theorem(
        key="workload-check",
        statement="If one unit moves the joint histogram by at most d rows, the largest L1 "
        "distance between marginals of a workload and fixed numbers moves by at most d, and by "
        "2 d where one unit replaces another.",
        source="the triangle inequality; proof in discreet.synthetic.report.check",
    ),
    Theorem(
        key="selection-bound",
        statement="If the exponential mechanism of scale b chose among k candidates by scores "
        "w (distance - e), then with chance 1 - beta no candidate's distance is above "
        "e + (chosen score + b ln(k / beta)) / w.",
        source="McSherry and Talwar 2007; McKenna, Mullins, Sheldon and Miklau 2022, AIM; proof in "
        "discreet.synthetic.report.marginal_bounds",
    ),
)
