"""``discreet audit``: the suite and programs, what is printed and written, and how it ends."""

import json
import os
import sys

import pytest

import discreet_audit
from discreet.cli import audit_command as auditing
from discreet.cli.exit_codes import DONE, USAGE, VIOLATION
from tests.attacks.test_suite import Line, measured, report
from tests.cli.test_commands import run

NOISY = """
import random, sys
rows = len(open(sys.argv[1]).read().split())
for _ in range(1500):
    print(rows + round(random.choice((1, -1)) * random.expovariate({epsilon})))
"""


@pytest.fixture
def program(tmp_path):
    """Two tables, and a program that counts rows with noise."""
    (tmp_path / "with.csv").write_text("a b c", encoding="utf-8")
    (tmp_path / "without.csv").write_text("a b", encoding="utf-8")

    def written(epsilon):
        (tmp_path / "count.py").write_text(NOISY.format(epsilon=epsilon), encoding="utf-8")
        command = f"{sys.executable} -S count.py {{data}}"
        return [
            *("audit", "--command", command, "--lines=1500", "--runs=3000"),
            *("--data=with.csv", "--data=without.csv"),
        ]

    return written


def test_a_program_that_keeps_its_promise(program, tmp_path):
    done = run(tmp_path, *program(0.9), "--epsilon=2")
    assert done.exit_code == DONE, done.stderr
    assert "claimed 2" in done.stdout
    assert "VIOLATED" not in done.stdout


def test_a_program_that_does_not(program, tmp_path):
    done = run(tmp_path, *program(4), "--epsilon=1", "--json")
    assert done.exit_code == VIOLATION == 6
    parsed = json.loads(done.stdout)
    assert (parsed["format"], parsed["kind"], parsed["violates"]) == (1, "measured", True)
    assert parsed["lower"] > 1
    assert parsed["hits"][0] + parsed["hits"][1] <= 2 * parsed["n"]


def test_a_program_with_a_delta(program, tmp_path):
    done = run(tmp_path, *program(4), "--epsilon=1", "--delta=0.9")
    assert done.exit_code == DONE, done.stderr


def test_a_program_without_a_claim_is_measured(program, tmp_path):
    done = run(tmp_path, *program(4))
    assert done.exit_code == DONE, done.stderr
    assert done.stdout.startswith("epsilon >= ")


def test_a_whole_curve_is_claimed_and_shown(program, tmp_path):
    curve = ["--epsilon=9", "--delta=0", "--epsilon=1", "--delta=0.1", "--curve"]
    done = run(tmp_path, *program(4), *curve)
    assert done.exit_code == VIOLATION, done.stderr
    assert "epsilon(delta=0.1) >= " in done.stdout
    assert [line.split()[0] for line in done.stdout.splitlines()[-2:]] == ["0", "0.1"]
    done = run(tmp_path, *program(4), "--epsilon=9", "--json")
    assert [point["delta"] for point in json.loads(done.stdout)["curve"]][:3] == [0.0, 1e-9, 1e-6]


@pytest.mark.parametrize(("claim", "violated"), [("--rho=0.1", True), ("--mu=9", False)])
def test_other_claims_are_understood(claim, violated, program, tmp_path):
    done = run(tmp_path, *program(4), claim)
    assert done.exit_code == (VIOLATION if violated else DONE), done.stderr
    assert done.stdout.startswith(claim[2:].partition("=")[0])


POLICY = """
format = 1
unit = "patient"
[limits]
max_rows = 1
[tables.visits.columns]
patient = { type = "INTEGER" }
"""


def test_neighbors_are_made_up_from_a_policy(program, tmp_path):
    (tmp_path / "clinic.toml").write_text(POLICY, encoding="utf-8")
    command = [word for word in program(1) if not word.startswith("--data")]
    command = [word.replace("--runs=3000", "--runs=12000") for word in command]
    done = run(tmp_path, *command, "--policy=clinic.toml", "--epsilon=1")
    assert done.exit_code == VIOLATION, done.stderr
    assert "more rows than max_rows" in done.stdout
    assert "answers about each side were drawn" in done.stdout


def test_runs_that_take_too_long_are_told(tmp_path):
    for name in ("with", "without"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    (tmp_path / "slow.sh").write_text('grep -q out "$1" || sleep 5; echo 1', encoding="utf-8")
    done = run(
        *(tmp_path, "audit", "--command=sh slow.sh {data}", "--data=with", "--data=without"),
        *("--runs=9", "--timeout=0.3", "--epsilon=1", "--json"),
    )
    assert done.exit_code == DONE, done.stderr
    assert json.loads(done.stdout)["timeouts"] > 0
    assert "took longer than 0.3 seconds" in done.stderr


@pytest.mark.parametrize(
    "wrong",
    [
        ["--epsilon=1", "--rho=1"],
        ["--mu=1", "--delta=0.1"],
        ["--epsilon=1", "--epsilon=2", "--delta=0"],
        ["--policy=clinic.toml"],
        ["--timeout=0"],
    ],
)
def test_claims_that_contradict_each_other_are_refused(wrong, program, tmp_path):
    (tmp_path / "clinic.toml").write_text(POLICY, encoding="utf-8")
    done = run(tmp_path, *program(1), *wrong)
    assert done.exit_code == USAGE
    assert "Do:" in done.stderr


@pytest.mark.parametrize(
    "wrong",
    [
        ["--data=with.csv"],
        ["--data=with.csv", "--data=nowhere.csv"],
        ["--data=with.csv", "--data=without.csv", "--epsilon=much"],
        ["--data=with.csv", "--data=without.csv", "--delta=2"],
        ["--data=with.csv", "--data=without.csv", "--runs=0"],
    ],
)
def test_what_is_not_understood_is_refused(wrong, program, tmp_path):
    program(1)
    done = run(tmp_path, "audit", "--command=echo {data}", *wrong)
    assert done.exit_code == USAGE
    assert "Do:" in done.stderr


@pytest.fixture
def short(monkeypatch):
    """A suite of which everything is known beforehand; returns what it was asked for."""

    def replaced(found):
        asked = []

        def run_suite(*, long, jobs, told, unfinished):
            told("Laplace", 0, 1)
            if unfinished is not None:
                unfinished.add("A1", found.findings[0], 1.0)
            asked.append((long, jobs))
            return found

        monkeypatch.setattr(discreet_audit, "run_suite", run_suite)
        return asked

    return replaced


LENGTHS = [([], False), (["--quick"], False), (["--long"], True), (["--long", "--quick"], False)]


@pytest.mark.parametrize(("option", "long"), LENGTHS)
def test_the_suite_is_quick_or_long(option, long, short, tmp_path):
    asked = short(report())
    done = run(tmp_path, "audit", *option)
    assert done.exit_code == DONE, done.stderr
    assert asked == [(long, os.cpu_count())]
    assert "2 of 2 promises not refuted, 1 of 1 broken twins caught" in done.stdout


@pytest.mark.parametrize(
    "options",
    [
        ["--data=with.csv"],
        ["--epsilon=1"],
        ["--runs=5"],
        ["--timeout=5"],
        ["--policy=clinic.toml"],
        ["--command=echo 1", "--verify=audit.json"],
        ["--command=echo 1", "--out=here"],
        ["--command=echo 1", "--long"],
        ["--command=echo 1", "--jobs=2"],
    ],
)
def test_options_of_the_other_audit_are_refused(options, short, tmp_path):
    asked = short(report())
    done = run(tmp_path, "audit", *options)
    assert done.exit_code == USAGE
    assert "--command" in done.stderr
    assert asked == []


def test_a_program_that_always_fails_is_refused(tmp_path):
    files = [tmp_path / name for name in ("with", "without")]
    for file in files:
        file.touch()
    data = [f"--data={file}" for file in files]
    done = run(tmp_path, "audit", "--command=ls {data}/no/such/file", *data, "--runs=5")
    assert done.exit_code == USAGE
    assert "every answer is an error: exit code" in done.stderr


def test_a_log_hears_of_every_tenth(capsys):
    with auditing._shown() as told:
        for number in range(37):
            told(f"part {number}", number, 37)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 9
    assert lines[0] == "audit: 4 of 37 done, next is part 4"


def test_an_audit_that_is_not_installed_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "discreet_audit", None)
    done = run(tmp_path, "audit")
    assert done.exit_code == USAGE
    assert "discreet_audit is not installed" in done.stderr


def test_processes_are_as_many_as_are_named(short, tmp_path):
    asked = short(report())
    assert run(tmp_path, "audit", "--jobs=3").exit_code == DONE
    assert asked == [(False, 3)]


def test_the_suite_writes_a_page_and_a_document(short, tmp_path):
    short(report())
    done = run(tmp_path, "audit", "--out=made/here", "--json")
    assert done.exit_code == DONE, done.stderr
    printed = json.loads(done.stdout)
    folder = tmp_path / "made" / "here"
    assert json.loads((folder / "audit.json").read_text(encoding="utf-8")) == printed
    assert printed["kind"] == "audit"
    assert (folder / "audit.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert (folder / "audit.md").read_text(encoding="utf-8").startswith("# ")


def test_an_audit_that_throws_results_away_says_so(short, tmp_path):
    short(report())
    left = tmp_path / "made" / "unfinished.jsonl"
    left.parent.mkdir()
    left.write_text('{"audit": "quick", "code": "other"}\n{}\n', encoding="utf-8")
    done = run(tmp_path, "audit", "--out=made")
    assert done.exit_code == DONE, done.stderr
    assert "audit: begins anew" in done.stderr
    assert not left.exists()
    assert "begins anew" not in run(tmp_path, "audit", "--out=made").stderr


def test_a_report_that_was_filed_is_checked(short, tmp_path):
    short(report())
    done = run(tmp_path, "audit", "--out=made")
    assert done.exit_code == DONE, done.stderr
    file = tmp_path / "made" / "audit.json"
    checked = run(tmp_path, "audit", "--verify=made/audit.json")
    assert checked.exit_code == DONE, checked.stderr
    assert checked.stdout.strip() == json.loads(file.read_text(encoding="utf-8"))["receipt"]
    assert checked.stdout.strip() in "".join(done.stdout.split("\n"))
    assert run(tmp_path, "audit", "--verify=made/audit.json", "--signed-by=00").exit_code == USAGE
    file.write_text(file.read_text(encoding="utf-8").replace("kept", "KEPT"), encoding="utf-8")
    assert run(tmp_path, "audit", "--verify=made/audit.json").exit_code == USAGE
    assert run(tmp_path, "audit", "--verify=nowhere.json").exit_code == USAGE


def test_a_key_that_is_none_is_refused_before_the_audit(short, tmp_path):
    asked = short(report())
    assert run(tmp_path, "audit", "--key=nowhere.pem").exit_code == USAGE
    assert asked == []


def test_a_violation_of_the_suite_ends_with_six(short, tmp_path):
    wrong = Line(part="mechanisms", name="Laplace [dim]", measured=measured(lower=2.0))
    short(report(lines=(wrong,)))
    done = run(tmp_path, "audit")
    assert done.exit_code == VIOLATION
    assert "VIOLATED: Laplace [dim]" in done.stdout
