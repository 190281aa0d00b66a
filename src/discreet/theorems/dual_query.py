"""What DualQuery rests on.

Trust: public.
"""

from __future__ import annotations

from typing import Final

from discreet.theorems.theorem import Theorem

DUAL_QUERY: Final = (
    Theorem(
        key="query-counts",
        statement="If one unit adds at most d to the sum of the counts of a histogram, and lowers "
        "none, it adds between 0 and d to the count of every query and to that of its negation; "
        "where one unit replaces another, each moves by at most d either way.",
        source="proof in docs/proofs/synthetic.md; enumeration of all small tables",
    ),
    Theorem(
        key="dual-query",
        statement="A draw of DualQuery after k rows, at rate eta and with a fixed number of rows N,"
        " has log-ratios of a range of at most eta k d / N where a unit is added or removed and "
        "2 eta k d / N where one is replaced; s draws in each of T rounds are rho-zCDP with rho = "
        "s eta^2 d^2 T (T-1) (2T-1) / (48 N^2), or four times that; rows cost nothing more.",
        source="Gaboardi, Gallego Arias, Hsu, Roth and Wu 2014, Dual Query; Cesar and Rogers 2021;"
        " proof in docs/proofs/synthetic.md",
    ),
)
