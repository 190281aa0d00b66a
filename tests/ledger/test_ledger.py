"""Ledgers as they are used: steps and keys, accounts, threads, processes, forks and ends."""

import threading

import pytest

from discreet.accounting import Box, Budget, Contribution, Leaf, at_least, equals
from discreet.errors import (
    DamagedLedger,
    KeyReused,
    LedgerUnavailable,
    NotCharged,
    OutOfRange,
    OverBudget,
    QuestionClosed,
)
from discreet.ledger import Ledger, Receipt, Started, StoredAnswer
from discreet.loss import Approximate, GaussianDP, Pure
from discreet.mechanisms import Laplace
from discreet.units import person, row
from tests.ledger.programs import direct, run

ONE = Pure(epsilon="0.1")
PEOPLE = {"reason": "a longer study", "by": "ana", "approved_by": "ben"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "study.ledger"


@pytest.fixture
def ledger(path):
    with Ledger.open(path, unit=row(), budget=Budget(epsilon=1)) as ledger:
        yield ledger


@pytest.fixture
def delta_ledger(path):
    budget = Budget(epsilon=1, delta="2e-5")
    with Ledger.open(path, unit=row(), budget=budget) as ledger:
        yield ledger


def kinds(ledger):
    return [entry["kind"] for entry in ledger.entries()]


def left(ledger, account=None):
    return ledger.left(account=account).amounts[0]


# --- steps and keys -----------------------------------------------------------------------------


def test_an_answer_takes_three_steps(ledger):
    charged = ledger.charge(ONE, key="k", question="q")
    assert (charged.new, charged.account, charged.seq) == (True, "data", 2)
    assert charged.amounts == (("data", (10**23, 0)),)
    assert ledger.start("k") == Started(key="k", attempt=1)
    release = ledger.release("k", b"42")
    assert (release.answer, release.question, release.replayed) == (b"42", "q", False)
    assert kinds(ledger) == ["open", "charge", "start", "release"]
    assert left(ledger) == 9 * 10**23
    assert ledger.verify().problems == ()


@pytest.mark.theorem("one-answer")
def test_a_step_that_is_repeated_finds_what_is_there(ledger, path):
    first = ledger.charge(ONE, key="k")
    ledger.start("k")
    released = ledger.release("k", b"42")
    for other in (ledger, Ledger.open(path)):
        again = other.charge(ONE, key="k")
        assert (again.new, again.receipt, again.amounts) == (False, first.receipt, first.amounts)
        for found in (other.start("k"), other.release("k", b"43")):
            assert isinstance(found, StoredAnswer)
            assert (found.answer, found.replayed) == (b"42", True)
            assert found.receipt == released.receipt
        other.close()
    with Ledger.open(path) as later:
        assert kinds(later) == ["open", "charge", "start", "release"]


def test_a_key_stands_for_one_request(delta_ledger):
    ledger = delta_ledger
    box = Box({"ward": equals("A")})
    ledger.open_account("data/flu", by="ana")
    ledger.charge(ONE, key="k", question="q", scope=box, delta="1e-9")
    same = {"question": "q", "scope": box, "delta": "1e-9", "account": "data"}
    assert not ledger.charge(Leaf(ONE), key="k", **same).new
    assert not ledger.charge(ONE, key="k", **same | {"delta": 1e-9}).new
    for other in ({"question": "p"}, {"scope": None}, {"delta": None}, {"account": "data/flu"}):
        with pytest.raises(KeyReused):
            ledger.charge(ONE, key="k", **same | other)
    with pytest.raises(KeyReused):
        ledger.charge(Pure(epsilon="0.2"), key="k", **same)
    with pytest.raises(KeyReused):
        ledger.charge(Leaf(ONE, name="another"), key="k", **same)
    assert kinds(ledger) == ["open", "account", "charge"]


def test_the_question_is_the_key_unless_there_is_one(ledger):
    assert ledger.charge(ONE, question="q").key == "q"
    assert not ledger.charge(ONE, key="q", question="q").new
    with pytest.raises(OutOfRange):
        ledger.charge(ONE)


def test_the_steps_come_in_order(ledger):
    for step in (lambda: ledger.start("k"), lambda: ledger.release("k", b"")):
        with pytest.raises(NotCharged):
            step()
    ledger.charge(ONE, key="k")
    with pytest.raises(NotCharged):
        ledger.release("k", b"")
    assert [ledger.start("k").attempt for _ in range(3)] == [1, 2, 3]
    ledger.release("k", b"")
    assert ledger.start("k").answer == b""
    assert kinds(ledger) == ["open", "charge", "start", "start", "start", "release"]


def test_an_answer_is_found_by_its_question(ledger):
    assert ledger.find("q") is None
    for key in "abc":
        ledger.charge(ONE, key=key, question="q")
        ledger.start(key)
    assert ledger.find("q") is None
    ledger.release("b", b"first")
    ledger.release("a", b"second")
    found = ledger.find("q")
    assert (found.key, found.answer, found.replayed) == ("b", b"first", True)
    assert ledger.find("p") is None


def test_an_answer_that_was_changed_is_not_handed_out(ledger, path):
    ledger.charge(ONE, question="q")
    ledger.start("q")
    ledger.release("q", b"42")
    direct(path, "DROP TRIGGER never_changed", "UPDATE entry SET answer = x'00' WHERE seq = 4")
    for look in (lambda: ledger.find("q"), lambda: ledger.start("q")):
        with pytest.raises(DamagedLedger):
            look()
    assert ledger.verify().problems


def test_scopes_are_paid_for_apart(ledger):
    for ward in "ABC":
        ledger.charge(Pure(epsilon=1), key=ward, scope=Box({"ward": equals(ward)}))
    with pytest.raises(OverBudget):
        ledger.charge(ONE, key="more", scope=Box({"ward": equals("A")}))
    assert ledger.left(Box({"ward": equals("D")})).amounts[0] == 10**24
    assert ledger.charge(ONE, key="more", scope=Box({"ward": equals("D")})).new


def test_a_scope_that_holds_nobody_is_refused(ledger):
    nobody = Box({"ward": equals("A")}) & Box({"ward": equals("B")})
    with pytest.raises(OutOfRange, match="the scope of the request is empty"):
        ledger.charge(ONE, key="nobody", scope=nobody)
    assert kinds(ledger) == ["open"]


# --- accounts -----------------------------------------------------------------------------------


def test_an_account_counts_for_all_above_it(ledger):
    ledger.open_account("data/flu", budget=Budget(epsilon="0.3"), by="ana")
    ledger.open_account("data/flu/ana", by="ana")
    charged = ledger.charge(ONE, key="a", account="data/flu/ana")
    assert [account for account, _ in charged.amounts] == ["data", "data/flu"]
    assert [left(ledger, each) for each in ("data", "data/flu", "data/flu/ana")] == [
        9 * 10**23,
        2 * 10**23,
        2 * 10**23,
    ]
    with pytest.raises(OverBudget) as error:
        ledger.charge(Pure(epsilon="0.25"), key="b", account="data/flu/ana")
    assert "account data/flu:" in error.value.what
    assert left(ledger) == 9 * 10**23
    assert ledger.charge(Pure(epsilon="0.9"), key="c").new
    with pytest.raises(OverBudget) as error:
        ledger.charge(ONE, key="d", account="data/flu")
    assert "account data:" in error.value.what
    assert left(ledger, "data/flu") == 2 * 10**23


def test_opening_an_account_twice_finds_it(ledger):
    budget = Budget(epsilon="0.5")
    first = ledger.open_account("data/flu", budget=budget, by="ana")
    assert ledger.open_account("data/flu", budget=budget, by="ben") == first
    assert kinds(ledger) == ["open", "account"]
    assert dict(ledger.accounts) == {"data": ledger.accounts["data"], "data/flu": first}
    with pytest.raises(TypeError):
        ledger.accounts["data/cold"] = first


def test_a_limit_is_raised_by_two(ledger):
    ledger.charge(Pure(epsilon=1), key="a")
    raised = ledger.raise_limit("data", budget=Budget(epsilon=2), **PEOPLE)
    assert raised.budget == ledger.accounts["data"].budget == Budget(epsilon=2)
    assert left(ledger) == 10**24
    ledger.charge(Pure(epsilon=1), key="b")
    with pytest.raises(OverBudget):
        ledger.charge(ONE, key="c")
    assert ledger.guarantee() == Pure(epsilon=2)
    last = next(ledger.entries(after=2))
    assert {name: last[name] for name in PEOPLE} == PEOPLE
    assert ledger.verify().problems == ()


def test_accounts_and_limits_of_others_are_known(ledger, path):
    with Ledger.open(path) as other:
        other.open_account("data/flu", budget=Budget(epsilon="0.1"), by="ana")
        assert ledger.charge(ONE, key="a", account="data/flu").new
        with pytest.raises(OverBudget):
            ledger.charge(ONE, key="b", account="data/flu")
        other.raise_limit("data/flu", budget=Budget(epsilon="0.2"), **PEOPLE)
        assert ledger.charge(ONE, key="b", account="data/flu").new
        assert other.left(account="data/flu").amounts == (0, 0)
        assert other.find("q") is None
        ledger.charge(ONE, question="q")
        ledger.start("q")
        ledger.release("q", b"42")
        assert other.find("q").answer == b"42"
        assert other.receipt == ledger.receipt


def test_other_units_and_relations(tmp_path):
    terms = {"unit": person("patient"), "constant": ["sex", "born"]}
    limits = Contribution(rows=3)
    with Ledger.open(
        tmp_path / "a", budget=Budget(rho=1), contribution=limits, account="clinic", **terms
    ) as ledger:
        ledger.charge(GaussianDP(mu="0.5"), key="k", scope=Box({"born": at_least(1980)}))
        young = ledger.left(Box({"born": equals(1950)}))
        assert young.amounts == (10**24, 0)
        assert ledger.left(Box({"ward": equals("A")})).amounts[0] < 10**24
        assert ledger.charge(Laplace(scale=30), key="l").amounts[0][0] == "clinic"
        assert ledger.verify().problems == ()
    with Ledger.open(tmp_path / "a", contribution=limits, account="clinic", **terms) as again:
        assert again.unit == person("patient")
        assert again.receipt.seq == 3
    relation = row(relation="replace")
    with Ledger.open(tmp_path / "b", unit=relation, budget=Budget(epsilon=1)) as ledger:
        assert ledger.charge(ONE, key="k").amounts == (("data", (2 * 10**23, 0)),)


# --- the record ---------------------------------------------------------------------------------


def test_a_receipt_names_the_last_entry(ledger):
    seen = [ledger.receipt]
    seen.append(ledger.charge(ONE, key="k").receipt)
    assert ledger.receipt == seen[-1]
    ledger.start("k")
    seen.append(ledger.release("k", b"42").receipt)
    assert [receipt.seq for receipt in seen] == [1, 2, 4]
    assert all(receipt.ledger == ledger.id for receipt in seen)
    assert ledger.verify(seen).problems == ()
    assert ledger.verify([str(receipt) for receipt in seen]).problems == ()
    forged = Receipt(ledger.id, 2, "0" * 64)
    assert ledger.verify([forged]).problems


def test_entries_say_what_happened_and_hold_no_answers(delta_ledger):
    ledger = delta_ledger
    ledger.charge(ONE, key="k", question="q", delta=1e-9)
    ledger.start("k")
    ledger.release("k", b"the answer")
    entries = list(ledger.entries())
    assert [entry["seq"] for entry in entries] == [1, 2, 3, 4]
    assert entries[1]["delta"] == "1/1000000000"
    assert (entries[3]["size"], len(entries[3]["answer"])) == (10, 64)
    assert "the answer" not in str(entries) + repr(ledger) + str(ledger)
    assert [entry["seq"] for entry in ledger.entries(after=2)] == [3, 4]


def test_what_a_ledger_shows(ledger):
    ledger.charge(Pure(epsilon="0.75"), key="k")
    assert str(ledger) == (
        f"ledger {ledger.id}, entry 2\n  data: epsilon 0.25 of 1, for one row under add_remove"
    )
    assert repr(ledger) == f"<ledger {ledger.id}>"


# --- opening and closing ------------------------------------------------------------------------


def test_a_ledger_is_opened_again_with_what_it_knows(path):
    budget = Budget(epsilon=2, delta=1e-9)
    with Ledger.open(path, unit=row(), budget=budget) as ledger:
        ledger.charge(GaussianDP(mu="0.1"), key="k")
        name, spent = ledger.id, ledger.left().amounts
    with Ledger.open(str(path)) as again:
        assert (again.id, again.unit, again.left().amounts) == (name, row(), spent)
        assert again.guarantee() == Approximate(epsilon=2, delta="1e-9")
        again.raise_limit("data", budget=Budget(epsilon=3, delta=1e-9), **PEOPLE)
    for known in (budget, Budget(epsilon=3, delta=1e-9)):
        Ledger.open(path, unit=row(), budget=known, account="data", constant=[]).close()


def test_a_closed_ledger_says_so(ledger):
    ledger.charge(ONE, key="k")
    lazy = ledger.entries()
    next(lazy)
    ledger.close()
    ledger.close()
    for verb in (
        lambda: ledger.charge(ONE, key="k"),
        lambda: ledger.start("k"),
        lambda: ledger.find("q"),
        lambda: ledger.receipt,
        lambda: list(ledger.entries()),
        lambda: str(ledger),
    ):
        with pytest.raises(LedgerUnavailable):
            verb()
    assert repr(ledger) == "<closed ledger>"


# --- threads and processes ----------------------------------------------------------------------


@pytest.mark.theorem("one-answer")
def test_workers_that_race_for_one_key_tell_one_answer(ledger, path):
    told = []
    ledger.charge(ONE, key="k")
    others = [Ledger.open(path) for _ in range(3)]

    def work(each, answer):
        assert not each.charge(ONE, key="k").new
        if not isinstance(each.start("k"), StoredAnswer):
            told.append(each.release("k", answer).answer)

    ledgers = [ledger, *others] * 3
    threads = [
        threading.Thread(target=work, args=(each, str(number).encode()))
        for number, each in enumerate(ledgers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(told)) == 1
    assert ledger.start("k").answer == told[0]
    assert kinds(ledger).count("release") == 1
    for other in others:
        other.close()


# --- forks --------------------------------------------------------------------------------------


def test_a_child_is_refused_the_ledger_of_its_parent_and_opens_it_anew(path):
    out = run(
        """
        ledger = Ledger.open(path, unit=row(), budget=Budget(epsilon=1))
        ledger.charge(Pure(epsilon="0.1"), key="before")
        for _ in range(2):
            if not os.fork():
                for verb in (lambda: ledger.charge(Pure(epsilon="0.1"), key="k"), ledger.left):
                    try:
                        verb()
                    except LedgerUnavailable as error:
                        say("forked" in error.what)
                ledger.close()
                with Ledger.open(path) as again:
                    say(again.charge(Pure(epsilon="0.1"), key=f"child {os.getpid()}").seq)
                sys.exit(0)
            os.wait()
        say(ledger.charge(Pure(epsilon="0.1"), key="parent").seq)
        """,
        path=str(path),
    )
    assert out == ["True", "True", "3", "True", "True", "4", "5"]
    with Ledger.open(path) as ledger:
        assert left(ledger) == 6 * 10**23
        assert ledger.verify().problems == ()


# --- laws ---------------------------------------------------------------------------------------


def test_a_question_begins_in_one_step(ledger):
    """Two entries as of two calls, durable together; what charge or start refuse is refused."""
    assert ledger.begin(ONE, key="a", question="q") == Started(key="a", attempt=1)
    assert kinds(ledger) == ["open", "charge", "start"]
    charge, start = list(ledger.entries())[1:]
    assert charge["at"] == start["at"]
    assert ledger.begin(ONE, key="a", question="q") == Started(key="a", attempt=2)
    assert ledger.release("a", b"told").replayed is False
    again = ledger.begin(ONE, key="a", question="q")
    assert isinstance(again, StoredAnswer)
    assert again.answer == b"told"
    before = kinds(ledger)
    with pytest.raises(OverBudget):
        ledger.begin(Pure(epsilon="0.95"), key="b")
    with pytest.raises(KeyReused):
        ledger.begin(Pure(epsilon="0.2"), key="a", question="q")
    ledger.begin(ONE, key="c")
    ledger.fail("c")
    with pytest.raises(QuestionClosed):
        ledger.begin(ONE, key="c")
    assert kinds(ledger) == [*before, "charge", "start", "fail"]
    assert left(ledger) == 8 * 10**23
    assert ledger.verify().ok
