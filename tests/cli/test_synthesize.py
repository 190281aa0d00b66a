"""``discreet synthesize``: a new file, a plan in words, JSON, and what is refused."""

from __future__ import annotations

import json
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
    assert "of the budget is left" in done.stderr
    assert (clinic / "visits.ledger").exists()


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
        ((*ARGUMENTS, "--epsilon", "1", "--out", "x.csv"), "no price in epsilon alone"),
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
