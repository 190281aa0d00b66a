"""What units and finite mechanisms rest on.

Trust: public.
"""

from __future__ import annotations

from typing import Final

from discreet.theorems.theorem import Theorem

__all__ = ["ENTRIES"]

ENTRIES: Final = (
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
        source="piecewise linearity; proof in discreet.mechanisms.dominance",
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
        source="Geng and Viswanath 2016, algorithm 1; proof in discreet.mechanisms.staircase_noise",
    ),
)
