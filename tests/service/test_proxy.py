"""Behind a proxy: its headers say who calls, and from where, to those who trust it."""

import httpx
import pytest

from discreet.service import ServiceCounter, create_app, read_site
from discreet.service.credentials import RateLimits
from discreet.web.pages import mount
from tests.service import served
from tests.web.served import listening

SITE = """
[proxy]
addresses = ["{address}"]
user = "X-Forwarded-User"
groups = "X-Forwarded-Groups"
[groups."flu team"]
roles = ["analyst"]
datasets = ["clinic"]
[groups.stewards]
roles = ["steward"]
"""
QUERY = {"question": "SELECT COUNT(*) AS n FROM visits", "epsilon": "0.5"}


def behind(folder, address, **changes):
    path = served.written(folder)
    text = path.read_text() + SITE.format(address=address)
    for old, new in changes.items():
        text = text.replace(f"{old} = 1000000", f"{old} = {new}")
    path.write_text(text)
    return ServiceCounter(read_site(path))


@pytest.fixture
def login():
    """Open pages as a proxy does; the clients are closed in the end."""
    clients = []

    def begin(url, name, groups):
        headers = {"X-Forwarded-User": name, "X-Forwarded-Groups": groups}
        clients.append(httpx.Client(base_url=url, timeout=60))
        return clients[-1], clients[-1].get("/login", headers=headers)

    yield begin
    for client in clients:
        client.close()


@pytest.fixture(scope="module")
def trusted(tmp_path_factory):
    counter = behind(tmp_path_factory.mktemp("trusted"), "127.0.0.1")
    app = create_app(counter, mount=mount)
    with listening(lambda _port: app) as url:
        yield url, counter
    counter.close()


def test_whom_the_proxy_names_has_what_the_site_file_grants_to_their_groups(trusted, login):
    url, counter = trusted
    client, answer = login(url, "eva", "flu team, others")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    me = client.get("/v1/me").json()
    assert me["person"] == "eva"
    assert me["grants"] == [{"roles": ["analyst"], "datasets": ["clinic"]}]
    token = client.get("/tokens").text.split('name="csrf" value="')[1].split('"')[0]
    scope = {"scope": ["plan", "ask"]}
    made = client.post("/v1/tokens", json=scope, headers={"X-CSRF-Token": token}).json()["token"]
    headers = {"Authorization": f"Bearer {made}"}
    place = f"{url}/v1/datasets/clinic/queries"
    assert httpx.post(place, json=QUERY, headers=headers, timeout=60).status_code == 200
    assert counter.directory.find("eva") is None  # what she may do comes from her groups alone


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("eva", ""),
        ("eva", "others"),
        ("eva", "flu team,stewards"),
        ("sue", "flu team"),
        ("olga@elsewhere.example", "flu team"),
    ],
)
def test_who_has_no_role_or_two_that_exclude_each_other_is_refused(trusted, login, name, groups):
    url, _ = trusted
    client, answer = login(url, name, groups)
    assert answer.status_code == 403
    assert client.get("/v1/me").status_code == 401


def test_nobody_but_the_proxy_is_believed(tmp_path, login):
    counter = behind(tmp_path, "10.9.8.7")
    app = create_app(counter, mount=mount)
    try:
        with listening(lambda _port: app) as url:
            client, answer = login(url, "olga", "flu team")
            assert (answer.status_code, "password" in answer.text) == (200, True)
            assert client.get("/v1/me").status_code == 401
    finally:
        counter.close()


def test_callers_behind_a_proxy_are_limited_one_by_one_and_health_is_not(tmp_path):
    counter = behind(tmp_path, "127.0.0.1", calls_per_minute=3)
    app = create_app(counter, mount=mount)
    try:
        with listening(lambda _port: app) as url:

            def statuses(origin, path="/v1/me"):
                headers = {"X-Forwarded-For": f"1.2.3.4, {origin}"}
                return [httpx.get(url + path, headers=headers).status_code for _ in range(5)]

            assert statuses("9.9.9.1") == [401] * 3 + [429] * 2
            assert statuses("9.9.9.2") == [401] * 3 + [429] * 2
            assert statuses("9.9.9.2", "/v1/health") == [200] * 5
            assert statuses("9.9.9.2", "/v1/ready") == [200] * 5
    finally:
        counter.close()


def test_wrong_passwords_from_elsewhere_lock_nobody_out_and_cookies_are_secure(tmp_path):
    counter = behind(tmp_path, "127.0.0.1")
    counter.directory.passwords.put("olga", served.PASSWORD)
    counter.login_rates = RateLimits(per_minute=1)
    app = create_app(counter, mount=mount)

    def tried(url, origin, password, scheme="https"):
        headers = {"X-Forwarded-For": origin, "X-Forwarded-Proto": scheme}
        said = {"name": "olga", "password": password}
        return httpx.post(f"{url}/v1/login", json=said, headers=headers, timeout=60)

    try:
        with listening(lambda _port: app) as url:
            wrong = [tried(url, "9.9.9.1", "a wrong password").status_code for _ in range(3)]
            assert wrong[0] == 403
            assert 429 in wrong
            entered = tried(url, "9.9.9.2", served.PASSWORD)
            assert entered.status_code == 200
            assert "; Secure" in entered.headers["set-cookie"]
            plain = tried(url, "9.9.9.3", served.PASSWORD, scheme="http")
            assert "; Secure" not in plain.headers["set-cookie"]
    finally:
        counter.close()
