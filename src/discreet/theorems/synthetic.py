"""What synthetic tables rest on.

Trust: public.
"""

from __future__ import annotations

from typing import Final

from discreet.theorems.theorem import Theorem

SYNTHETIC: Final = (
    Theorem(
        key="joint-histogram",
        statement="If an engine keeps a unit in m groups of r rows, adding or removing one unit "
        "moves every marginal of the joint histogram by at most m r in L1 and in L2, in one "
        "direction; replacing one moves it by at most 2 m r in L1, by the root of 2 times m r in "
        "L2, and each cell by at most m r.",
        source="bounded-contribution; proof in synthetic/joint.py and docs/proofs/synthetic.md",
    ),
    Theorem(
        key="synthetic-scores",
        statement="The weighted L1 distance of a marginal to public numbers moves by at most the "
        "weight times what the marginal moves in L1, and the distance of one cell by at most what "
        "the cell moves.",
        source="triangle inequality; proof in synthetic/sensitivity.py and "
        "docs/proofs/synthetic.md",
    ),
    Theorem(
        key="bin-edges",
        statement="The score -|(k-i) b - i a| of an edge with b rows below and a above moves by at "
        "most max(i, k-i) d where one unit adds d rows, and by at most k d where one replaces "
        "another.",
        source="proof in synthetic/bins.py and docs/proofs/synthetic.md; enumeration of all small "
        "tables",
    ),
)
