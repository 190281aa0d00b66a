"""Every theorem is tested, and every mark names a theorem."""

import ast
import functools

import pytest

from discreet.theorems import THEOREMS
from tests.house.pages import ROOT


@functools.cache
def cited_keys():
    """Return the arguments of all ``pytest.mark.theorem`` calls below tests, with their files."""
    cited = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Attribute(value=value, attr="theorem"), args=args):
                    if ast.unparse(value) in {"pytest.mark", "mark"}:
                        for argument in args:
                            assert isinstance(argument, ast.Constant), f"{path}: not a literal key"
                            cited.setdefault(argument.value, path)
                case _:
                    pass
    return cited


def test_every_mark_names_a_theorem():
    assert set(cited_keys()) - set(THEOREMS) == set()


@pytest.mark.parametrize("key", THEOREMS)
def test_every_theorem_is_whole_and_cited_by_a_test(key):
    theorem = THEOREMS[key]
    assert theorem.key == key
    assert theorem.statement
    assert theorem.source
    assert key in cited_keys()
