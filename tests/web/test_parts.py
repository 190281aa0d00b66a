"""Parts of pages: clicks as SQL, code to copy, rows of the ledger, refusals; and the command."""

import json
import re
import shlex
import subprocess
import sys
from fractions import Fraction

import httpx
import pytest

import discreet as dp
from discreet.errors import DiscreetError, UnknownName, WrongKind
from discreet.service.roles import Permission
from discreet.web.ledger_facts import attention, ledger_rows, share_of
from discreet.web.question_builder import (
    Clicked,
    group_columns,
    local_copies,
    number_columns,
    served_copies,
)
from discreet.web.rendering import Refusal
from tests.web.served import HOSTILE, POLICY, write_visits

QUESTION = "SELECT COUNT(*) AS n FROM visits"


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clinic")
    write_visits(folder / "visits.csv", rows=200)
    (folder / "clinic.toml").write_text(POLICY)
    with dp.open(folder / "visits.csv", policy=POLICY, ledger=folder / "visits.ledger") as opened:
        yield opened, folder


@pytest.mark.parametrize("groups", [(), ("ward",)])
@pytest.mark.parametrize(
    ("aggregate", "column"),
    [("count", ""), ("people", ""), ("sum", "cost"), ("avg", "cost"), ("median", "cost")],
)
def test_whatever_can_be_clicked_can_be_planned(clinic, aggregate, column, groups):
    session, _ = clinic
    clicked = Clicked(table="visits", aggregate=aggregate, column=column, groups=groups)
    assert session.plan(clicked.sql(session.schema), epsilon="0.1").price.epsilon == Fraction(1, 10)


def test_what_is_offered_is_public(clinic):
    table = clinic[0].tables["visits"]
    assert [column.name for column in number_columns(table)] == ["cost"]
    assert [column.name for column in group_columns(table)] == ["ward"]


@pytest.mark.parametrize(
    ("clicked", "error"),
    [
        (Clicked(table="other"), UnknownName),
        (Clicked(table="visits", aggregate="avg", column="nothing"), UnknownName),
        (Clicked(table="visits", aggregate="avg", column="ward"), WrongKind),
        (Clicked(table="visits", aggregate="max", column="cost"), UnknownName),
        (Clicked(table="visits", groups=("a` FROM x --",)), UnknownName),
        (Clicked(table="visits", groups=("ward", "cost", "patient")), WrongKind),
    ],
)
def test_other_clicks_are_refused(clinic, clicked, error):
    with pytest.raises(error):
        clicked.sql(clinic[0].schema)


@pytest.mark.parametrize(
    ("question", "marked"),
    [
        ("SELECT ward,\n  AVG(costs) AS c\nFROM visits GROUP BY ward", "costs"),
        ("SELEC ward FROM visits", "SELEC"),
        ("SELECT COUNT(*) AS n FROM vists", "vists"),
    ],
)
def test_the_refused_part_is_marked(clinic, question, marked):
    with pytest.raises(DiscreetError) as refused:
        clinic[0].plan(question, epsilon=1)
    refusal = Refusal.of(refused.value)
    assert [line.marked for line in refusal.lines if line.marked] == [marked]
    whole = "\n".join(line.before + line.marked + line.after for line in refusal.lines)
    assert whole in question or question in whole
    assert "^" not in refusal.what


def test_copies_for_whoever_has_the_files_run(clinic, capsys):
    session, folder = clinic
    answer = session.ask(QUESTION, epsilon="0.01")
    copied = local_copies(
        QUESTION,
        {"epsilon": "0.01", "confidence": "0.95"},
        data=str(folder / "visits.csv"),
        policy=str(folder / "clinic.toml"),
        ledger=str(folder / "visits.ledger"),
    )
    exec(copied["Python"], {})  # noqa: S102  what we wrote
    assert str(answer.rows()[0]["n"]) in capsys.readouterr().out
    command = [sys.executable, "-m", "discreet.cli", *shlex.split(copied["command"])[1:]]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert str(answer.rows()[0]["n"]) in said


def test_copies_for_clients_of_a_server_run(site, monkeypatch, capsys):
    address, counter = site
    ana = counter.directory.find("ana")
    scope = [Permission.SCHEMA, Permission.PLAN, Permission.ASK]
    token = counter.tokens.make(ana, scope=scope, note="copy")
    monkeypatch.setenv("DISCREET_TOKEN", token)
    copied = served_copies(QUESTION, {"epsilon": "0.01"}, server=address, dataset="clinic")
    exec(copied["Python"], {})  # noqa: S102  what we wrote
    told = capsys.readouterr().out
    words = shlex.split(copied["curl"].replace("\\\n", " "))
    url, body = words[words.index("POST") + 1], words[words.index("-d") + 1]
    sent = httpx.post(
        url, json=json.loads(body), headers={"authorization": f"Bearer {token}"}, timeout=30
    )
    assert sent.status_code == 200
    assert re.search(r"-?\d+ ± \d+|-?\d+ \[", told)


def test_quotes_do_not_break_out_of_copies():
    nasty = "SELECT 'it''s' -- \"$(touch x)\" `id` \\ " + HOSTILE
    copied = served_copies(nasty, {"epsilon": "1"}, server="https://x", dataset="d")
    compile(copied["Python"], "copied", "exec")
    words = shlex.split(copied["curl"].replace("\\\n", " "))
    assert json.loads(words[words.index("-d") + 1])["question"] == nasty.strip()
    local = local_copies(nasty, {"error": {"n": "5"}}, data="d", policy="p", ledger="l")
    assert shlex.split(local["command"])[2] == nasty.strip()
    assert shlex.split(local["command"])[-2:] == ["--error", "n=5"]


def test_rows_of_the_ledger_say_how_charges_stand(tmp_path):
    budget = dp.Budget(epsilon=1)
    with dp.ledger.Ledger.open(tmp_path / "l.ledger", unit=dp.row(), budget=budget) as ledger:
        for key in ("charged", "started", "released", "closed"):
            ledger.charge(dp.loss.Pure(epsilon="0.1"), key=key, question=key)
        for key in ("started", "released", "closed"):
            ledger.start(key)
        ledger.release("released", b"{}")
        ledger.fail("closed")
        rows = ledger_rows(ledger, ledger.proved_entries(), {"released": "SELECT 1"})
    states = [row.state for row in rows if row.kind == "charge"]
    assert states == ["charged", "started", "released", "closed"]
    released = next(row for row in rows if row.state == "released")
    assert (released.about, released.cost) == ("SELECT 1", "epsilon 0.1")
    assert len(attention(rows, Fraction(1, 100))) == 3
    assert attention([], Fraction(1, 2)) == []


def test_the_share_of_a_budget_is_that_of_its_cheapest_route(clinic):
    session, _ = clinic
    budget = session.remaining.budget
    plan = session.plan(QUESTION, epsilon="0.25")
    assert share_of(budget, plan) <= Fraction(1, 4)
    assert share_of(budget, session.plan(QUESTION, epsilon="0.125")) < share_of(budget, plan)


def test_the_command_serves_this_machine_alone(tmp_path):
    write_visits(tmp_path / "visits.csv", rows=50)
    (tmp_path / "clinic.toml").write_text(POLICY)
    command = [sys.executable, "-m", "discreet.cli", "workbench", str(tmp_path / "clinic.toml")]
    with subprocess.Popen([*command, "--no-browser"], stdout=subprocess.PIPE, text=True) as running:
        try:
            said = running.stdout.readline()
            url = re.search(r"http://127\.0\.0\.1:\d+/", said)[0]
            found = httpx.get(url, follow_redirects=True, timeout=30)
            assert "<h1>Budget</h1>" in found.text
            rebound = httpx.get(url, headers={"host": "evil.example"}, timeout=30)
            assert rebound.status_code == 421
        finally:
            running.terminate()
            running.wait(20)
