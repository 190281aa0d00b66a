"""Commands that a newcomer runs: importing, the examples, ``./run``."""

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
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def python(*arguments):
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, check=False, text=True
    )


def test_import_is_fast():
    program = "import time, discreet; print(time.process_time())"
    spent = [float(python("-c", program).stdout) for _ in range(5)]
    assert min(spent) < IMPORT_BUDGET, f"{min(spent):.3f} s"


def test_import_loads_no_extra():
    loaded = python("-c", "import sys, discreet; print(*sys.modules)").stdout.split()
    assert {name.partition(".")[0] for name in loaded} & NOT_AT_IMPORT == set()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_run(path):
    done = python("-W", "error", str(path))
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert not done.stderr


def test_the_demo_runs():
    done = python("-W", "error", "-m", "discreet.demo")
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
