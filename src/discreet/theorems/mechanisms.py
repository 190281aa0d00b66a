"""What units, mechanisms and partition selection rest on.

Trust: public.
"""

from __future__ import annotations

from typing import Final

from discreet.theorems.theorem import Theorem

UNITS_AND_MATRICES: Final = (
    Theorem(
        key="canonical-metric",
        statement="The length of the shortest path of neighbors between two tables is |L| + |R|"
        " for add/remove, |L| for replace between tables of one size and infinity "
        "otherwise, max(|L|, |R|) for either, and counts one for a null and two for a"
        " change of a fixed place, where L and R are the two multiset differences.",
        source="Guerra-Balboa, Miranda-Pascual, Parra-Arnau and Strufe 2024, CSF; "
        "enumeration of all small tables",
    ),
    Theorem(
        key="group-distance",
        statement="A mechanism is epsilon-DP for a relation if and only if it is (epsilon "
        "d)-private for the relation's canonical metric d; so k units are protected "
        "at distance k, and neighbors of another relation at the largest distance "
        "between them.",
        source="Guerra-Balboa, Miranda-Pascual, Parra-Arnau and Strufe 2024, CSF",
    ),
    Theorem(
        key="sensitivity",
        statement="Counts of k conditions, at most r of them met by a row, with at most c rows "
        "a unit, move by at most c r (add/remove) or c min(k, 2r) (replace) in L1; a "
        "sum of values in [low, high] by c max(|low|, |high|), or by max(high, c "
        "high) - min(low, c low).",
        source="Dwork, McSherry, Nissim and Smith 2006; enumeration of all small tables",
    ),
    Theorem(
        key="finite-mechanism",
        statement="A stochastic matrix is (epsilon, delta)-DP for a neighbor graph if and only "
        "if the hockey-stick divergence of its rows at e^epsilon is at most delta for"
        " every ordered pair of neighbors, and epsilon-DP if and only if all ratios "
        "are at most e^epsilon.",
        source="Dwork and Roth 2014, definition 2.4; Barthe and Olmedo 2013",
    ),
    Theorem(
        key="finite-dominance",
        statement="One pair of finite laws has the larger hockey-stick divergence at every "
        "factor if and only if it does so at the finitely many ratios of both pairs.",
        source="piecewise linearity; proof in discreet.mechanisms.matrix",
    ),
    Theorem(
        key="matrix-algebra",
        statement="Post-processing of a finite mechanism is multiplication by a stochastic "
        "matrix from the right, and running two mechanisms on one input is the row-"
        "wise Kronecker product.",
        source="law of total probability; independence",
    ),
    Theorem(
        key="certified-optimum",
        statement="Mixing in enough of the average row makes a nearly private matrix exactly "
        "private, and any multipliers give a lower bound on the cost of every private"
        " mechanism; so a linear program solved in floating point yields a private "
        "mechanism and an interval that holds the best possible cost.",
        source="linear programming duality; proof in discreet.mechanisms.optimal",
    ),
    Theorem(
        key="universal-geometric",
        statement="For every prior and every cost that grows with |truth - answer|, the "
        "truncated geometric mechanism followed by the best answer given its output "
        "is an optimal epsilon-DP mechanism.",
        source="Ghosh, Roughgarden and Sundararajan 2012, Universally Utility-Maximizing "
        "Privacy Mechanisms",
    ),
    Theorem(
        key="response-mechanism",
        statement="Keeping the truth with odds e^epsilon to each of k - 1 lies is epsilon-DP "
        "between any two truths, no smaller epsilon will do, and no epsilon-DP "
        "mechanism in the local model is right more often on its worst input.",
        source="Warner 1965; Kairouz, Bonawitz and Ramage 2016",
    ),
    Theorem(
        key="response-estimate",
        statement="If p and q are the chances of the true and of one other category, (s - q)/(p"
        " - q) is an unbiased estimate of the share that belongs to a category which "
        "a share s answered.",
        source="Warner 1965; linearity of expectation",
    ),
    Theorem(
        key="staircase",
        statement="Among all noise that makes an integer query of sensitivity d epsilon-DP, a "
        "staircase law with the right step has the smallest E|Z| and the smallest "
        "variance; its loss at distance t is exactly ceil(t/d) epsilon.",
        source="Geng and Viswanath 2016, The Optimal Noise-Adding Mechanism in Differential "
        "Privacy",
    ),
    Theorem(
        key="staircase-sampler",
        statement="A geometric number of periods, a stair with odds r to b(d - r), a uniform "
        "place on it and a fair sign, minus zero rejected, have the staircase law.",
        source="Geng and Viswanath 2016, algorithm 1; proof in discreet.mechanisms.staircase",
    ),
)


MECHANISMS: Final = (
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
        "exp(eps) between them; proof in mechanisms/additive.py",
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
        "proof in mechanisms/additive.py",
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
        statement="The rank score of a candidate for the p-quantile moves by at most max(p, "
        "1-p) when a value is added or removed, and by at most 1 when one is "
        "replaced.",
        source="Smith 2011, Privacy-preserving Statistical Estimation with Optimal "
        "Convergence Rates, in its discrete form; proof in mechanisms/quantile.py",
    ),
)


PARTITION_SELECTION: Final = (
    Theorem(
        key="key-moves",
        statement="If units are counted in at most g groups each, and add up to M to each, k steps "
        "move no count by more than k M, in at most k s g moves of a group by a unit, s = 1, or 2 "
        "where units are replaced; where two moves cost at most as much as one of their sum, no "
        "such move costs more than s g groups that move by k M each, for k <= 2, and "
        "floor(2 k s g / (k + 1)) groups beyond.",
        source="first fit into boxes of size k; proof in "
        "mechanisms/partition_selection/selection.py",
    ),
    Theorem(
        key="optimal-keys",
        statement="p(0) = 0, p(n + 1) = min(e^eps p(n) + delta, 1 - e^-eps (1 - p(n) - delta), 1) "
        "are the largest chances to show a group of n units under (eps, delta)-privacy of one "
        "unit more or less; rounded downward step by step they stay private.",
        source="Desfontaines, Voss, Gipson and Mandayam 2022, Differentially Private Partition "
        "Selection; rounding: proof in mechanisms/partition_selection/optimal_selection.py",
    ),
    Theorem(
        key="optimal-keys-loss",
        statement="Showing each group by its own optimal coin loses at most g-fold (eps, delta) "
        "for a unit in at most g groups, 2 g-fold where units are replaced, and for k units (k "
        "eps, delta_k) as often as key-moves says, with delta_k = delta (1 + e^eps + ... + "
        "e^((k-1) eps)).",
        source="randomized-response, group-approximate and key-moves; proof in "
        "mechanisms/partition_selection/optimal_selection.py",
    ),
    Theorem(
        key="threshold-leak",
        statement="k units in at most g groups each, on top of groups that count too little to be "
        "shown, are seen with chance at most max(1 - (1 - q(1))^(k g), 1 - (1 - q(k))^g), where "
        "q(j) is the chance that j of them lift a group to the threshold, for log-concave noise.",
        source="convexity of -ln(1 - q(j)); proof in mechanisms/partition_selection/selection.py",
    ),
    Theorem(
        key="threshold-keys",
        statement="Showing the noisy counts that reach a threshold, of groups that count at least "
        "some number, loses at most what the noise loses on g counts that move by as much as a "
        "unit adds, or 2 g where units are replaced, and independently a leak with the chance of "
        "threshold-leak, which replacing does not raise.",
        source="dominating-pair and key-moves; the threshold is that of Korolova, Kenthapadi, "
        "Mishra and Ntoulas 2009, Releasing Search Queries and Clicks Privately; proof in "
        "mechanisms/partition_selection/threshold.py",
    ),
    Theorem(
        key="shown-interval",
        statement="Given that a group of n units reaches the threshold, the n that its noisy count "
        "does not contradict at either tail of the law cut off there form an interval that holds "
        "the true n with at least the stated confidence, for log-concave noise.",
        source="inversion of tests in a family with monotone likelihood ratios; proof in "
        "mechanisms/partition_selection/confidence_interval.py",
    ),
    Theorem(
        key="rare-coins",
        statement="Mark coins with geometric gaps of a chance q >= p, and let each marked coin "
        "show heads with chance p / q: the coins are independent, each of chance p.",
        source="waiting times of independent trials, thinned; proof in noise/rare_events.py",
    ),
    Theorem(
        key="noise-beyond",
        statement="Given that it is at least t >= 0, discrete Laplace noise is t plus a geometric "
        "number of its scale, and discrete Gaussian noise of parameter v is t plus a geometric "
        "number J of scale v / (t + c) that is accepted with chance exp(-(J - c)^2 / 2v), c > 0.",
        source="completing the square, as Robert 1995, Simulation of truncated normal variables, "
        "does for continuous noise; proof in noise/rare_events.py",
    ),
    Theorem(
        key="zero-groups",
        statement="To flip a coin of chance P[Z >= t] for each of N groups, to leave out touched "
        "ones, and to draw noise beyond t for the others that show heads has, with the touched "
        "ones whose noisy counts reach t, the law of all N noisy counts without those below t.",
        source="independence across groups, rare-coins and noise-beyond; the idea is that of "
        "Cormode, Procopiuc, Srivastava and Tran 2012, Differentially Private Summaries for Sparse "
        "Data; proof in mechanisms/partition_selection/empty_groups.py",
    ),
)
