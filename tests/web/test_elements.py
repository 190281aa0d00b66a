"""Elements of the screens by plain HTTP: what pages say is what the ledger and the plans say."""

import re
from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace

import httpx
import pytest

from discreet.accounting import Leaf, encode
from discreet.documents import QuestionDocument
from discreet.errors import DamagedLedger, DiscreetError, TryAgain
from discreet.ledger.ledger_view import LedgerView
from discreet.ledger.values import Receipt
from discreet.ledger.witness import Anchor, WitnessFile
from discreet.loss import Pure, ZeroConcentrated
from discreet.mechanisms import Gaussian, Laplace
from discreet.service import ServiceCounter, create_app, read_site
from discreet.service.roles import check_name
from discreet.web.ledger_facts import LedgerRow, attention, chained, curves, mechanism_facts
from discreet.web.pages import mount
from tests.service.processes import until
from tests.service.test_spending import Stalls
from tests.web.served import HOSTILE, PASSWORD, listening, write_site
from tests.web.test_security import FORM

QUESTION = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"
ALIAS = f"SELECT COUNT(*) AS `{HOSTILE}` FROM visits"  # noqa: S608  the alias is the point


@pytest.fixture(scope="module")
def people(site):
    """Ana, who asks; aud, who reads the ledger; and stan, who answers for it."""
    address, counter = site
    stan = counter.directory.find("stan")
    counter.open_account(stan, "clinic", "data/flu", budget=None)
    counter.open_account(stan, "clinic", "data/flu/ana", budget={"epsilon": "0.8", "delta": "1e-9"})
    clients = {}
    for name in ("ana", "aud", "stan"):
        clients[name] = httpx.Client(base_url=address, follow_redirects=True, timeout=60)
        clients[name].post("/login", data={"name": name, "password": PASSWORD})
    yield clients, counter
    for client in clients.values():
        client.close()


def asked(counter, question, epsilon, *more):
    prices = (epsilon, *more)
    forms = [QuestionDocument.read({"question": question, "epsilon": each}) for each in prices]
    return counter.ask(counter.directory.find("ana"), "clinic", *forms)


def record(counter):
    return counter.ledger(counter.directory.find("aud"), "clinic")


def token(client):
    return FORM.search(client.get("/tokens").text)[1]


def words(text):
    """The text of a page, without its tags."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", text))


def test_an_entry_shows_mechanisms_curve_and_label(people):
    clients, counter = people
    answer = asked(counter, ALIAS, "0.05").release.receipt.seq
    ledger = record(counter)
    charge = max(each["seq"] for each in ledger.entries() if each["kind"] == "charge")
    page = clients["aud"].get(f"/data/clinic/ledger/{charge}")
    assert page.status_code == 200
    (leaf,) = mechanism_facts(next(ledger.entries(charge - 1)))
    assert leaf.mechanism == "Laplace"
    assert leaf.parameters in page.text
    assert "delta at each epsilon" in page.text
    head = ledger.proved_receipts()[charge - 1].head
    assert head[:10] in page.text
    assert HOSTILE not in page.text
    label = clients["aud"].get(f"/data/clinic/releases/{answer}/label")
    assert f"R-{answer:04d}" in label.text
    assert "Protects" in label.text
    mine = clients["ana"].get(f"/data/clinic/releases/{answer}/label")
    assert mine.status_code == 200
    assert clients["aud"].get("/data/clinic/releases/9999/label").status_code == 422


def test_parameters_are_exact():
    tree = encode(Leaf(Gaussian(variance=Fraction(7, 3)), name=HOSTILE))
    (shown,) = mechanism_facts({"tree": tree})
    assert "variance 7/3, which is about 2.333" in shown.parameters
    assert mechanism_facts({"tree": {"kind": "unknown"}}) == []
    assert mechanism_facts({}) == []
    assert mechanism_facts({"tree": encode(Leaf(Laplace(scale=2)))})[0].parameters == "scale 2"


def test_the_curve_is_that_of_the_losses():
    before, after = [Pure(epsilon=1)], [Pure(epsilon=2), ZeroConcentrated(rho=4)]
    picture = curves([before, after], names=("before", "after"))
    assert f"{before[0].delta(0):.3g} (before)" in picture.description
    assert f"{min(each.delta(0) for each in after):.3g} (after)" in picture.description
    points = re.findall(r'<polyline[^>]*points="([^"]*)"', picture.svg(styled=False))
    lines = [[tuple(map(float, each.split(","))) for each in line.split()] for line in points]
    for line in lines[:2]:
        assert all(y <= later for (_, y), (_, later) in pairwise(line))  # down the page
    assert all(second <= first for (_, first), (_, second) in zip(*lines[:2], strict=True))
    assert curves([before, [Pure(epsilon=0)]], names=("a", "b")) is None


def test_the_chain_is_proved_before_it_is_shown(people, monkeypatch):
    _, counter = people
    ledger = record(counter)
    around = chained(ledger, 2)
    assert around.after == ledger.proved_receipts()[1]
    assert around.before == ledger.proved_receipts()[0].head
    assert chained(ledger, 1).before == ""
    rows = list(ledger._link.rows(0, answers=False))

    damaged = lambda _link, after, *, answers: iter((rows[0], rows[2]))  # noqa: E731
    monkeypatch.setattr(type(ledger._link), "rows", damaged)
    with pytest.raises(DamagedLedger):
        ledger._proved_rows(Receipt(rows[0].head[:32], 3, rows[2].head))


def test_another_draw_is_offered_with_its_price_and_confirmed(people):
    clients, counter = people
    ana = clients["ana"]
    first = asked(counter, QUESTION, "0.2")
    entry = first.release.receipt.seq
    found = ana.post(f"/data/clinic/releases/{entry}", data={"csrf": token(ana)})
    base = str(found.url)
    said = words(found.text)
    assert "25 % of your budget, 20 % of the dataset on another draw" in said
    offered = float(re.search(r"visits, both combined ± [\d.]+ → about ± ([\d.e+]+)", said)[1])
    charges = sum(each["kind"] == "charge" for each in record(counter).entries())

    def sent(**fields):
        data = {"csrf": token(ana), "by": "epsilon", **fields}
        return ana.post(f"{base}/remeasure", data=data)

    def paid():
        return sum(each["kind"] == "charge" for each in record(counter).entries()) - charges

    assert "Tick this first" in sent(amount="0.2", action="pay").text
    confirmed = re.search(r'name="confirm" value="([^"]*)"', found.text)[1]
    assert "Tick this first" in sent(amount="0.3", action="pay", confirm=confirmed).text
    assert "does not fit" in sent(amount="0.7", action="pay", confirm="yes").text
    for odd in ("x", "-1", "0", "", "1e400", HOSTILE):
        refused = sent(amount=odd, action="pay")
        assert refused.status_code in {200, 422}
        assert HOSTILE not in refused.text
    assert paid() == 0
    done = sent(amount="0.2", action="pay", confirm=confirmed)
    for _ in range(60):
        if "and epsilon 0.2" in done.text:
            break
        done = ana.get(str(done.url))
    assert paid() == 1
    combined = asked(counter, QUESTION, "0.2", "0.2").release.columns[1]
    low, high = combined.low[0].as_py(), combined.high[0].as_py()
    assert offered == pytest.approx((high - low) / 2, rel=0.1)
    assert "Show both combined, free" in sent(amount="0.2", action="plan").text
    assert paid() == 1


def test_a_confirmation_is_for_its_price_alone(people):
    clients, counter = people
    ana = clients["ana"]
    shown = {"csrf": token(ana), "sql": "SELECT AVG(cost) AS c FROM visits", "by": "epsilon"}
    planned = ana.post("/data/clinic/query", data={**shown, "amount": "0.11", "action": "plan"})
    said = words(planned.text)
    assert "13.8 % of your budget, 11 % of the dataset" in said
    assert "answered before?" in said
    assert "clip: cost below 0 counts as 0, and above 900 as 900" in said
    assert re.search(r"sum of cost[^:]*: Laplace scale = [\d.e+]+ \(", said)
    ticked = re.search(r'name="confirm" value="([^"]*)"', planned.text)[1]
    last = record(counter).receipt
    for amount, confirm in (("0.12", ticked), ("0.11", "yes"), ("0.11", "")):
        data = {**shown, "amount": amount, "action": "ask", "confirm": confirm}
        assert "Tick this first" in ana.post("/data/clinic/query", data=data).text
    assert record(counter).receipt == last


def test_the_dashboard_says_what_is_reserved_promised_and_caught(people):
    clients, counter = people
    asked(counter, ALIAS, "0.05")
    page = clients["stan"].get("/data/clinic/budget")
    said = words(page.text)
    assert re.search(r"1 % FPR → ≤ [\d.]+ % TPR", said)
    assert "epsilon 1 at delta 1e-09 guarantee" in said or "guarantee epsilon 1" in said
    assert not re.search(r"(?<!\d)0 % spent", said)
    assert "of it reserved: paid, not yet answered" in said
    assert "epsilon spent, over time" in said
    assert "epsilon charged, by purpose" in said
    assert "No backup is on record" in said
    assert "Raise the budget" in said
    assert "No backup" not in clients["ana"].get("/data/clinic/budget").text


def test_the_ledger_shows_backups_and_what_kind_of_anchor(people, monkeypatch):
    clients, counter = people
    asked(counter, ALIAS, "0.05")
    end = record(counter).receipt
    old = Anchor(at="2026-01-01T00:00:00.000000Z", receipt=Receipt(end.ledger, 1, "a" * 64))
    monkeypatch.setattr(LedgerView, "last_backup", lambda _ledger: old)
    page = words(clients["aud"].get("/data/clinic/ledger").text)
    assert "2026-01-01 00:00, up to entry 1" in page
    assert "no witness file is named" in page
    assert "spent ▸ released" in page
    heads = record(counter).proved_receipts()
    assert f"→ {heads[0].head[:10]} ✓" in page
    said = words(clients["stan"].get("/data/clinic/budget").text)
    assert f"and {end.seq - 1} entries are not in it" in said


def test_reopening_needs_the_permission_and_a_closed_question(people):
    clients, counter = people
    last = record(counter).receipt
    for name in ("ana", "aud", "stan"):
        data = {"csrf": token(clients[name]), "reason": HOSTILE}
        found = clients[name].post("/data/clinic/ledger/4/reopen", data=data)
        assert found.status_code in {403, 404, 422}
        assert HOSTILE not in found.text
    assert record(counter).receipt == last


def closed_question(counter):
    """Have ana cancel one question three times while its data is read; return its charge."""
    caller = counter.directory.find("ana")
    server = SimpleNamespace(counter=counter, caller=lambda _name: caller)
    form = {"question": "SELECT COUNT(*) AS tries FROM visits", "epsilon": "0.01"}
    for _ in range(3):
        job = Stalls(server, at="reading").ask(form)
        counter.cancel(caller, job.id)
        assert job.wait(60)
    with pytest.raises(TryAgain):  # the fourth finds it closed
        counter.ask(caller, "clinic", QuestionDocument.read(form))
    ledger = record(counter)
    (key,) = ledger.closed
    charges = (each for each in ledger.entries() if each["kind"] == "charge")
    return form, next(each["seq"] for each in charges if each["key"] == key)


def test_a_closed_question_is_reopened_on_its_page_and_completes(people, site):
    clients, counter = people
    form, seq = closed_question(counter)
    place = f"/data/clinic/ledger/{seq}"
    assert "Reopen it, on record" not in clients["aud"].get(place).text
    with httpx.Client(base_url=site[0], follow_redirects=True, timeout=60) as olga:
        olga.post("/login", data={"name": "olga", "password": PASSWORD})
        page = olga.get(place).text
        assert "closed by a failed attempt" in page
        assert f'action="{place}/reopen"' in page
        before = record(counter).receipt.seq
        empty = olga.post(f"{place}/reopen", data={"csrf": token(olga), "reason": " "})
        assert (empty.status_code, record(counter).receipt.seq) == (422, before)
        reason = f"a slow disk {HOSTILE}"
        done = olga.post(f"{place}/reopen", data={"csrf": token(olga), "reason": reason})
        assert done.status_code == 200
        assert "asking it again completes it at no charge" in done.text
        shown = olga.get(f"/data/clinic/ledger/{before + 1}").text
        assert "a slow disk" in shown
        assert HOSTILE not in shown
        again = olga.post(f"{place}/reopen", data={"csrf": token(olga), "reason": reason})
        assert again.status_code >= 400
    entry = next(record(counter).entries(after=before))
    assert (entry["kind"], entry["by"], entry["reason"]) == ("reopen", "olga", reason)
    spent = record(counter).left().amounts
    ana = counter.directory.find("ana")
    assert counter.ask(ana, "clinic", QuestionDocument.read(form)).release
    assert record(counter).left().amounts == spent


def test_the_anchor_of_a_real_witness_is_shown_and_a_contradiction_too(tmp_path):
    path = write_site(tmp_path)
    named = 'ledger = "visits.ledger"\n'
    path.write_text(path.read_text().replace(named, f'{named}witness = "clinic.witness"\n'))
    counter = ServiceCounter(read_site(path))
    try:
        counter.directory.passwords.put("aud", PASSWORD)
        app = create_app(counter, mount=mount)
        with (
            listening(lambda _port: app) as address,
            httpx.Client(base_url=address, follow_redirects=True, timeout=60) as aud,
        ):
            aud.post("/login", data={"name": "aud", "password": PASSWORD})
            witness = WitnessFile(tmp_path / "clinic.witness")
            at = witness.last().at[:16].replace("T", " ")
            page = words(aud.get("/data/clinic/ledger").text)
            assert f"entry 1, {at}, in the witness file clinic.witness ✓" in page
            end = record(counter).receipt
            WitnessFile(tmp_path / "clinic.witness").append(
                Anchor.of(Receipt(end.ledger, 9, "a" * 64))
            )
            until(lambda: not counter.ready(), seconds=20)
            page = words(aud.get("/data/clinic/ledger").text)
            assert "in the witness file clinic.witness ✓" not in page
            assert "its witness knows entry 9" in page
    finally:
        counter.close()


@pytest.mark.parametrize(
    "name", [HOSTILE, "<b>", "ana'--", "a/../b", "x" * 300, "a\nb", "\u202eana"]
)
def test_names_of_people_and_accounts_hold_nothing_that_a_page_could_run(people, name):
    clients, counter = people
    last = record(counter).receipt
    with pytest.raises(DiscreetError):
        check_name(name)
    stan = counter.directory.find("stan")
    with pytest.raises(DiscreetError):
        counter.open_account(stan, "clinic", f"data/{name}", budget=None)
    said = {"csrf": token(clients["ana"]), "account": f"data/{name}", "epsilon": "2"}
    found = clients["ana"].post("/data/clinic/requests", data={**said, "reason": "more"})
    assert found.status_code >= 400
    assert HOSTILE not in found.text
    assert not counter.requests(stan, "clinic")
    assert record(counter).receipt == last


def test_attention_names_entries():
    rows = [LedgerRow(seq=n, at="", kind="charge", state="charged") for n in range(1, 8)]
    (said,) = attention(rows, Fraction(1, 2))
    assert said.startswith("7 questions are paid for and not answered (entries 1, 2, 3, 4, 5 and 2")
