"""Log-in by OpenID Connect, with a real provider on this machine."""

from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc.jwk import RSAKey

from discreet import mcp
from discreet.service import ServiceCounter, create_app, read_site
from discreet.web.pages import mount
from tests.service import served
from tests.service.provider import CLIENT, SECRET, providing
from tests.web.served import listening

SITE = """
[oidc]
issuer = "{issuer}"
client_id = "{client}"
secret_file = "oidc.secret"
[groups."flu team"]
roles = ["analyst"]
datasets = ["clinic"]
[groups.stewards]
roles = ["steward"]
"""
QUERY = {"question": "SELECT COUNT(*) AS n FROM visits", "epsilon": "0.5"}


@pytest.fixture(scope="module")
def provider():
    with providing() as running:
        yield running


def pages_and_agents(app, counter):
    mount(app, counter)
    mcp.mount(app, ask_above=1)


@pytest.fixture(scope="module")
def site(tmp_path_factory, provider):
    folder = tmp_path_factory.mktemp("openid")
    path = served.written(folder)
    path.write_text(path.read_text() + SITE.format(issuer=provider.issuer, client=CLIENT))
    (folder / "oidc.secret").write_text(f"{SECRET}\n")
    opened = {}

    def app_for(port):
        text = path.read_text().replace("port = 0", f"port = {port}")
        text = text.replace("[limits]", "[limits]\nlogins_per_minute = 1000000")
        path.write_text(text)
        opened["counter"] = ServiceCounter(read_site(path))
        return create_app(opened["counter"], mount=pages_and_agents)

    with listening(app_for) as url:
        provider.redirect = f"{url}/login/callback"
        yield url, opened["counter"]
    opened["counter"].close()


@pytest.fixture
def person(provider, site):
    """Log people in with a browser of their own, as far as a test lets them come."""
    clients = []
    provider.changes, provider.signing = {}, provider.key

    def begin(name, groups, *, until="end"):
        provider.people[name], provider.now = groups, name
        client = httpx.Client(base_url=site[0], timeout=60)
        clients.append(client)
        away = client.get("/login/provider")
        if until == "away":
            return client, away
        back = httpx.get(away.headers["location"])
        return client, back if until == "back" else client.get(back.headers["location"])

    yield begin
    for client in clients:
        client.close()


def test_whom_the_provider_names_has_what_the_site_file_grants(site, provider, person):
    url, counter = site
    client, entered = person("eva", ["flu team", "others"])
    assert entered.status_code == 200
    assert "url=/" in entered.text
    me = client.get("/v1/me").json()
    assert me["person"] == "eva"
    assert me["grants"] == [{"roles": ["analyst"], "datasets": ["clinic"]}]
    csrf = client.get("/tokens").text.split('name="csrf" value="')[1].split('"')[0]
    scope = {"scope": ["plan", "ask"]}
    made = client.post("/v1/tokens", json=scope, headers={"X-CSRF-Token": csrf}).json()["token"]
    headers = {"Authorization": f"Bearer {made}"}
    place = f"{url}/v1/datasets/clinic/queries"
    assert httpx.post(place, json=QUERY, headers=headers, timeout=60).status_code == 200
    call = {"name": "ask", "arguments": QUERY}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    accepted = {**headers, "Accept": "application/json", "MCP-Protocol-Version": "2025-06-18"}
    told = httpx.post(f"{url}/mcp", json=message, headers=accepted, timeout=60).json()
    assert '"free": true' in told["result"]["content"][0]["text"]  # an agent of hers
    assert counter.directory.find("eva") is None  # what she may do comes from her groups alone
    cookies = [each for each in entered.headers.get_list("set-cookie") if "discreet=" in each]
    assert "HttpOnly" in cookies[0]
    assert "SameSite=strict" in cookies[0]


def test_what_is_sent_is_the_code_flow_with_a_proof_key(provider, person):
    _, away = person("eva", ["flu team"], until="away")
    query = urlsplit(away.headers["location"]).query
    sent = {name: each[0] for name, each in parse_qs(query).items()}
    assert sent["response_type"] == "code"
    assert sent["code_challenge_method"] == "S256"
    assert {"state", "nonce", "code_challenge"} <= set(sent)
    assert "SameSite=lax" in away.headers["set-cookie"]
    person("eva", ["flu team"])
    exchanged = provider.asked[-1]
    assert exchanged["grant_type"] == "authorization_code"
    assert len(exchanged["code_verifier"]) == 64
    assert "client_secret" not in exchanged  # it is in a header, for the provider alone


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("eva", []),
        ("eva", ["others"]),
        ("eva", ["flu team", "stewards"]),
        ("sue", ["flu team"]),
        ("olga@elsewhere.example", ["flu team"]),
    ],
)
def test_who_has_no_role_or_two_that_exclude_each_other_is_refused(person, name, groups):
    client, answer = person(name, groups)
    assert answer.status_code == 403
    assert client.get("/v1/me").status_code == 401


def test_a_log_in_ends_in_the_browser_that_began_it_and_once(site, person):
    client, back = person("eva", ["flu team"], until="back")
    place = back.headers["location"]
    with httpx.Client(base_url=site[0]) as victim:  # a link that would log somebody in as eva
        assert victim.get(place).status_code == 403
        victim.get("/login/provider")
        assert victim.get(place).status_code == 403
        assert victim.get("/v1/me").status_code == 401
    assert client.get(place).status_code == 403  # the state was used up

    client, back = person("eva", ["flu team"], until="back")
    assert client.get(back.headers["location"]).status_code == 200
    assert client.get(back.headers["location"]).status_code == 403


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "https://elsewhere.example"},
        {"aud": "another client"},
        {"aud": [CLIENT, "another"], "azp": "another"},
        {"nonce": "0" * 64},
        {"exp": 1},
        {"iat": 4102444800},
        {"preferred_username": None},
        {"preferred_username": ["eva"]},
        {"groups": {"flu team": True}},
    ],
    ids=str,
)
def test_a_token_about_anything_else_is_refused(provider, person, changes):
    provider.changes = changes
    client, answer = person("eva", ["flu team"])
    assert answer.status_code == 403
    assert client.get("/v1/me").status_code == 401


def test_a_token_of_another_key_is_refused_and_a_new_key_is_learned(provider, person):
    provider.signing = RSAKey.generate_key(2048, {"kid": "one"})
    assert person("eva", ["flu team"])[1].status_code == 403
    before, provider.key = provider.key, provider.signing
    try:
        client, answer = person("eva", ["flu team"])
    finally:
        provider.key = before
    assert answer.status_code == 200
    assert client.get("/v1/me").status_code == 200


def test_what_nobody_has_begun_is_refused(site):
    for said in ("", "?code=x", "?state=x&code=x", "?error=access_denied&state=x"):
        assert httpx.get(f"{site[0]}/login/callback{said}").status_code == 403


def test_the_page_offers_the_provider_and_passwords_where_there_are_any(site):
    url, counter = site
    text = httpx.get(f"{url}/login").text
    assert "/login/provider" in text
    assert "password" not in text
    counter.directory.passwords.put("ana", served.PASSWORD)
    assert "password" in httpx.get(f"{url}/login").text


def test_a_provider_is_reached_over_tls_or_on_this_machine(tmp_path):
    path = served.written(tmp_path)
    site = SITE.format(issuer="http://login.example", client=CLIENT)
    path.write_text(path.read_text() + site)
    (tmp_path / "oidc.secret").write_text(SECRET)
    counter = ServiceCounter(read_site(path))
    try:
        with listening(lambda _: create_app(counter, mount=mount)) as url:
            refused = httpx.get(f"{url}/login/provider")
            assert refused.status_code == 403
            assert "not https" in refused.text
    finally:
        counter.close()
