"""Entries of format 1, as a file keeps them: what is read is what was written.

``python -m tests.ledger.test_formats`` writes the file again, after a change that is meant.
"""

import base64
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

from discreet import units
from discreet.accounting import Box, Budget, Leaf, equals
from discreet.ledger import Ledger
from discreet.ledger.entries import NO_HEAD, ChargeEntry, Entry, EntryRow, read_entry
from discreet.ledger.verify import verify_file
from discreet.mechanisms import Laplace

STORED = Path(__file__).parent / "files" / "version-1.jsonl"


def rows():
    for text in STORED.read_text().splitlines()[1:]:
        stored = json.loads(text)
        said = json.loads(stored["line"])
        copies = (said["seq"], said["kind"], said.get("key"), said.get("question"))
        answer = None if stored["answer"] is None else base64.b64decode(stored["answer"])
        yield EntryRow(*copies, stored["line"], stored["head"], answer)


def test_every_kind_of_entry_is_read_and_written_as_it_was():
    seq, head, kinds = 0, NO_HEAD, set()
    for row in rows():
        assert row.follows(seq, head)
        seq, head = row.seq, row.head
        entry = read_entry(row)
        if not isinstance(entry, ChargeEntry):  # whose texts are those of its request
            assert entry.line(row.seq, row.fields()["at"]) == row.line
        kinds.add(row.kind)
    assert kinds == {kind.kind for kind in get_args(Entry)}


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
        one.open_account("data/flu", budget=Budget(epsilon="0.5", currency="basic"), by="ana")
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
        last = one.export(Path(folder) / "one.jsonl")
    two = Path(folder) / "two.ledger"
    source = place.with_suffix(".jsonl")
    with Ledger.restore(two, source, last=last, reason="moved", **people) as again:
        again.export(Path(folder) / STORED.name)
    (Path(folder) / STORED.name).replace(STORED)


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        write(folder)
