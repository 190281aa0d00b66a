"""A personal account below the first one of a ledger: an agent's, or an analyst's.

Trust: public.  The ledger enforces the limit; here the account is found, or opened once (T1).
"""

from __future__ import annotations

from discreet.accounting import Budget
from discreet.accounting.budget import is_recorded
from discreet.errors import OtherLedger, WrongKind
from discreet.ledger.ledger import Ledger


def own_account(ledger: Ledger, name: str, *, limit: object, by: str) -> str:
    """Return the path of a personal account; open it with a limit if it is not there.

    Args:
        ledger: an open ledger.
        name: a name such as "claude", below the first account of the ledger; or its whole path.
        limit: the epsilon that a new account may spend in total, or None.  It is on record from
            then on, so that another one is refused.
        by: who opens the account, for the record.

    >>> from tempfile import TemporaryDirectory
    >>> from discreet.units import row
    >>> with TemporaryDirectory() as folder:
    ...     ledger = Ledger.open(f"{folder}/ledger", unit=row(), budget=Budget(epsilon=2))
    ...     own_account(ledger, "claude", limit="0.5", by="olga")
    ...     ledger.close()
    'data/claude'
    """
    root = min(ledger.accounts, key=len)
    path = name if name.partition("/")[0] == root else f"{root}/{name}"
    if path not in ledger.accounts:
        if limit is None:
            raise WrongKind(
                what=f"there is no account {path}, and no limit for a new one.",
                why="an account of its own has a limit, so that it cannot spend all there is.",
                do="give --limit 0.5, say: the epsilon that this account may spend in total.",
            )
        given = _with_epsilon(limit, ledger.left(account=root).budget)
        ledger.open_account(path, budget=given, by=by)
    elif limit is not None:
        _check_limit(ledger, path, limit)
    return path


def _with_epsilon(limit: object, other: Budget) -> Budget:
    """Return a budget with an epsilon of its own, and the delta of another."""
    delta = 0 if other.promise is None else other.promise.delta_bound
    return Budget(epsilon=limit, delta=delta)


def _check_limit(ledger: Ledger, path: str, limit: object) -> None:
    """Refuse a limit that an account does not have, by its first entry or since it was raised."""
    budget = ledger.accounts[path].budget
    if budget is None or not is_recorded(budget, _with_epsilon(limit, budget)):
        found = "no limit of its own" if budget is None else budget.promised
        raise OtherLedger(
            what=f"account {path} is on record, and epsilon {limit} is not its limit.",
            why=f"what is on record holds, which is {found}.",
            do="leave out --limit if that is meant; or give --account another name, which gets an "
            "account of its own.",
        )
