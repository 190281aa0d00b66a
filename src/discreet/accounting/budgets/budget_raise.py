"""Budgets on record: raised to higher limits, and recognized when they are given again.

Trust: kernel.  Limits that are taken for others let more be lost than was promised.

Definition.  A budget is raised to another of the same currency, with no limit lower and at least
one higher.  What was spent stays spent, and counts against the new limits.
Theorem (keys ``filter-basic``, ``filter-concentrated``, ``filter-gaussian``, ``filter-renyi``,
``filter-either``, ``filter-joint`` and ``filter-approximate``).  Let the limits of all raises be
fixed without a look at answers, or at what was asked in view of answers.  Then the guarantee of the
last budget holds for all answers, including those from before the raise.
    Proof.  The last limits could have been fixed from the start: the earlier ones refuse whatever
    the last ones refuse, and perhaps more, so that on every path the sums stay within the last.
If whether or how far a budget is raised does depend on answers, or on how fast it was spent, the
proof goes through for the highest limits that could have come about: their guarantee holds, and
that of the limits in force may not.
Limits on epsilons alone (basic, with a delta of 0) need no proviso.  The ratio of the chances of
any path of answers is bounded by the epsilons that were charged on that very path, and so by e to
the last limit of that path, however it was decided.

What an account counts is fixed with its first budget, and stays.  A budget of epsilon and delta
that is given later names the promise; what it counts is up to the version that makes it.  So it is
taken in the terms of the account: with the delta at which losses have an epsilon there, or, where
an earlier version recorded limits by the rule ``either``, with limits by that rule.  These are
limits that imply the promise which was given (:mod:`discreet.accounting.budgets.budget_limits`).
"""

from __future__ import annotations

from discreet.accounting.budgets.amounts import amount_value
from discreet.accounting.budgets.budget import Budget
from discreet.accounting.budgets.two_routes import EitherCurrency, JointCurrency
from discreet.errors import OutOfRange, WrongKind

__all__ = ["as_recorded", "checked_raise", "is_recorded"]


def as_recorded(recorded: Budget, given: Budget) -> Budget:
    """Return a budget with the same promise, in the currency of a recorded one if that is usual.

    >>> old = Budget(epsilon=2, delta="1e-9", currency="either")
    >>> as_recorded(old, Budget(epsilon=2, delta="1e-9")) == old
    True
    """
    promise = given.promise
    if not isinstance(given.currency, JointCurrency) or promise is None:
        return given
    if isinstance(recorded.currency, JointCurrency):
        return given.kept_in(recorded.currency)
    if not isinstance(recorded.currency, EitherCurrency):
        return given
    epsilon, delta = promise.epsilon_bound, promise.delta_bound
    usual = Budget(epsilon=epsilon, delta=delta).limit == given.limit
    share = None if usual else amount_value(given.limit[-1]) / delta
    return Budget(epsilon=epsilon, delta=delta, currency=EitherCurrency.name, reserve=share)


def is_recorded(recorded: Budget | None, given: Budget | None) -> bool:
    """Say whether a budget that is given is the one on record.

    >>> is_recorded(Budget(epsilon=1), Budget(epsilon=2)), is_recorded(None, None)
    (False, True)
    """
    if recorded is None or given is None:
        return recorded is given
    return as_recorded(recorded, given) == recorded


def checked_raise(old: Budget, new: object) -> Budget:
    """Return the new budget, in the currency of the old one, if it raises it.

    >>> print(checked_raise(Budget(rho=1), Budget(rho=2)))
    rho 2, kept in zcdp
    """
    if isinstance(new, Budget):
        new = as_recorded(old, new)
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
