"""The table of what is enforced, and where, names files and tests that are there."""

import ast
import re

import pytest

from discreet.plan.policy.owner_promises import PromiseKind
from tests.house.pages import ROOT, SOURCE

PAGE = (ROOT / "docs" / "reference" / "enforcement.md").read_text(encoding="utf-8")
ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split("|"))
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| fact ")
]


def test_the_table_is_read():
    assert len(ROWS) > 20


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_files_that_enforce_are_there_and_in_the_kernel(row):
    files = re.findall(r"`([^`]+)`", row[1])
    assert files
    for file in files:
        opening = (SOURCE / file).read_text(encoding="utf-8")[:400]
        assert "Trust: kernel" in opening, file


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_tests_that_plant_are_there(row):
    tests = re.findall(r"`([^`]+)`", row[2])
    assert tests
    for test in tests:
        file, _, name = test.partition("::")
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, test


def test_the_guide_has_every_kind_of_promise():
    guide = (ROOT / "docs" / "guide" / "promises.md").read_text(encoding="utf-8")
    section = guide[guide.index("## What only you can promise") : guide.index("## The check")]
    rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
    assert len(rows) == len(PromiseKind.__args__)


def test_pages_lead_owners_to_the_guide():
    for page in ("README.md", "docs/known-weaknesses.md", "docs/index.md", "docs/guide/asking.md"):
        assert "promises.md" in (ROOT / page).read_text(encoding="utf-8"), page
