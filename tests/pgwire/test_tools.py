"""Superset and dbt connect, by their own code."""

import json
import os
import shutil
import subprocess

import pytest

from tests.house.pages import ROOT
from tests.pgwire.clinics import connected, sql_clinic
from tests.servers.tools import clients


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with sql_clinic(tmp_path_factory.mktemp("site")) as found:
        yield found


def charges(server):
    entries = server.counter.history(server.caller("olga"), "clinic")
    return sum(each["kind"] == "charge" for each in entries)


def said_by(program, *words, folder, **more):
    """Return what a program of the tools' own environment says."""
    environment = {**os.environ, **more}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        [clients() / program, *words],
        capture_output=True,
        check=False,
        cwd=folder,
        env=environment,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_superset_looks_around_asks_and_estimates(server, tmp_path):
    place = f"ana:{server.token('ana')}@127.0.0.1:{server.sql_port}/clinic"
    url = f"postgresql+psycopg2://{place}?options=-c%20discreet.epsilon%3D0.5"
    checks = ROOT / "tests" / "pgwire" / "superset_checks.py"
    before = charges(server)
    said = said_by("python", "-I", checks, tmp_path, url, folder=tmp_path).splitlines()[-1]
    assert json.loads(said) == {
        "spec": "PostgreSQL",
        "alive": True,
        "schemas": ["information_schema", "public"],
        "tables": ["visits"],
        "views": [],
        "comment": "protects one person (patient) under add_remove",
        "columns": [
            ["patient", "BIGINT", True, None],
            ["visit", "BIGINT", True, None],
            ["region", "TEXT", False, "one of: north, south"],
            ["ward", "TEXT", False, "one of: A, B, C"],
            ["cost", "DOUBLE_PRECISION", False, "from 0 to 100"],
        ],
        "keys": [{"constrained_columns": None, "name": None}, []],
        "frame": [["ward", "n"], ["A", "B", "C"]],
        "price": [{"Start-up cost": 0.0, "Total cost": 0.5}],
    }
    assert charges(server) == before + 1  # an estimate is free


def test_one_model_of_dbt_is_one_priced_question(server, tmp_path):
    folder = shutil.copytree(ROOT / "examples" / "dbt", tmp_path / "dbt")
    place = {"HOST": "127.0.0.1", "PORT": str(server.sql_port), "USER": "ana"}
    place |= {"TOKEN": server.token("ana"), "SSLMODE": "disable"}
    more = {f"CLINIC_{name}": each for name, each in place.items()}
    more["DBT_SEND_ANONYMOUS_USAGE_STATS"] = "false"

    def dbt(*words):
        return said_by("dbt", *words, "--profiles-dir", ".", folder=folder, **more)

    before = charges(server)
    for _ in range(2):
        dbt("run")
    assert charges(server) == before + 1
    assert len((folder / "seeds" / "visits_by_ward_answer.csv").read_text().splitlines()) == 4
    shown = ("--output", "json", "--output-keys", "config", "--quiet")
    meta = json.loads(dbt("ls", "--resource-type", "seed", *shown))["config"]["meta"]
    assert meta["epsilon"] == 0.1
    with connected(server, options="-c discreet.epsilon=0.1") as db:
        assert db.execute((folder / "models" / "visits_by_ward.sql").read_text().partition("}}")[2])
        assert db.execute("SHOW discreet.receipt").fetchone() == (meta["receipt"],)
    assert charges(server) == before + 1
