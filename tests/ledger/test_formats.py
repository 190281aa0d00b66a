"""Entries of format 1, as a file keeps them: what is read is what was written.

``python -m tests.ledger.test_formats`` writes the file again, after a change that is meant.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from discreet import units
from discreet.accounting import Box, Budget, Leaf, equals
from discreet.ledger import Ledger
from discreet.ledger.verify import verify_file
from discreet.mechanisms import Laplace

STORED = Path(__file__).parent / "files" / "version-1.jsonl"


def test_every_kind_of_entry_is_stored():
    lines = STORED.read_text().splitlines()[1:]
    kinds = {json.loads(json.loads(each)["line"])["kind"] for each in lines}
    charging = {"charge", "start", "release", "fail", "reopen"}
    assert kinds == {"open", "account", "raise", "restore", "describe"} | charging


def test_a_stored_ledger_is_verified_and_restored(tmp_path):
    report = verify_file(STORED)
    assert report.ok, report
    people = {"reason": "a test", "by": "ana", "approved_by": "ben"}
    place = tmp_path / "again.ledger"
    with Ledger.restore(place, STORED, last=report.receipt, **people) as ledger:
        assert ledger.find("5f" * 32).answer == b"12, 7, 31 \xff"
        assert ledger.left(account="data/flu").amounts[0] == 4 * 10**23
        assert ledger.descriptions("schema") == ({"table": "visits"},)


def write(folder):
    """Write every kind of entry anew, after a change of format that is meant."""
    people = {"by": "ana", "approved_by": "ben"}
    place = Path(folder) / "one.ledger"
    budget = Budget(epsilon=1, delta="1e-9")
    with Ledger.open(place, unit=units.row(), budget=budget, account="data") as one:
        one.describe("schema", {"table": "visits"})
        one.open_account("data/flu", budget=Budget(epsilon="0.5"), by="ana")
        twice = Budget(epsilon=2, delta="1e-9")
        one.raise_limit(budget=twice, account="data", reason="a second wave", **people)
        north = Box({"ward": equals("A")})
        tree = Leaf(Laplace(scale=10))
        one.charge(tree, key="by ward", question="5f" * 32, scope=north, account="data/flu")
        one.start("by ward")
        one.release("by ward", b"12, 7, 31 \xff")
        one.charge(Leaf(Laplace(scale=4)), key="failed")
        one.start("failed")
        one.fail("failed")
        one.reopen("failed", reason="a disk was replaced", by="ana")
        last = one.backup(Path(folder) / "one.jsonl")
    two = Path(folder) / "two.ledger"
    source = place.with_suffix(".jsonl")
    with Ledger.restore(two, source, last=last, reason="moved", **people) as again:
        again.backup(Path(folder) / STORED.name)
    (Path(folder) / STORED.name).replace(STORED)


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        write(folder)
