"""Mutants of the room ``requests``."""

from __future__ import annotations

from typing import Final

from mutants.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        name="a unit chooses its groups only if there are many more",
        file="discreet/requests/engine_request.py",
        old="        return self.public is None or len(self.public) > self.groups",
        new="        return self.public is None or len(self.public) > self.groups + 1",
        why="With one public group more than the limit, anyone who is in all of them moves all of them.",
        caught_by=("tests/audit/test_limits.py::test_no_visitor_moves_a_total_beyond_its_price",),
    ),
    Mutant(
        name="a request without a limit on groups",
        file="discreet/requests/engine_request.py",
        old="        if (self.groups is None) != (not self.unit):\n",
        new="        if self.groups is not None and not self.unit:\n",
        why="A person in every group changes all of them.",
        caught_by=("tests/plan/test_lowered.py::test_contradictions_are_refused",),
    ),
    Mutant(
        name="a total that is missing counts as nought",
        file="discreet/requests/raw_totals.py",
        old=(
            "    if totals.null_count:\n"
            '        message = "a total is missing"\n'
            "        raise RuntimeError(message)\n"
        ),
        new="",
        why="A total that one row makes NULL reads as zero, however large it was.",
        caught_by=("tests/plan/test_arrow_arrays.py::test_a_total_that_is_missing_is_no_nought",),
    ),
)
