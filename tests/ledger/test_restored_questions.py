"""Every short history of a question, restored at every place in it: what comes out verifies.

The histories are keys of one ledger, which is backed up and restored between their parts; a small
machine says what has become of each.
"""

from dataclasses import dataclass, replace

import pytest

from discreet.accounting import Budget
from discreet.errors import NotCharged, OutOfRange, QuestionClosed
from discreet.ledger import Ledger
from discreet.ledger.values import StoredAnswer
from discreet.ledger.verify import verify_file
from discreet.loss import Pure
from discreet.units import row

LITTLE = Pure(epsilon="0.001")
PEOPLE = {"reason": "a new disk", "by": "ana", "approved_by": "ben"}


@dataclass(frozen=True)
class Question:
    """What is known of a question."""

    charged: bool = False
    started: bool = False
    attempts: int = 0  # since it was last reopened
    closed: bool = False
    answered: bool = False

    def after(self, word):
        """The question after a request that is accepted, or None."""
        match word:
            case "charge" if not self.charged:
                return replace(self, charged=True)
            case "start" if self.charged and not self.closed and not self.answered:
                return replace(self, started=True, attempts=self.attempts + 1)
            case "fail" if self.started and not self.closed and not self.answered:
                return replace(self, closed=True)
            case "reopen" if self.closed:
                return replace(self, attempts=0, closed=False)
            case "release" if self.started and not self.closed and not self.answered:
                return replace(self, answered=True)
        return None

    def restored(self):
        """The question in a ledger made of a backup: the old one may have answered it since."""
        if not self.charged or self.answered:
            return self
        attempts = self.attempts if self.started else 1
        return replace(self, started=True, attempts=attempts, closed=True)


WORDS = ("charge", "start", "fail", "reopen", "release")
LENGTHS = (4, 2, 1)
"""How many requests there are at most before the first restore, between two, and after them."""


def parts(question, length):
    """All lists of accepted requests of at most a length, and what becomes of the question."""
    found = [((), question)]
    for words, state in found:
        for word in WORDS if len(words) < length else ():
            later = state.after(word)
            if later is not None:
                found.append(((*words, word), later))
    return found


def histories(told):
    """All lists of parts, each with the question after it and after the restore that follows."""
    found = [()]
    for length, last in zip(LENGTHS, told, strict=True):
        longer = []
        for history in found:
            question = history[-1][2] if history else Question()
            for words, state in parts(question, length):
                longer.append((*history, (words, state, state if last else state.restored())))
        found = longer
    return found


def ask(ledger, key, word):
    match word:
        case "charge":
            ledger.charge(LITTLE, key=key)
        case "start":
            ledger.start(key)
        case "fail":
            ledger.fail(key)
        case "reopen":
            ledger.reopen(key, reason="it was looked at", by="ana")
        case "release":
            ledger.release(key, key.encode())


def check(ledger, questions):
    """The ledger verifies, knows of each question what the machine does, and refuses the rest."""
    assert ledger.verify([ledger.receipt]).problems == ()
    assert {key for key, question in questions.items() if question.closed} == set(ledger.closed)
    for key, question in questions.items():
        assert ledger.attempts(key) == question.attempts
        if question.closed:
            with pytest.raises(QuestionClosed):
                ledger.start(key)
        elif not question.charged:
            with pytest.raises(NotCharged):
                ledger.start(key)
        else:
            with pytest.raises(OutOfRange):
                ask(ledger, key, "reopen")
        if question.answered:
            assert isinstance(ledger.start(key), StoredAnswer)


@pytest.mark.parametrize("told", [(False, False, False), (False, True, False), (True, False, True)])
def test_a_restored_ledger_verifies_and_its_own_backup_restores(tmp_path, told):
    """``told``: whether the last receipt of the old ledger is given, so that nothing is closed."""
    place, listed = tmp_path / "first.ledger", histories(told)
    Ledger.open(place, unit=row(), budget=Budget(epsilon=1)).close()
    for turn, last in enumerate(told):
        with Ledger.open(place) as ledger:
            ledger.raise_limit("data", budget=Budget(epsilon=turn + 2), **PEOPLE)
            for number, history in enumerate(listed):
                for word in history[turn][0]:
                    ask(ledger, str(number), word)
            check(ledger, {str(number): history[turn][1] for number, history in enumerate(listed)})
            ledger.backup(tmp_path / f"{turn}.jsonl")
            end = ledger.receipt
        place = tmp_path / f"{turn}.ledger"
        chosen = {"last": end} if last else {}
        with Ledger.restore(place, tmp_path / f"{turn}.jsonl", **PEOPLE, **chosen) as ledger:
            check(ledger, {str(number): history[turn][2] for number, history in enumerate(listed)})
        assert verify_file(place).ok
