"""Forged forms, foreign hosts, large bodies, paths and names that try to break out."""

import os
import re
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from discreet.documents import QuestionDocument
from discreet.service.credentials import RateLimits
from discreet.web.desk import Desk
from discreet.web.pages import web_application
from discreet.web.rendering import POLICY
from tests.web.served import HOSTILE, PASSWORD, listening

FORM = re.compile(r'name="csrf" value="([^"]*)"')


@pytest.fixture
def ana(site):
    address, _ = site
    with httpx.Client(base_url=address, follow_redirects=False, timeout=60) as client:
        client.post("/login", data={"name": "ana", "password": PASSWORD})
        yield client


def token(client):
    return FORM.search(client.get("/data/clinic/query").text)[1]


PAGES = (
    "/login",
    "/datasets",
    "/data/clinic/query",
    "/data/clinic/budget",
    "/data/clinic/releases",
    "/data/clinic/label",
    "/tokens",
    "/assets/workbench.css",
    "/nothing",
)


@pytest.mark.parametrize("path", PAGES)
def test_every_response_has_a_strict_policy_and_no_script_or_style_inside(ana, path):
    found = ana.get(path)
    assert found.headers["content-security-policy"] == POLICY
    assert "unsafe" not in POLICY
    assert found.headers["cache-control"] in {"no-store", "no-cache"}
    if path.startswith("/assets"):
        return
    assert found.headers["cache-control"] == "no-store"
    tags = "".join(re.findall(r"<[^<>]*>", found.text))  # text is escaped, and has none
    assert not re.search(r"<style|<script(?! src=)|\son\w+=|\sstyle=|javascript:", tags)
    assert not re.search(r'(?:src|href|action)="(?:https?:)?//', found.text)


def test_cookies_are_for_this_site_and_no_script(site):
    address, _ = site
    sent = httpx.post(f"{address}/login", data={"name": "ana", "password": PASSWORD}).headers
    assert "httponly" in sent["set-cookie"].lower()
    assert "samesite=strict" in sent["set-cookie"].lower()


def test_a_planted_cookie_is_worth_nothing(site):
    address, _ = site
    planted = {"cookie": "discreet=" + "0" * 64}
    sent = httpx.post(
        f"{address}/login", data={"name": "ana", "password": PASSWORD}, headers=planted
    )
    assert "0" * 64 not in sent.headers["set-cookie"]
    found = httpx.get(f"{address}/data/clinic/query", headers=planted)
    assert (found.status_code, found.headers["location"]) == (303, "/login")


def test_wrong_passwords_are_refused_alike(site):
    address, _ = site
    texts = {
        httpx.post(f"{address}/login", data={"name": name, "password": "wrong"}).text
        for name in ("vi", "nobody")
    }
    assert len(texts) == 1


POSTS = (
    "/logout",
    "/tokens",
    "/tokens/revoke",
    "/wizard/questions",
    "/wizard/review",
    "/wizard/write",
    "/data/clinic/query",
    "/data/clinic/ledger",
    "/data/clinic/ledger/4/reopen",
    "/data/clinic/ledger/export/csv",
    "/data/clinic/requests",
    "/data/clinic/requests/1",
    "/data/clinic/releases/4",
    "/data/clinic/answers/x/cancel",
    "/data/clinic/answers/x/remeasure",
)


def test_every_form_is_listed_here():
    routes = web_application(None).routes
    paths = {
        route.path for route in _all(routes) if "POST" in (getattr(route, "methods", None) or ())
    }
    listed = {re.sub(r"\{\w+\}", "X", path) for path in paths}
    known = {"/login"}  # nobody is logged in there
    tested = {
        path.replace("clinic", "X")
        .replace("/x/", "/X/")
        .replace("/1", "/X")
        .replace("/4", "/X")
        .replace("/csv", "/X")
        for path in POSTS
    }
    assert listed == tested | known


def _all(routes):
    for route in routes:
        inner = getattr(route, "original_router", None)
        yield from _all(inner.routes) if inner is not None else [route]


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize("forged", ["", "0" * 64])
def test_a_form_without_the_token_does_nothing(ana, site, path, forged):
    _, counter = site
    ledger = counter.ledger(counter.directory.find("ana"), "clinic")
    before = ledger.receipt
    found = ana.post(path, data={"csrf": forged, "sql": "SELECT COUNT(*) AS n FROM visits"})
    assert found.status_code == 403
    assert "own pages" in found.text
    assert ledger.receipt == before


@pytest.mark.parametrize(
    "headers",
    [{"origin": "https://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}],
)
def test_a_form_from_another_site_is_refused_even_with_the_token(ana, headers):
    data = {"csrf": token(ana), "sql": "SELECT COUNT(*) AS n FROM visits", "action": "ask"}
    found = ana.post("/data/clinic/query", data=data, headers=headers)
    assert found.status_code == 403


def test_bodies_are_small_and_have_a_length(ana):
    data = {"csrf": token(ana), "sql": "x" * 300_000}
    assert ana.post("/data/clinic/query", data=data).status_code in {413, 422}
    pieces = (piece for piece in [b"csrf=1"])
    assert ana.post("/data/clinic/query", content=pieces).status_code == 422


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../desk.py",
        "/assets/..%2fdesk.py",
        "/assets/%2e%2e/desk.py",
        "/data/..%2f..%2fetc/query",
        "/data/clinic%0d%0aSet-Cookie:x=1/query",
        "/data/clinic/answers/..%2f..%2fx",
        "/data/other/query",
    ],
)
def test_paths_lead_nowhere_else(ana, path):
    found = ana.get(path)
    assert found.status_code in {303, 404}
    assert "x=1" not in found.headers.get("set-cookie", "")


def test_the_text_of_a_question_is_in_no_address(ana):
    data = {"csrf": token(ana), "amount": "0.01", "action": "ask"}
    data["sql"] = "SELECT COUNT(*) AS secretword FROM visits"
    found = ana.post("/data/clinic/query", data=data)
    assert found.status_code == 303
    assert "secretword" not in found.headers["location"]
    shown = ana.get(found.headers["location"])
    assert "secretword" in shown.text


def test_hostile_strings_stay_text_in_a_real_browser(visit, site):
    """Categories, aliases, questions, titles, reasons; the browser must complain of none."""
    address, _ = site
    one = visit(address, "ana")
    page = one.page
    quoted = HOSTILE.replace("'", "''")
    alias = "<script>document.title='broken'</script>"
    count = f"SELECT ward, COUNT(*) AS `{alias}`"
    question = f"{count} FROM visits WHERE ward <> '{quoted}' GROUP BY ward"
    for text in (
        question,
        f"SELECT {HOSTILE}",
        '</textarea><script>document.title="broken"</script>',
    ):
        page.goto("/data/clinic/query")
        page.fill("#sql", text)
        page.fill("#amount", "0.02")
        page.click("[data-key=plan]")
        page.wait_for_selector(".refused, #plan-title")
        assert page.input_value("#sql") == text
    page.goto("/data/clinic/query")
    page.fill("#sql", question)
    page.fill("#amount", "0.02")
    page.click("[data-key=plan]")
    page.wait_for_selector("#plan-title")
    page.click("[data-key=ask]")
    page.wait_for_selector("[aria-label='The answer as a table']")
    assert alias in page.inner_text("table")
    answer = page.url
    paths = ["/datasets", "/data/clinic/budget", "/data/clinic/releases", "/data/clinic/label"]
    paths += [f"{answer}/label", f"{answer}/explain/subject", f"{answer}/explain/auditor"]
    for path in paths:
        page.goto(path)
        assert "broken" not in page.title()
        assert page.locator("main img, main script").count() == 0
    page.goto("/login")
    page.fill("#name", HOSTILE)
    page.fill("#password", HOSTILE)
    page.click("button.main")
    page.wait_for_selector(".refused")
    assert "broken" not in page.title()


def test_only_own_names_of_the_machine_are_answered(site):
    _, counter = site

    desk = Desk(counter, secret="x")  # noqa: S106
    with listening(lambda port: web_application(desk, hosts=(f"127.0.0.1:{port}",))) as other:
        assert httpx.get(f"{other}/login").status_code == 200
        rebound = httpx.get(f"{other}/login", headers={"host": "evil.example"})
        assert rebound.status_code == 421


LONG = "9" * 5000


@pytest.mark.parametrize("path", ["releases", "releases/{}/label", "ledger/{}"])
def test_entries_that_no_ledger_has_are_not_found(ana, path):
    for number in ("9" * 30, LONG, "-1"):
        filled = path.format(number) if "{}" in path else f"{path}/{number}"
        assert ana.get(f"/data/clinic/{filled}").status_code in {403, 404, 422}


def test_long_numbers_in_other_forms_are_none(ana):
    data = {"csrf": token(ana), "sql": "SELECT COUNT(*) AS n FROM visits", "size": LONG}
    assert ana.post("/data/clinic/query", data={**data, "action": "plan"}).status_code < 500
    assert ana.post("/data/clinic/ledger", data={**data, "shown": LONG}).status_code < 500


def test_trying_passwords_on_the_page_is_limited_by_address(site, monkeypatch):
    """Each try takes 64 MiB for a while; names are not locked, so that nobody locks others out."""
    address, counter = site
    monkeypatch.setattr(counter, "login_rates", RateLimits(per_minute=3))
    said = {"name": "ana", "password": "a wrong password"}
    found = [httpx.post(f"{address}/login", data=said) for _ in range(5)]
    assert [each.status_code for each in found] == [403] * 3 + [429] * 2
    monkeypatch.setattr(counter, "login_rates", RateLimits(per_minute=1000))
    said["password"] = PASSWORD
    assert httpx.post(f"{address}/login", data=said).status_code == 303


def test_pages_that_wait_for_answers_stop_no_others(ana, site):
    """Forty people look at answers that are under way, and another page comes at once."""
    address, counter = site
    (worker,) = counter.workers("clinic")
    os.kill(worker, signal.SIGSTOP)
    try:
        form = QuestionDocument.read(
            {"question": "SELECT COUNT(*) AS n FROM visits", "rho": "0.001"}
        )
        job = counter.begin(counter.directory.find("ana"), "clinic", form)
        place = f"{address}/data/clinic/answers/{job.id}"
        with ThreadPoolExecutor(60) as pool, httpx.Client(timeout=60) as nobody:
            nobody.get(f"{address}/login")
            waiting = [pool.submit(ana.get, place) for _ in range(60)]
            time.sleep(0.5)
            begun = time.monotonic()
            assert nobody.get(f"{address}/login").status_code == 200
            assert time.monotonic() - begun < 1
            assert sum(each.done() for each in waiting) == 0
        assert all("Under way" in each.result().text for each in waiting)
    finally:
        os.kill(worker, signal.SIGCONT)
    assert job.wait(60)
