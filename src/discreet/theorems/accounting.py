"""What certified accounting rests on.

Trust: public.
"""

from __future__ import annotations

from typing import Final

from discreet.theorems.theorem import Theorem

_ACCOUNTING = "proof in docs/proofs/accounting.md"

ACCOUNTING: Final = (
    Theorem(
        key="adaptive-game",
        statement="With V_0(x) = (1 - a x)+ and V_k(x) the largest over mechanisms of the sum of "
        "p(y) V_(k-1)(x q(y) / p(y)), V_k(1) is the largest delta at odds a that a strategy of k "
        "rounds reaches which picks mechanisms in view of outputs; it lies between that of plans "
        "and the joined price.",
        source="backward induction; proof in discreet.accounting.worst_case.adaptive_game",
    ),
    Theorem(
        key="dominating-pair",
        statement="If each mechanism is dominated by its pair at every real epsilon, an "
        "adaptive composition is dominated by the product of the pairs, whose losses "
        "are independent and add up.",
        source="Zhu, Dong and Wang 2022, Optimal Accounting of Differential Privacy via "
        "Characteristic Function, theorem 10",
    ),
    Theorem(
        key="gaussian-profile",
        statement="N(mu, 1) against N(0, 1) has delta(eps) = Phi(mu/2 - eps/mu) - e^eps "
        "Phi(-mu/2 - eps/mu); products add mu^2.",
        source="Balle and Wang 2018, theorem 8; Dong, Roth and Su 2022, corollary 2",
    ),
    Theorem(
        key="laplace-profile",
        statement="Laplace noise at distance e scales has delta(eps) = (1 - e^((eps - e)/2))+ "
        "for eps >= -e.",
        source="Balle, Barthe and Gaboardi 2018, theorem 3",
    ),
    Theorem(
        key="bounded-range-pair",
        statement="Every mechanism whose losses have a range of length e is dominated by the "
        "symmetric pair with delta(eps) = (1 - e^((eps - e)/2))^2 / (1 - e^-e) on [-e, e], and "
        "no smaller delta(eps) holds for all of them.",
        source="Dong, Durfee and Rogers 2020, Optimal Differential Privacy Composition for "
        "Exponential Mechanisms, for the worst laws; Zhu, Dong and Wang 2022; " + _ACCOUNTING,
    ),
    Theorem(
        key="randomized-response",
        statement="Every (eps, delta)-private mechanism is dominated by randomized response "
        "with the same parameters.",
        source="Kairouz, Oh and Viswanath 2015, The Composition Theorem for Differential "
        "Privacy, theorem 3.4",
    ),
    Theorem(
        key="response-binomial",
        statement="n-fold randomized response has a binomial privacy loss, whose profile is a "
        "finite sum.",
        source="Kairouz, Oh and Viswanath 2015, theorem 3.3; rounding: " + _ACCOUNTING,
    ),
    Theorem(
        key="discrete-laplace-loss",
        statement="Two-sided geometric noise at distance d has the losses (d - 2j)/scale with "
        "masses 1/(1+a), (1-a)a^j/(1+a), a^d/(1+a).",
        source="direct computation; at distance 1 it is randomized response",
    ),
    Theorem(
        key="discrete-gaussian-renyi",
        statement="Discrete Gaussian noise at integer distance d has Renyi divergence at most a"
        " d^2 / (2 v) at every order a.",
        source="Canonne, Kamath and Steinke 2020, proposition 5",
    ),
    Theorem(
        key="poisson-sampling",
        statement="On a Poisson sample of rate q, h_REMOVE(a) = q h(1 + (a-1)/q) for a > 1-q, "
        "else 1-a, and h_ADD(a) = 1 - a + a h_REMOVE(1/a).",
        source="Li, Qardaji and Su 2012; Balle, Barthe and Gaboardi 2018, theorem 8; Zhu, "
        "Dong and Wang 2022, proposition 30",
    ),
    Theorem(
        key="renyi-to-approximate",
        statement="delta(eps) <= t^t/(1+t)^(1+t) E[e^(t(L - eps))] for every t > 0.",
        source="Canonne, Kamath and Steinke 2020, proposition 12",
    ),
    Theorem(
        key="renyi-interpolation",
        statement="t D_(1+t) is convex in t and zero at t = 0, so it lies below its chords.",
        source="van Erven and Harremoes 2014, corollary 2",
    ),
    Theorem(
        key="contour-aliasing",
        statement="The trapezoidal sum of the contour integral of a profile is the profile plus"
        " terms that are at least zero and that Chernoff's bound limits.",
        source="Alghamdi et al. 2023, The Saddle-Point Method in Differential Privacy, "
        f"theorem 3.1; Poisson summation; {_ACCOUNTING}",
    ),
    Theorem(
        key="contour-rounding",
        statement="The cumulants that the contour uses lie within their error bounds.",
        source=_ACCOUNTING,
    ),
    Theorem(
        key="sampled-gaussian-quadrature",
        statement="The trapezoidal rule for the moments of the sampled Gaussian errs by less "
        "than the stated bound.",
        source="Trefethen and Weideman 2014, theorem 5.1; " + _ACCOUNTING,
    ),
    Theorem(
        key="connect-the-dots",
        statement="Straight lines between the values of a profile at lattice points are the "
        "profile of a law on the lattice, and bound it from above; lowered by their "
        "gap to the neighbors' extensions they bound it from below.",
        source="Doroshenko et al. 2022, Connect the Dots; " + _ACCOUNTING,
    ),
    Theorem(
        key="imported-distribution",
        statement="Two loss distributions on lattices that bound a release at every epsilon >= 0, "
        "for a unit removed and for a unit added, are the two sides of one dominating pair.",
        source="Doroshenko et al. 2022, Connect the Dots; proof in discreet.loss.pld_exchange",
    ),
    Theorem(
        key="tilted-lattice",
        statement="A tilted cyclic convolution of laws on a lattice gives the product's profile"
        " up to the tilted mass outside its window and the rounding of transforms.",
        source=_ACCOUNTING,
    ),
    Theorem(
        key="floating-model",
        statement="Elementary functions err by at most 8 units in the last place; erfcx and "
        "gammaln by at most 2^-46.",
        source="assumed of the platform, sampled against interval arithmetic by the tests",
    ),
    Theorem(
        key="transform-error",
        statement="A fast Fourier transform of length N errs in each output by at most 16 u "
        "log2(N) times the sum of the inputs' moduli.",
        source="Higham 2002, Accuracy and Stability of Numerical Algorithms, chapter 24; "
        + _ACCOUNTING,
    ),
    Theorem(
        key="two-bounds",
        statement="If each step of an adaptive composition, after every prefix, is dominated by "
        "its pair and has Renyi divergences below its curve both ways, then for every choice of "
        "steps the profile is at most what the curves of those steps and the pairs of the others "
        "allow; so the least of these bounds holds.",
        source="Zhu, Dong and Wang 2022, theorem 10; Mironov 2017, proposition 1; " + _ACCOUNTING,
    ),
    Theorem(
        key="gaussian-smoothing",
        statement="Discrete Gaussian noise of variance parameter s + t in at most n differing "
        "coordinates, at L2 distance d, is dominated by N(d / sqrt(s), 1) against N(0, 1) beside "
        "an infinite loss of chance 4 n q / (1 - q^3), q = exp(-2 pi^2 t).",
        source="Poisson summation, as for smoothing in Micciancio and Regev 2007; " + _ACCOUNTING,
    ),
    Theorem(
        key="wider-laplace",
        statement="Discrete Laplace noise with ratio b is that with ratio a < b plus independent "
        "noise, so its losses are dominated at every distance.",
        source="the quotient of characteristic functions is a/b + (1 - a/b) times that of ratio b "
        "but for a positive factor; enumeration in tests",
    ),
    Theorem(
        key="smoothed-contour",
        statement="A product beside a Gaussian pair of a small mu loses more, by at most "
        "mu^2 (1 + mu) exp(mu^2 / 8) times the density of the smoothed loss, at every epsilon.",
        source="Mills' ratio; proof in discreet.loss.engine.smoothed_contour",
    ),
    Theorem(
        key="few-losses",
        statement="If one part of a product has the losses x_i with masses p_i, the finite profile "
        "is the sum of p_i D(eps - x_i), D being that of the other part; of a list in rising order "
        "D follows from two sums whose terms are at least zero.",
        source="conditioning on the first loss; " + _ACCOUNTING,
    ),
    Theorem(
        key="sampled-groups",
        statement="If k records enter a Poisson sample independently, the mixture over how many "
        "did has a profile of at most the weighted sum of theirs, at any ratios that average to "
        "the ratio asked for.",
        source="Ganesh 2024, Tight Group-Level DP Guarantees for DP-SGD with Sampling via Mixture "
        "of Gaussians Mechanisms, for Gaussians; proof in discreet.loss.sampling.mixtures",
    ),
    Theorem(
        key="routing",
        statement="If a record is sent to one of several interactive mechanisms, chosen by their "
        "earlier answers, the excesses of their profiles over that of nothing add up.",
        source="proof in discreet.loss.sampling.mixtures; Henzinger, Safavi and Vadhan 2024 for "
        "the "
        "failure of the maximum",
    ),
    Theorem(
        key="moment-growth",
        statement="The logarithm of the moment of order t of a loss is bounded by rho t (t + 1) + "
        "linear t + constant with numbers that add up in products, and are known for bounded "
        "losses, concentrated ones, mixtures and chains of them.",
        source="proof in discreet.loss.renyi.moment_growth",
    ),
    Theorem(
        key="concentrated-orders",
        statement="Between orders that are looked at, the logarithm of a moment lies below its "
        "chord, so finitely many orders and a bound on its growth prove zero-concentrated privacy.",
        source="convexity; proof in discreet.loss.renyi.least_rho",
    ),
    Theorem(
        key="sampled-rho",
        statement="At every rate above zero, the least rho of a Poisson sample of Gaussian noise "
        "is that of the noise without a sample; only up to a chance of failure is it smaller.",
        source="proof in discreet.loss.renyi.least_rho",
    ),
    Theorem(
        key="approximately-concentrated",
        statement="A loss that is infinite with chance d one way and e the other way is "
        "concentrated but for a chance of max(d, e), with the rho of the laws given that it is "
        "finite; chances and rhos add up in adaptive compositions.",
        source="Bun and Steinke 2016, definition 8.1; proof in discreet.loss.renyi.least_rho",
    ),
    Theorem(
        key="truncated-concentration",
        statement="Given that a loss stays below a number that it exceeds with a chance of at most "
        "d, its moments are bounded at every order, and it is concentrated accordingly but for a "
        "chance of d.",
        source="Bun and Steinke 2016, definition 8.1; proof in discreet.loss.renyi.least_rho",
    ),
    Theorem(
        key="gaussian-cover",
        statement="If a profile is at most d + (1 - d) times that of a Gaussian, in both "
        "directions, the release is a function of the Gaussian but for an event of chance d.",
        source="Blackwell 1953; Zhu, Dong and Wang 2022; proof in discreet.loss.renyi.least_rho",
    ),
)
