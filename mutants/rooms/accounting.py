"""Mutants of the room ``accounting``."""

from __future__ import annotations

from typing import Final

from mutants.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        name="prices are rounded down",
        file="discreet/accounting/amounts.py",
        old="    return math.ceil(value / QUANTUM)",
        new="    return math.floor(value / QUANTUM)",
        why="Many small charges add up to less than they cost.",
        caught_by=(
            "tests/accounting/test_round_prices.py::test_a_law_that_exceeds_what_was_asked_for_is_refused",
            "tests/accounting/test_round_prices.py::test_randomized_response_costs_what_it_was_asked_for",
        ),
    ),
    Mutant(
        name="budgets are rounded up",
        file="discreet/accounting/amounts.py",
        old="    return math.floor(value / QUANTUM)",
        new="    return math.ceil(value / QUANTUM)",
        why="More may be spent than was promised.",
        caught_by=("tests/accounting/test_currency.py::test_costs_round_up_and_limits_round_down",),
        fast=True,
    ),
    Mutant(
        name="a charge about everybody is not added up",
        file="discreet/accounting/balances.py",
        old="                everywhere = added(everywhere, price, times)",
        new="                everywhere = price",
        why="Only the last question counts.",
        caught_by=(
            "tests/accounting/test_filter.py::test_a_person_is_charged_everywhere_for_a_column_that_can_change",
            "tests/accounting/test_filter.py::test_a_scope_that_is_widened_may_see_one_of_two_people",
        ),
    ),
    Mutant(
        name="people in a cell do not owe what everybody owes",
        file="discreet/accounting/balances.py",
        old="            return added(self.everywhere, self.paid.highest(scope))",
        new="            return self.paid.highest(scope)",
        why="Questions about a part are granted as if nothing had been asked about all.",
        caught_by=(
            "tests/accounting/test_filter.py::test_ten_tenths_fit_and_an_eleventh_does_not",
            "tests/accounting/test_filter.py::test_a_person_is_charged_everywhere_for_a_column_that_can_change",
        ),
    ),
    Mutant(
        name="a replaced record owes for one place only",
        file="discreet/accounting/balances.py",
        old="        return [max(x + y + min(beyond), within) for (x, y), beyond, (within, _) in parts]",
        new="        return [max(x, within) for (x, y), beyond, (within, _) in parts]",
        why="Under replace, two records differ, each in a cell of its own.",
        caught_by=(
            "tests/accounting/test_filter.py::test_counts_of_two_states_cost_both_where_a_record_can_move",
            "tests/accounting/test_filter.py::test_two_records_never_owe_more_than_is_kept",
        ),
    ),
    Mutant(
        name="parts of a parallel composition may overlap",
        file="discreet/accounting/parts_and_samples.py",
        old=("        if values in seen:\n            raise _overlapping(values, values)\n"),
        new="",
        why="A record in both parts is charged for one of them.",
        caught_by=(
            "tests/accounting/test_parallel.py::test_overlapping_parts_are_refused_by_name",
            "tests/accounting/test_parallel.py::test_parts_that_may_overlap_are_single_values",
        ),
    ),
    Mutant(
        name="parts that a unit spans are priced as one",
        file="discreet/accounting/requests.py",
        old="overlap=1) if self._shared(key):",
        new="overlap=1):",
        why="A person with rows in several parts pays for one.",
        caught_by=(
            "tests/accounting/test_filter.py::test_parallel_parts_of_a_person_are_one_charge_unless_the_key_is_constant",
            "tests/accounting/test_filter.py::test_rows_are_not_counted_by_guessing",
        ),
    ),
    Mutant(
        name="a filter whose budget was raised goes on",
        file="discreet/accounting/filter.py",
        old="            self._replaced = True\n",
        new="            self._replaced = False\n",
        why="Two filters of the same people each spend a budget.",
        caught_by=(
            "tests/accounting/test_filter_stored.py::test_a_raised_filter_takes_the_place_of_the_first",
        ),
    ),
    Mutant(
        name="checking and charging are two steps",
        file="discreet/accounting/filter.py",
        old=(
            "        with self._guard:\n"
            "            if not self.fits(pieces):\n"
            "                raise self.refusal(pieces)\n"
            "            return self.add(pieces)"
        ),
        new=(
            "        if not self.fits(pieces):\n"
            "            raise self.refusal(pieces)\n"
            "        return self.add(pieces)"
        ),
        why="Two threads spend the last of a budget at the same time.",
        caught_by=(
            "tests/accounting/test_guard.py::test_nothing_comes_between_a_look_and_a_charge",
        ),
    ),
    Mutant(
        name="a condition on several values lets no row through",
        file="discreet/accounting/fold.py",
        old="        return tuple((cell, count) for cell, count in rows if cell[at] & mask)",
        new="        return tuple((cell, count) for cell, count in rows if cell[at] == mask)",
        why="Records that meet a condition on several values are not charged.",
        caught_by=(
            "tests/accounting/test_enumeration.py::test_random_trees_cost_exactly_what_enumeration_says",
        ),
    ),
    Mutant(
        name="what is released side by side is not composed",
        file="discreet/accounting/fold.py",
        old="            pairs[pair] = pairs.get(pair, 0) + count",
        new="            pairs[pair] = count",
        why="Equal releases in a sequence are paid for once.",
        caught_by=("tests/accounting/test_properties.py::test_repeating_is_a_sequence_of_copies",),
    ),
    Mutant(
        name="a replaced record stays in its part",
        file="discreet/accounting/cells.py",
        old="            atoms = [atom for alike in like[column] for atom in alike[: rows * most]]",
        new="            atoms = [atom for alike in like[column] for atom in alike[:most]]",
        why="Of equal parts, the one that is left and the one that is entered both pay.",
        caught_by=(
            "tests/accounting/test_granularity.py::test_ten_equal_parts_between_parallel_and_sequential",
        ),
        fast=True,
    ),
    Mutant(
        name="a rule is followed in one direction",
        file="discreet/accounting/granularity.py",
        old="                yield old, new\n                yield new, old\n",
        new="                yield old, new\n",
        why="What is lost by a record that leaves says nothing about one that comes.",
        caught_by=(
            "tests/accounting/test_granularity.py::test_one_direction_alone_is_not_the_price",
        ),
        fast=True,
    ),
    Mutant(
        name="a release is farther from what it sees than it is",
        file="discreet/accounting/granularity.py",
        old="        nearest[key] = min(distance, nearest.get(key, math.inf))",
        new="        nearest[key] = distance",
        why="Of the tables that look alike, the last is not the nearest.",
        caught_by=(
            "tests/accounting/test_granularity.py::test_f_dependency_is_the_least_distance_between_tables_that_look_alike",
        ),
        fast=True,
    ),
    Mutant(
        name="equal parts of several values are distinguished by their releases alone",
        file="discreet/accounting/cells.py",
        old="place if several else -1))",
        new="-1))",
        why="A record that moves to a part which others share seems to stay where it was.",
        caught_by=("tests/accounting/test_enumeration.py::test_equal_parts_of_two_sizes",),
        fast=True,
    ),
    Mutant(
        name="a question fits alone regardless of its delta",
        file="discreet/accounting/currencies.py",
        old="        if epsilon <= self.epsilon and beside + chance <= self.delta:",
        new="        if epsilon <= self.epsilon:",
        why="One question may fail more often than the budget promises.",
        caught_by=("tests/accounting/test_currency.py::test_a_joint_price_is_about_one_event",),
        fast=True,
    ),
    Mutant(
        name="a question that fits alone is not counted",
        file="discreet/accounting/currencies.py",
        old="        return total[self.alone] <= limit[self.alone] or super(",
        new="        return limit[self.alone] > 0 or super(",
        why="Whatever comes after it is accepted.",
        caught_by=(
            "tests/accounting/test_joint_rule.py::test_no_strategy_gains_by_a_question_that_fits_alone",
            "tests/accounting/test_joint_rule.py::test_one_question_takes_all_that_was_promised_and_nothing_comes_after_it",
        ),
    ),
    Mutant(
        name="the share of mu overlaps with that of rho",
        file="discreet/accounting/budget.py",
        old="(rest - _RHO * delta) * _HAIR",
        new="rest * _HAIR",
        why="A strategy that chooses its route by an answer loses more delta than was promised.",
        caught_by=(
            "tests/accounting/test_joint_rule.py::test_the_shares_of_delta_add_up_to_the_promise",
        ),
    ),
    Mutant(
        name="losses of a range have half the mu",
        file="discreet/accounting/currencies.py",
        old="        return _square_of(pair.epsilon / 2), _NONE",
        new="        return _square_of(pair.epsilon / 4), _NONE",
        why="A selection costs less than it loses.",
        caught_by=(
            "tests/accounting/test_currency.py::test_losses_of_a_range_are_below_their_gaussian",
        ),
    ),
)
