"""What mechanisms that add noise or select rest on.

Trust: public.
"""

from __future__ import annotations

from typing import Final

from discreet.theorems.theorem import Theorem

__all__ = ["ENTRIES"]

ENTRIES: Final = (
    Theorem(
        key="laplace-mechanism",
        statement="Two-sided geometric noise of a scale on integers at L1 distance d is (d / "
        "scale)-differentially private, and no smaller epsilon will do.",
        source="Ghosh, Roughgarden and Sundararajan 2012, Universally Utility-Maximizing "
        "Privacy Mechanisms",
    ),
    Theorem(
        key="laplace-coarsening",
        statement="Two-sided geometric noise of scale s at distance d is dominated by that of "
        "scale s/m at distance d/m, for every m that divides d.",
        source="its profile touches 1 - exp((eps - d/s)/2) at its losses and is linear in "
        "exp(eps) between them; proof in mechanisms/pricing.py",
    ),
    Theorem(
        key="gaussian-mechanism",
        statement="Discrete Gaussian noise on integers at L2 distance d satisfies d^2 / (2 "
        "sigma^2)-zCDP.",
        source="Canonne, Kamath and Steinke 2020, The Discrete Gaussian for Differential "
        "Privacy, theorem 14",
    ),
    Theorem(
        key="log-concave-moves",
        statement="Under independent log-concave integer noise, a longer move of one coordinate"
        " costs no less than a shorter one, and a move of two coordinates costs at "
        "most as much as one coordinate that moves by the sum.",
        source="threshold tests and the triangle inequality of hockey-stick divergences; "
        "proof in mechanisms/moves.py",
    ),
    Theorem(
        key="truncated-geometric",
        statement="Clamping two-sided geometric noise to a public range leaves the loss at "
        "every distance inside the range as it is.",
        source="Ghosh, Roughgarden and Sundararajan 2012, Universally Utility-Maximizing "
        "Privacy Mechanisms; proof in mechanisms/geometric.py",
    ),
    Theorem(
        key="bounded-geometric",
        statement="Renormalizing two-sided geometric noise on a public range of width n is "
        "epsilon-DP exactly for epsilon = s/scale + ln W(s) - ln W(0), s = min(d, n),"
        " with W(i) = 1 + a - a^(i+1) - a^(n-i+1) and a = exp(-1/scale).",
        source="concavity of W; proof in mechanisms/geometric.py",
    ),
    Theorem(
        key="exponential-mechanism",
        statement="Selecting with probability proportional to exp(score / scale) has log-ratios"
        " of range at most epsilon = 2d/scale (d/scale for monotone scores): it is "
        "epsilon-DP and (epsilon^2 / 8)-zCDP.",
        source="McSherry and Talwar 2007, Mechanism Design via Differential Privacy; Dong, "
        "Durfee and Rogers 2020, Optimal Differential Privacy Composition for "
        "Exponential Mechanisms; Cesar and Rogers 2021, Bounding, Concentrating, and "
        "Truncating",
    ),
    Theorem(
        key="permute-and-flip-privacy",
        statement="Permute-and-flip is (2d/scale)-DP, d/scale for monotone scores, and its "
        "expected error is never above that of the exponential mechanism at the same "
        "loss.",
        source="McKenna and Sheldon 2020, Permute-and-Flip",
    ),
    Theorem(
        key="noisy-max-gap",
        statement="Releasing the winner under two-sided geometric noise, ties broken by "
        "position, together with what it had to spare, is (2d/scale)-DP, d/scale for "
        "monotone scores.",
        source="after Ding, Wang, Zhang and Kifer 2019, Free Gap Information from the "
        "Differentially Private Sparse Vector and Noisy Max Mechanisms; proof in "
        "mechanisms/noisy_max.py",
    ),
    Theorem(
        key="histogram-moves",
        statement="Among all moves of a histogram by d steps the costliest are one cell by d "
        "(add/remove), and one cell up and one down by d each (replace).",
        source="log-concave-moves, applied to the cells that rise and to those that fall",
    ),
    Theorem(
        key="quantile-score",
        statement="The rank error of a candidate for the p-quantile moves by at most max(p, "
        "1-p) when a value is added or removed, and by at most 1 when one is "
        "replaced.",
        source="Smith 2011, Privacy-preserving Statistical Estimation with Optimal "
        "Convergence Rates, in its discrete form; proof in mechanisms/quantile.py",
    ),
)
