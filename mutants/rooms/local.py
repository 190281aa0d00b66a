"""Mutants of the room ``local``."""

from __future__ import annotations

from typing import Final

from mutants.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        name="a memo draws a new answer each time",
        file="discreet/local/repeated/memo.py",
        old="            cell = cells.setdefault(key, fresh_cell)  # drawn in any case: time tells nothing",
        new="            cells[key] = cell = fresh_cell",
        why="Averages over days tell the value.",
        caught_by=(
            "tests/local/test_memo.py::test_one_answer_is_kept_for_good_whatever_the_value_does",
            "tests/local/test_memo.py::test_reports_of_a_device_have_the_law_of_the_memo",
        ),
    ),
    Mutant(
        name="a memo that believes it paid twice",
        file="discreet/local/repeated/memo.py",
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
        file="discreet/local/repeated/diary.py",
        old="            entries[name] = entries.get(name, Fraction(0)) + price",
        new="            entries[name] = price",
        why="Reports under one name cost once, however many they are.",
        caught_by=(
            "tests/local/test_diary.py::test_prices_add_up_to_the_ceiling_and_no_further",
            "tests/local/test_diary.py::test_a_crash_at_any_step_leaves_the_old_state_or_the_new_one",
        ),
    ),
    Mutant(
        name="the ceiling of a diary is looked at without the new report",
        file="discreet/local/repeated/diary.py",
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
        file="discreet/local/randomizers/unary.py",
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
        file="discreet/local/randomizers/subset.py",
        old="        takes = Bernoulli(p=self.size * (1 - decay) / total).flips(codes.size, entropy)",
        new="        takes = Bernoulli(p=min(Fraction(1), 2 * self.size * (1 - decay) / total)).flips(codes.size, entropy)",
        why="Sets tell more than their law says.",
        caught_by=(
            "tests/local/test_contract.py::test_many_reports_support_values_as_often_as_claimed",
            "tests/local/test_contract.py::test_every_word_leads_to_the_claimed_law",
        ),
    ),
)
