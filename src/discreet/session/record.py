"""Where a session records what it charges and answers: a ledger, in test mode memory, or nowhere.

Trust: kernel.  Only recorded answers are released.
"""

from __future__ import annotations

import hashlib
import threading
from dataclasses import replace
from typing import Any, Final, NoReturn, final

from discreet.accounting import Box, Node
from discreet.errors import EngineFailed, NotAllowed, WrongKind
from discreet.ledger import Ledger
from discreet.ledger.requests import refuse_closed
from discreet.ledger.values import Charged, Receipt, Started, StoredAnswer, named_accounts

_NOBODY: Final = "0" * 32


@final
class Rehearsal:
    """The record of test mode: it refuses nothing, keeps no budget, and ends with its session.

    >>> from discreet.accounting import Leaf
    >>> from discreet.loss import Pure
    >>> record = Rehearsal()
    >>> record.charge(Leaf(Pure(epsilon=1000)), key="k", question="q").new
    True
    >>> record.release("k", b"42").replayed, record.find("q").answer
    (False, b'42')
    """

    __slots__ = ("_answers", "_attempts", "_closed", "_lock", "_questions")

    def __init__(self) -> None:
        """Begin with nothing."""
        self._lock = threading.Lock()
        self._questions: dict[str, str] = {}
        self._attempts: dict[str, int] = {}
        self._answers: dict[str, StoredAnswer] = {}
        self._closed: dict[str, None] = {}

    @property
    def id(self) -> str:
        """A name that no ledger has."""
        return _NOBODY

    def find(self, question: str) -> StoredAnswer | None:
        """Return the first answer to a question."""
        with self._lock:
            answers = (item for item in self._answers.values() if item.question == question)
            first = next(answers, None)
            return None if first is None else replace(first, replayed=True)

    def charge(  # noqa: PLR0913  as a ledger
        self,
        what: Node,  # noqa: ARG002
        *,
        key: str | None = None,
        question: str = "",
        scope: Box | None = None,  # noqa: ARG002
        delta: object = None,  # noqa: ARG002
        account: str | None = None,
    ) -> Charged:
        """Record the question; there is nothing to pay."""
        name = question if key is None else key
        with self._lock:
            refuse_closed(self._closed, name)
            new = name not in self._questions
            self._questions.setdefault(name, question)
            receipt = self._receipt(name)
        return Charged(key=name, account=account or "test", receipt=receipt, new=new, amounts=())

    def start(self, key: str) -> Started | StoredAnswer:
        """Count the attempts, or return the existing answer."""
        with self._lock:
            if key in self._answers:
                return replace(self._answers[key], replayed=True)
            refuse_closed(self._closed, key)
            self._attempts[key] = self._attempts.get(key, 0) + 1
            return Started(key=key, attempt=self._attempts[key])

    def begin(self, what: Node, **named: Any) -> Started | StoredAnswer:
        """Record the question, and count the attempt."""
        return self.start(self.charge(what, **named).key)

    def release(self, key: str, answer: bytes) -> StoredAnswer:
        """Keep the first answer."""
        with self._lock:
            if key in self._answers:
                return replace(self._answers[key], replayed=True)
            refuse_closed(self._closed, key)
            stored = StoredAnswer(
                key=key,
                question=self._questions.get(key, ""),
                answer=answer,
                receipt=self._receipt(key),
                replayed=False,
            )
            self._answers[key] = stored
            return stored

    def fail(self, key: str) -> None:
        """Close the question, unless it is answered."""
        with self._lock:
            if key not in self._answers:
                self._closed[key] = None

    @property
    def closed(self) -> tuple[str, ...]:
        """The keys of closed questions."""
        with self._lock:
            return tuple(self._closed)

    def __str__(self) -> str:
        """Say what it is."""
        return "test mode: no budget is kept, and nothing that is answered is private"

    def _receipt(self, key: str) -> Receipt:
        head = hashlib.sha256(key.encode()).hexdigest()
        return Receipt(ledger=_NOBODY, seq=1 + len(self._answers), head=head)


@final
class NoLedger:
    """No record at all: questions can be planned, but not answered.

    >>> str(NoLedger())
    'no ledger: questions can be planned, and not asked'
    """

    __slots__ = ()

    @property
    def id(self) -> str:
        """A name that no ledger has."""
        return _NOBODY

    def find(self, question: str) -> StoredAnswer | None:  # noqa: ARG002
        """Find nothing."""
        return None

    def charge(self, *_: object, **__: object) -> NoReturn:
        """Refuse, as for every step of an answer."""
        raise WrongKind(
            what="the session was opened without a ledger.",
            why="a budget that is not written down is spent anew each time the program starts.",
            do="open it with ledger='clinic.ledger', a file that is made if it is not there; or "
            "with test_mode=True for tests on made-up data.",
        )

    begin = start = release = fail = charge

    def __str__(self) -> str:
        """Say what it is."""
        return "no ledger: questions can be planned, and not asked"


Record = Ledger | Rehearsal | NoLedger
"""What takes the steps of an answer."""


def check_account(ledger: Ledger, account: str | None) -> None:
    """Refuse an account that is not on record."""
    if account is not None and account not in ledger.accounts:
        raise NotAllowed(
            what=f"there is no account {account[:80]!r} in the ledger.",
            why="an account is opened by the owner, perhaps with limits of its own.",
            do=f"name {named_accounts(ledger.accounts)}, or have it opened with "
            "ledger.open_account.",
        )


def answer_failed_error() -> EngineFailed:
    """Return the error that replaces every failure of an answer."""
    return EngineFailed(
        what="the answer could not be computed.",
        why="what is known of the reason may hold values of the data.",
        do="ask the owner of the table to look.  The charge stays, and the question "
        "is closed until the owner reopens it.",
    )
