"""``discreet audit``: what a program loses, what is printed, and how it ends."""

import json
import re
import sys

import pytest

from discreet.cli.exit_codes import DONE, USAGE, VIOLATION
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
            *("audit", command, "--lines=1500", "--runs=3000"),
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
        *(tmp_path, "audit", "sh slow.sh {data}", "--data=with", "--data=without"),
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
    done = run(tmp_path, "audit", "echo {data}", *wrong)
    assert done.exit_code == USAGE
    assert re.search(r"\[E\d+\]", done.stderr)


def test_a_program_that_always_fails_is_refused(tmp_path):
    files = [tmp_path / name for name in ("with", "without")]
    for file in files:
        file.touch()
    data = [f"--data={file}" for file in files]
    done = run(tmp_path, "audit", "ls {data}/no/such/file", *data, "--runs=5")
    assert done.exit_code == USAGE
    assert "every answer is an error: exit code" in done.stderr


def test_a_python_file_is_run_with_the_data(program, tmp_path):
    program(4)
    words = ["--lines=1500", "--runs=3000", "--data=with.csv", "--data=without.csv", "--epsilon=1"]
    done = run(tmp_path, "audit", "count.py", *words)
    assert done.exit_code == VIOLATION, done.stderr


def test_a_program_is_named(tmp_path):
    assert run(tmp_path, "audit", "--epsilon=1").exit_code == USAGE
