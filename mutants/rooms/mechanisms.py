"""Mutants of the room ``mechanisms``."""

from __future__ import annotations

from typing import Final

from mutants.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        name="Laplace priced at distance one, whatever moves",
        file="discreet/mechanisms/additive.py",
        old="        steps = self._steps(at_distance(distance), coordinates)",
        new="        steps = min(self._steps(at_distance(distance), coordinates), 1)",
        why="The distance between neighbors is forgotten.",
        caught_by=(
            "tests/mechanisms/test_laplace.py::test_the_sum_of_weights",
            "tests/mechanisms/test_laplace.py::test_distances_on_a_grid",
        ),
    ),
    Mutant(
        name="a fraction of a distance rounded down",
        file="discreet/mechanisms/additive.py",
        old="            return steps_at(distance) ** 2 if places == 1",
        new="            return math.floor(distance) ** 2 if places == 1",
        why="A distance of 1.5 is priced as 1, or one of 0.5 as nothing.",
        caught_by=(
            "tests/mechanisms/test_fractional_distances.py::test_vectors_too",
            "tests/mechanisms/test_fractional_distances.py::test_one_number_moves_by_whole_distances_and_vectors_by_roots",
        ),
    ),
    Mutant(
        name="a rare group is shown before the recursion allows it",
        file="discreet/mechanisms/optimal_selection.py",
        old="        parts.append(one if left <= 0 else min(grown, one + (-left * shrink >> fine)))",
        new="        parts.append(one if left <= 0 else max(grown, one + (-left * shrink >> fine)))",
        why="Groups of one person are shown almost surely.",
        caught_by=(
            "tests/mechanisms/test_key_selection_optimal.py::test_all_tables_several_units_apart",
            "tests/mechanisms/test_key_selection_optimal.py::test_groups_below_the_fewest_are_never_shown",
        ),
    ),
    Mutant(
        name="chances of groups are rounded up",
        file="discreet/mechanisms/optimal_selection.py",
        old="    step = (delta.numerator << bits) // delta.denominator",
        new="    step = -(-(delta.numerator << bits) // delta.denominator)",
        why="The chance that a person alone is seen exceeds delta.",
        caught_by=(
            "tests/mechanisms/test_key_selection_chances.py::test_the_numbers_that_are_used_are_private",
        ),
    ),
    Mutant(
        name="two people who enter a group together are seen no more often than one",
        file="discreet/mechanisms/sum_keys.py",
        old="        far = self.distance - (units - 1) * self.most\n",
        new="        far = self.distance\n",
        why="Their coordinates add up, and noise has less to add.",
        caught_by=(
            (
                "tests/mechanisms/test_sum_keys.py::"
                "test_people_who_are_alone_are_seen_no_more_often_than_was_paid_for"
            ),
        ),
    ),
    Mutant(
        name="the threshold is one too low",
        file="discreet/mechanisms/partition_selection.py",
        old="        shown = (counts >= self.fewest) & (noisy >= self.threshold)",
        new="        shown = (counts >= self.fewest) & (noisy >= self.threshold - 1)",
        why="Groups are shown more often than delta says.",
        caught_by=(
            "tests/mechanisms/test_key_selection_threshold.py::test_nothing_is_told_about_hidden_groups",
            "tests/mechanisms/test_key_selection_threshold.py::test_long_arrays_follow_the_chances",
        ),
    ),
    Mutant(
        name="randomized response rounds its lies down",
        file="discreet/mechanisms/randomized_response.py",
        old="    return Fraction(min(exp_neg(epsilon, bits)[1] + 1, 1 << bits), 1 << bits)",
        new="    return Fraction(min(exp_neg(epsilon, bits)[0] - 1, 1 << bits), 1 << bits)",
        why="The ratio of two chances is above e to the epsilon.",
        caught_by=(
            "tests/mechanisms/test_randomized_response.py::test_an_enormous_epsilon_is_no_burden",
        ),
        fast=True,
    ),
    Mutant(
        name="scores are priced as if they moved one way",
        file="discreet/mechanisms/exponential.py",
        old="        return self.change.sides * at_distance(distance) / self.scale",
        new="        return at_distance(distance) / self.scale",
        why="A choice by scores that move both ways loses twice its price.",
        caught_by=(
            "tests/mechanisms/test_selection.py::test_losses",
            "tests/mechanisms/test_selection.py::test_ten_selections",
        ),
    ),
)
