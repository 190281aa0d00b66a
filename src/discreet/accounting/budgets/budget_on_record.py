"""Budgets on record: recognized when they are given again, whatever version recorded them.

Trust: kernel.  Limits that are taken for others let more be lost than was promised.

What an account counts is fixed with its first budget, and stays.  A budget of epsilon and delta
that is given later names the promise; what it counts is up to the version that makes it.  So it is
taken in the terms of the account: with the delta at which losses have an epsilon there, or, where
an earlier version recorded limits by the rule ``either``, with limits by that rule.  These are
limits that imply the promise which was given (:mod:`discreet.accounting.budgets.budget_limits`).
A reserve that was named is part of what was given, even where it is what nobody has to name now.
"""

from __future__ import annotations

from discreet.accounting.budgets.amounts import amount_value
from discreet.accounting.budgets.budget import Budget
from discreet.accounting.budgets.two_routes import EitherCurrency, JointCurrency


def as_recorded(recorded: Budget, given: Budget) -> Budget:
    """Return a budget with the same promise, in the terms of a recorded one if that is joint.

    >>> old = Budget(epsilon=2, delta="1e-9", currency="either")
    >>> as_recorded(old, Budget(epsilon=2, delta="1e-9")) == old
    True
    >>> as_recorded(old, Budget(epsilon=2, delta="1e-9", reserve="0.25")) == old
    False
    """
    joint, promise = isinstance(given.currency, JointCurrency), given.promise
    if not joint or promise is None or not isinstance(recorded.currency, EitherCurrency):
        return given.counted_like(recorded)
    epsilon, delta = promise.epsilon_bound, promise.delta_bound
    share = given.reserve
    if share is None and Budget(epsilon=epsilon, delta=delta).limit != given.limit:
        share = amount_value(given.limit[-1]) / delta  # a budget that was read
    return Budget(epsilon=epsilon, delta=delta, currency=EitherCurrency.name, reserve=share)


def is_recorded(recorded: Budget | None, given: Budget | None) -> bool:
    """Say whether a budget that is given is the one on record.

    >>> is_recorded(Budget(epsilon=1), Budget(epsilon=2)), is_recorded(None, None)
    (False, True)
    """
    if recorded is None or given is None:
        return recorded is given
    return as_recorded(recorded, given) == recorded
