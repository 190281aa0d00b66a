"""What the accounting of trees of releases rests on.

Trust: public.
"""

from __future__ import annotations

from typing import Final

from discreet.theorems.theorem import Theorem

__all__ = ["ENTRIES"]

_GENERAL = (
    "Guerra-Balboa, Miranda-Pascual, Parra-Arnau and Strufe 2024, Composition in Differential "
    "Privacy for General Granularity Notions, CSF"
)
_PROOF = "proof in docs/proofs/composition.md; enumeration of all small tables"

ENTRIES: Final = (
    Theorem(
        key="general-composition",
        statement="If leaf i reads f_i(D) and is d_i-private, then the leaves together are "
        "d-private with d(D, D') the sum of d_i(f_i(D), f_i(D')), also if later leaves depend on "
        "earlier answers; a leaf whose input stays the same is free.",
        source=_GENERAL,
    ),
    Theorem(
        key="scenario-accounting",
        statement="For tables that differ by a record in a cell of the public domain (or by two, "
        "where one is replaced), the composition of the leaves that the cell touches dominates "
        "what is released; the price is the largest over cells, and attained if independent "
        "leaves attain theirs there.",
        source=_PROOF,
    ),
    Theorem(
        key="contribution",
        statement="If a unit has at most c rows, at most m of them with one value of a column and "
        "at most p values of it, the worst case hands the rows out to the values: the largest "
        "composition over all ways to do so within the limits.",
        source=_PROOF,
    ),
    Theorem(
        key="leaf-distance",
        statement="If one step of the relation moves the input of a mechanism by at most d and "
        "replacing a row by at most e, then r rows removed and i others inserted move it by at "
        "most min(r, i) e + |r - i| d and by (r + i) d under add/remove, by r d under replace "
        "where r = i, and by max(r, i) d under either; a loss is chained along the same steps, "
        "in one direction only where all rows leave or all come.",
        source=f"triangle inequality; {_GENERAL}; enumeration of all small tables",
    ),
    Theorem(
        key="parallel",
        statement="If each record lies in at most one part, by a public function of that record "
        "alone, then adding or removing a record changes one part, and releases about all parts "
        "lose what the costliest part loses.",
        source="McSherry 2009, Privacy Integrated Queries; enumeration of all small tables",
    ),
    Theorem(
        key="bounded-parallel",
        statement="Under replace two parts can change, so the loss of parts is the largest sum "
        "over two different parts; a certificate for replace on a part says nothing, because "
        "the part can change its size, unless it covers records replaced in the whole table.",
        source=_GENERAL,
    ),
    Theorem(
        key="where-stable",
        statement="A condition on single records turns tables that differ by r rows removed and "
        "i inserted into tables that differ by at most r and at most i.",
        source="each record is kept or dropped by itself; enumeration of all small tables",
    ),
    Theorem(
        key="preprocessing",
        statement="A function that turns each row into at most d rows turns tables that differ "
        "by r rows removed and i inserted into tables that differ by at most d r and at most d i.",
        source="McSherry 2009, Privacy Integrated Queries; enumeration of all small tables",
    ),
)
