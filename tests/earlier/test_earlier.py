"""Files of an earlier version open, verify, and answer from the record without a new charge."""

import json
import shutil
from pathlib import Path

import pytest

import discreet as dp
from chaos.cards import carried
from discreet.accounting import account, decode, encode
from discreet.ledger.verify import verify_file
from tests.earlier.make import asked

FILES = Path(__file__).parent / "files"
TREES = json.loads((FILES / "trees.json").read_text())


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "files"
    shutil.copytree(FILES, place)
    for each in place.iterdir():
        each.chmod(0o600)
    carried(place / "clinic.ledger")
    return place


@pytest.mark.parametrize("name", ["clinic.ledger", "clinic.jsonl"])
def test_they_verify(folder, name):
    assert verify_file(folder / name).ok


def test_every_answer_is_replayed(folder):
    told = json.loads((FILES / "told.json").read_text())
    with dp.open(
        {"visits": str(folder / "visits.csv")},
        policy=str(folder / "policy.toml"),
        ledger=folder / "clinic.ledger",
    ) as session:
        left = session.remaining
        entries = session.ledger.receipt
        assert json.loads(json.dumps(asked(session), default=str)) == told
        assert session.remaining == left
        assert session.ledger.receipt == entries


def test_trees_are_read_as_they_were_written_and_cost_the_same():
    for form, price in TREES:
        tree = decode(form)
        assert encode(tree) == form
        try:
            found = str(account(tree, relation="add_remove").epsilon(delta="1e-6"))
        except dp.errors.DiscreetError as error:
            found = error.code
        assert found == price
