"""Log-in, one-time links, lock-out, tokens, cookies, forged forms, rate limits, the log."""

import sqlite3
import time
from contextlib import closing

import pytest

from discreet import errors
from discreet.service import ServiceCounter, state_store
from discreet.service.people.rate_limits import RateLimits
from discreet.service.people.roles import Permission, Role
from tests.service import served

QUERY = {"question": "SELECT COUNT(*) AS n FROM visits", "epsilon": "0.5"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served.serving(tmp_path_factory.mktemp("people"), lockout_minutes=1) as server:
        yield server


def logged_in(server, name):
    """Return a client with a cookie, and the token of its log-in."""
    secret = server.counter.directory.invite(name, by="test")
    client = server.client()
    taken = client.post("/v1/password", json={"secret": secret, "password": served.PASSWORD})
    assert taken.status_code == 200
    answer = client.post("/v1/login", json={"name": name, "password": served.PASSWORD})
    assert answer.status_code == 200
    return client, answer


def test_a_one_time_link_works_once(server):
    client, _ = logged_in(server, "vic")
    secret = server.counter.directory.invite("vic", by="test")
    assert server.counter.directory.invited(secret) == "vic"
    body = {"secret": secret, "password": "another good password"}
    assert client.post("/v1/password", json={**body, "password": "short"}).status_code == 422
    assert client.post("/v1/password", json=body).status_code == 200
    assert client.post("/v1/password", json=body).status_code == 403
    assert client.get("/v1/me").status_code == 401  # old log-ins end with the old password


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


def test_failures_lock_out_and_say_the_same_of_everybody(server):
    logged_in(server, "aud")
    client = server.client()
    told = set()
    for name in ("aud", "nobody-at-all"):
        for _ in range(6):
            answer = client.post("/v1/login", json={"name": name, "password": "wrong password"})
            told.add((answer.status_code, answer.text))
    assert len(told) == 1
    right = client.post("/v1/login", json={"name": "aud", "password": served.PASSWORD})
    assert (right.status_code, right.text) in told
    assert server.counter.directory.find("aud").locked


def test_tokens_end(server):
    server.counter.directory.put("ned", [Role.ANALYST], by="test")
    caller = server.caller("ned")
    token = server.counter.tokens.make(caller, scope=[Permission.SCHEMA], note="once")
    client = server.client(token=token)
    assert client.get("/v1/me").json()["allowed"] == ["schema"]
    prefix = client.get("/v1/tokens").json()["tokens"][0]["prefix"]
    assert token.split("_")[2] not in client.get("/v1/tokens").text
    assert server.client("ben").delete(f"/v1/tokens/{prefix}").status_code == 422
    assert client.delete(f"/v1/tokens/{prefix}").status_code == 200
    assert client.get("/v1/me").status_code == 401
    with server.counter._store.transaction() as within:
        within.execute("UPDATE tokens SET revoked = 0, expires = ?", (time.time() - 1,))
    assert client.get("/v1/me").status_code == 401


def test_a_token_never_widens(server):
    with pytest.raises(errors.OutOfRange):
        server.counter.tokens.make(server.caller("vic"), scope=[Permission.ASK])
    server.counter.directory.put("tom", [Role.ANALYST], by="test")
    client = server.client("tom")
    assert client.post("/v1/datasets/clinic/queries", json=QUERY).status_code == 200
    server.counter.directory.put("tom", [Role.VIEWER], by="test")
    assert client.post("/v1/datasets/clinic/queries", json=QUERY).status_code == 403


def test_a_token_makes_no_tokens_and_resets_no_password(server):
    _, answer = logged_in(server, "sue")
    body = {"scope": ["schema"], "days": 365}
    refused = server.client("sue").post("/v1/tokens", json=body)
    assert (refused.status_code, "dsc_" in refused.text) == (403, False)
    cookie = server.client()
    cookie.cookies.set("discreet", answer.cookies["discreet"])
    headers = {"X-CSRF-Token": answer.json()["csrf"]}
    made = cookie.post("/v1/tokens", json=body, headers=headers)
    assert made.status_code == 201
    assert server.client("olga").post("/v1/people/sue/invitation").status_code == 403
    child = server.client(token=made.json()["token"])
    assert child.get("/v1/me").status_code == 200
    logged_in(server, "sue")  # with a new password, which ends all that the old one has made
    assert child.get("/v1/me").status_code == 401


def test_whoever_loses_all_roles_is_out(server):
    server.counter.directory.put("rex", [Role.VIEWER], by="test")
    cookie, _ = logged_in(server, "rex")
    token = server.client("rex")
    link = server.counter.directory.invite("rex", by="test")
    assert [each.get("/v1/me").status_code for each in (cookie, token)] == [200, 200]
    assert server.client("olga").put("/v1/people/rex", json={"roles": []}).status_code == 200
    server.counter.directory.put("rex", [Role.VIEWER], by="test")
    assert [each.get("/v1/me").status_code for each in (cookie, token)] == [401, 401]
    assert server.counter.directory.invited(link) is None


def test_a_state_of_the_first_format_is_taken_over(tmp_path):
    path = tmp_path / "state.sqlite"
    with closing(sqlite3.connect(path)) as old, old:
        old.executescript(state_store._TABLES)
        old.execute("INSERT INTO people (name, roles) VALUES ('ana', 'analyst')")
        old.execute("PRAGMA user_version = 1")
    for _ in range(2):
        store = state_store.StateStore(path)
        assert store.row("SELECT created FROM people WHERE name = 'ana'")["created"] == 0
        store.close()
    with closing(sqlite3.connect(path)) as newer, newer:
        newer.execute("PRAGMA user_version = 3")
    with pytest.raises(errors.NotALedger):
        state_store.StateStore(path)


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
        server.counter.directory.put("both", [Role.STEWARD, Role.ANALYST], by="test")


def test_secrets_are_stored_as_hashes(server):
    token = server.token("ana")
    secret = server.counter.directory.invite("sue", by="test")
    _, answer = logged_in(server, "ben")
    stored = b"".join(path.read_bytes() for path in server.counter.site.state.glob("state.sqlite*"))
    for hidden in (token.split("_")[2], secret, served.PASSWORD, answer.cookies["discreet"]):
        assert hidden.encode() not in stored
    assert b"$argon2id$" in stored


def test_what_matters_is_in_the_log_which_only_grows(server):
    lines = list(server.counter.log.lines())
    events = {line["event"] for line in lines}
    assert {"start", "person", "invitation", "password", "log-in", "locked out", "token"} <= events
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


def test_the_first_run_makes_one_owner(tmp_path):
    site = "\n".join(line for line in served.SITE.split("[people.")[0].splitlines())
    served.written(tmp_path, site=site)
    with served.serving(tmp_path) as server:
        secret = server.counter.first_owner()
        assert server.counter.directory.invited(secret) == "owner"
        server.counter.directory.accept(secret, served.PASSWORD)
        assert server.counter.first_owner() is None
        assert [person.name for person in server.counter.directory.people()] == ["owner"]
