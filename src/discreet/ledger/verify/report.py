"""The outcome of a verification: how much there is, the balance of every account, what is wrong.

Trust: kernel.  Nothing here names a value of the data: entries are named by their numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from discreet.accounting.amounts import format_down, format_up
from discreet.errors import Tampered

MOST: Final = 100
"""How many problems are listed."""

_SHOWN: Final = 10


@final
@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with one entry, or, at number 0, with the record as a whole.

    >>> print(Problem(7, "chain", "its head does not follow from the entry before."))
    entry 7, chain: its head does not follow from the entry before.
    """

    seq: int
    kind: str
    message: str

    def __str__(self) -> str:
        """Say where, and what."""
        where = f"entry {self.seq}" if self.seq else "the record"
        return f"{where}, {self.kind}: {self.message}"


@final
class Problems:
    """A list that stops growing, since one mistake may show in every entry.

    >>> found = Problems()
    >>> for seq in range(1000):
    ...     found.add(seq, "line", "it cannot be read.")
    >>> len(found.listed)
    100
    """

    __slots__ = ("_found",)

    def __init__(self) -> None:
        """Start without any."""
        self._found: list[Problem] = []

    def add(self, seq: int, kind: str, message: str) -> None:
        """Note a problem, if there is room."""
        if len(self._found) < MOST:
            self._found.append(Problem(seq, kind, message))

    @property
    def listed(self) -> tuple[Problem, ...]:
        """The first ones."""
        return tuple(self._found)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AccountBalance:
    """What was spent of the budget of an account, in quanta of 10**-24; no components, no budget.

    >>> print(AccountBalance(account="data", components=("rho",), spent=(10**23,), limit=(10**24,)))
    data: rho 0.1 of 1
    """

    account: str
    components: tuple[str, ...]
    spent: tuple[int, ...]
    limit: tuple[int, ...]

    def __str__(self) -> str:
        """Show what is spent, rounded up, and the limit, rounded down."""
        parts = zip(self.components, self.spent, self.limit, strict=True)
        shown = ", ".join(
            f"{name} {format_up(spent)} of {format_down(limit)}"
            for name, spent, limit in parts
            if spent or limit or name != "delta"
        )
        return f"{self.account}: {shown or 'no budget of its own'}"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The outcome of a verification.

    ``unreleased`` counts charges without a stored answer: they are paid for, and a retry with the
    same key completes them.

    >>> report = Report(
    ...     ledger="0" * 32, entries=1, charges=0, releases=0, unreleased=0,
    ...     accounts=(), head="f" * 64, problems=(),
    ... )
    >>> report.ok, report.receipt == "0" * 32 + ":1:" + "f" * 64
    (True, True)
    """

    ledger: str
    entries: int
    charges: int
    releases: int
    unreleased: int
    accounts: tuple[AccountBalance, ...]
    head: str
    problems: tuple[Problem, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    @property
    def receipt(self) -> str:
        """The last entry and its head, as a receipt says it."""
        return f"{self.ledger}:{self.entries}:{self.head}"

    def raise_if_bad(self) -> None:
        """Raise Tampered unless nothing is wrong."""
        if self.ok:
            return
        raise Tampered(
            what=f"the ledger does not stand a check: {self.problems[0]}{self._others()}",
            why="a record that was changed no longer says what people have lost.",
            do="keep the file as it is, and compare it with receipts and with a copy of your own.",
        )

    def _others(self) -> str:
        more = len(self.problems) - 1
        least = "at least " if len(self.problems) == MOST else ""
        return f"  And {least}{more} more." if more else ""

    def __str__(self) -> str:
        """Show a short report, the first problems last."""
        lines = [
            f"ledger {self.ledger or 'without a name'}",
            f"entries {self.entries}, charges {self.charges}, releases {self.releases}",
            f"paid for, and not released: {self.unreleased}",
            *(f"  {standing}" for standing in self.accounts),
            f"receipt {self.receipt}",
        ]
        if self.ok:
            return "\n".join([*lines, "ok: everything follows from the entries"])
        least = "at least " if len(self.problems) == MOST else ""
        lines.append(f"NOT OK: {least}{len(self.problems)} problems")
        lines += [f"  {problem}" for problem in self.problems[:_SHOWN]]
        more = len(self.problems) - _SHOWN
        return "\n".join([*lines, f"  and {more} more"] if more > 0 else lines)
