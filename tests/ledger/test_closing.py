"""Closed questions and descriptions: what is recorded and refused, and what an auditor sees."""

import pytest

from discreet.accounting import Budget
from discreet.errors import NotCharged, OutOfRange, QuestionClosed, WrongKind
from discreet.ledger import Ledger
from discreet.ledger.verify import verify
from discreet.loss import Pure
from discreet.units import row
from tests.ledger.chains import Chain

ONE = Pure(epsilon="0.1")
WHY = {"reason": "a broken disk was replaced", "by": "ana"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "study.ledger"


@pytest.fixture
def ledger(path):
    with Ledger.open(path, unit=row(), budget=Budget(epsilon=1)) as opened:
        yield opened


def failed(ledger, key="k"):
    ledger.charge(ONE, key=key)
    ledger.start(key)
    ledger.fail(key)


@pytest.mark.theorem("one-failure")
def test_a_failed_attempt_closes_the_question_until_the_owner_reopens_it(ledger, path):
    failed(ledger)
    for other in (ledger, Ledger.open(path)):
        with pytest.raises(QuestionClosed):
            other.start("k")
        with pytest.raises(QuestionClosed):
            other.charge(ONE, key="k")
        with pytest.raises(QuestionClosed):
            other.release("k", b"42")
        assert other.closed == ("k",)
    other.fail("k")  # once more says nothing new
    other.reopen("k", **WHY)
    assert ledger.closed == ()
    assert not ledger.charge(ONE, key="k").new
    assert ledger.start("k").attempt == 2
    assert ledger.release("k", b"42").answer == b"42"
    ledger.fail("k")  # the answer is there, and stays
    assert other.start("k").answer == b"42"
    kinds = [entry["kind"] for entry in ledger.entries()]
    assert kinds == ["open", "charge", "start", "fail", "reopen", "start", "release"]
    assert ledger.verify().ok
    other.close()


def test_only_what_was_started_fails_and_only_what_is_closed_is_reopened(ledger):
    with pytest.raises(NotCharged):
        ledger.fail("k")
    ledger.charge(ONE, key="k")
    with pytest.raises(NotCharged):
        ledger.fail("k")
    ledger.start("k")
    with pytest.raises(OutOfRange):
        ledger.reopen("k", **WHY)
    ledger.fail("k")
    with pytest.raises(OutOfRange):
        ledger.reopen("k", reason=" ", by="ana")
    assert ledger.closed == ("k",)


def test_equal_descriptions_are_recorded_once_and_kept_in_order(ledger, path):
    one, two = {"table": "visits", "columns": ["a", "b"]}, {"table": "people"}
    first = ledger.describe("schema", one)
    assert ledger.describe("schema", {"columns": ("a", "b"), "table": "visits"}) == first
    assert ledger.describe("source", one) == first
    assert ledger.describe("schema", two) != first
    with Ledger.open(path) as other:
        assert other.descriptions("schema") == (one, two)
        assert other.descriptions("source") == (one,)
        assert other.descriptions("nothing") == ()
    kinds = [entry["kind"] for entry in ledger.entries()]
    assert kinds == ["open", "describe", "describe", "describe"]
    assert ledger.verify().ok


@pytest.mark.parametrize(
    "content", [[1], {1: "a"}, {"a": float("nan")}, {"a": {2}}, {"a": {3: 1}}, "text", None]
)
def test_what_json_cannot_write_in_one_way_is_no_description(ledger, content):
    with pytest.raises(WrongKind):
        ledger.describe("schema", content)


def test_closed_questions_and_descriptions_survive_checkpoints_exports_and_restores(tmp_path, path):
    with Ledger.open(path, unit=row(), budget=Budget(epsilon=1)) as ledger:
        failed(ledger)
        ledger.describe("schema", {"table": "visits"})
        ledger.backup(tmp_path / "study.jsonl")
    with Ledger.open(path) as again:  # from the checkpoint that closing kept
        assert again.closed == ("k",)
        assert again.descriptions("schema") == ({"table": "visits"},)
    people = {"reason": "moved", "by": "ana", "approved_by": "ben"}
    place = tmp_path / "copy.ledger"
    with Ledger.restore(place, tmp_path / "study.jsonl", **people) as copy:
        assert copy.closed == ("k",)
        with pytest.raises(QuestionClosed):
            copy.start("k")


# --- the auditor --------------------------------------------------------------------------------


def problems(*steps):
    """Make a chain of steps, and return the numbers and kinds of its problems."""
    chain = Chain()
    for verb, *arguments in steps:
        getattr(chain, verb)(*arguments)
    return [(problem.seq, problem.kind) for problem in verify(chain.rows()).problems]


BEGUN = (("charge", "k"), ("start", "k"))


def test_the_auditor_follows_closed_questions_and_descriptions():
    closed = (*BEGUN, ("fail", "k"), ("reopen", "k"), ("start", "k", 2), ("release", "k"))
    assert problems(*closed, ("describe", "schema", {"a": [1, None]})) == []


@pytest.mark.parametrize(
    ("steps", "kind"),
    [
        ((("fail", "k"),), "fail"),
        ((("charge", "k"), ("fail", "k")), "fail"),
        ((*BEGUN, ("fail", "k"), ("fail", "k")), "fail"),
        ((*BEGUN, ("release", "k"), ("fail", "k")), "fail"),
        ((*BEGUN, ("fail", "k"), ("start", "k", 2)), "start"),
        ((*BEGUN, ("fail", "k"), ("release", "k")), "release"),
        ((*BEGUN, ("reopen", "k")), "reopen"),
        ((("reopen", "k"),), "reopen"),
        ((("describe", "schema", {"a": 1}, "0" * 64),), "describe"),
        ((*BEGUN, ("fail", "k"), ("reopen", "k", " ")), "line"),
    ],
)
def test_the_auditor_sees_what_cannot_follow(steps, kind):
    assert problems(*steps) == [(len(steps) + 1, kind)]
