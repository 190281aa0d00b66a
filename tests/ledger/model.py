"""A ledger in plain Python: dictionaries, fractions, and sets of records written out.

It knows nothing of hashing, files, threads or the accounting room.  There are twelve kinds of
records, told apart by two columns, and an account keeps what each of them has lost.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

RECORDS = tuple(product(range(4), range(3)))
"""Values of the columns "group" and "site"; the last of each stands for all others, and NULL."""

HOLDS = {
    "everybody": frozenset(RECORDS),
    "group 0": frozenset(record for record in RECORDS if record[0] == 0),
    "group 1 or 2": frozenset(record for record in RECORDS if record[0] in {1, 2}),
    "not group 0": frozenset(record for record in RECORDS if record[0] in {1, 2, 3}),
    "site 1": frozenset(record for record in RECORDS if record[1] == 1),
    "group 0, site 1": frozenset({(0, 1)}),
    "group 1, site 0": frozenset({(1, 0)}),
    "nobody": frozenset(),
}
"""Which records a scope holds."""

Pair = tuple[Fraction, Fraction]
"""An epsilon and a delta."""

NOTHING: Pair = (Fraction(0), Fraction(0))


class Refused(Exception):
    """The model would not do it, for the reason given by ``why``."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True)
class Request:
    """What is charged under a key."""

    account: str
    price: Pair
    scope: str
    question: str


def plus(one: Pair, other: Pair) -> Pair:
    return (one[0] + other[0], one[1] + other[1])


def within(one: Pair, limit: Pair) -> bool:
    return one[0] <= limit[0] and one[1] <= limit[1]


@dataclass
class Model:
    """Accounts by path, and by key what was charged, begun and answered."""

    limits: dict[str, Pair | None]
    paid: dict[tuple[str, tuple[int, int]], Pair] = field(default_factory=dict)
    charges: dict[str, Request] = field(default_factory=dict)
    starts: dict[str, int] = field(default_factory=dict)
    answers: dict[str, bytes] = field(default_factory=dict)
    story: list[tuple[str, str]] = field(default_factory=lambda: [("open", "")])
    """The kind and the key, or the account, of each entry."""

    def copy(self) -> Model:
        return copy.deepcopy(self)

    def path(self, account: str) -> list[str]:
        """The accounts that a charge to one of them debits."""
        parts = account.split("/")
        return ["/".join(parts[:length]) for length in range(1, len(parts) + 1)]

    def open_account(self, account: str, limit: Pair | None) -> None:
        if account in self.limits:
            if self.limits[account] != limit:
                raise Refused("other")
            return
        if self.path(account)[-2] not in self.limits:
            raise Refused("parent")
        self.limits[account] = limit
        self.story.append(("account", account))

    def raise_limit(self, account: str, limit: Pair) -> None:
        now = self.limits[account]
        if now is None or not within(now, limit) or now == limit:
            raise Refused("not higher")
        self.limits[account] = limit
        self.story.append(("raise", account))

    def charge(self, key: str, request: Request) -> bool:
        """Return whether it is new."""
        if not HOLDS[request.scope]:
            raise Refused("nobody")
        if key in self.charges:
            if self.charges[key] != request:
                raise Refused("reused")
            return False
        after = {
            (account, record): plus(self.owes(account, record), request.price)
            for account in self.path(request.account)
            for record in HOLDS[request.scope]
        }
        for (account, _), pair in after.items():
            limit = self.limits[account]
            if limit is not None and not within(pair, limit):
                raise Refused("over")
        self.paid.update(after)
        self.charges[key] = request
        self.story.append(("charge", key))
        return True

    def owes(self, account: str, record: tuple[int, int]) -> Pair:
        """What is charged to an account and below it, if that is counted."""
        return self.paid.get((account, record), NOTHING)

    def left(self, account: str, scope: str) -> Pair:
        """What the worst of some records has left; of all records if there are none."""
        limit = self.limits[account]
        owed = [self.owes(account, record) for record in HOLDS[scope]] or [NOTHING]
        worst = (max(pair[0] for pair in owed), max(pair[1] for pair in owed))
        return (max(limit[0] - worst[0], Fraction(0)), max(limit[1] - worst[1], Fraction(0)))

    def start(self, key: str) -> int | bytes:
        """Return the number of the attempt, or the answer."""
        if key not in self.charges:
            raise Refused("not charged")
        if key in self.answers:
            return self.answers[key]
        self.starts[key] = self.starts.get(key, 0) + 1
        self.story.append(("start", key))
        return self.starts[key]

    def release(self, key: str, answer: bytes) -> bytes:
        if key in self.answers:
            return self.answers[key]
        if key not in self.starts:
            raise Refused("not charged")
        self.answers[key] = answer
        self.story.append(("release", key))
        return answer

    def find(self, question: str) -> bytes | None:
        """Return the answer of the first release of a question."""
        for kind, key in self.story:
            if kind == "release" and self.charges[key].question == question:
                return self.answers[key]
        return None
