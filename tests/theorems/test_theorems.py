"""The list of theorems: keys, statements, and the code that cites them."""

import re
from dataclasses import FrozenInstanceError
from functools import cache
from pathlib import Path

import pytest

import discreet
from discreet.theorems import THEOREMS, Theorem

SOURCE = Path(discreet.__file__).parent
PROOFS = SOURCE.parents[1] / "docs" / "proofs" / "noise.md"


@cache
def cited():
    """Return every key that a docstring or comment of the code names."""
    pattern = re.compile(r"keys?:?\s+(``[a-z-]+``(?:,\s+``[a-z-]+``)*)")
    found = set()
    packages = (SOURCE, SOURCE.with_name("discreet_audit"))
    for path in (file for package in packages for file in package.rglob("*.py")):
        if path.name != "theorems.py":
            for group in pattern.findall(path.read_text(encoding="utf-8")):
                found |= set(re.findall(r"``([a-z-]+)``", group))
    return found


@pytest.fixture(params=THEOREMS.values(), ids=lambda theorem: theorem.key)
def theorem(request):
    return request.param


def test_a_key_is_plain_words(theorem):
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", theorem.key)
    assert THEOREMS[theorem.key] is theorem


def test_a_statement_is_a_sentence(theorem):
    assert re.fullmatch(r"\S.*\.", theorem.statement, re.DOTALL)
    assert "  " not in theorem.statement


def test_a_statement_is_made_once(theorem):
    same = [other for other in THEOREMS.values() if other.statement == theorem.statement]
    assert same == [theorem]


def test_the_code_cites_the_theorem(theorem):
    assert theorem.key in cited()


def test_the_code_cites_nothing_else():
    assert cited() <= set(THEOREMS)


def test_a_proof_that_is_promised_is_on_its_page(theorem):
    if "docs/proofs/noise.md" in theorem.source:
        assert f"`{theorem.key}`" in PROOFS.read_text(encoding="utf-8")


def test_a_theorem_cannot_be_changed(theorem):
    with pytest.raises(FrozenInstanceError):
        theorem.statement = "Anything goes."
    with pytest.raises(TypeError):
        THEOREMS[theorem.key] = Theorem(key="x", statement="y", source="z")
