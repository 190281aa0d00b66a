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
    for path in SOURCE.rglob("*.py"):
        if path.name != "theorems.py":
            for group in pattern.findall(path.read_text(encoding="utf-8")):
                found |= set(re.findall(r"``([a-z-]+)``", group))
    return found


@pytest.mark.parametrize("key", THEOREMS)
def test_a_theorem_is_stated_once_cited_and_cannot_be_changed(key):
    theorem = THEOREMS[key]
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", theorem.key)
    assert theorem.key == key
    assert re.fullmatch(r"\S.*\.", theorem.statement, re.DOTALL)
    assert "  " not in theorem.statement
    same = [other for other in THEOREMS.values() if other.statement == theorem.statement]
    assert same == [theorem]
    assert key in cited()
    if "docs/proofs/noise.md" in theorem.source:
        assert f"`{key}`" in PROOFS.read_text(encoding="utf-8")
    with pytest.raises(FrozenInstanceError):
        theorem.statement = "Anything goes."
    with pytest.raises(TypeError):
        THEOREMS[key] = Theorem(key="x", statement="y", source="z")


def test_the_code_cites_nothing_else():
    assert cited() <= set(THEOREMS)
