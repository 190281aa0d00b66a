"""The site file, log-in, tokens, cookies, forged forms, rate limits, the log."""

import sqlite3
import time
from contextlib import closing

import pytest

from discreet import errors
from discreet.service import ServiceCounter, read_site, state
from discreet.service.credentials import RateLimits
from discreet.service.roles import Caller, Grant, Permission, Role, check_grants
from tests.service import served

QUERY = {"question": "SELECT COUNT(*) AS n FROM visits", "epsilon": "0.5"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("people")
    with served.serving(folder, logins_per_minute=1000) as server:
        for name in served.PEOPLE:
            server.counter.directory.passwords.put(name, served.PASSWORD)
        yield server


def logged_in(server, name):
    """Return a client with a cookie, and the token of its log-in."""
    client = server.client()
    answer = client.post("/v1/login", json={"name": name, "password": served.PASSWORD})
    assert answer.status_code == 200
    return client, answer


def test_a_cookie_is_for_this_site_and_no_script(server):
    _, answer = logged_in(server, "ana")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie


def test_a_cookie_that_was_planted_is_worth_nothing(server):
    client, _ = logged_in(server, "ana")
    client.post("/v1/logout", headers={"X-CSRF-Token": "x"})
    planted = "a" * 64
    other = server.client()
    other.cookies.set("discreet", planted)
    answer = other.post("/v1/login", json={"name": "ana", "password": served.PASSWORD})
    fresh = answer.cookies["discreet"]
    assert fresh != planted
    third = server.client()
    third.cookies.set("discreet", planted)
    assert third.get("/v1/me").status_code == 401


def test_a_call_with_a_cookie_needs_the_token_of_its_log_in(server):
    client, answer = logged_in(server, "ana")
    assert client.get("/v1/me").json()["person"] == "ana"
    path, token = "/v1/datasets/clinic/queries", answer.json()["csrf"]
    for headers in ({}, {"X-CSRF-Token": ""}, {"X-CSRF-Token": "a" * 64}):
        assert client.post(path, json=QUERY, headers=headers).status_code == 401
    assert client.post(path, json=QUERY, headers={"X-CSRF-Token": token}).status_code == 200
    other, _ = logged_in(server, "ben")
    assert other.post(path, json=QUERY, headers={"X-CSRF-Token": token}).status_code == 401


def test_logging_out_ends_the_cookie(server):
    client, answer = logged_in(server, "ana")
    cookie = answer.cookies["discreet"]
    assert (
        client.post("/v1/logout", headers={"X-CSRF-Token": answer.json()["csrf"]}).status_code
        == 200
    )
    again = server.client()
    again.cookies.set("discreet", cookie)
    assert again.get("/v1/me").status_code == 401


def test_a_wrong_name_and_a_wrong_password_are_refused_alike_and_lock_nobody_out(server):
    client = server.client()
    told = set()
    for name in ("olga", "nobody-at-all"):
        for _ in range(6):
            answer = client.post("/v1/login", json={"name": name, "password": "wrong password"})
            told.add((answer.status_code, answer.text))
    assert {status for status, _ in told} == {403}
    assert len(told) == 1
    logged_in(server, "olga")


@pytest.mark.parametrize("public_url", [None, "https://clinic.example"])
def test_a_cookie_is_secure_wherever_people_come_by_tls(tmp_path, public_url):
    path = served.written(tmp_path)
    if public_url is not None:
        text = path.read_text().replace("port = 0", f'port = 0\npublic_url = "{public_url}"')
        path.write_text(text)
    with served.serving(tmp_path) as server:
        server.counter.directory.passwords.put("ana", served.PASSWORD)
        _, answer = logged_in(server, "ana")
        assert ("secure" in answer.headers["set-cookie"].lower()) is (public_url is not None)


def test_log_ins_are_limited_by_where_they_come_from(tmp_path):
    with served.serving(tmp_path, logins_per_minute=3) as server:
        client, body = server.client(), {"name": "ana", "password": "wrong password"}
        statuses = [client.post("/v1/login", json=body).status_code for _ in range(5)]
        assert statuses == [403] * 3 + [429] * 2
        assert server.client("ana").get("/v1/me").status_code == 200


# --- the site file is the only source ---------------------------------------------------------


def restarted(folder, *changes):
    """Change the site file, and serve it again."""
    path = folder / "site.toml"
    text = path.read_text() if path.exists() else served.written(folder).read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    return served.serving(folder)


ANA = '[people.ana]\nroles = ["analyst"]\n'


def test_whom_the_site_file_does_not_name_any_more_is_out_for_good(tmp_path):
    """Deleting somebody from the file ends their log-ins, tokens and password."""
    with restarted(tmp_path) as server:
        server.counter.directory.passwords.put("ana", served.PASSWORD)
        _, answer = logged_in(server, "ana")
        token, cookie = server.token("ana"), answer.cookies["discreet"]
    with restarted(tmp_path, (ANA, "")) as server:
        client = server.client()
        client.cookies.set("discreet", cookie)
        assert client.get("/v1/me").status_code == 401
        assert server.client(token=token).get("/v1/me").status_code == 401
        body = {"name": "ana", "password": served.PASSWORD}
        assert server.client().post("/v1/login", json=body).status_code == 403


def test_roles_and_datasets_are_those_of_the_site_file_and_no_call_or_page_changes_them(tmp_path):
    """An analyst whom the file limits to one dataset sees it alone, whatever the owner does."""
    narrow = '[people.ana]\nroles = ["analyst"]\ndatasets = ["other"]\n'
    other = '[datasets.other]\npolicy = "policy.toml"\ndata = { visits = "visits.parquet" }\n'
    more = f'{other}ledger = "other.ledger"\n{narrow}'
    with restarted(tmp_path, (ANA, more)) as server:
        token, olga = server.token("ana"), server.client("olga")
        changed = olga.put("/v1/people/ana", json={"roles": ["analyst"]})
        assert changed.status_code in {404, 405}
        assert olga.post("/v1/people/ana/invitation").status_code in {404, 405}
        ana = server.client(token=token)
        assert ana.get("/v1/datasets").json() == {"datasets": ["other"]}
        assert ana.get("/v1/datasets/clinic").status_code == 404
    with restarted(tmp_path, (narrow, narrow.replace("analyst", "viewer"))) as server:
        ana = server.client(token=token)
        assert ana.get("/v1/datasets").json() == {"datasets": ["other"]}
        assert ana.post("/v1/datasets/other/queries", json=QUERY).status_code == 403


def test_roles_of_one_dataset_are_none_of_another():
    grants = (
        Grant(roles=frozenset({Role.ANALYST}), datasets=frozenset({"flu"})),
        Grant(roles=frozenset({Role.VIEWER}), datasets=frozenset({"payroll"})),
    )
    ana = Caller(person="ana", grants=grants)
    assert ana.may(Permission.ASK, "flu")
    assert not ana.may(Permission.ASK, "payroll")
    assert ana.may(Permission.RELEASES, "payroll")
    assert not ana.sees("other")


def test_tokens_end(server):
    served.granted(server, "ned", Role.ANALYST)
    caller = server.caller("ned")
    token = server.counter.tokens.make(caller, scope=[Permission.SCHEMA], note="once")
    client = server.client(token=token)
    assert client.get("/v1/me").json()["allowed"] == ["schema"]
    prefix = client.get("/v1/tokens").json()["tokens"][0]["prefix"]
    assert token.split("_")[2] not in client.get("/v1/tokens").text
    assert server.client("ben").delete(f"/v1/tokens/{prefix}").status_code == 403
    assert client.delete(f"/v1/tokens/{prefix}").status_code == 200
    assert client.get("/v1/me").status_code == 401
    with server.counter._store.transaction() as within:
        within.execute("UPDATE tokens SET revoked = 0, expires = ?", (time.time() - 1,))
    assert client.get("/v1/me").status_code == 401


def test_a_token_never_widens(server):
    with pytest.raises(errors.OutOfRange):
        server.counter.tokens.make(server.caller("vic"), scope=[Permission.ASK])
    served.granted(server, "tom", Role.ANALYST)
    client = server.client("tom")
    assert client.post("/v1/datasets/clinic/queries", json=QUERY).status_code == 200
    served.granted(server, "tom", Role.VIEWER)
    assert client.post("/v1/datasets/clinic/queries", json=QUERY).status_code == 403


def test_a_token_makes_and_ends_no_others(server):
    _, answer = logged_in(server, "sue")
    body = {"scope": ["schema"], "days": 365}
    refused = server.client("sue").post("/v1/tokens", json=body)
    assert (refused.status_code, "dsc_" in refused.text) == (403, False)
    cookie = server.client()
    cookie.cookies.set("discreet", answer.cookies["discreet"])
    headers = {"X-CSRF-Token": answer.json()["csrf"]}
    made = cookie.post("/v1/tokens", json=body, headers=headers)
    assert made.status_code == 201
    child, other = server.client(token=made.json()["token"]), server.token("sue")
    assert child.get("/v1/me").status_code == 200
    assert child.delete(f"/v1/tokens/{other.split('_')[1]}").status_code == 403
    assert server.client(token=other).get("/v1/me").status_code == 200
    assert child.delete(f"/v1/tokens/{made.json()['token'].split('_')[1]}").status_code == 200
    assert child.get("/v1/me").status_code == 401


def test_a_new_password_ends_what_the_old_one_has_opened(server):
    cookie, _ = logged_in(server, "vic")
    token = server.client("vic")
    assert [each.get("/v1/me").status_code for each in (cookie, token)] == [200, 200]
    server.counter.directory.passwords.put("vic", "another good password")
    assert [each.get("/v1/me").status_code for each in (cookie, token)] == [401, 401]
    old = {"name": "vic", "password": served.PASSWORD}
    assert server.client().post("/v1/login", json=old).status_code == 403


def test_a_state_of_another_format_is_refused(tmp_path):
    path = tmp_path / "state.sqlite"
    for _ in range(2):
        state.StateStore(path).close()
    with closing(sqlite3.connect(path)) as newer, newer:
        newer.execute("PRAGMA user_version = 3")
    with pytest.raises(errors.NotALedger):
        state.StateStore(path)


def test_a_second_server_does_not_take_the_workers_of_the_first(server):
    with pytest.raises(errors.LedgerUnavailable, match="another server"):
        ServiceCounter(server.counter.site)
    assert server.client("ana").get("/v1/datasets/clinic").status_code == 200
    assert (server.counter.site.state / "clinic.sock").exists()


@pytest.mark.parametrize("token", ["x", "dsc_", "dsc__", "dsc_a_b", "dsc_" + "a" * 5000, "é"])
def test_other_texts_are_no_tokens(server, token):
    headers = {"Authorization": f"Bearer {token}".encode()}
    assert server.client().get("/v1/me", headers=headers).status_code == 401


def test_nobody_decides_on_the_budget_that_pays_for_their_questions(server):
    with pytest.raises(errors.NotAllowed):
        check_grants("both", [Grant(roles=frozenset({Role.STEWARD, Role.ANALYST}))])


def test_secrets_are_stored_as_hashes(server):
    token = server.token("ana")
    _, answer = logged_in(server, "ben")
    stored = b"".join(path.read_bytes() for path in server.counter.site.state.glob("state.sqlite*"))
    for hidden in (token.split("_")[2], served.PASSWORD, answer.cookies["discreet"]):
        assert hidden.encode() not in stored
    kept = (server.counter.site.passwords).read_text()
    assert "$argon2id$" in kept
    assert served.PASSWORD not in kept


def test_what_matters_is_in_the_log_which_only_grows(server):
    wrong = {"name": "ana", "password": "wrong password"}
    assert server.client().post("/v1/login", json=wrong).status_code == 403
    logged_in(server, "ana")
    served.granted(server, "ned", Role.ANALYST)
    caller = server.caller("ned")
    token = server.counter.tokens.make(caller, scope=[Permission.SCHEMA], note="log")
    revoked = server.client(token=token).delete(f"/v1/tokens/{token.split('_')[1]}")
    assert revoked.status_code == 200
    lines = list(server.counter.log.lines())
    events = {line["event"] for line in lines}
    assert {"start", "log-in", "log-in refused", "token", "token revoked"} <= events
    path = server.counter.site.state / "security.log"
    assert path.stat().st_mode & 0o077 == 0
    before = path.read_bytes()
    server.counter.log.write("test", by="ana\nforged", detail='"}\n{"event":"forged"')
    after = path.read_bytes()
    assert after.startswith(before)
    assert after.count(b"\n") == before.count(b"\n") + 1


def test_calls_are_limited_refused_and_dry_ones_too(tmp_path):
    with served.serving(tmp_path, calls_per_minute=6) as server:
        ana = server.client("ana")
        dry = "/v1/datasets/clinic/queries?dry_run=true"
        sent = [
            ana.post(dry, json=QUERY),
            ana.post(dry, json={"question": "SELECT"}),
            ana.post(dry, content=b"{", headers={"Content-Type": "application/json"}),
            ana.get("/v1/people"),
            ana.get("/v1/me"),
            ana.get("/v1/me"),
        ]
        assert [answer.status_code for answer in sent] == [200, 422, 422, 403, 200, 200]
        late = ana.get("/v1/me")
        assert late.status_code == 429
        assert 1 <= int(late.headers["retry-after"]) <= 10
        assert server.client("ben").get("/v1/me").status_code == 200
        nobody = [server.client().get("/v1/me").status_code for _ in range(8)]
        assert nobody == [401] * 6 + [429] * 2


def test_a_bucket_fills_evenly():
    rates = RateLimits(per_minute=60)
    assert all(rates.wait("a", now=0.0) == 0 for _ in range(60))
    assert rates.wait("a", now=0.0) == pytest.approx(1)
    assert rates.wait("a", now=1.001) == 0
    assert rates.wait("a", now=1.002) > 0


def test_a_policy_is_served_to_its_owner_and_to_the_analysts_that_it_names(tmp_path):
    text = f'{served.POLICY}\n[session]\ndata = "v.csv"\nledger = "v.ledger"\n'
    (tmp_path / "clinic.toml").write_text(f'{text}[who]\nanalysts = ["ana"]\n')
    site = read_site(tmp_path / "clinic.toml")
    assert {name: grant.roles for name, grant in site.people.items()} == {
        "owner": {Role.OWNER},
        "ana": {Role.ANALYST},
    }
    assert site.passwords.name == "clinic.passwords"
