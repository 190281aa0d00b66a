"""The rules of a session: from the policy, from the call, or from both if they agree.

Trust: kernel.  Whom a session protects is decided here.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeVar

from discreet.accounting import Budget
from discreet.errors import BadPolicy, NotAllowed, WrongKind
from discreet.plan.policy import Policy, read_policy
from discreet.units import PrivacyUnit

__all__ = ["budget_of", "check_analyst", "policy_of", "unit_of"]

Value = TypeVar("Value")


def policy_of(policy: object) -> Policy:
    r"""Return a policy: from a path, from TOML text, as it is, or one that says nothing.

    >>> policy_of('format = 1\nunit = "row"').unit.columns
    ()
    """
    match policy:
        case None:
            return Policy()
        case Policy():
            return policy
        case str() if "\n" in policy or "=" in policy:
            return read_policy(policy)
        case str() | os.PathLike():
            return read_policy(Path(policy))
        case _:
            raise WrongKind(
                what=f"the policy is a {type(policy).__name__}.",
                why="it is a file, its text, or a Policy.",
                do="give policy='clinic.toml', say.",
            )


def unit_of(unit: object, policy: Policy) -> PrivacyUnit:
    """Return who is protected.

    >>> from discreet.units import row
    >>> unit_of(row(), Policy()).name
    'row'
    """
    if unit is not None and not isinstance(unit, PrivacyUnit):
        raise WrongKind(
            what=f"the unit is a {type(unit).__name__}.",
            why="it says who is protected.",
            do="give dp.person('patient_id'), or dp.row().",
        )
    given, ruled = unit, policy.unit
    if given is None or ruled is None:
        return _there(given or ruled, "unit", "unit=dp.person('patient_id')", 'unit = "patient_id"')
    if (given.columns, given.relation) != (ruled.columns, ruled.relation):
        raise _differs("unit")
    return given


def budget_of(budget: object, policy: Policy) -> Budget | None:
    """Return what may be lost in total, if it is said.

    >>> budget_of(Budget(epsilon=1), Policy()).limit[0]
    1000000000000000000000000
    """
    if budget is not None and not isinstance(budget, Budget):
        raise WrongKind(
            what=f"the budget is a {type(budget).__name__}.",
            why="it limits what may be lost in total, in terms that can be counted.",
            do="give dp.Budget(epsilon=2, delta=1e-9), say.",
        )
    if budget is not None and policy.budget is not None and budget != policy.budget:
        raise _differs("budget")
    return budget or policy.budget


def check_analyst(analyst: object, policy: Policy) -> None:
    """Refuse a person whom the policy does not name.

    >>> check_analyst(None, Policy())
    """
    if analyst is not None and not isinstance(analyst, str):
        raise WrongKind(
            what=f"the analyst is a {type(analyst).__name__}.",
            why="people are called by their names here.",
            do="give analyst='ana', say.",
        )
    if policy.analysts is not None and analyst not in policy.analysts:
        who = "nobody is named" if analyst is None else "this analyst is not named there"
        raise NotAllowed(
            what=f"the policy lists who may ask, and {who}.",
            why="the owner has decided who may ask about these people.",
            do="give analyst= with a name of the policy, or ask its owner to add one.",
        )


def _there(value: Value | None, name: str, argument: str, line: str) -> Value:
    if value is None:
        raise BadPolicy(
            what=f"no {name} is given, neither in the call nor in the policy.",
            why="without it nothing says who is protected.",
            do=f"give {argument}, or write {line} in the policy.",
        )
    return value


def _differs(name: str) -> BadPolicy:
    return BadPolicy(
        what=f"the {name} in the call is not the {name} in the policy.",
        why="one of them would not be followed.",
        do=f"give the {name} in one of the two places.",
    )
