"""The wheel: it builds, and what is installed from it answers without the repository."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.house.pages import ROOT

BASE = sys._base_executable
FIRST_ANSWER = '''
import importlib.resources
import sys
import discreet as dp
script = importlib.resources.files("discreet.local") / "browser" / "discreet-local.js"
assert "getRandomValues" in script.read_text(encoding="utf-8")
assert dp.__file__.startswith(sys.prefix), dp.__file__
policy = """
format = 1
unit = "patient"
[limits]
max_rows = 1
[tables.visits.columns]
patient = { type = "integer" }
"""
budget = dp.Budget(epsilon=1)
with dp.open({"visits": "visits.csv"}, policy=policy, budget=budget, ledger="ledger") as clinic:
    print(clinic.ask("SELECT COUNT(*) AS n FROM visits", epsilon=1))
'''


def done(*command, cwd):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ran = subprocess.run(
        command, check=False, cwd=cwd, capture_output=True, text=True, env=environment
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of the library."""
    return built(ROOT, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """The wheel of the course."""
    return built(ROOT / "course", tmp_path_factory.mktemp("course"))


def built(project, out):
    """Build a wheel from the tree, with the build tools of the tests."""
    build = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out))
    done(*build, str(project), cwd=out)
    (made,) = out.glob("*.whl")
    return made


def newer():
    """Other interpreters from Python 3.12 on that this machine has, each version once."""
    places = [Path(place) for place in os.environ.get("PATH", "").split(os.pathsep) if place]
    places += Path.home().glob(".pyenv/versions/*/bin")
    found = {}
    for version in range(12, 20):
        for place in places:
            python = place / f"python3.{version}"
            works = python.is_file() and subprocess.run(
                [python, "-c", "import venv, pip"], check=False, capture_output=True
            )
            if works and works.returncode == 0 and (3, version) != sys.version_info[:2]:
                found.setdefault(version, python)
    return list(found.values())


@pytest.mark.slow
def test_newer_interpreters_answer_from_the_wheel(wheel, tmp_path):
    """Python 3.12 and later, where there is one; dependencies come from the registry."""
    others = newer()
    if not others:
        pytest.skip("there is no Python from 3.12 on beside the one that runs the tests")
    for python in others:
        folder = tmp_path / python.name
        folder.mkdir()
        (folder / "visits.csv").write_text("patient\n" + "".join(f"{n}\n" for n in range(40)))
        own = folder / "env" / "bin" / "python"
        done(python, "-m", "venv", "env", cwd=folder)
        done(own, "-m", "pip", "install", "-qq", wheel, cwd=folder)
        answer = done(own, "-W", "error", "-c", FIRST_ANSWER, cwd=folder)
        assert " n" in answer


@pytest.mark.parametrize(
    "fetched", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["offline", "registry"]
)
def test_a_clean_environment_answers_from_the_wheel(wheel, course, tmp_path, fetched):
    """Dependencies come from the registry, or offline from the environment of the tests."""
    home = tmp_path / "env"
    done(BASE, "-m", "venv", "--without-pip", str(home), cwd=tmp_path)
    python, extra = home / "bin" / "python", [] if fetched else ["--no-deps", "--no-index"]
    pip = (BASE, "-m", "pip", "--python", python, "install", "-qq", "--no-compile")
    done(*pip, *extra, wheel, cwd=tmp_path)  # only what is imported is compiled, when it is
    if not fetched:
        (site,) = home.glob("lib/python*/site-packages")
        (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    (tmp_path / "visits.csv").write_text("patient\n" + "".join(f"{n}\n" for n in range(40)))
    assert " n" in done(python, "-W", "error", "-c", FIRST_ANSWER, cwd=tmp_path)
    assert "init" in done(home / "bin" / "discreet", "--help", cwd=tmp_path)
    done(*pip, "--no-deps", "--no-index", course, cwd=tmp_path)
    assert "ten-rows" in done(home / "bin" / "discreet", "learn", cwd=tmp_path)
    done(home / "bin" / "discreet", "learn", "--notebooks", "course", cwd=tmp_path)
    assert (tmp_path / "course" / "01-attack-first.ipynb").is_file()
