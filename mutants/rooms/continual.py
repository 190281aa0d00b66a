"""Mutants of the room ``continual``."""

from __future__ import annotations

from typing import Final

from mutants.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        name="a value is in one block of a tree",
        file="discreet/continual/binary_tree.py",
        old=(
            "    @property\n"
            "    def _multiplicity(self) -> int:\n"
            "        return self.depth\n"
            "\n"
            "    def tree(self, *, distance: int = 1) -> Node:\n"
            '        """Return one leaf for each block; blocks of one height lie side by side."""\n'
            "        leaf = self._listed(distance)\n"
            "        heights: list"
        ),
        new=(
            "    @property\n"
            "    def _multiplicity(self) -> int:\n"
            "        return 1\n"
            "\n"
            "    def tree(self, *, distance: int = 1) -> Node:\n"
            '        """Return one leaf for each block; blocks of one height lie side by side."""\n'
            "        leaf = self._listed(distance)\n"
            "        heights: list"
        ),
        why="A running total is priced as one answer.",
        caught_by=(
            "tests/continual/test_prices.py::test_the_price_of_two_changes_covers_all_of_them",
            "tests/continual/test_prices.py::test_the_pure_price_is_the_largest_move_of_all_neighbors",
        ),
    ),
)
