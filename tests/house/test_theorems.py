"""Every theorem that a docstring states is tested, and every mark names a theorem."""

import ast
import functools

import pytest

from discreet.theorems import read_theorems, theorems
from tests.house.pages import ROOT

BESIDE = ["src/discreet_course", "tests/audit"]
STATED = theorems() | read_theorems(
    ROOT, (file for path in BESIDE for file in (ROOT / path).rglob("*.py"))
)


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
    assert set(cited_keys()) - set(STATED) == set()


@pytest.mark.parametrize("key", STATED)
def test_every_theorem_is_stated_with_its_source_and_cited_by_a_test(key):
    theorem = STATED[key]
    assert theorem.statement
    assert theorem.source
    assert key in cited_keys()


def test_the_keys_of_a_release_are_theorems():
    assert {"laplace-mechanism", "guessing-odds", "posterior-bound"} <= set(theorems())


def test_a_statement_is_read_from_a_docstring(tmp_path):
    file = tmp_path / "room.py"
    file.write_text(
        '"""A room.\n\nTheorem (key ``one-thing``; Somebody 1999).  All ``x`` are\n:func:`f`.\n'
        'Proof.  Trivial.\n\nTheorem (keys ``two``, ``three``).  Then\n\nnothing.\n"""\n'
    )
    read = read_theorems(tmp_path, [file])
    assert sorted(read) == ["one-thing", "three", "two"]
    one = read["one-thing"]
    assert (one.statement, one.source, one.module) == ("All x are f.", "Somebody 1999", "room")
    assert read["two"].source == "proof in room"
    with pytest.raises(TypeError):
        read["four"] = one
