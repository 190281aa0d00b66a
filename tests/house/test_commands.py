"""Commands that a newcomer runs: importing, the examples, ``./run``."""

import importlib
import os
import subprocess
import sys

import pytest

from tests.house.pages import ROOT

IMPORT_BUDGET = 0.3  # seconds of CPU time
NOT_AT_IMPORT = {
    "duckdb",
    "fastapi",
    "hypothesis",
    "matplotlib",
    "pandas",
    "polars",
    "psycopg",
    "pyarrow",
    "pyspark",
    "pytest",
    "rich",
    "scipy",
    "sqlglot",
    "torch",
    "typer",
}
NOT_AT_A_FIRST_ANSWER = NOT_AT_IMPORT - {"duckdb", "pyarrow", "sqlglot"} | {
    "discreet.ledger.verify",
    "discreet.loss.shuffle",
    "discreet.noise.gaussian",
    "discreet.plan.plan_words",
    "discreet.release.combination",
    "discreet.release.choices",
    "discreet.session.purchases",
    "discreet.session.owner_check",
    "discreet.theorems",
    "numpy.random",
    "pyarrow.compute",
    "pyarrow.dataset",
    "pyarrow.parquet",
}
FIRST_ANSWER = """
import sys
import discreet as dp
with dp.open(sys.argv[1], policy=sys.argv[2], ledger=sys.argv[3]) as clinic:
    answer = clinic.ask("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", epsilon="0.5")
    print(answer, file=sys.stderr)
print(*sys.modules)
"""
WARDS = """
format = 1
unit = "patient"
[budget]
epsilon = "2"
[limits]
max_groups = 3
max_rows = 5
[tables.visits.columns.patient]
type = "integer"
[tables.visits.columns.ward]
type = "text"
categories = ["A", "B", "C", "D"]
"""
LATE_ROOMS = [
    "accounting",
    "engines",
    "ledger",
    "local",
    "loss",
    "mechanisms",
    "noise",
    "query",
    "release",
    "session",
]
ENGINE = ROOT / "examples/clickhouse_engine.py"  # run by tests/engines/test_clickhouse.py
EXAMPLES = sorted(set((ROOT / "examples").glob("*.py")) - {ENGINE})


def python(*arguments):
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, check=False, text=True
    )


def test_import_is_fast():
    program = "import time, discreet; print(time.process_time())"
    spent = [float(python("-c", program).stdout)]
    while min(spent) >= IMPORT_BUDGET and len(spent) < 5:  # on a busy machine
        spent.append(float(python("-c", program).stdout))
    assert min(spent) < IMPORT_BUDGET, f"{min(spent):.3f} s"


def test_import_loads_no_extra():
    loaded = python("-c", "import sys, discreet; print(*sys.modules)").stdout.split()
    assert {name.partition(".")[0] for name in loaded} & NOT_AT_IMPORT == set()


def test_a_first_answer_loads_no_library_that_it_does_not_need(tmp_path):
    visits = tmp_path / "visits.csv"
    visits.write_text("patient,ward\n" + "".join(f"{n % 40},{'ABCD'[n % 4]}\n" for n in range(200)))
    done = python("-c", FIRST_ANSWER, str(visits), WARDS, str(tmp_path / "ledger"))
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert {"duckdb", "pyarrow"} <= loaded
    assert loaded & NOT_AT_A_FIRST_ANSWER == set()


@pytest.mark.parametrize("room", LATE_ROOMS)
def test_rooms_that_load_their_files_late_know_where_every_name_is(room):
    found = importlib.import_module(f"discreet.{room}")
    assert set(found.__all__) == set(dir(found))
    assert [name for name in found.__all__ if not hasattr(found, name)] == []
    with pytest.raises(AttributeError, match="no attribute 'nobody'"):
        _ = found.nobody


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_run(path):
    done = python("-W", "error", str(path))
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert not done.stderr


ONLY_PINNED = """
import importlib.metadata, pathlib, re, runpy, sys
text = pathlib.Path("requirements/demo.txt").read_text(encoding="utf-8")
pinned = set(re.findall(r"^([a-z0-9-]+)==", text, re.MULTILINE))
homes = importlib.metadata.packages_distributions()

class OnlyPinned:
    def find_spec(self, name, path=None, target=None):
        names = {home.lower() for home in homes.get(name.partition(".")[0], ())} - {"discreet"}
        if names and not names & pinned:
            raise ModuleNotFoundError(f"{name} is not in requirements/demo.txt", name=name)

sys.meta_path.insert(0, OnlyPinned())
runpy.run_module("discreet.demo", run_name="__main__")
"""


def test_the_demo_needs_nothing_but_what_is_installed_for_it():
    done = python("-W", "error", "-c", ONLY_PINNED)
    assert done.returncode == 0, done.stderr
    assert not done.stderr


@pytest.mark.parametrize("arguments", [[], ["frobnicate"], ["--help"], ["bench"], ["bench", "nil"]])
def test_run_explains_itself_when_it_does_not_understand(arguments):
    done = subprocess.run(
        [str(ROOT / "run"), *arguments], capture_output=True, check=False, text=True
    )
    assert done.returncode == 2
    assert "usage: ./run COMMAND" in done.stderr
    assert not done.stdout


def test_run_refuses_an_old_python(tmp_path):
    old = tmp_path / "python3"
    old.write_text('#!/bin/sh\n[ "$1" = -V ] && echo "Python 3.9.1"\nexit 1\n')
    old.chmod(0o755)
    done = subprocess.run(
        [str(ROOT / "run"), "demo"],
        capture_output=True,
        check=False,
        text=True,
        env={**os.environ, "PYTHON": str(old)},
    )
    assert done.returncode == 1
    assert "needs Python 3.11 or later" in done.stderr
    assert "3.9.1" in done.stderr


@pytest.mark.parametrize("name", ["run", ".ci/run"])
def test_scripts_are_executable(name):
    assert os.access(ROOT / name, os.X_OK)
