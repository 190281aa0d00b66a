"""Raising a budget: what holds when limits are lifted while they are being spent.

Trust: kernel.

Definition.  A budget is raised to another of the same currency of which no limit is lower and one
is higher.  What was spent stays spent, and counts against the new limits.
Theorem (keys ``filter-basic``, ``filter-concentrated``, ``filter-gaussian``, ``filter-renyi``,
``filter-either`` and ``filter-approximate``).  Let the limits of all raises be fixed without a look
at answers, or at what was asked in view of answers.  Then the guarantee of the last budget holds
for all answers, those from before it was raised included.
    Proof.  The last limits could have been fixed from the start: the earlier ones refuse whatever
    the last ones refuse, and perhaps more, so that on every path the sums stay within the last.
If whether or how far a budget is raised does depend on answers, or on how fast it was spent, the
proof goes through for the highest limits that could have come about, and their guarantee is what
holds: not that of the limits which did.
Limits on epsilons alone (basic, with a delta of 0) need no proviso.  The ratio of the chances of
any path of answers is bounded by the epsilons that were charged on that very path, and so by e to
the last limit of that path, however it was decided.
"""

from __future__ import annotations

from discreet.accounting.budget import Budget
from discreet.errors import OutOfRange, WrongKind

__all__ = ["checked_raise"]


def checked_raise(old: Budget, new: object) -> Budget:
    """Return the new budget if it raises the old one.

    >>> print(checked_raise(Budget(rho=1), Budget(rho=2)))
    rho 2, kept in zcdp
    """
    if not isinstance(new, Budget) or new.currency != old.currency:
        raise WrongKind(
            what="a budget is to be raised to something that is not kept in its currency.",
            why="what was spent is counted in the currency of the first budget alone.",
            do=f"give a Budget that counts {', '.join(old.components)}, kept in "
            f"{old.currency.name}.",
        )
    lower = any(there < here for here, there in zip(old.limit, new.limit, strict=True))
    if lower or new.limit == old.limit:
        raise OutOfRange(
            what=f"a budget ({old}) is to be raised to one that is not above it ({new}).",
            why="limits that are lowered may lie below what was spent already.",
            do="give a budget of which no limit is lower, and one is higher.",
        )
    return new
