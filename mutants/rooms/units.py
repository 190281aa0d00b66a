"""Mutants of the room ``units``."""

from __future__ import annotations

from typing import Final

from mutants.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        name="replacing a row touches one row",
        file="discreet/units.py",
        old="        return 2 if self.replaces else 1\n",
        new="        return 1\n",
        why="A unit that takes another's place moves a histogram by one instead of two.",
        caught_by=(
            "tests/units/test_metrics.py::test_what_a_relation_says_of_itself_is_true_of_all_its_neighbors",
        ),
    ),
    Mutant(
        name="tables of different sizes are close under replace",
        file="discreet/units.py",
        old="            return gone if gone == come else math.inf\n",
        new="            return max(gone, come)\n",
        why="A mechanism that reveals the number of rows is priced as private.",
        caught_by=("tests/units/test_metrics.py::test_the_distance_is_the_shortest_path",),
    ),
)
