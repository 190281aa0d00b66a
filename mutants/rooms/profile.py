"""Mutants of the room ``profile``."""

from __future__ import annotations

from typing import Final

from mutants.mutant import Mutant

_TREE: Final = "discreet/profile/tree.py"
_MEASURING: Final = "discreet/profile/measuring.py"
_TESTS: Final = "tests/profile/test_profile.py"

MUTANTS: Final = (
    Mutant(
        name="cells of a level that overlap",
        file=_TREE,
        old="        cells = np.concatenate([[missing], sums[ends[1]] - sums[ends[0]]])\n",
        new="        cells = np.concatenate([[missing], sums[ends[1]]])\n",
        why="One row counts in many cells, and moves a level further than is priced.",
        caught_by=(f"{_TESTS}::test_levels_move_by_one_person_whatever_noise_has_chosen",),
    ),
    Mutant(
        name="a profile for fewer rows than its requests bound",
        file=_MEASURING,
        old="max(measured) <= self.rows",
        new="measured",
        why="A unit moves every sum by more than the noise hides.",
        caught_by=(f"{_TESTS}::test_a_forged_profile_is_refused",),
    ),
    Mutant(
        name="categories of more groups than a threshold is about",
        file=_MEASURING,
        old="(read.groups or 1) <= self.groups",
        new="bool(read.keys)",
        why="A unit in many categories shows one of them by more than delta.",
        caught_by=(f"{_TESTS}::test_a_forged_profile_is_refused",),
    ),
)
