"""``discreet synthesize``: a new file, a plan in words, JSON, and what is refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from discreet.cli.app import app
from discreet.ledger.ledger import Ledger
from tests.synthetic.tables import POLICY, SCHEMA, visits

ARGUMENTS = ("visits", "--columns", "ward,age", "--method", "mst", "--bins", "4")
PRICE = ("--epsilon", "1", "--delta", "1e-9")
KILLED = """
import os, signal, sys
import pyarrow.csv
from discreet.cli.app import app

whole = pyarrow.csv.write_csv

def half(table, path):
    whole(table.slice(0, 35), path)
    os.kill(os.getpid(), signal.SIGKILL)

pyarrow.csv.write_csv = half
app(sys.argv[1:])
"""
"""The command, killed when half of the table is written."""


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a policy and data, and work in it."""
    monkeypatch.chdir(tmp_path)
    session = '[session]\ndata = "visits.parquet"\nledger = "visits.ledger"\n'
    Path("policy.toml").write_text(POLICY + session, encoding="utf-8")
    pq.write_table(visits(500), "visits.parquet")
    return tmp_path


def run(*arguments: str, more: Sequence[str] = ()) -> Result:
    """Run the command."""
    return CliRunner().invoke(app, ["synthesize", *arguments, *more])


def test_a_table_is_written_and_its_report_shown(clinic: Path) -> None:
    """Parquet with the columns that were asked for, the report on stdout, the budget on stderr."""
    done = run(*ARGUMENTS, *PRICE, "--out", "made-up.parquet", "--rows", "70")
    assert done.exit_code == 0, done.output
    table = pq.read_table("made-up.parquet")
    assert table.num_rows == 70
    assert table.column_names == ["patient", "ward", "age"]
    assert table.schema.field("age").type == SCHEMA.field("age").type
    assert "people who do not exist" in done.stdout
    assert "rows off" in done.stdout
    assert "70 rows are in made-up.parquet" in done.stdout
    assert "of the budget left" in done.stderr
    assert (clinic / "visits.ledger").exists()


def test_the_report_bounds_marginals_that_were_not_measured(clinic: Path) -> None:
    """A pair that was passed over is bounded by the one that was chosen, as in Python."""
    chosen = ("visits", "--method", "mst", "--bins", "4")
    done = run(*chosen, "--rho", "3", "--out", "made-up.parquet", "--json")
    assert done.exit_code == 0, done.output
    assert "selected" in {each["from"] for each in json.loads(done.stdout)["errors"]}
    assert all(each["rows_off"] is not None for each in json.loads(done.stdout)["errors"])


def test_csv_and_json(clinic: Path) -> None:
    """A program reads what was made, what it cost and how far off it may be; again, it is free."""
    first = run(*ARGUMENTS, *PRICE, "--out", "made-up.csv", "--json")
    assert first.exit_code == 0, first.output
    said = json.loads(first.stdout)
    assert (said["kind"], said["out"], said["method"]) == ("synthesis", "made-up.csv", "mst")
    assert said["rows"] == said["total"] == pyarrow.csv.read_csv("made-up.csv").num_rows
    assert said["errors"][0]["columns"] == ["ward", "age"]
    assert said["errors"][0]["from"] == "measured"
    assert not said["replayed"]
    again = json.loads(run(*ARGUMENTS, *PRICE, "--out", "again.csv", "--json").stdout)
    assert again["replayed"]
    assert again["left"] == said["left"]
    assert (clinic / "again.csv").read_bytes() == (clinic / "made-up.csv").read_bytes()


def test_a_dry_run_makes_neither_a_file_nor_a_ledger(clinic: Path) -> None:
    """It prints the plan, in words or as JSON."""
    done = run(*ARGUMENTS, *PRICE, "--dry-run")
    assert done.exit_code == 0, done.output
    assert "synthetic table of visits" in done.stdout
    said = json.loads(run(*ARGUMENTS, *PRICE, "--dry-run", "--json").stdout)
    assert said["kind"] == "synthesis_plan"
    assert [column["codes"] for column in said["columns"]] == [3, 4]
    assert not (clinic / "visits.ledger").exists()


@pytest.mark.parametrize(
    ("workload", "marginals"),
    [
        ("ranges:age", 1),
        ("counts: ward=A, age=18..64; ward!=B", 2),
        ("counts:age=20;ward=A,age=30", 2),
    ],
)
def test_ranges_and_counts_are_read(clinic: Path, workload: str, marginals: int) -> None:
    """Spaces do not matter, and numbers are those of the column."""
    done = run(*ARGUMENTS, *PRICE, "--workload", workload, "--dry-run")
    assert done.exit_code == 0, done.output
    assert f"gets {marginals} marginal" in done.stdout
    assert not (clinic / "visits.ledger").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((*ARGUMENTS, *PRICE), "--out does not name a file"),
        ((*ARGUMENTS, *PRICE, "--out", "visits.ledger.txt"), "--out does not name a file"),
        ((*ARGUMENTS, *PRICE, "--out", "visits.parquet"), "something is there already"),
        ((*ARGUMENTS, *PRICE, "--out", "no/such/folder.csv"), "cannot be written"),
        (("visits", *PRICE, "--method", "best", "--out", "x.csv"), "no method 'best'"),
        (("visits", *PRICE, "--workload", "all", "--out", "x.csv"), "workload 'all'"),
        (("visits", *PRICE, "--workload", "ranges:ward", "--out", "x.csv"), "no ranges"),
        (("visits", *PRICE, "--workload", "counts:ward", "--out", "x.csv"), "not understood"),
        (("visits", *PRICE, "--workload", "counts:ward=Z", "--out", "x.csv"), "cannot have"),
        (("visitors", *PRICE, "--out", "x.csv"), "no table visitors"),
        (("visits", *PRICE, "--columns", "height", "--out", "x.csv"), "height"),
        (("visits", *PRICE, "--columns", "patient", "--out", "x.csv"), "names the unit"),
        ((*ARGUMENTS, "--epsilon", "100", "--delta", "1e-9", "--out", "x.csv"), "confirm"),
    ],
)
def test_what_is_refused_costs_nothing(clinic: Path, arguments: Sequence[str], words: str) -> None:
    """No file stays behind, what was there is as it was, and the ledger has no charge."""
    before = (clinic / "visits.parquet").read_bytes()
    done = run(*arguments)
    assert done.exit_code != 0
    assert words in done.output
    assert not (clinic / "x.csv").exists()
    assert (clinic / "visits.parquet").read_bytes() == before
    if (clinic / "visits.ledger").exists():
        with Ledger.open(clinic / "visits.ledger") as ledger:
            assert all(entry["kind"] != "charge" for entry in ledger.entries())


def test_an_existing_ledger_is_never_overwritten(clinic: Path) -> None:
    """Not even one whose name ends like a table's."""
    Path("ledger.csv").write_bytes(b"")
    assert run(*ARGUMENTS, *PRICE, "--out", "ledger.csv").exit_code != 0
    assert (clinic / "ledger.csv").read_bytes() == b""


def test_a_run_that_is_killed_leaves_no_table_that_looks_complete(clinic: Path) -> None:
    """The file stays empty, the refusal says why, and the same call then costs nothing more."""
    arguments = (*ARGUMENTS, *PRICE, "--out", "made-up.csv", "--rows", "70")
    killed = subprocess.run([sys.executable, "-c", KILLED, "synthesize", *arguments], check=False)
    assert killed.returncode == -signal.SIGKILL
    target, beside = clinic / "made-up.csv", clinic / ".made-up.discreet-new.csv"
    assert target.read_bytes() == b""
    assert pyarrow.csv.read_csv(beside).num_rows == 35
    refused = run(*arguments)
    assert refused.exit_code == 2
    assert "is empty: another run writes it now, or was stopped" in " ".join(refused.stderr.split())
    assert beside.name in refused.stderr
    target.unlink()
    again = run(*arguments, "--json")
    assert json.loads(again.stdout)["replayed"]
    assert pyarrow.csv.read_csv(target).num_rows == 70
    assert not beside.exists()


def test_a_table_appears_once_it_is_durable(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its path is empty until then, and an error leaves nothing in its folder."""
    target, beside = clinic / "made-up.parquet", clinic / ".made-up.discreet-new.parquet"
    seen, durable = [], os.fsync

    def full(number: int) -> None:
        if not (beside.exists() and os.path.samestat(os.fstat(number), beside.stat())):
            durable(number)  # the ledger's
            return
        seen.append((pq.read_table(beside).num_rows, target.stat().st_size))
        raise OSError(28, "No space left on device")

    arguments = (*ARGUMENTS, *PRICE, "--out", "made-up.parquet", "--rows", "70")
    with monkeypatch.context() as patched:
        patched.setattr("discreet.cli.saved_files.os.fsync", full)
        done = run(*arguments)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "the disk that it goes to is full" in done.stderr
    assert seen == [(70, 0)]
    assert not target.exists()
    assert not beside.exists()
    assert run(*arguments).exit_code == 0
    assert pq.read_table(target).num_rows == 70
