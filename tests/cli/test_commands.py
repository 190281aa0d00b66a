"""The command line: what it prints, what it writes, and how it ends."""

import contextlib
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pyarrow.csv
import pytest
from typer import testing
from typer.testing import CliRunner

from discreet.accounting import Budget
from discreet.cli import app
from discreet.ledger import Ledger
from discreet.loss import Pure
from discreet.plan.policy.policy import read_policy
from discreet.query.types import Type
from discreet.units import row
from tests.session.clinic import visits

COUNT = "SELECT COUNT(*) AS n FROM visits"
TWO = "SELECT ward, COUNT(*) AS n, AVG(cost) AS `mean cost` FROM visits GROUP BY ward"
BY_WARD = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
SET_UP = [
    "init",
    "visits.csv",
    "--unit=patient",
    "--bounds=cost=0:100",
    "--categories=ward=A,B,C",
    "--categories=region=north,south",
    "--constant=region",
    "--epsilon=1",
    "--delta=0",
    "--yes",
]
FULL = Path("/dev/full")
LEDGER = ("show", "account", "verify", "backup", "anchor", "restore", "reopen")

testing._get_command = cache(testing._get_command)
"""The commands are put together once: to do it for each call takes as long as a small answer."""


def run(folder, *arguments, stdin="", **environment):
    """Run the command in this process."""
    with contextlib.chdir(folder):
        return CliRunner().invoke(
            app, list(arguments), input=stdin, env={"COLUMNS": "200", **environment}
        )


def run_alone(folder, *arguments):
    """Run the command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "discreet.cli", *arguments],
        cwd=folder,
        capture_output=True,
        check=False,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
    )


def answered(folder, *arguments, **environment):
    done = run(folder, *arguments, **environment)
    assert done.exit_code == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    """A folder with data, a policy, and a ledger with one answer."""
    folder = tmp_path_factory.mktemp("clinic")
    pyarrow.csv.write_csv(visits(), folder / "visits.csv")
    answered(folder, *SET_UP)
    answered(folder, "ask", COUNT, "--epsilon=0.25")
    return folder


def test_init_writes_a_policy_that_can_be_followed(clinic):
    policy = read_policy(clinic / "policy.toml")
    assert policy.unit.columns == ("patient",)
    assert policy.session.data == "visits.csv"
    assert policy.session.ledger == "visits.ledger"
    assert policy.tables[0].column("ward").categories == ("A", "B", "C")
    assert policy.tables[0].column("region").constant
    assert policy.tables[0].column("cost").high == 100


def test_private_groups_can_be_asked_for_after_init(tmp_path):
    pyarrow.csv.write_csv(visits(), tmp_path / "visits.csv")
    assert run(tmp_path, "init", "visits.csv", "--unit=patient", "--yes").exit_code == 0
    asked = run(tmp_path, "ask", BY_WARD, "--epsilon=0.01", "--json")
    assert asked.exit_code == 0, asked.output
    with Ledger.open(tmp_path / "visits.ledger") as ledger:
        left = ledger.left()
    assert 0 < 100 * (left.budget.limit[-1] - left.amounts[-1]) <= left.budget.limit[-1]


def test_init_shows_one_screen_and_asks_little(tmp_path, monkeypatch):
    pyarrow.csv.write_csv(visits(), tmp_path / "visits.csv")
    monkeypatch.setattr("discreet.cli.policy_commands._at_a_terminal", lambda: True)
    changes = ["a integer", "b north, south", "ward", "A,B,C", "cost 0..900", ""]
    options = ("--max-rows=5", "--max-groups=2", "--analyst=ana")
    said = ["patient", *changes, "3", "1e-8"]
    done = run(tmp_path, "init", "visits.csv", *options, stdin="\n".join(said) + "\n")
    assert done.exit_code == 0, done.stderr
    policy = read_policy(tmp_path / "policy.toml")
    assert (policy.limits.max_rows, policy.limits.max_groups) == (5, 2)
    assert policy.analysts == ("ana",)
    assert policy.tables[0].column("visit").type is Type.INTEGER
    assert policy.tables[0].column("cost").type is Type.FLOAT  # as its name says
    assert policy.tables[0].column("cost").high == 900
    assert policy.tables[0].column("ward").categories == ("A", "B", "C")
    assert policy.budget.promise.epsilon_bound == 3


def test_init_knows_rows_and_types(tmp_path):
    pyarrow.csv.write_csv(visits(), tmp_path / "visits.csv")
    answered(
        tmp_path,
        *("init", "visits.csv", "--unit=row", "--type=visit=integer", "--yes"),
        *("--categories=visit=1,2", "--bounds=COST=-5:5.5", "--analyst=ana", "--ledger=l"),
    )
    policy = read_policy(tmp_path / "policy.toml")
    assert policy.unit.columns == ()
    assert policy.tables[0].column("visit").categories == (1, 2)
    assert float(policy.tables[0].column("cost").high) == 5.5
    assert policy.session.ledger == "l"


def test_values_are_given_apart_from_the_text(clinic):
    """A question with values is the one that has them written out."""
    written = "SELECT COUNT(*) AS n FROM visits WHERE ward = 'A' AND cost > 2.5"
    done = json.loads(answered(clinic, "plan", written, "--error=50", "--json").stdout)
    for text, *given in (
        ("ward = :w AND cost > :c", "--param=w=A", "--param=c=2.5"),
        ("ward = ? AND cost > ?", "--param=1=A", "--param=2=2.5"),
        ("ward = @w AND cost > @c", '--param=w="A"', "--param=c=2.5", "--dialect=bigquery"),
    ):
        question = f"SELECT COUNT(*) AS n FROM visits WHERE {text}"  # noqa: S608
        plan = json.loads(answered(clinic, "plan", question, "--error=50", "--json", *given).stdout)
        assert plan["digest"] == done["digest"]


@pytest.mark.parametrize(
    "wrong",
    [
        ["--unit=who"],
        ["--unit="],
        ["--unit=patient", "--type=cost=money"],
        ["--unit=patient", "--bounds=cost=5"],
        ["--unit=patient", "--bounds=cost=5:1"],
        ["--unit=patient", "--max-rows=many"],
        ["--unit=patient", "--epsilon=much"],
        ["--unit=patient", "--categories=visit=1.5", "--type=visit=integer"],
    ],
)
def test_init_writes_nothing_that_is_wrong(tmp_path, wrong):
    pyarrow.csv.write_csv(visits(), tmp_path / "visits.csv")
    done = run(tmp_path, "init", "visits.csv", "--yes", *wrong)
    assert done.exit_code in {2, 4}, done.stdout
    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert not (tmp_path / "policy.toml").exists()


def test_init_replaces_no_policy(clinic):
    done = run(clinic, *SET_UP)
    assert done.exit_code == 2
    assert "is there already" in done.stderr


def test_planning_spends_nothing_and_makes_no_ledger(tmp_path):
    pyarrow.csv.write_csv(visits(), tmp_path / "visits.csv")
    answered(tmp_path, *SET_UP)
    done = answered(tmp_path, "plan", BY_WARD, "--error=n=500")
    assert "error, with 95 % confidence" in done.stdout
    alone = answered(tmp_path, "plan", BY_WARD, "--error", "500")
    assert alone.stdout == done.stdout == answered(tmp_path, "plan", BY_WARD, "--error=500").stdout
    dry = answered(tmp_path, "ask", BY_WARD, "--error=n=500", "--dry-run")
    assert dry.stdout == done.stdout
    assert "charges 0" in answered(tmp_path, "ledger", "verify").stdout
    bare = tmp_path / "bare"
    bare.mkdir()
    rules = (tmp_path / "policy.toml").read_text().splitlines()
    (bare / "policy.toml").write_text("\n".join(each for each in rules if "ledger_id" not in each))
    (bare / "visits.csv").write_bytes((tmp_path / "visits.csv").read_bytes())
    assert answered(bare, "plan", BY_WARD, "--error=n=500").stdout
    assert sorted(path.name for path in bare.iterdir()) == ["policy.toml", "visits.csv"]


def test_init_makes_the_ledger_and_from_then_on_it_has_to_be_there(tmp_path):
    pyarrow.csv.write_csv(visits(), tmp_path / "visits.csv")
    answered(tmp_path, *SET_UP)
    named = read_policy(tmp_path / "policy.toml").session.ledger_id
    with Ledger.open(tmp_path / "visits.ledger") as ledger:
        assert ledger.id == named
    answered(tmp_path, "ask", COUNT, "--epsilon=0.25")
    other = tmp_path / "other"
    other.mkdir()
    for name in ("policy.toml", "visits.csv"):
        (other / name).write_bytes((tmp_path / name).read_bytes())
    for command in ("ask", "plan"):  # another folder
        done = run(other, command, COUNT, "--epsilon=0.25")
        assert (done.exit_code, "NotALedger" in done.stderr) == (2, True)
    with Ledger.open(other / "visits.ledger", unit=row(), budget=Budget(epsilon=1)):
        pass
    for command in (["ask", COUNT, "--epsilon=0.25"], ["ledger", "show"]):
        done = run(other, *command)  # another ledger in its place
        assert (done.exit_code, "OtherLedger" in done.stderr) == (5, True)
    (tmp_path / "visits.ledger").rename(tmp_path / "moved")
    for command in (["ask", COUNT, "--epsilon=0.25"], ["plan", COUNT, "--epsilon=0.25"]):
        done = run(tmp_path, *command)  # a file that was moved, and what is left of it
        assert (done.exit_code, "DamagedLedger" in done.stderr) == (5, True)
    assert run(tmp_path, "ledger", "show").exit_code == 5
    assert not (tmp_path / "visits.ledger").exists()


def test_backups_are_made_and_restored(clinic, tmp_path):
    backup, place = str(tmp_path / "backup"), str(tmp_path / "new.ledger")
    made = json.loads(answered(clinic, "ledger", "backup", backup, "--json").stdout)
    people = ("--reason=moved", "--by=ana", "--approved-by=ben")
    assert "0 of 1" in answered(clinic, "ledger", "restore", backup, place, *people).stdout
    last = str(tmp_path / "last.ledger")
    kept = ("ledger", "restore", backup, last, *people, "--last", made["receipt"], "--json")
    assert json.loads(answered(clinic, *kept).stdout)["kind"] == "restored"
    with Ledger.open(last) as ledger:
        assert ledger.left().amounts[0] == 75 * 10**22
    assert run(clinic, *kept).exit_code == 5  # something lies there


def test_a_closed_pipe_ends_a_command_without_a_word(clinic):
    for arguments in (["ledger", "show"], ["ledger", "show", "--json"], ["ledger", "verify"]):
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run(
            [sys.executable, "-m", "discreet.cli", *arguments],
            cwd=clinic,
            stdout=write,
            stderr=subprocess.PIPE,
            check=False,
        )
        os.close(write)
        assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has it")
def test_output_that_finds_no_room_is_told_in_words(clinic):
    for arguments in (["ledger", "show"], ["ledger", "show", "--json"], ["ledger", "verify"]):
        with FULL.open("wb") as full:
            done = subprocess.run(
                [sys.executable, "-m", "discreet.cli", *arguments],
                cwd=clinic,
                stdout=full,
                stderr=subprocess.PIPE,
                check=False,
            )
        assert done.returncode == 1
        assert done.stderr.startswith(b"discreet: the output could not be written")
        assert b"Error" not in done.stderr


def test_the_key_value_form_is_an_address_and_never_a_file(clinic, tmp_path):
    address = f"host={tmp_path} dbname=clinic connect_timeout=2"
    for arguments in (
        ["ledger", "show", address],
        ["ledger", "verify", address],
        ["plan", COUNT, "--epsilon=0.1", f"--ledger={address}"],
        ["ask", COUNT, "--epsilon=0.1", f"--ledger={address}"],
    ):
        done = run(clinic, *arguments)
        assert (done.exit_code, "no connection" in done.stderr) == (1, True)
    assert list(tmp_path.iterdir()) == []


def test_plans_and_answers_as_json(clinic):
    plan = json.loads(answered(clinic, "plan", BY_WARD, "--epsilon=0.1", "--json").stdout)
    assert (plan["format"], plan["kind"]) == (1, "plan")
    assert plan["price"]["epsilon"] == "1/10"
    assert plan["errors"][0]["output"] == "n"
    done = answered(clinic, "ask", COUNT, "--epsilon=0.25", "--json")
    release = json.loads(done.stdout)
    assert (release["format"], release["kind"], release["replayed"]) == (1, "release", True)
    assert list(release["rows"][0]) == ["n", "n_low", "n_high"]
    assert set(release) == {
        "format",
        "kind",
        "columns",
        "rows",
        "price",
        "bounds",
        "confidence",
        "intervals",
        "warnings",
        "truncations",
        "limits",
        "released_by",
        "share_cut",
        "replayed",
        "private",
        "entry",
        "receipt",
        "odds",
        "plan",
        "left",
        "screen",
        "text",
    }
    assert release["left"]["part"] == 0.75
    assert not done.stderr


def test_an_answer_goes_to_stdout_and_what_is_left_to_stderr(clinic):
    done = answered(clinic, "ask", COUNT, "--epsilon=0.25")
    assert "±" in done.stdout
    assert "Replayed" in done.stdout
    assert "75 %" in done.stderr
    piped = answered(clinic, "ask", "-", "--epsilon=0.25", stdin=COUNT)
    assert piped.stdout == done.stdout


def test_nothing_is_colored_in_a_pipe(clinic):
    for arguments in (["ask", COUNT, "--epsilon=0.25"], ["ledger", "show"]):
        done = answered(clinic, *arguments, NO_COLOR="1")
        assert "\x1b" not in done.stdout + done.stderr


def test_the_ledger_is_shown_verified_and_exported(clinic, tmp_path):
    shown = answered(clinic, "ledger", "show").stdout
    assert "75 % left of epsilon 1" in shown
    assert "epsilon 0.25" in shown
    found = json.loads(answered(clinic, "ledger", "show", "--json").stdout)
    kinds = [entry["kind"] for entry in found["entries"] if entry["kind"] != "describe"]
    assert kinds == ["open", "charge", "start", "release"]
    receipt = found["receipt"]
    verified = answered(clinic, "ledger", "verify", "--receipt", receipt).stdout
    assert "everything follows" in verified
    assert json.loads(answered(clinic, "ledger", "verify", "--json").stdout)["ok"]
    answered(clinic, "ledger", "backup", str(tmp_path / "copy.jsonl"), "visits.ledger")
    again = answered(clinic, "ledger", "verify", str(tmp_path / "copy.jsonl")).stdout
    assert "everything follows" in again


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, "Usage"),
        (["frobnicate"], 2, "No such command"),
        (["ask"], 2, "Missing argument"),
        (["ask", COUNT, "--epsilon=0.1", "--rho=0.1"], 2, "WrongKind[E003]"),
        (["ask", COUNT, "--epsilon=much"], 2, "epsilon"),
        (["ask", COUNT, "--error=n"], 2, "--error NAME=NUMBER"),
        (["ask", COUNT, "--epsilon=0.1", "--param=A"], 2, "--param NAME=VALUE"),
        (["ask", COUNT, "--epsilon=0.1", "--param=w=A"], 2, "no place in the text"),
        (["plan", TWO, "--error=5"], 2, "--error n=5 --error 'mean cost'=5"),
        (["plan", COUNT, "--error=5", "--error=6"], 2, "--error n=5"),
        (["plan", COUNT, "--error=-5"], 2, "error['n']"),
        (["ask", COUNT, "--epsilon=0.1", "--data=nothing.csv"], 2, "UnreadableSource[E702]"),
        (["ask", COUNT, "--epsilon=5"], 3, "OverBudget[E301]"),
        (["ask", "SELECT * FROM visits", "--epsilon=0.1"], 4, "UnsupportedSQL[E502]"),
        (["ask", "SELECT AVG(patient) FROM visits", "--epsilon=0.1"], 4, "WrongType[E506]"),
        (["plan", COUNT, "--epsilon=0.1", "--policy=nothing.toml"], 2, "no policy"),
        (["ledger", "show", "nothing.ledger"], 2, "NotALedger[E401]"),
        (["ledger", "verify", "visits.csv"], 5, ""),
        (["ledger", "verify", "--receipt", f"{'0' * 32}:2:{'0' * 64}"], 5, ""),
        (["init", "visits.csv", "--policy=other.toml"], 2, "no terminal"),
        (["init", "visits.csv", "--policy=o.toml", "--unit=who", "--yes"], 4, "UnknownName"),
    ],
)
def test_how_commands_end(clinic, arguments, code, words):
    done = run(clinic, *arguments)
    assert done.exit_code == code, done.stderr
    assert words in done.stderr + ("" if arguments else done.stdout)
    assert done.exception is None or isinstance(done.exception, SystemExit)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["ask", COUNT, "--epsilon=0.25"], 0),
        (["ask", COUNT, "--epsilon=0.1", "--rho=0.1"], 2),
        (["ask", COUNT, "--epsilon=5"], 3),
        (["ask", "SELECT * FROM visits", "--epsilon=0.1"], 4),
        (["ledger", "verify", "visits.csv"], 5),
    ],
)
def test_how_processes_end(clinic, arguments, code):
    done = run_alone(clinic, *arguments)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert bool(done.stderr) == (code in {0, 2, 3, 4})  # a report of an audit is a result


def test_errors_as_json(clinic):
    done = run(clinic, "ask", COUNT, "--epsilon=5", "--json")
    error = json.loads(done.stdout)
    assert done.exit_code == 3
    assert (error["kind"], error["code"], error["name"]) == ("error", "E301", "OverBudget")
    assert all(error[part] for part in ("detail", "why", "do"))
    assert "OverBudget" in done.stderr


def test_several_tables_on_the_command_line(clinic, tmp_path):
    rules = (clinic / "policy.toml").read_text().splitlines()
    (tmp_path / "policy.toml").write_text(
        "\n".join(each for each in rules if "ledger_id" not in each)
    )
    done = answered(
        tmp_path,
        "plan",
        COUNT,
        "--epsilon=0.1",
        f"--data=visits={clinic / 'visits.csv'}",
        f"--data=calls={clinic / 'visits.csv'}",
        "--ledger=another.ledger",
    )
    assert "one person (patient)" in done.stdout


def test_who_may_ask(clinic, tmp_path):
    rules = (clinic / "policy.toml").read_text() + '\n[who]\nanalysts = ["ana"]\n'
    rules = "\n".join(line for line in rules.splitlines() if "ledger_id" not in line)
    (tmp_path / "policy.toml").write_text(rules)
    (tmp_path / "visits.csv").write_bytes((clinic / "visits.csv").read_bytes())
    assert run(tmp_path, "plan", COUNT, "--epsilon=0.1").exit_code == 4
    answered(tmp_path, "plan", COUNT, "--epsilon=0.1", "--analyst=ana")


def test_the_version_and_the_help():
    assert answered(".", "--version").stdout.startswith("discreet ")
    for command in ("demo", "init", "plan", "ask", "audit", "ledger"):
        assert command in answered(".", "--help").stdout


@pytest.mark.parametrize(
    "command",
    [
        *([], ["demo"], ["init"], ["plan"], ["ask"], ["audit"], ["ledger"]),
        *(["ledger", name] for name in LEDGER),
    ],
    ids=" ".join,
)
def test_help_ends_with_examples(command):
    words = answered(".", *command, "--help").stdout
    _, _, examples = words.partition("Examples:\n")
    lines = [line.strip() for line in examples.strip().splitlines()]
    assert lines
    assert all(line.startswith(" ".join(["discreet", *command])) for line in lines)


def test_every_command_takes_json():
    for command in ("demo", "init", "plan", "ask", "audit", *(f"ledger {each}" for each in LEDGER)):
        assert "--json" in answered(".", *command.split(), "--help").stdout


def test_the_demo_as_json(tmp_path):
    found = json.loads(answered(tmp_path, "demo", "--json").stdout)
    assert (tmp_path / found["page"]).is_file()
    assert [set(stop) for stop in found["stops"]] == [
        {"title", "words", "code", "result"} for _ in found["stops"]
    ]


def test_a_plan_says_where_it_stands(clinic):
    answered(clinic, "ask", COUNT, "--epsilon=0.001")
    plan = json.loads(answered(clinic, "plan", COUNT, "--epsilon=0.001", "--json").stdout)
    assert plan["standing"]["answered"] > 0
    plan = json.loads(answered(clinic, "plan", COUNT, "--epsilon=50", "--json").stdout)
    assert (plan["standing"]["answered"], plan["standing"]["fits"]) == (None, False)


def test_the_ledger_shows_what_each_question_cost(clinic):
    answered(clinic, "ask", COUNT, "--epsilon=0.002")
    assert "epsilon 0.002" in answered(clinic, "ledger", "show").stdout


def test_a_closed_question_is_shown_and_reopened(clinic, tmp_path):
    place = str(tmp_path / "study.ledger")
    with Ledger.open(place, unit=row(), budget=Budget(epsilon=1)) as ledger:
        ledger.charge(Pure(epsilon="0.1"), key="monday")
        ledger.start("monday")
        ledger.fail("monday")
    assert "closed by a failed attempt: monday" in answered(clinic, "ledger", "show", place).stdout
    reopen = ("ledger", "reopen", "monday", place, "--reason=a new disk", "--by=ana")
    assert "reopened monday" in answered(clinic, *reopen).stdout
    shown = json.loads(answered(clinic, "ledger", "show", place, "--json").stdout)
    assert shown["closed"] == []
    assert shown["entries"][-1]["reason"] == "a new disk"
    assert run(clinic, *reopen).exit_code == 2


def test_an_owner_opens_an_account_that_cannot_spend_more_than_its_limit(tmp_path):
    pyarrow.csv.write_csv(visits(), tmp_path / "visits.csv")
    answered(tmp_path, *SET_UP)
    opening = ("ledger", "account", "ana", "--by=olga", "--limit")
    for _ in range(2):  # the second time nothing happens
        opened = json.loads(answered(tmp_path, *opening, "0.01", "--json").stdout)
        assert (opened["account"], "of 0.01" in opened["left"]) == ("data/ana", True)
    assert "is not its limit" in run(tmp_path, *opening, "0.5").stderr
    small = COUNT.replace("n FROM", "few FROM")
    asking = ("ask", small, "--account=data/ana", "--confirm", "--epsilon")
    assert "account data/ana" in run(tmp_path, *asking, "0.02").stderr
    answered(tmp_path, *asking, "0.01")
    accounts = json.loads(answered(tmp_path, "ledger", "show", "--json").stdout)["accounts"]
    assert accounts["data/ana"].startswith("epsilon 0 of 0.01")


@pytest.mark.parametrize("command", ["workbench", "serve"])
@pytest.mark.parametrize("port", ["99999", "-5"])
def test_a_number_that_is_no_port_is_refused(command, port):
    found = CliRunner().invoke(app, [command, "policy.toml", "--port", port])
    assert found.exit_code == 2
    assert "Invalid value for '--port'" in found.output
    assert "unexpected" not in found.output
