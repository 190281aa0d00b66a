"""What exact numbers, exact noise, and notions of privacy loss with their conversions rest on.

Trust: public.
"""

from __future__ import annotations

from typing import Final

from discreet.theorems.theorem import Theorem

_PROOFS: Final = "proof in docs/proofs/noise.md"

NOISE: Final = (
    Theorem(
        key="directed-rounding",
        statement="Every number that enters or leaves exact arithmetic as a float or fixed-"
        "point integer moves only in the direction that the function names.",
        source="IEEE 754 ordering of floats; floor and ceiling of rationals",
    ),
    Theorem(
        key="enclosure",
        statement="The integer enclosures of exp, log, square root and pi contain the true value.",
        source=f"Taylor series with counted truncations; {_PROOFS}",
    ),
    Theorem(
        key="lazy-inversion",
        statement="Revealing the bits of a uniform U one by one, and answering as soon as "
        "certified enclosures of the boundaries determine the outcome, has exactly "
        "the law F^-1(U).",
        source=f"inverse transform sampling with lazy comparison; {_PROOFS}",
    ),
    Theorem(
        key="block-mixture",
        statement="Splitting a law over blocks of 2^b integers into a flat part and a residual "
        "that is accepted with probability (w - min) / (max - min) leaves the law "
        "unchanged.",
        source=f"rejection sampling from a mixture; {_PROOFS}",
    ),
    Theorem(
        key="geometric-log",
        statement="floor(-s ln U) is geometric: it is at least k with probability exp(-k/s).",
        source=f"Devroye 1986, Non-Uniform Random Variate Generation, X.2; {_PROOFS}",
    ),
    Theorem(
        key="geometric-split",
        statement="A geometric variable of scale s is Q 2^b + R with Q geometric of scale s/2^b"
        " and an independent R on [0, 2^b) of weight exp(-R/s).",
        source=f"Canonne, Kamath and Steinke 2020, algorithm 2; {_PROOFS}",
    ),
    Theorem(
        key="laplace-sign",
        statement="A geometric magnitude with a fair sign, minus zero rejected, is discrete "
        "Laplace.",
        source=f"Canonne, Kamath and Steinke 2020, algorithm 2; {_PROOFS}",
    ),
    Theorem(
        key="gaussian-rejection",
        statement="A discrete Laplace Y of integer scale t, accepted with probability exp(-(|Y|"
        " - v/t)^2 / 2v), is discrete Gaussian of parameter v.",
        source=f"Canonne, Kamath and Steinke 2020, algorithm 3; {_PROOFS}",
    ),
    Theorem(
        key="gaussian-tail",
        statement="Euler-Maclaurin summation and the continued fraction of Mills' ratio, with "
        "their remainders, enclose every tail of the discrete Gaussian.",
        source=f"Laplace's continued fraction; Euler-Maclaurin formula; {_PROOFS}",
    ),
    Theorem(
        key="permute-and-flip",
        statement="A uniform member of the heads among independent coins Bernoulli(exp(c (u_i -"
        " u*))) has the law of permute-and-flip.",
        source="McKenna and Sheldon 2020, Permute-and-Flip; " + _PROOFS,
    ),
    Theorem(
        key="exponential-inversion",
        statement="Inverting certified prefix sums of exp(c (u_i - u*)) draws an index with "
        "probability proportional to exp(c u_i), whatever the size of the scores.",
        source=f"inverse transform sampling with lazy comparison; {_PROOFS}",
    ),
    Theorem(
        key="grid-distance",
        statement="Rounding down to a grid of step g moves values at distance d to grid "
        "distance at most ceil(d/g), and an L1 or L2 bound grows by what m changed "
        "coordinates allow.",
        source=f"floor(a) - floor(b) <= ceil(a - b); {_PROOFS}",
    ),
)


NOTIONS: Final = (
    Theorem(
        key="post-processing",
        statement="A map of the output that does not look at the data again leaves every bound "
        "on the privacy loss true.",
        source="Dwork, McSherry, Nissim and Smith 2006, Calibrating Noise to Sensitivity",
    ),
    Theorem(
        key="optimal-composition",
        statement="The least delta true of every composition of (eps_i, delta_i) promises is 1 "
        "- prod(1 - delta_i) (1 - E[(1 - e^(eps - sum S_i eps_i))+]), with signs S_i "
        "of randomized response.",
        source="Kairouz, Oh and Viswanath 2015; Murtagh and Vadhan 2016",
    ),
    Theorem(
        key="renyi-forms",
        statement="The Rényi divergences of Gaussian, Laplace, randomized-response and Poisson-"
        "sampled Gaussian releases have closed forms.",
        source="Mironov 2017; Bun and Steinke 2016; Mironov, Talwar and Zhang 2019",
    ),
    Theorem(
        key="tradeoff-duality",
        statement="A test with false-alarm chance alpha misses with chance at least 1 - h(a) - "
        "a alpha and (1 - r(a) - alpha)/a for every a >= 1, h and r being the "
        "profiles of the two directions.",
        source="Wasserman and Zhou 2010; Dong, Roth and Su 2022, Gaussian Differential Privacy",
    ),
    Theorem(
        key="dominance",
        statement="A product of pairs is dominated by another whose distinct pairs dominate its"
        " own one by one.",
        source="monotonicity of products in Blackwell's order; Zhu, Dong and Wang 2022",
    ),
    Theorem(
        key="dots",
        statement="Chords through upper bounds of a profile, its two directions joined by h(1/a) = "
        "1 - 1/a + r(a)/a, are the profile of a pair that dominates; chords of neighboring cells, "
        "drawn on, bound it from below.",
        source="Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022, Connect the Dots; proof in "
        "docs/proofs/accounting.md",
    ),
    Theorem(
        key="group-pure",
        statement="A group of k units loses at most k epsilon.",
        source="Dwork, McSherry, Nissim and Smith 2006",
    ),
    Theorem(
        key="group-pure-chain",
        statement="The ends of a chain of k + 1 laws, each epsilon-DP with the next, are dominated "
        "by two-sided geometric noise of scale 1/epsilon around 0 and k, which is such a chain.",
        source="the k-fold iterate of Dong, Roth and Su 2022, theorem 2.14, for pure losses; proof "
        "in discreet.loss.pure_and_approximate",
    ),
    Theorem(
        key="group-approximate",
        statement="A group of k units is protected at (k eps, delta (e^(k eps) - 1)/(e^eps - "
        "1)), and a chain of k coins attains it.",
        source="chaining the definition; p_0 = 0, p_{j+1} = e^eps p_j + delta attains it",
    ),
    Theorem(
        key="group-concentrated",
        statement="A group of k units has k^2 rho; truncated at order w, (k^2 rho, w/k).",
        source="Bun and Steinke 2016; Bun, Dwork, Rothblum and Steinke 2018",
    ),
    Theorem(
        key="group-gaussian",
        statement="A group of k units of a mu-Gaussian loss has k mu.",
        source="Dong, Roth and Su 2022, Gaussian Differential Privacy",
    ),
    Theorem(
        key="group-renyi",
        statement="D_a(P||R) <= (a - 1/p)/(a - 1) D_{pa}(P||Q) + D_{q(a - 1/p)}(Q||R) for 1/p +"
        " 1/q = 1.",
        source="Mironov 2017, Rényi Differential Privacy, proposition 11",
    ),
    Theorem(
        key="group-profile",
        statement="The profile of k + 1 steps satisfies h(a b) <= h_1(a) + a h_k(b).",
        source="Dong, Roth and Su 2022, Gaussian Differential Privacy",
    ),
    Theorem(
        key="gaussian-composition",
        statement="Adaptive compositions of mu_i-Gaussian losses are sqrt(sum mu_i^2)-Gaussian.",
        source="Dong, Roth and Su 2022, Gaussian Differential Privacy",
    ),
    Theorem(
        key="concentrated-composition",
        statement="Adaptive compositions of rho_i-zCDP mechanisms are (sum rho_i)-zCDP.",
        source="Bun and Steinke 2016, Concentrated Differential Privacy",
    ),
    Theorem(
        key="renyi-composition",
        statement="Rényi divergences of adaptive compositions add, order by order.",
        source="Mironov 2017, Rényi Differential Privacy",
    ),
    Theorem(
        key="pure-to-approximate",
        statement="epsilon-DP is (epsilon, 0)-DP.",
        source="by definition",
    ),
    Theorem(
        key="pure-to-concentrated",
        statement="epsilon-DP implies (epsilon tanh(epsilon/2))-zCDP, and no smaller rho.",
        source="differentialprivacy.org, 27 May 2024; randomized response attains it as the "
        "order tends to 1",
    ),
    Theorem(
        key="bounded-range",
        statement="A loss whose range has length epsilon, as that of an exponential mechanism, "
        "is (epsilon^2/8)-zCDP.",
        source="Cesar and Rogers 2021, Bounding, Concentrating, and Truncating",
    ),
    Theorem(
        key="pure-to-gaussian",
        statement="epsilon-DP implies mu-Gaussian DP with mu = -2 Phi^-1(1/(1 + e^epsilon)).",
        source="convexity of trade-off functions; Dong, Roth and Su 2022",
    ),
    Theorem(
        key="gaussian-to-concentrated",
        statement="mu-Gaussian DP implies (mu^2/2)-zCDP.",
        source="data processing inequality; Bun and Steinke 2016",
    ),
    Theorem(
        key="amplification",
        statement="On a secret sample at rate q the profile becomes q h(1 + (a - 1)/q) for a >="
        " 1: Poisson with a removed record, fixed size with a replaced one.",
        source="Balle, Barthe and Gaboardi 2018, Privacy Amplification by Subsampling",
    ),
    Theorem(
        key="shuffling",
        statement="Shuffled reports of eps0-locally private randomizers are dominated by a pair"
        " of binomial mixtures.",
        source="Feldman, McMillan and Talwar 2021, Hiding Among the Clones",
    ),
    Theorem(
        key="textbook-bounds",
        statement="Basic, advanced and concentrated composition and the first conversions hold,"
        " and are looser than the accountant.",
        source="Dwork, Rothblum and Vadhan 2010; Bun and Steinke 2016; Mironov 2017",
    ),
    Theorem(
        key="adaptive-choice",
        statement="A release dominated by one of several pairs, whichever earlier outputs suggest, "
        "composes like the one pair whose profile is the largest of theirs.",
        source="Zhu, Dong and Wang 2022, Optimal Accounting of Differential Privacy via "
        "Characteristic Function; proof in discreet.loss.pairs.envelope",
    ),
)
