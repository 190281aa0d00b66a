"""Mutants: each applies and names real tests; some are tried here."""

import ast
from dataclasses import replace
from functools import cache

import pytest

from discreet.errors import WrongKind
from mutants import trial
from mutants.catalogue import MUTANTS
from mutants.mutant import ROOT, SOURCE, Mutant, StalePatchError
from mutants.witness import asserts
from tests.noise.laws import WrongLaw

KERNEL = {
    "accounting",
    "engines",
    "ledger",
    "local",
    "loss",
    "mechanisms",
    "noise",
    "plan",
    "query",
    "release",
    "requests",
    "session",
}
TEXTS = ("tests/engines/test_statements.py", "tests/plan/test_golden.py")
"""Files whose tests compare texts: they say that something changed, not that it is wrong."""

FAST = [mutant for mutant in MUTANTS if mutant.fast]


def name(mutant):
    return mutant.name.replace(" ", "-")


@cache
def functions(file):
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("mutant", MUTANTS, ids=name)
def test_a_mutant_applies_once_to_a_kernel_file_and_stays_python(mutant):
    text = mutant.patched()
    ast.parse(text)
    assert text.count("Trust: kernel") == 1
    assert mutant.why.endswith(".")


@pytest.mark.parametrize("mutant", MUTANTS, ids=name)
def test_the_tests_that_catch_a_mutant_exist(mutant):
    assert mutant.caught_by
    for test in mutant.caught_by:
        file, _, function = test.partition("::")
        assert function.partition("[")[0] in functions(file), test
        assert file not in TEXTS, "a test of what the code does is needed, not of how it is written"


def test_every_kernel_room_has_mutants_and_each_has_one_name():
    assert {mutant.room for mutant in MUTANTS} >= KERNEL
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    assert len({(mutant.file, mutant.old, mutant.new) for mutant in MUTANTS}) == len(MUTANTS)
    assert len(FAST) >= 8


@pytest.mark.parametrize("mutant", FAST, ids=name)
def test_a_mutant_is_caught(mutant):
    """One of its tests is enough here; ``./run mutants`` runs all of them, for all mutants."""
    verdict = trial.tried(replace(mutant, caught_by=mutant.caught_by[:1]))
    assert verdict.caught, str(verdict)


# --- the judge itself ---------------------------------------------------------------------------

HARMLESS = Mutant(
    name="nothing changes",
    file="discreet/noise/laplace.py",
    old="_NARROW: Final = 16  #",
    new="_NARROW: Final = 8 + 8  #",
    why="It does not.",
    caught_by=("tests/noise/test_grid.py::test_the_bounds_are_attained",),
)


def test_what_breaks_nothing_survives():
    verdict = trial.tried(HARMLESS)
    assert not verdict.caught
    assert str(verdict).startswith("SURVIVED")
    assert verdict.missed == {HARMLESS.caught_by[0]: "passed"}


def test_code_that_cannot_run_is_not_caught():
    broken = replace(HARMLESS, new="_NARROW: Final = not_a_name\n")
    verdict = trial.tried(broken)
    assert not verdict.caught
    assert "not run" in str(verdict)


@pytest.mark.parametrize("old", ["no such text", "import", HARMLESS.new])
def test_a_patch_that_does_not_apply_once_is_refused(old):
    with pytest.raises(StalePatchError):
        replace(HARMLESS, old=old, new=HARMLESS.new).patched()


def test_sources_are_never_touched():
    before = (SOURCE / HARMLESS.file).read_text(encoding="utf-8")
    assert HARMLESS.patched() != before
    with trial.copied() as copy:
        (copy / HARMLESS.file).write_text("", encoding="utf-8")
    assert (SOURCE / HARMLESS.file).read_text(encoding="utf-8") == before


@pytest.mark.parametrize(
    ("error", "counts"),
    [
        (AssertionError(), True),
        (pytest.fail.Exception("DID NOT RAISE"), True),
        (WrongKind(what="a.", why="b.", do="c."), True),
        (WrongLaw(), True),
        (ImportError(), False),
        (ValueError(), False),
        (NameError(), False),
        (TypeError(), False),
        (ExceptionGroup("several", [NameError(), AssertionError()]), True),
        (ExceptionGroup("several", [NameError()]), False),
        (None, False),
    ],
)
def test_what_counts_as_caught(error, counts):
    assert asserts(error) is counts
