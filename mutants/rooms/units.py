"""Mutants of the room ``units``."""

from __future__ import annotations

from typing import Final

from mutants.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        name="replacing a row takes one step",
        file="discreet/units/relation.py",
        old="    (Relation.ADD_REMOVE, Relation.REPLACE): 2,\n",
        new="    (Relation.ADD_REMOVE, Relation.REPLACE): 1,\n",
        why="What is certified for rows that come or go is used for rows that are exchanged, at half the price.",
        caught_by=(
            "tests/units/test_metrics.py::test_bounded_says_nothing_about_unbounded",
            "tests/units/test_metrics.py::test_steps_are_the_largest_distance_of_wanted_neighbors",
        ),
    ),
    Mutant(
        name="counts of several conditions move by one",
        file="discreet/units/sensitivity.py",
        old="        l1=Fraction(most * full),\n",
        new="        l1=Fraction(full),\n",
        why="A unit with several rows moves a count by as many.",
        caught_by=("tests/units/test_sensitivity.py::test_counts",),
    ),
)
