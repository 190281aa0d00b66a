"""People, links, tokens and requests as they are kept, without a server: each opens one door."""

import json
import time
from types import SimpleNamespace

import pytest

from discreet.accounting import Box
from discreet.errors import NotAllowed, OutOfRange, WrongKind
from discreet.service.people.caller import Caller
from discreet.service.people.directory import Directory
from discreet.service.people.logins import Logins
from discreet.service.people.roles import Permission, Role
from discreet.service.people.tokens import Tokens
from discreet.service.protocol.question_form import QuestionForm
from discreet.service.protocol.value_codec import QUESTION_CLASSES, read_value, written_value
from discreet.service.raises import Raises
from discreet.service.security_log import SecurityLog
from discreet.service.site import ServiceLimits
from discreet.service.state_store import StateStore
from discreet.units.unit import Relation

PASSWORD = "a long enough password"  # noqa: S105


@pytest.fixture
def kept(tmp_path):
    """All that a server keeps beside its ledgers."""
    store, log = StateStore(tmp_path / "state.sqlite"), SecurityLog(tmp_path / "security.log")
    directory = Directory(store, limits=ServiceLimits(), log=log)
    yield SimpleNamespace(
        store=store,
        directory=directory,
        logins=Logins(store, directory, hours=1, log=log),
        tokens=Tokens(store, directory, log=log),
        raises=Raises(store, log=log),
    )
    store.close()
    log.close()


def added(kept, name, *roles, by="site file"):
    return kept.directory.put(name, roles or [Role.ANALYST], by=by)


def expired(kept, table):
    with kept.store.transaction() as within:
        within.execute(f"UPDATE {table} SET expires = ?", (time.time() - 1,))  # noqa: S608


# --- links and log-ins --------------------------------------------------------------------------


def test_a_link_opens_once_and_not_for_ever(kept):
    added(kept, "ana")
    secret = kept.directory.invite("ana", by="olga")
    assert kept.directory.accept(secret, PASSWORD).has_password
    with pytest.raises(NotAllowed, match="used before"):
        kept.directory.accept(secret, PASSWORD)
    late = kept.directory.invite("ana", by="olga")
    expired(kept, "invitations")
    assert kept.directory.invited(late) is None
    with pytest.raises(NotAllowed, match="expired"):
        kept.directory.accept(late, PASSWORD)


def test_a_new_password_ends_what_the_old_one_has_opened(kept):
    ana = added(kept, "ana")
    cookie, token = kept.logins.begin(ana), kept.tokens.make(ana.caller, scope=[Permission.PLAN])
    assert kept.logins.find(cookie).caller == ana.caller
    assert kept.tokens.find(token).person == "ana"
    kept.directory.accept(kept.directory.invite("ana", by="olga"), PASSWORD)
    assert kept.logins.find(cookie) is None
    assert kept.tokens.find(token) is None


def test_a_log_in_ends_by_itself_and_knows_its_own_forms(kept):
    ana, ben = added(kept, "ana"), added(kept, "ben")
    cookies = [kept.logins.begin(person) for person in (ana, ben)]
    first, second = (kept.logins.find(cookie) for cookie in cookies)
    assert first.form_is_ours(first.csrf)
    assert not any(first.form_is_ours(token) for token in (second.csrf, "", None, "0" * 64))
    expired(kept, "logins")
    assert [kept.logins.find(cookie) for cookie in cookies] == [None, None]


def test_a_name_is_locked_for_whoever_knows_the_password_too(kept):
    added(kept, "ana")
    kept.directory.accept(kept.directory.invite("ana", by="olga"), PASSWORD)
    assert kept.directory.check_password("ana", PASSWORD).name == "ana"
    for _ in range(ServiceLimits().failed_logins):
        with pytest.raises(NotAllowed):
            kept.directory.check_password("ana", "a wrong password")
    with pytest.raises(NotAllowed):
        kept.directory.check_password("ana", PASSWORD)


# --- tokens and roles ---------------------------------------------------------------------------


def test_a_token_is_more_than_its_prefix_and_ends(kept):
    ana = added(kept, "ana").caller
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
    ana = added(kept, "ana").caller
    token = kept.tokens.make(ana, scope=[Permission.ASK, Permission.SCHEMA])
    with pytest.raises(OutOfRange):
        kept.tokens.make(ana, scope=[Permission.DECIDE])
    with pytest.raises(NotAllowed):
        kept.tokens.make(kept.tokens.find(token), scope=[Permission.SCHEMA])
    kept.directory.put("ana", [Role.VIEWER], by="site file")
    assert kept.tokens.find(token).allowed == {Permission.SCHEMA}


def test_a_token_of_somebody_else_is_not_ended(kept):
    ana, ben = added(kept, "ana").caller, added(kept, "ben").caller
    token = kept.tokens.make(ana, scope=[Permission.PLAN])
    with pytest.raises(OutOfRange):
        kept.tokens.revoke(ben, token.split("_")[1])
    assert kept.tokens.find(token) is not None
    kept.tokens.revoke(Caller.of("olga", frozenset({Role.OWNER})), token.split("_")[1])
    assert kept.tokens.find(token) is None


def test_whoever_spends_does_not_decide(kept):
    for roles in ([Role.STEWARD, Role.ANALYST], list(Role)):
        with pytest.raises(NotAllowed):
            kept.directory.put("both", roles, by="olga")
    steward, analyst = (Caller.of("x", frozenset({role})) for role in (Role.STEWARD, Role.ANALYST))
    assert not steward.may(Permission.ASK)
    assert not analyst.may(Permission.DECIDE)


# --- two people ---------------------------------------------------------------------------------


def test_whom_somebody_has_added_is_tied_to_them_for_good(kept):
    added(kept, "sue", by="olga")
    added(kept, "ana")
    assert kept.directory.tied("olga", "sue")
    assert kept.directory.tied("sue", "olga")
    assert not kept.directory.tied("sue", "ana")
    kept.directory.put("sue", [], by="site file")
    kept.directory.put("sue", [Role.STEWARD], by="site file")
    assert kept.directory.tied("sue", "olga")
    kept.directory.invite("ana", by="sue")
    assert kept.directory.tied("ana", "sue")


def test_one_decision_is_made_about_a_request(kept):
    wanted = {"account": "data", "budget": {"epsilon": "2"}, "reason": "a second study"}
    number = kept.raises.add("clinic", by="ana", **wanted).id
    assert kept.raises.decide(number, state="declined", by="sue").state == "declined"
    with pytest.raises(OutOfRange, match="decided before"):
        kept.raises.decide(number, state="approved", by="olga")
    assert kept.raises.find(number).decided_by == "sue"


# --- what travels -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "document",
    [
        ["session.session:Session"],
        ["ledger.values:Release"],
        ["noise.entropy:KeyedEntropy", "k", "l"],
        ["query.types:Question", "TEXT"],
        ["tree", ["leaf"]],
        ["box", {}],
        ["os:system", "true"],
    ],
)
def test_a_question_is_made_of_the_classes_of_questions_alone(document):
    with pytest.raises(WrongKind):
        read_value(document, QUESTION_CLASSES)


def test_a_value_of_another_room_is_no_part_of_a_question():
    written = written_value(Relation.REPLACE)
    assert read_value(written) is Relation.REPLACE
    with pytest.raises(WrongKind):
        read_value(written, QUESTION_CLASSES)


def test_a_tree_or_a_box_is_read_from_our_own_server_alone():
    written = json.loads(json.dumps(written_value(Box({}))))
    assert read_value(written) == Box({})
    with pytest.raises(WrongKind):
        read_value(written, QUESTION_CLASSES)


def test_forms_that_differ_in_anything_have_other_digests():
    form = {"question": "SELECT COUNT(*) AS n FROM visits", "epsilon": "1"}
    others = [
        {**form, "question": "SELECT COUNT(*) AS m FROM visits"},
        {**form, "epsilon": "1.0"},
        {**form, "delta": "1e-9"},
        {**form, "max_rows": 2},
        {**form, "confirm": True},
    ]
    digests = {QuestionForm.read(each).digest for each in (form, *others)}
    assert len(digests) == 1 + len(others)
