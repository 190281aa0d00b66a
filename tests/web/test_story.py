"""The whole story in a real browser, and every screen in every light."""

import contextlib
import os
import signal
from pathlib import Path

from discreet.documents import QuestionDocument
from discreet.web.local_server import local_application
from tests.web.pictures import guide, picture
from tests.web.served import HOSTILE, listening, write_visits

QUESTION = "SELECT ward, COUNT(*) AS visits, AVG(cost) AS cost FROM visits GROUP BY ward"


def ask(page, question, amount, *, confirm=False):
    page.fill("#sql", question)
    page.fill("#amount", amount)
    page.click("[data-key=plan]")
    page.wait_for_selector("#plan-title")
    if confirm:
        page.check("[name=confirm]")
    page.click("[data-key=ask]")
    page.wait_for_selector("[aria-label='The answer as a table']")


def test_from_the_wizard_to_an_answer_on_a_laptop(visit, tmp_path):  # noqa: PLR0915  a story
    write_visits(tmp_path / "visits.csv", wards=("north", "north", "south", "west"))
    holder = {}

    def app_for(port):
        holder["open"] = local_application(tmp_path / "clinic.toml", port=port)
        return holder["open"].__enter__()

    with listening(app_for) as address:
        page = visit(address, viewport={"width": 1000, "height": 720}).page
        page.goto("/")
        assert "Whose data is it?" in page.inner_text("h1")
        page.click("button.main")
        assert page.input_value("#unit") == "patient"  # as the rows say
        ward, cost = (f"[name='line.visits.{name}']" for name in ("ward", "cost"))
        assert page.input_value(ward) == "text north, south, west"
        page.fill(cost, "900..0")
        page.click("button.main")
        assert page.inner_text(".refused")  # bounds the wrong way around
        page.fill(cost, "float 0..900")
        page.fill("#epsilon", "2")
        guide(page, "wizard")
        page.click("button.main")
        assert 'unit = "patient"' in page.inner_text("pre")
        assert "confirmed by the owner after looking" in page.inner_text("pre")
        assert "Ten questions at 0.2 each" in page.inner_text("main")
        assert not (tmp_path / "clinic.toml").exists()
        page.click("button.main")
        page.wait_for_url("**/data/clinic/query")
        assert "ledger_id" in (tmp_path / "clinic.toml").read_text()
        page.click("label[for=tab-click]")
        page.select_option("#aggregate", "avg")
        page.select_option("#column", "cost")
        page.select_option("#groups", "ward")
        page.click("[value=build]")
        page.wait_for_selector("#plan-title")
        assert "AVG(`cost`)" in page.input_value("#sql")
        page.fill("#amount", "0.2")
        page.click("[data-key=plan]")
        page.wait_for_selector("dd:has-text('epsilon 0.2')")
        guide(page, "plan")
        page.check("[name=confirm]")  # a mean by ward is weak here
        page.keyboard.press("Control+Shift+Enter")
        page.wait_for_selector("[aria-label='The answer as a table']")
        assert "±" in page.inner_text("table")
        guide(page, "answer")
        assert page.locator("p.fine").count() == 1
        assert page.locator("main .card p.soft:visible").count() <= 6  # the rest on request
        page.goto("/data/clinic/query")
        page.fill("#sql", "SELECT cost, COUNT(*) AS n FROM visits GROUP BY cost")
        page.fill("#amount", "0.01")
        page.click("[data-key=dry]")  # the first step
        page.wait_for_selector("#plan-title")
        assert "Hardly any group would be shown" in page.inner_text("#work")
        page.wait_for_selector("#dummy-title")
        page.check("[name=confirm]")
        page.click("[data-key=ask]")
        page.wait_for_selector("text=The answer is empty")
        assert page.locator("p.fine").count() == 0
        assert page.locator("#more").count() == 0
        page.goto("/data/clinic/query")
        page.fill("#sql", "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward")
        page.fill("#amount", "2")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#ways")
        page.evaluate("document.querySelector('#ways').scrollIntoView()")
        guide(page, "ways")
        for name in ("budget", "ledger"):
            page.goto(f"/data/clinic/{name}")
            guide(page, name)
        page.click("tr:has-text('released') a")
        page.wait_for_selector("text=Its mechanisms, exactly")
        page.evaluate("document.querySelectorAll('main .card')[1].scrollIntoView()")
        guide(page, "entry")
        page.goto("/wizard")
        assert "there is a policy already" in page.inner_text(".refused")
    holder["open"].__exit__(None, None, None)


def test_refusal_request_raise_by_two_people_label_and_audit(visit, site):  # noqa: PLR0915  a story
    address, counter = site
    ana = visit(address, "ana", viewport={"width": 1100, "height": 800})
    page = ana.page
    page.wait_for_url("**/data/clinic/query")
    page.fill("#sql", "SELECT ward, AVG(costs) AS c FROM visits GROUP BY ward")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".refused")
    assert page.inner_text(".refused mark") == "costs"
    picture(page, "refusal")
    page.fill("#sql", QUESTION)
    page.fill("#amount", "0.5")
    page.click("[data-key=plan]")
    page.wait_for_selector("#plan-title")
    picture(page, "plan")
    page.click("[data-key=ask]")
    page.wait_for_selector("text=Tick this first")  # half of the budget is confirmed
    assert counter.ledger(counter.directory.find("ana"), "clinic").receipt.seq < 4
    page.check("[name=confirm]")
    page.click("[data-key=ask]")
    page.wait_for_selector("[aria-label='The answer as a table']")
    assert HOSTILE in page.inner_text("table")
    picture(page, "answer")
    answer = page.url
    for audience in ("analyst", "subject", "steward", "auditor"):
        page.goto(f"{answer}/explain/{audience}")
        assert "of 100" in page.inner_text("main")
    page.goto(f"{answer}/label")
    assert "Protects" in page.inner_text("table")
    page.goto(answer)
    page.fill("#amount", "0.1")
    page.click("[value=plan]")
    page.wait_for_selector("#more dt:text('visits, both combined')")
    page.click("text=Remeasure")
    page.wait_for_selector("text=and epsilon 0.1")
    page.goto("/data/clinic/query")
    page.fill("#sql", QUESTION)
    page.fill("#amount", "0.9")
    page.click("[data-key=plan]")
    page.wait_for_selector("#ways")
    assert "It does not fit" in page.inner_text("#ways h2")
    assert page.locator("[data-key=ask]").count() == 0
    picture(page, "ways-out")
    page.click("[name=way][value='0']")  # a wider error
    page.wait_for_selector("text=It leaves")
    page.fill("#amount", "0.9")
    page.click("[data-key=plan]")
    page.wait_for_selector("#ways")
    page.click("#ways button[formaction]")  # one click, and it is logged
    page.wait_for_selector("#request td:last-child:text-is('open')")
    page.fill("#epsilon", "3")
    page.fill("#reason", f"a second year {HOSTILE}")
    page.click("#request button:text('Ask the steward')")
    page.wait_for_selector("#request tbody tr:nth-child(2)")

    stan = visit(address, "stan", viewport={"width": 1100, "height": 800})
    stan.page.wait_for_url("**/data/clinic/budget")
    assert HOSTILE in stan.page.inner_text("#request")
    picture(stan.page, "budget")
    stan.page.click("text=Approve")
    assert "approved by stan" in stan.page.inner_text("#request")

    page.goto("/data/clinic/query")
    ask(page, QUESTION, "0.9", confirm=True)
    page.goto("/data/clinic/releases")
    assert page.locator("[aria-label='What you have asked'] tbody tr").count() == 3
    picture(page, "releases")
    page.click("tbody tr:last-child button")
    page.wait_for_selector("text=this cost nothing")

    aud = visit(address, "aud", viewport={"width": 1100, "height": 800}).page
    aud.wait_for_url("**/data/clinic/ledger")
    assert "by ana and stan" in aud.inner_text("table")
    aud.click("text=Verify the chain")
    aud.wait_for_selector("text=no account is overspent")
    picture(aud, "ledger")
    aud.click("tr:has-text('released') a")
    aud.wait_for_selector("text=Its mechanisms, exactly")
    aud.click("text=its privacy label")
    aud.wait_for_selector("h1:text('Privacy label of R-')")
    aud.goto("/data/clinic/ledger")
    aud.click("tbody tr:last-child a")
    aud.wait_for_selector("text=What it records")
    aud.goto("/log")
    assert "Security log" in aud.inner_text("main")
    assert aud.goto("/data/clinic/query").status == 403
    assert aud.goto("/people").status == 404


def test_a_question_under_way_can_be_canceled_and_completes_later(visit, site):
    address, counter = site
    caller = counter.directory.find("ana")
    form = QuestionDocument.read(
        {"question": "SELECT COUNT(*) AS n FROM visits", "epsilon": "0.01"}
    )
    page = visit(address, "ana").page
    (worker,) = counter.workers("clinic")
    os.kill(worker, signal.SIGSTOP)
    try:
        job = counter.begin(caller, "clinic", form)
        page.goto(f"/data/clinic/answers/{job.id}")
        assert "Under way" in page.inner_text("h2")
        picture(page, "under-way")
        page.click("button.danger")
        page.wait_for_selector(".refused")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker, signal.SIGCONT)
    page.goto("/data/clinic/query")
    ask(page, "SELECT COUNT(*) AS n FROM visits", "0.01")


def test_the_pictures_of_the_guide_are_small_and_used():
    folder = Path(__file__).parents[2] / "docs" / "guide"
    pictures = sorted(folder.glob("pictures/workbench-*.png"))
    text = (folder / "workbench.md").read_text()
    assert len(pictures) >= 6
    for each in pictures:
        assert each.stat().st_size < 100_000
        assert f"pictures/{each.name}" in text
