"""Mutants of the room ``query``."""

from __future__ import annotations

from typing import Final

from mutants.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        name="questions with other bounds on the rows of a window share a digest",
        file="discreet/query/canonical.py",
        old="if item.compare and item.init)",
        new='if item.compare and item.init and item.name != "rows")',
        why="A question is answered with the answer of another one, which leaves out other people.",
        caught_by=("tests/plan/test_bounded_units.py::test_another_bound_is_another_question",),
    ),
    Mutant(
        name="questions about those who have something and those who have not share a digest",
        file="discreet/query/canonical.py",
        old="if item.compare and item.init)",
        new='if item.compare and item.init and item.name != "anti")',
        why="A question about those who are not listed is answered with the answer about those who are.",
        caught_by=(
            "tests/plan/test_digest.py::test_conditions_that_differ_in_a_word_are_different_questions",
        ),
    ),
    Mutant(
        name="all kinds of joins have one digest",
        file="discreet/query/canonical.py",
        old="if item.compare and item.init)",
        new='if item.compare and item.init and item.name != "kind")',
        why="An outer join is answered with the answer of an inner one.",
        caught_by=(
            "tests/plan/test_digest.py::test_joins_of_different_kinds_are_different_questions",
        ),
    ),
    Mutant(
        name="bounds are not part of a question's text",
        file="discreet/query/canonical.py",
        old="if item.compare and item.init)",
        new='if item.compare and item.init and item.name != "bounds_per_row")',
        why="A sum with other bounds is held to be the same question.",
        caught_by=("tests/query/test_canonical.py::test_different_questions",),
    ),
    Mutant(
        name="a condition on an aggregate is not part of a question's text",
        file="discreet/query/canonical.py",
        old="if item.compare and item.init)",
        new='if item.compare and item.init and item.name != "where")',
        why="A count of some is answered with the count of others.",
        caught_by=("tests/query/test_canonical.py::test_different_questions",),
    ),
    Mutant(
        name="differences commute",
        file="discreet/query/canonical.py",
        old='SORTED: Final = frozenset({"AND", "OR", "=", "<>", "+", "*", "LEAST", "GREATEST"})',
        new='SORTED: Final = frozenset({"AND", "OR", "=", "<>", "+", "-", "*", "LEAST", "GREATEST"})',
        why="Two questions with different answers have one digest.",
        caught_by=(
            "tests/plan/test_digest.py::test_conditions_that_differ_in_a_word_are_different_questions",
        ),
    ),
)
