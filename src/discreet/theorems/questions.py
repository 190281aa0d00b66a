"""What questions, their plans and their bounds rest on.

Trust: public.
"""

from __future__ import annotations

from typing import Final

from discreet.theorems.theorem import Theorem

__all__ = ["ENTRIES"]

ENTRIES: Final = (
    Theorem(
        key="unit-local",
        statement="Every private relation that a question may use is the union over units of what "
        "is computed from the rows of that unit and from public tables alone.",
        source="spelled out after Wilson et al. 2020, Differentially Private SQL with Bounded User "
        "Contribution; proofs in plan/bind.py, plan/joins.py and plan/unions.py",
    ),
    Theorem(
        key="fact-rules",
        statement="If the arguments of a function lie within what is declared of them, what it "
        "returns lies within what is derived for it.",
        source="interval arithmetic with outward rounding; plan/facts.py",
    ),
    Theorem(
        key="question-scope",
        statement="The answer to a question does not depend on units outside the box of its "
        "conditions on columns that all rows of a unit share.",
        source="proof in plan/scope.py",
    ),
    Theorem(
        key="public-listing",
        statement="Where SELECT DISTINCT of a public table is kept by an outer join on just the "
        "keys, the answer is that of the inner join with an empty group for every listed one that "
        "nobody matches, and which groups appear does not depend on private rows.",
        source="proof in plan/listing.py",
    ),
    Theorem(
        key="fixed-point",
        statement="Whatever the data holds, the value that is added up for a row is NULL or an "
        "integer within the bounds that its noise is scaled to.",
        source="proof in plan/fixed_point.py; why floats will not do: Casacuberta, Shoemate, "
        "Vadhan and Wagaman 2022, Widespread Underestimation of Sensitivity",
    ),
    Theorem(
        key="bounded-contribution",
        statement="If every unit keeps at most g groups, chosen from its own rows, and adds to "
        "each a number within [low, high] or nothing, adding or removing one unit changes at most g "
        "groups: the units in each by at most 1, a total by at most max(|low|, |high|), a count of "
        "distinct values by as many as a unit shows, a histogram by as many rows in L1.",
        source="the contribution bounding of Wilson et al. 2020, Differentially Private SQL with "
        "Bounded User Contribution; proof in plan/lowered.py",
    ),
)
