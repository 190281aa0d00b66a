"""Every screen: found by axe, on a telephone, on paper, in the dark, and without scripts."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe

from discreet.documents import QuestionDocument
from discreet.web.local_server import local_application
from tests.web.pictures import picture
from tests.web.served import HOSTILE, listening, served, write_visits

QUESTION = "SELECT ward, COUNT(*) AS visits, AVG(cost) AS cost FROM visits GROUP BY ward"
RULES = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"],
    "resultTypes": ["violations"],  # all of them; what passes is told by one element of each rule
}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A site with two datasets, accounts, and answers on record."""
    folder = tmp_path_factory.mktemp("site")
    with served(folder, second=True) as (address, counter):
        stan, ana = (counter.directory.find(name) for name in ("stan", "ana"))
        counter.open_account(stan, "clinic", "data/flu", budget=None)
        counter.open_account(
            stan, "clinic", "data/flu/ana", budget={"epsilon": "0.6", "delta": "1e-9"}
        )
        for epsilon, question in (("0.05", QUESTION), ("0.02", "SELECT COUNT(*) AS n FROM visits")):
            counter.ask(
                ana, "clinic", QuestionDocument.read({"question": question, "epsilon": epsilon})
            )
        limits = {"epsilon": "0.9", "delta": "1e-9"}
        counter.request(
            ana, "clinic", account="data/flu/ana", budget=limits, reason=f"more {HOSTILE}"
        )
        yield address, counter


def fine(page, name, scheme):
    """Check a page with axe, on a telephone and on paper."""
    found = Axe().run(page, options=RULES)
    assert not found.response["violations"], (name, found.generate_report())
    picture(page, f"{name}-{scheme}")
    page.set_viewport_size({"width": 390, "height": 844})
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 390, (name, width)
    if scheme == "light":
        picture(page, f"{name}-phone")
        page.set_viewport_size({"width": 800, "height": 1100})
        page.emulate_media(media="print")
        assert page.locator("nav.rail:visible, button:visible").count() == 0
        picture(page, f"{name}-print")
        page.emulate_media(media="screen", color_scheme=scheme)
    page.set_viewport_size({"width": 1280, "height": 720})


def planned(page, amount, action):
    page.goto("/data/clinic/query")
    page.fill("#sql", QUESTION)
    page.fill("#amount", amount)
    page.click(f"[name=action][value={action}]:not(.hidden)")
    page.wait_for_selector("#plan-title, .refused")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_screen_passes_axe_and_fits_a_phone_and_paper(visit, site, scheme):
    address, counter = site
    nobody = visit(address, color_scheme=scheme).page
    nobody.goto("/login")
    fine(nobody, "login", scheme)

    page = visit(address, "ana", color_scheme=scheme).page
    for name in ("datasets", "tokens", "data/clinic/releases", "nothing"):
        page.goto(f"/{name}")
        fine(page, name.rpartition("/")[2], scheme)
    planned(page, "0.05", "dry")
    page.wait_for_selector("#dummy-title")
    assert "made up" in page.inner_text("#dummy-title")
    for tab in ("click", "python"):
        page.click(f"label[for=tab-{tab}]")
        fine(page, f"query-{tab}", scheme)
    planned(page, "0.05", "plan")
    assert page.locator("svg:has-text('How exact, at which price') polyline").count()
    fine(page, "plan", scheme)
    planned(page, "0.9", "plan")
    page.wait_for_selector("#ways")
    assert "data/flu/ana (yours)" in page.inner_text("#ways")
    fine(page, "ways", scheme)
    page.goto("/data/clinic/releases")
    page.click("[aria-label='What you have asked'] button")
    page.wait_for_selector("text=this cost nothing")
    answer = page.url
    for name in ("", "/explain/subject", "/explain/auditor", "/label"):
        page.goto(f"{answer}{name}")
        fine(page, f"answer{name.replace('/', '-')}", scheme)

    page = visit(address, "olga", color_scheme=scheme).page
    last = counter.ledger(counter.directory.find("olga"), "clinic").receipt.seq
    names = ("log", "data/clinic/budget", "data/clinic/ledger", "data/clinic/label")
    entries = (f"data/clinic/ledger/{last - 2}", f"data/clinic/releases/{last}")
    for name in (*names, *entries):
        page.goto(f"/{name}")
        if scheme == "light":
            for summary in page.locator("main summary").all():
                summary.click()
        fine(page, "-".join(name.split("/")[-2:]), scheme)


def test_states_that_are_rare_pass_axe(visit, site, tmp_path):
    address, _ = site
    ana = visit(address, "ana").page
    planned(ana, "0.3", "plan")
    ana.click("[data-key=ask]")
    ana.wait_for_selector("text=Tick this first")
    fine(ana, "confirm", "light")


def test_an_answer_is_three_clicks_away_from_landing(visit, site):
    address, _ = site
    page = visit(address, "ana").page
    page.wait_for_url("**/data/clinic/query")  # where an analyst lands
    page.fill("#sql", "SELECT COUNT(*) AS n FROM visits")
    page.fill("#amount", "0.02")
    page.click("[data-key=plan]")
    page.wait_for_selector("#plan-title")
    page.click("[data-key=ask]")
    page.wait_for_selector("[aria-label='The answer as a table']")


def test_keys_run_dry_and_never_spend_what_was_not_planned(visit, site):
    address, counter = site
    caller = counter.directory.find("ana")
    page = visit(address, "ana").page
    page.goto("/data/clinic/query")
    page.fill("#sql", "SELECT AVG(cost) AS c FROM visits")
    page.fill("#amount", "0.3")
    last = counter.ledger(caller, "clinic").receipt
    page.keyboard.press("Control+Shift+Enter")  # plans: there is nothing to confirm yet
    page.wait_for_selector("#plan-title")
    page.keyboard.press("Meta+Shift+Enter")
    page.wait_for_selector("text=Tick this first")
    page.keyboard.press("Meta+Enter")
    page.wait_for_selector("#dummy-title")
    assert counter.ledger(caller, "clinic").receipt == last


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_wizard_passes_axe(visit, tmp_path, scheme):
    write_visits(tmp_path / "visits.csv", rows=9)
    holder = {}

    def app_for(port):
        holder["open"] = local_application(tmp_path / "clinic.toml", port=port)
        return holder["open"].__enter__()

    with listening(app_for) as address:
        page = visit(address, color_scheme=scheme).page
        page.goto("/wizard")
        fine(page, "wizard", scheme)
        page.click("button.main")
        fine(page, "wizard-questions", scheme)
        page.select_option("#unit", "patient")
        page.click("text=Look again")
        page.click("button.main")
        fine(page, "wizard-review", scheme)
    holder["open"].__exit__(None, None, None)


def test_all_of_it_works_without_a_script(visit, site):
    address, _ = site
    page = visit(address, "ana", java_script_enabled=False).page
    page.goto("/data/clinic/query")
    page.click("label[for=tab-click]")
    page.select_option("#aggregate", "avg")
    page.select_option("#column", "cost")
    page.select_option("#groups", "ward")
    page.click("[value=build]")
    assert "AVG(`cost`)" in page.input_value("#sql")
    page.fill("#amount", "0.9")
    page.click("[data-key=plan]")
    assert "It does not fit" in page.inner_text("#ways")
    page.click("[name=way][value='1']")
    assert "GROUP BY" not in page.input_value("#sql")
    page.fill("#amount", "0.03")
    page.press("#amount", "Enter")  # plans
    assert "0.03" in page.inner_text("dl.figures")
    page.click("[data-key=ask]")
    page.wait_for_selector("[aria-label='The answer as a table']")
    page.goto("/data/archive/releases")
    page.click(".switch summary")
    page.click(".switch a:text-is('clinic')")
    assert page.url.endswith("/data/clinic/releases")


def test_all_of_it_works_by_keys(visit, site):
    address, _ = site
    page = visit(address, "ana").page
    page.goto("/data/clinic/query")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the page"
    page.keyboard.press("Enter")
    page.focus("#tab-sql")
    page.keyboard.press("Tab")
    page.keyboard.type("SELECT COUNT(*) AS n FROM visits")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#plan-title:focus")  # what is new is read out
    page.focus("#tab-sql")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert "dp.connect" in page.inner_text("#as-python")


def test_budgets_by_account_purpose_and_person(visit, site):
    address, _ = site
    sender = visit(address, "ana").page
    for amount in ("0.9", "0.91", "0.92"):
        planned(sender, amount, "plan")
        sender.wait_for_selector("#ways")
    page = visit(address, "stan").page
    page.goto("/data/clinic/budget")
    said = page.inner_text("main")
    assert "request waits for a decision" in said
    assert re.search(r"ana was refused \d+ times within an hour", said)
    row = page.locator(".budgets tr", has_text="data/flu/ana")
    assert row.locator("td").first.inner_text() == "ana"
    assert row.locator("svg polyline").count() == 1
    picture(page, "budget-accounts")


def test_a_viewer_reads_what_was_released_and_asks_nothing(visit, site):
    address, _ = site
    page = visit(address, "vi").page
    page.goto("/data/clinic/releases")
    page.click("[aria-label='All published answers'] tbody tr:last-child a")
    assert HOSTILE in page.inner_text("table")
    assert "of 100" in page.inner_text("main")
    assert page.goto("/data/clinic/query").status == 403


def test_a_token_is_shown_once_works_and_is_revoked(visit, site):
    address, counter = site
    page = visit(address, "ana").page
    page.goto("/tokens")
    page.fill("#note", f"mine {HOSTILE}")
    page.click("button.main")
    token = page.inner_text("#token")
    assert counter.tokens.find(token).person == "ana"
    page.goto("/tokens")
    assert token not in page.content()
    assert HOSTILE in page.inner_text("table")
    page.click("button.danger")
    page.wait_for_selector("text=revoked")
    assert counter.tokens.find(token) is None
    page.fill("#days", "0")
    page.click("button.main")
    assert "1 to 365 days" in page.inner_text(".refused")


def test_kept_receipts_are_checked_against_the_past(visit, site):
    address, counter = site
    caller = counter.directory.find("aud")
    kept = str(counter.ledger(caller, "clinic").receipt)
    page = visit(address, "aud").page
    for receipt, words in ((kept, "1 kept receipt belongs"), (kept[:-1] + "x", "receipt")):
        page.goto("/data/clinic/ledger")
        page.click("text=Receipts that you kept")
        page.fill("#receipts", receipt)
        page.click("text=Verify that the ledger")
        assert words in page.inner_text(".fine" if receipt == kept else ".refused")
