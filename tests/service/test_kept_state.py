"""People, links, tokens and requests as they are kept, without a server: each opens one door."""

import time
from types import SimpleNamespace

import pytest

from discreet.documents import QuestionDocument
from discreet.errors import NotAllowed, OutOfRange, TryAgain, WrongKind
from discreet.service import directory as passwords
from discreet.service.budgets import Raises
from discreet.service.credentials import Logins, Tokens
from discreet.service.directory import Directory, PasswordFile
from discreet.service.roles import Caller, Grant, Permission, Role, check_grants
from discreet.service.site import Site
from discreet.service.state import SecurityLog, StateStore

PASSWORD = "a long enough password"  # noqa: S105


@pytest.fixture
def kept(tmp_path):
    """All that a server keeps beside its ledgers; ``people`` are those of the site file."""
    store, log = StateStore(tmp_path / "state.sqlite"), SecurityLog(tmp_path / "security.log")
    people = {}
    directory = Directory(Site(state=tmp_path / "state", datasets={}, people=people), log=log)
    yield SimpleNamespace(
        store=store,
        people=people,
        directory=directory,
        logins=Logins(store, directory, hours=1, log=log),
        tokens=Tokens(store, directory, log=log),
        raises=Raises(store, log=log),
    )
    store.close()
    log.close()


def added(kept, name, *roles):
    kept.people[name] = Grant(roles=frozenset(roles or [Role.ANALYST]))
    return kept.directory.find(name)


def expired(kept, table):
    with kept.store.transaction() as within:
        within.execute(f"UPDATE {table} SET expires = ?", (time.time() - 1,))  # noqa: S608


# --- log-ins ------------------------------------------------------------------------------------


def test_a_password_file_is_read_again_and_holds_hashes(tmp_path):
    path = tmp_path / "site.passwords"
    one, other = PasswordFile(path), PasswordFile(path)
    assert not one.fits("ana", PASSWORD)
    one.put("ana", PASSWORD)
    assert other.fits("ana", PASSWORD)
    before = other.mark("ana")
    one.put("ben", PASSWORD)
    assert other.mark("ana") == before
    one.put("ana", "another long password")
    assert other.mark("ana") not in {before, ""}
    assert not other.fits("ana", PASSWORD)
    for bad in ("short", "a" * 513):
        with pytest.raises(OutOfRange):
            one.put("ana", bad)
    with pytest.raises(OutOfRange):
        one.put("a:b", PASSWORD)
    assert other.names == {"ana", "ben"}


def test_what_is_checked_where_there_is_no_password_opens_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(passwords, "_NOBODY", passwords._HASHER.hash(PASSWORD.encode()))
    assert not PasswordFile(tmp_path / "site.passwords").fits("ana", PASSWORD)


def test_no_more_than_two_passwords_are_checked_at_once(tmp_path, monkeypatch):
    """Each takes 64 MiB; who would wait for long is told to try again."""
    monkeypatch.setattr(passwords, "_PATIENCE", 0.05)
    with passwords._AT_ONCE, passwords._AT_ONCE, pytest.raises(TryAgain):
        PasswordFile(tmp_path / "site.passwords").fits("ana", PASSWORD)
    assert not PasswordFile(tmp_path / "site.passwords").fits("ana", PASSWORD)


def test_a_new_password_ends_what_the_old_one_has_opened(kept):
    ana = added(kept, "ana")
    cookie, token = kept.logins.begin("ana"), kept.tokens.make(ana, scope=[Permission.PLAN])
    assert kept.logins.find(cookie).caller == ana
    assert kept.tokens.find(token).person == "ana"
    kept.directory.passwords.put("ana", PASSWORD)
    assert kept.logins.find(cookie) is None
    assert kept.tokens.find(token) is None


def test_a_log_in_ends_by_itself_and_knows_its_own_forms(kept):
    cookies = [kept.logins.begin(added(kept, name).person) for name in ("ana", "ben")]
    first, second = (kept.logins.find(cookie) for cookie in cookies)
    assert first.form_is_ours(first.csrf)
    assert not any(first.form_is_ours(token) for token in (second.csrf, "", None, "0" * 64))
    expired(kept, "logins")
    assert [kept.logins.find(cookie) for cookie in cookies] == [None, None]


# --- tokens and roles ---------------------------------------------------------------------------


def test_a_token_is_more_than_its_prefix_and_ends(kept):
    ana = added(kept, "ana")
    token = kept.tokens.make(ana, scope=[Permission.PLAN])
    kind, prefix, secret = token.split("_")
    for forged in (f"{kind}_{prefix}_", f"{kind}_{prefix}_{'0' * len(secret)}", f"{kind}_{prefix}"):
        assert kept.tokens.find(forged) is None
    assert kept.tokens.find(token).allowed == {Permission.PLAN}
    kept.tokens.revoke(ana, prefix)
    assert kept.tokens.find(token) is None
    late = kept.tokens.make(ana, scope=[Permission.PLAN])
    expired(kept, "tokens")
    assert kept.tokens.find(late) is None


def test_a_token_has_no_more_than_its_person_has_now(kept):
    ana = added(kept, "ana")
    token = kept.tokens.make(ana, scope=[Permission.ASK, Permission.SCHEMA])
    with pytest.raises(OutOfRange):
        kept.tokens.make(ana, scope=[Permission.DECIDE])
    with pytest.raises(NotAllowed):
        kept.tokens.make(kept.tokens.find(token), scope=[Permission.SCHEMA])
    added(kept, "ana", Role.VIEWER)
    assert kept.tokens.find(token).allowed == {Permission.SCHEMA}


def test_a_token_of_somebody_else_is_not_ended(kept):
    ana, ben = added(kept, "ana"), added(kept, "ben")
    token = kept.tokens.make(ana, scope=[Permission.PLAN])
    with pytest.raises(OutOfRange):
        kept.tokens.revoke(ben, token.split("_")[1])
    assert kept.tokens.find(token) is not None
    kept.tokens.revoke(Caller.of("olga", frozenset({Role.OWNER})), token.split("_")[1])
    assert kept.tokens.find(token) is None


def test_whoever_spends_does_not_decide(kept):
    for roles in ([Role.STEWARD, Role.ANALYST], list(Role)):
        with pytest.raises(NotAllowed):
            check_grants("both", [Grant(roles=frozenset(each)) for each in ([roles[0]], roles[1:])])
    steward, analyst = (Caller.of("x", frozenset({role})) for role in (Role.STEWARD, Role.ANALYST))
    assert not steward.may(Permission.ASK)
    assert not analyst.may(Permission.DECIDE)


# --- two people ---------------------------------------------------------------------------------


def test_one_decision_is_made_about_a_request(kept):
    wanted = {"account": "data", "budget": {"epsilon": "2"}, "reason": "a second study"}
    number = kept.raises.add("clinic", by="ana", **wanted).id
    assert kept.raises.decide(number, state="declined", by="sue").state == "declined"
    with pytest.raises(OutOfRange, match="decided before"):
        kept.raises.decide(number, state="approved", by="olga")
    assert kept.raises.find(number).decided_by == "sue"


# --- what travels -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        ["Session", {}],
        ["KeyedEntropy", {"key": "k", "label": "l"}],
        ["Planner", {}],
        ["Relation", "REPLACE"],
        ["os:system", {"command": "true"}],
        ["Column", {}],
        ["Column", {"name": "a", "span": None, "more": 1}],
        ["Column", ["a"]],
        ["Column", {"name": "ward", "span": None}],
        ["tree", ["leaf"]],
        ["box", {}],
        ["plan:Plan"],
        "SELECT 1",
        [],
        {},
    ],
)
def test_a_question_is_made_of_the_classes_of_questions_alone(value):
    """A column alone is no question, and a relation of neighbors, a tree or a scope no part."""
    with pytest.raises(WrongKind):
        QuestionDocument.read({"question": {"format": 1, "value": value}})


def test_forms_that_differ_in_anything_have_other_digests():
    form = {"question": "SELECT COUNT(*) AS n FROM visits", "epsilon": "1"}
    others = [
        {**form, "question": "SELECT COUNT(*) AS m FROM visits"},
        {**form, "epsilon": "1.0"},
        {**form, "delta": "1e-9"},
        {**form, "max_rows": 2},
        {**form, "confirm": True},
    ]
    digests = {QuestionDocument.read(each).digest for each in (form, *others)}
    assert len(digests) == 1 + len(others)
