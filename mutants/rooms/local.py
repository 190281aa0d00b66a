"""Mutants of the room ``local``."""

from __future__ import annotations

from typing import Final

from mutants.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        name="a memo draws a new answer each time",
        file="discreet/local/memo.py",
        old="            cell = cells.setdefault(key, fresh_cell)  # always drawn: timing reveals nothing",
        new="            cells[key] = cell = fresh_cell",
        why="Averages over days tell the value.",
        caught_by=(
            "tests/local/test_memo.py::test_one_answer_is_kept_for_good_whatever_the_value_does",
            "tests/local/test_memo.py::test_reports_of_a_device_have_the_law_of_the_memo",
        ),
    ),
    Mutant(
        name="a memo that believes it paid twice",
        file="discreet/local/memo.py",
        old="                charged += due\n",
        new="                charged += 2 * due\n",
        why="Later reports are free.",
        caught_by=(
            "tests/local/test_memo.py::test_price_and_answer_are_on_disk_before_the_report_is_drawn",
            "tests/local/test_memo.py::test_a_lost_memo_is_a_second_draw_and_charged",
        ),
    ),
    Mutant(
        name="a diary that forgets",
        file="discreet/local/diary.py",
        old="            entries[name] = entries.get(name, Fraction(0)) + price",
        new="            entries[name] = price",
        why="Reports under one name cost once, however many they are.",
        caught_by=("tests/local/test_diary.py::test_prices_add_up_to_the_ceiling_and_no_further",),
    ),
    Mutant(
        name="the ceiling of a diary is looked at without the new report",
        file="discreet/local/diary.py",
        old=(
            "            total = sum(entries.values(), Fraction(0)) + price\n"
            "            if total > self.ceiling:"
        ),
        new=(
            "            total = sum(entries.values(), Fraction(0)) + price\n"
            "            if total - price > self.ceiling:"
        ),
        why="One report more than its owner agreed to.",
        caught_by=("tests/local/test_diary.py::test_prices_add_up_to_the_ceiling_and_no_further",),
    ),
    Mutant(
        name="the sender's bit is true too often",
        file="discreet/local/unary.py",
        old="        return Fraction(1, 2), response_chances(self.epsilon, 2)[1]",
        new="        return Fraction(2, 3), response_chances(self.epsilon, 2)[1]",
        why="The ratio of chances is above e to the epsilon.",
        caught_by=(
            "tests/local/test_contract.py::test_no_report_tells_more_than_epsilon",
            "tests/local/test_contract.py::test_it_works_in_accounting_trees_and_audits",
        ),
    ),
    Mutant(
        name="a set has the sender's value too often",
        file="discreet/local/subset.py",
        old="        takes = Bernoulli(p=self.size * (1 - decay) / total).flips(codes.size, entropy)",
        new="        takes = Bernoulli(p=min(Fraction(1), 2 * self.size * (1 - decay) / total)).flips(codes.size, entropy)",
        why="Sets reveal more than their law says.",
        caught_by=(
            "tests/local/test_contract.py::test_many_reports_support_values_as_often_as_claimed",
            "tests/local/test_contract.py::test_every_word_leads_to_the_claimed_law",
        ),
    ),
    Mutant(
        name="a sign of a Hadamard row lies half as often",
        file="discreet/local/hadamard.py",
        old="        coin = Bernoulli(p=response_chances(self.epsilon, 2)[1])\n",
        new="        coin = Bernoulli(p=response_chances(self.epsilon, 2)[1] / 2)\n",
        why="A report is true more often than its price says.",
        caught_by=("tests/local/test_contract.py::test_every_word_leads_to_the_claimed_law",),
    ),
    Mutant(
        name="a hashed value is reported with twice the epsilon",
        file="discreet/local/hashing.py",
        old="respond(hashed, self.epsilon, self.cells, entropy)",
        new="respond(hashed, 2 * self.epsilon, self.cells, entropy)",
        why="The report loses twice what is charged.",
        caught_by=("tests/local/test_contract.py::test_every_word_leads_to_the_claimed_law",),
    ),
    Mutant(
        name="a record claims the loss of its most careful part",
        file="discreet/local/record.py",
        old="max(part.epsilon for part in kinds)",
        new="min(part.epsilon for part in kinds)",
        why="Any attribute may be the one that is reported.",
        caught_by=(
            "tests/local/test_numbers.py::test_a_record_loses_what_its_most_talkative_part_does",
        ),
    ),
    Mutant(
        name="a window that is twice as likely",
        file="discreet/local/numbers.py",
        old="        inside = outside / inward_decay(self.epsilon)\n        return tuple(",
        new="        inside = 2 * outside / inward_decay(self.epsilon)\n        return tuple(",
        why="The ratio of chances is twice what epsilon allows.",
        caught_by=(
            "tests/local/test_numbers.py::test_no_report_tells_more_than_epsilon_and_the_loss_is_tight",
        ),
    ),
    Mutant(
        name="a memo charges one report, however many come",
        file="discreet/local/memo.py",
        old="exp(-fresh * reports)",
        new="exp(-fresh)",
        why="Every report tells a little more about the answer that is kept.",
        caught_by=(
            "tests/local/test_memo.py::test_a_value_that_stays_costs_less_than_the_permanent_loss",
        ),
    ),
    Mutant(
        name="a device reports every change after the one it drew",
        file="discreet/local/changes.py",
        old="(changed & (seen == watch.drawn))",
        new="(changed & (seen >= watch.drawn))",
        why="It was charged for one change.",
        caught_by=("tests/local/test_changes.py::test_devices_with_any_history_have_that_law",),
    ),
    Mutant(
        name="all shuffled reports are priced as bits",
        file="discreet/local/shuffled_reports.py",
        old="population=people, binary=self.binary)",
        new="population=people, binary=True)",
        why="The bound for bits is smaller, and holds for bits alone.",
        caught_by=(
            "tests/local/test_shuffled_reports.py::test_it_is_the_price_of_the_tree_and_of_the_loss",
        ),
    ),
    Mutant(
        name="calibration of shuffled reports ends above",
        file="discreet/local/shuffled_reports.py",
        old="        low, high = (middle, high) if fits(middle) else (low, middle)\n    return low",
        new="        low, high = (middle, high) if fits(middle) else (low, middle)\n    return high",
        why="The local loss that is allowed costs more than was asked for.",
        caught_by=("tests/local/test_shuffled_reports.py::test_calibration_inverts_the_price",),
    ),
    Mutant(
        name="prefixes are reported with twice the epsilon",
        file="discreet/local/prefix_response.py",
        old="respond(cells, self.epsilon, self.cells, entropy)",
        new="respond(cells, 2 * self.epsilon, self.cells, entropy)",
        why="The report loses twice what is charged.",
        caught_by=("tests/local/test_prefix_reports.py::test_reports_follow_their_law",),
    ),
    Mutant(
        name="an end of an interval is reported as it is",
        file="discreet/local/numbers.py",
        old="respond(ends, self.epsilon, 2, entropy)",
        new="(respond(ends, self.epsilon, 2, entropy) | ends)",
        why="One of the two ends is never denied.",
        caught_by=("tests/local/test_numbers.py::test_every_word_leads_to_the_claimed_law",),
    ),
)
