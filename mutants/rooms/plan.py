"""Mutants of the room ``plan``."""

from __future__ import annotations

from typing import Final

from mutants.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        name="a question raises the limits of the policy",
        file="discreet/plan/statistics/contribution_bounds.py",
        old="    if ceiling:\n        check_ceilings",
        new="    if False:\n        check_ceilings",
        why="An analyst decides how much one person may add to an answer.",
        caught_by=(
            "tests/session/test_limits.py::test_a_question_cannot_raise_what_the_policy_gives",
        ),
    ),
    Mutant(
        name="sums of cells are moved by one row of a unit",
        file="discreet/plan/pricing/linear_strategy.py",
        old="        return self.high * self.cells.lengths[0]\n",
        new="        return self.cells.lengths[0]\n",
        why="A person with several rows moves several cells.",
        caught_by=("tests/plan/test_workload.py::test_no_unit_moves_sums_of_cells_further",),
        fast=True,
    ),
    Mutant(
        name="sums of groups are moved in one group of a unit",
        file="discreet/plan/pricing/linear_strategy.py",
        old="        return added and whole and by.groups <= far.high\n",
        new="        return added and whole\n",
        why="A person in several groups moves several totals that are added up.",
        caught_by=(
            "tests/plan/test_group_sums.py::test_a_claim_that_the_request_does_not_keep_is_refused",
        ),
    ),
    Mutant(
        name="values beyond the bounds of a claim",
        file="discreet/plan/pricing/linear_strategy.py",
        old="        return self.low <= low and high <= self.high\n",
        new="        return high <= self.high\n",
        why="A sum that falls below the claim moves further than the noise hides.",
        caught_by=(
            "tests/plan/test_sum_workload.py::test_a_claim_that_nothing_enforces_is_refused",
        ),
    ),
    Mutant(
        name="a sum is held for part of a count that does not bound it",
        file="discreet/plan/pricing/linear_strategy.py",
        old="        if not isinstance(total, Total) or before not in {total.per, UNITS}:\n",
        new="        if not isinstance(total, Total):\n",
        why="A person whose values are outside their bounds, or NULL, leaves the simplex.",
        caught_by=(
            (
                "tests/plan/test_simplex.py::"
                "test_totals_that_are_not_kept_within_their_counts_are_refused[sum]"
            ),
        ),
        fast=True,
    ),
    Mutant(
        name="counts are held for parts of each other",
        file="discreet/plan/pricing/linear_strategy.py",
        old="nested = before in {None, UNITS} or measure.per == before\n",
        new="nested = True\n",
        why="Rows of one count alone move two sums the same way.",
        caught_by=(
            (
                "tests/plan/test_simplex.py::"
                "test_totals_that_are_not_kept_within_their_counts_are_refused[count_2]"
            ),
        ),
    ),
    Mutant(
        name="groups are chosen by coordinates of which some units add more than others",
        file="discreet/plan/pricing/linear_strategy.py",
        old="            if others or factor <= 0 or not (first == UNITS or rows):\n",
        new="            if others or factor <= 0:\n",
        why="A person of many rows shows a group that nobody else is in.",
        caught_by=(
            (
                "tests/plan/test_simplex.py::"
                "test_coordinates_of_which_some_units_add_less_than_others_choose_nothing"
            ),
        ),
    ),
    Mutant(
        name="a value may be in a wider range than is priced",
        file="discreet/plan/pricing/linear_strategy.py",
        old="        ends = rows * self.low <= total.low and total.high <= rows * self.high\n",
        new="        ends = True\n",
        why="A person far outside the bounds moves sums further than the noise hides.",
        caught_by=(
            (
                "tests/plan/test_simplex.py::"
                "test_what_no_engine_enforces_is_refused_where_it_is_priced[a smaller range]"
            ),
        ),
    ),
    Mutant(
        name="a cube is priced for one group of a unit",
        file="discreet/plan/pricing/cube_strategy.py",
        old="max(high, 0) <= most and by.groups <= far.high\n",
        new="max(high, 0) <= most\n",
        why="A person in several groups moves several cells of every table.",
        caught_by=(
            "tests/plan/test_cubes.py::test_a_claim_that_the_request_does_not_keep_is_refused",
        ),
        fast=True,
    ),
    Mutant(
        name="residuals are moved by one entry alone",
        file="discreet/plan/pricing/cube_strategy.py",
        old="n * (n - 1) for n in sizes)\n",
        new="(n - 1) * (n - 1) for n in sizes)\n",
        why="A row lowers the other entries of its table, too.",
        caught_by=(
            "tests/plan/test_cubes.py::test_no_unit_moves_the_tables_further_than_is_priced",
        ),
        fast=True,
    ),
    Mutant(
        name="sensitivity of one group, regardless of their number",
        file="discreet/plan/pricing/group_sensitivity.py",
        old="        return self.groups * self.most\n",
        new="        return self.most\n",
        why="A person in several groups moves several totals.",
        caught_by=("tests/plan/test_distances.py::test_no_unit_moves_totals_further",),
        fast=True,
    ),
    Mutant(
        name="squared sensitivity of one group",
        file="discreet/plan/pricing/group_sensitivity.py",
        old="        return self.groups * self.most_squared\n",
        new="        return self.most_squared\n",
        why="Gaussian noise is scaled for one group of several.",
        caught_by=("tests/plan/test_distances.py::test_no_unit_moves_totals_further",),
    ),
    Mutant(
        name="replacing somebody costs what adding does",
        file="discreet/plan/pricing/group_sensitivity.py",
        old="        corners = [self._single * alone, self.groups * both]",
        new="        corners = [self.groups * alone]",
        why="Under replace two people differ, and may be in different groups.",
        caught_by=("tests/plan/test_distances.py::test_no_unit_moves_totals_further",),
    ),
    Mutant(
        name="lower bounds below zero are forgotten",
        file="discreet/plan/pricing/group_sensitivity.py",
        old="        return max(abs(self.low), abs(self.high))",
        new="        return self.high",
        why="A person moves a sum down by more than the noise hides.",
        caught_by=("tests/plan/test_distances.py::test_no_unit_moves_totals_further",),
    ),
    Mutant(
        name="distances are rounded down to round ones",
        file="discreet/plan/pricing/group_sensitivity.py",
        old="    return part * -(-distance // part) if part else 0",
        new="    return part * (distance // part) if part else 0",
        why="Large distances are priced too low.",
        caught_by=(
            "tests/plan/test_distances.py::test_rounded_distances_are_priced_with_few_losses",
        ),
    ),
    Mutant(
        name="roots are rounded down",
        file="discreet/plan/pricing/group_sensitivity.py",
        old="    return Fraction(math.isqrt(square << 2 * bits) + 1, 1 << bits)",
        new="    return Fraction(math.isqrt(square << 2 * bits), 1 << bits)",
        why="Gaussian distances are priced too low.",
        caught_by=("tests/plan/test_distances.py::test_roots_are_rounded_up_within_one",),
    ),
    Mutant(
        name="quantiles are priced for one side",
        file="discreet/plan/pricing/group_sensitivity.py",
        old="    return Fraction(rows) if available == 1 else 2 * rows * weight",
        new="    return Fraction(rows) if available == 1 else rows * weight",
        why="Under replace a row leaves and another one comes.",
        caught_by=(
            "tests/plan/test_neighbors.py::test_one_row_that_is_a_unit",
            "tests/plan/test_neighbors.py::test_one_unit_replaced",
        ),
    ),
    Mutant(
        name="claims are not compared with what is enforced",
        file="discreet/plan/pricing/release_composition.py",
        old="    if not all(_covered(enforced, releases)):\n",
        new="    if not any(_covered(enforced, releases)):\n",
        why="A wrong inference lowers a price, and nothing notices.",
        caught_by=(
            "tests/engines/test_planted_inferences.py::test_a_claim_that_nothing_enforces_is_refused",
        ),
    ),
    Mutant(
        name="choices are made in one group only",
        file="discreet/plan/pricing/release_composition.py",
        old="    return leaf if choice.groups == 1 else Repeat(leaf, choice.groups)",
        new="    return leaf",
        why="A person in several groups moves a choice in each.",
        caught_by=(
            "tests/plan/test_noises.py::test_a_choice_is_paid_for_in_every_group_of_a_unit",
        ),
    ),
    Mutant(
        name="a scope that nothing enforces",
        file="discreet/plan/binding/scope.py",
        old=("        if not _is_guarded(bound.relation, guards):\n            continue\n"),
        new="",
        why="People outside of a box count, and do not pay.",
        caught_by=(
            "tests/plan/test_enforced.py::test_a_condition_is_kept_where_it_guards_every_row",
        ),
    ),
    Mutant(
        name="a box that one side of a union enforces",
        file="discreet/plan/binding/scope.py",
        old="            return all(_is_guarded(part, guards) for part in parts)",
        new="            return any(_is_guarded(part, guards) for part in parts)",
        why="The rows of the other part belong to people who do not pay.",
        caught_by=(
            "tests/plan/test_enforced.py::test_a_condition_is_kept_where_it_guards_every_row",
        ),
    ),
    Mutant(
        name="conditions on columns that differ between rows of a person narrow the box",
        file="discreet/plan/binding/scope.py",
        old=(
            "    if not column.constant and (own or table.link is not None):\n        return None\n"
        ),
        new="",
        why="A person with rows inside and outside is charged for neither.",
        caught_by=(
            "tests/plan/test_enforced.py::test_columns_that_units_do_not_share_are_in_no_box",
        ),
    ),
    Mutant(
        name="joins of private tables on any column",
        file="discreet/plan/binding/joins.py",
        old=(
            "    if (same := within_units(left, right, on)) is not None:\n"
            "        return same\n"
            "    raise"
        ),
        new=("    return on\n    raise"),
        why="The rows of one person meet those of another, and multiply.",
        caught_by=("tests/audit/test_joins.py::test_questions_that_mix_people_are_refused_unread",),
    ),
    Mutant(
        name="unmatched rows of public tables are kept",
        file="discreet/plan/binding/joins.py",
        old="    if (left.public and keeps_left) or (right.public and keeps_right):\n",
        new="    if left.public and keeps_left and right.public and keeps_right:\n",
        why="That nobody matches a public row says who is there, and belongs to nobody.",
        caught_by=("tests/plan/test_unit_local.py::test_what_mixes_units_is_refused",),
    ),
    Mutant(
        name="a person is joined with more rows than are priced",
        file="discreet/plan/binding/fan_out.py",
        old='    first = Filter(numbered, Call("<=", (Column(number), Literal(most))))',
        new='    first = Filter(numbered, Call("<=", (Column(number), Literal(most + 1))))',
        why="One row becomes more rows than the owner's limit allows.",
        caught_by=("tests/plan/test_fan_out.py::test_nobody_has_more_rows_than_the_plan_says",),
    ),
    Mutant(
        name="a row of a subquery is compared with any number of others",
        file="discreet/plan/binding/subqueries.py",
        old="    if right.public and not left.public and of_pairs:",
        new="    if False:",
        why="One person's row takes as long as there are public rows, and the time tells.",
        caught_by=(
            "tests/engines/test_work.py::test_no_row_is_compared_with_many_others_in_a_subquery",
        ),
    ),
    Mutant(
        name="texts are read as numbers for nothing",
        file="discreet/requests/text_limits.py",
        old="            time += _TO_FLOAT * times if types",
        new="            time += 0 if types",
        why="One person's row takes a tick longer, and the time tells.",
        caught_by=(
            "tests/engines/test_work.py::test_a_question_that_makes_too_many_texts_is_refused",
        ),
    ),
    Mutant(
        name="the upper clamp of a value is forgotten",
        file="discreet/plan/statistics/fixed_point.py",
        old='    return Call("GREATEST", (Call("LEAST", (value, Literal(high))), Literal(low)))',
        new='    return Call("GREATEST", (value, Literal(low)))',
        why="A value far above its bound counts as it is, where nothing else bounds it.",
        caught_by=("tests/plan/test_fixed_point.py::test_every_value_is_between_its_bounds",),
    ),
    Mutant(
        name="one group for a person if one of the keys is constant",
        file="discreet/plan/statistics/contribution_bounds.py",
        old="or all(key.facts.constant for key in keys):\n",
        new="or any(key.facts.constant for key in keys):\n",
        why="A person is in as many groups as they like by the key that is not constant.",
        caught_by=(
            "tests/plan/test_steps.py::test_a_person_is_in_one_group_only_if_all_keys_are_shared",
        ),
    ),
    Mutant(
        name="what is measured is not part of the digest",
        file="discreet/plan/plan.py",
        old=(
            '        "public": _public(request.public),\n'
            '        "measures": [_measure(part) for part in request.measures],\n'
        ),
        new='        "public": _public(request.public),\n',
        why="Two questions of one price share a digest, and one is told the answer of the other.",
        caught_by=(
            "tests/plan/test_digest.py::test_what_is_measured_matters_even_at_the_same_price",
        ),
    ),
    Mutant(
        name="a parameter has two values",
        file="discreet/plan/policy/owner_rules.py",
        old="            if found.get(text, asked) == asked:\n",
        new="            if text:\n",
        why="A question is answered that the owner has not approved.",
        caught_by=(
            "tests/session/test_owner_rules.py::test_a_parameter_that_stands_twice_has_one_value",
        ),
    ),
)
