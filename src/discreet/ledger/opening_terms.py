"""The terms of a ledger: whom it protects and what may be lost, set by whoever opens it first.

Trust: kernel.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self, final

from discreet.accounting.box import Contribution
from discreet.accounting.budget import Budget, is_recorded
from discreet.errors import OtherLedger, OutOfRange, WrongKind
from discreet.ledger.canonical_lines import NO_HEAD, EntryRow, now
from discreet.ledger.entry_kinds import OpenEntry, row_of
from discreet.ledger.stores.failures import absent_ledger_error
from discreet.ledger.values import checked_path, checked_text, named_accounts, parent_account
from discreet.units import PrivacyUnit

if TYPE_CHECKING:  # a state is handed in
    from discreet.ledger.state import LedgerState

__all__ = ["OpeningTerms", "checked_budget", "checked_timeout"]

_NAME: Final = 32


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OpeningTerms:
    """The terms that a ledger is opened with; None leaves a term to the record."""

    unit: PrivacyUnit | None = None
    budget: Budget | None = None
    account: str | None = None
    constant: tuple[str, ...] | None = None
    contribution: Contribution | None = None
    ledger: str | None = None
    """The name of a ledger that has to be there already."""

    @classmethod
    def checked(  # noqa: PLR0913  what stays on record for ever
        cls,
        *,
        unit: object = None,
        budget: object = None,
        account: object = None,
        constant: object = None,
        contribution: object = None,
        ledger: object = None,
    ) -> Self:
        """Refuse invalid terms before anything is opened."""
        if unit is not None and not isinstance(unit, PrivacyUnit):
            raise _wrong("unit", unit, "row(), person(...) or custom(...)")
        if contribution is not None and not isinstance(contribution, Contribution):
            raise _wrong("contribution", contribution, "Contribution(rows=...)")
        path = None if account is None else checked_path(account)
        if path is not None and parent_account(path):
            raise OutOfRange(
                what=f"the first account of a ledger, {path}, lies below another.",
                why="one account stands above all others: its limits are the promise.",
                do="give one part, such as 'data', and open accounts below it with open_account.",
            )
        return cls(
            unit=unit,
            budget=None if budget is None else checked_budget(budget),
            account=path,
            constant=None if constant is None else _columns(constant),
            contribution=contribution,
            ledger=None if ledger is None else checked_text(ledger, name="id", most=_NAME),
        )

    @property
    def can_create(self) -> bool:
        """Whether a new ledger may be made on these terms; never if it must exist already."""
        return self.unit is not None and self.budget is not None and self.ledger is None

    def first_row(self, ledger: str) -> EntryRow:
        """Return the first entry of a new ledger."""
        if self.unit is None or self.budget is None:
            raise absent_ledger_error()
        opening = OpenEntry(
            ledger=ledger,
            unit=self.unit,
            constant=self.constant or (),
            contribution=self.contribution,
            account=self.account or "data",
            budget=self.budget,
        )
        return row_of(opening, (0, NO_HEAD), now())

    def check(self, state: LedgerState) -> None:
        """Refuse a ledger that is recorded for something else."""
        first, unit = state.opening, self.unit
        if self.ledger is not None and self.ledger != first.ledger:
            raise OtherLedger(
                what="the ledger at this address is not the one that the policy names.",
                why="another ledger has a budget of its own for the same people.",
                do="bring back the ledger with the id that the policy names, or correct the "
                "address.",
            )
        if self.account is not None and self.account not in state.accounts:
            raise OtherLedger(
                what=f"there is no account {self.account!r} in the ledger.",
                why="its first account is fixed when it is made, and all others lie below that.",
                do=f"name {named_accounts(state.accounts)}, or leave the account out.",
            )
        now = state.accounts[first.account].budget
        other = {
            "unit": unit is not None
            and (unit.columns, unit.relation) != (first.unit.columns, first.unit.relation),
            "budget": self.budget is not None
            and not any(is_recorded(known, self.budget) for known in (first.budget, now)),
            "constant": self.constant is not None and self.constant != first.constant,
            "contribution": self.contribution is not None
            and self.contribution != first.contribution,
        }
        names = [name for name, differs in other.items() if differs]
        if names:
            raise OtherLedger(
                what=f"the ledger is recorded with another {' and '.join(names)}.",
                why="what was charged before is about the unit and the limits on record, and "
                "they stay with it.",
                do="leave out what the ledger knows itself, raise a limit with raise_limit, or "
                "open another ledger for other people.",
            )


def checked_budget(budget: object) -> Budget:
    """Refuse what limits nothing, or leaves nothing to ask for.

    >>> checked_budget(Budget(epsilon=1)).limit
    (1000000000000000000000000, 0)
    """
    if not isinstance(budget, Budget):
        raise _wrong("budget", budget, "Budget(epsilon=1), for example")
    if max(budget.limit[:-1]) <= 0:
        raise OutOfRange(
            what="the limits of a budget are zero.",
            why="nothing could ever be asked.",
            do="give a budget with a limit above zero.",
        )
    return budget


def checked_timeout(timeout: object) -> float:
    """Refuse what is no number of seconds above zero.

    >>> checked_timeout(60)
    60.0
    """
    known = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if not known or not 0 < timeout <= threading.TIMEOUT_MAX:  # type: ignore[operator]
        raise OutOfRange(
            what="the timeout is not a positive number of seconds.",
            why="a call that waits for other processes has to end at some point.",
            do="give timeout=60, for example.",
        )
    return float(timeout)  # type: ignore[arg-type]


def _columns(constant: object) -> tuple[str, ...]:
    if isinstance(constant, str) or not isinstance(constant, Iterable):
        raise _wrong("list of constant columns", constant, "constant=['birth_year'], for example")
    columns = list(constant)
    if not all(isinstance(column, str) and column for column in columns):
        raise _wrong("list of constant columns", columns, "names of columns, as text")
    return tuple(sorted(set(columns)))


def _wrong(name: str, value: object, give: str) -> WrongKind:
    return WrongKind(
        what=f"the {name} of a ledger is a {type(value).__name__}.",
        why="it stays on record for ever, so it has to be what was meant.",
        do=f"give {give}.",
    )
