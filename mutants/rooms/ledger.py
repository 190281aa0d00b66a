"""Mutants of the room ``ledger``."""

from __future__ import annotations

from typing import Final

from mutants.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        name="a question begins without a charge where it began before",
        file="discreet/ledger/requests.py",
        old="    charge(batch, key, request, question)\n    return",
        new=(
            "    if batch.history(key).charge is None:\n"
            "        charge(batch, key, request, question)\n"
            "    return"
        ),
        why="Another request under a known key is answered for nothing.",
        caught_by=("tests/ledger/test_ledger.py::test_a_question_begins_in_one_step",),
    ),
    Mutant(
        name="a charge debits its own account alone",
        file="discreet/ledger/requests.py",
        old="    return tuple(accounts[above] for above in path_and_ancestors(path))",
        new="    return (accounts[path],)",
        why="Sub-accounts spend beyond the root.",
        caught_by=(
            "tests/audit/test_accounts.py::test_accounts_below_an_account_spend_no_more_than_it_has",
        ),
    ),
    Mutant(
        name="limits of accounts above are not asked",
        file="discreet/ledger/requests.py",
        old="        for path, pieces in request.pieces:\n",
        new="        for path, pieces in request.pieces[-1:]:\n",
        why="Sub-accounts together spend more than the root has.",
        caught_by=(
            "tests/audit/test_accounts.py::test_accounts_below_an_account_spend_no_more_than_it_has",
        ),
    ),
    Mutant(
        name="a witness is content with the number of an entry",
        file="discreet/ledger/ledger_view.py",
        old="        return found == receipt\n",
        new="        return found is not None and found.seq == receipt.seq\n",
        why="A ledger that was put back, and charged again, passes for the right one.",
        caught_by=(
            "tests/ledger/test_witness.py::test_an_anchor_of_another_past_is_not_continued",
        ),
    ),
    Mutant(
        name="a ledger with entries needs no anchor",
        file="discreet/ledger/witness.py",
        old="        elif ledger.receipt.seq > 1:\n",
        new="        elif ledger.receipt.seq > 10**9:\n",
        why="Where the disk of the witness is missing, a ledger that was put back is served.",
        caught_by=(
            "tests/ledger/test_witness.py::test_a_ledger_with_entries_needs_an_anchor_that_somebody_makes",
        ),
    ),
    Mutant(
        name="a server's anchors go back",
        file="discreet/ledger/witness.py",
        old="                if last.receipt.seq >= receipt.seq:\n",
        new="                if last.receipt == receipt:\n",
        why="An earlier anchor as the last one lets a ledger be put back to it.",
        caught_by=("tests/ledger/test_witness.py::test_an_older_receipt_adds_no_line",),
    ),
    Mutant(
        name="anchors are made without a look at the last one",
        file="discreet/ledger/witness.py",
        old=("                _check_continues(ledger, last)\n                if last.receipt.seq"),
        new="                if last.receipt.seq",
        why="A copy that overtakes the ledger takes its witness over.",
        caught_by=("tests/ledger/test_witness.py::test_two_copies_that_are_in_use_are_found_out",),
        fast=True,
    ),
    Mutant(
        name="half a line of a witness counts",
        file="discreet/ledger/witness.py",
        old="        for line in reversed(lines if size <= _TAIL else lines[1:]):\n",
        new="        for line in reversed(data.splitlines()):\n",
        why="What counts before it is whole may lead, and a crash makes it refuse a good ledger.",
        caught_by=(
            "tests/ledger/test_witness.py::test_a_ledger_is_accepted_where_it_holds_the_last_whole_anchor_and_nowhere_else",
        ),
    ),
    Mutant(
        name="one key for two requests",
        file="discreet/ledger/requests.py",
        old='    elif row.fields()["body"] != body:\n',
        new='    elif row.fields()["question"] != question:\n',
        why="Another request under a key that was paid for is answered for nothing.",
        caught_by=("tests/ledger/test_ledger.py::test_a_key_stands_for_one_request",),
        fast=True,
    ),
    Mutant(
        name="a second answer replaces the first",
        file="discreet/ledger/requests.py",
        old=(
            "    if history.release is not None:\n"
            "        return _stored(batch, history, history.release, replayed=True)\n"
            "    _refuse"
        ),
        new="    _refuse",
        why="Two answers are told for one price.",
        caught_by=(
            "tests/ledger/test_ledger.py::test_a_step_that_is_repeated_finds_what_is_there",
        ),
    ),
    Mutant(
        name="data may be read before it is paid for",
        file="discreet/ledger/requests.py",
        old='    history = _charged(batch, key, "started")\n',
        new="    history = batch.history(key)\n",
        why="An engine may be started without a charge.",
        caught_by=("tests/ledger/test_ledger.py::test_the_steps_come_in_order",),
    ),
    Mutant(
        name="a question that failed may be tried again",
        file="discreet/ledger/requests.py",
        old=("    refuse_closed(batch.state.closed, key)\n    attempt"),
        new="    attempt",
        why="Whether it fails again reveals single rows, for nothing.",
        caught_by=(
            "tests/ledger/test_closing.py::test_a_failed_attempt_closes_the_question_until_the_owner_reopens_it",
        ),
    ),
    Mutant(
        name="another ledger in the place of the one that was open",
        file="discreet/ledger/connection.py",
        old=(
            "            if row is None or (row.seq, row.head) != (seq, head):\n"
            "                raise exchanged_ledger_error(seq)\n"
            "\n"
        ),
        new=("            if row is None:\n                raise exchanged_ledger_error(seq)\n\n"),
        why="Charges go to a ledger that knows nothing of those before.",
        caught_by=(
            "tests/ledger/test_same_ledger.py::test_another_ledger_in_its_place_is_refused_after_a_write_that_failed",
            "tests/ledger/test_same_ledger.py::test_another_ledger_in_its_place_takes_no_charge",
        ),
    ),
    Mutant(
        name="an older copy of the ledger is caught up with",
        file="discreet/ledger/state.py",
        old="            if last is None or (last.seq, last.head) != (self.seq, self.head):\n",
        new="            if last is None:\n",
        why="A restored copy forgets charges, and nobody notices.",
        caught_by=(
            "tests/ledger/test_one_budget.py::test_another_past_in_the_place_of_an_open_ledger_is_refused",
        ),
    ),
    Mutant(
        name="a restored ledger owes nothing for lost charges",
        file="discreet/ledger/state.py",
        old="                for charges in self._filters.values() if spent else ():\n",
        new="                for charges in () if spent else self._filters.values():\n",
        why="What was answered and is no longer on record is paid for by nobody.",
        caught_by=(
            "tests/ledger/test_restored_routes.py::test_what_fits_on_every_route_is_granted_after_a_raise",
            "tests/ledger/test_restored_routes.py::test_a_raise_opens_no_route_that_unknown_charges_may_have_closed",
        ),
    ),
    Mutant(
        name="the account of a charge is not compared with the record",
        file="discreet/ledger/requests.py",
        old="    text = canonical(list(asked.values()))[:-1]\n",
        new="    text = canonical(list(asked.values())[1:])[:-1]\n",
        why="A charge to one account is found again for another, which then pays nothing.",
        caught_by=("tests/ledger/test_ledger.py::test_a_key_stands_for_one_request",),
    ),
    Mutant(
        name="a copy of a ledger has a budget of its own",
        file="discreet/ledger/sqlite.py",
        old="    return card == [(inode,)]\n",
        new="    return len(card) == 1\n",
        why="Whoever copies the file spends the budget again.",
        caught_by=("tests/ledger/test_one_budget.py::test_a_copy_is_refused",),
    ),
    Mutant(
        name="a file that is mounted by itself is opened",
        file="discreet/ledger/sqlite.py",
        old="    if _is_mounted(path):  # T5\n        raise failures.mounted_file_error()\n",
        new="",
        why="What a crash leaves beside it in another folder is undone later, with all since.",
        caught_by=(
            "tests/ledger/test_one_budget.py::test_a_single_file_that_is_mounted_elsewhere_grants_nothing[amid a commit]",
        ),
    ),
    Mutant(
        name="a new ledger is made where the journal of one is left",
        file="discreet/ledger/sqlite.py",
        old="            _refuse_leftovers(self._path)\n",
        new="",
        why="The whole budget is granted a second time.",
        caught_by=("tests/ledger/test_one_budget.py::test_what_was_told_is_in_the_file_alone",),
    ),
    Mutant(
        name="what another connection has written counts before its journal is synced",
        file="discreet/ledger/sqlite.py",
        old="        if version != self._settled:",
        new="        if version == -1:",
        why="After a kill and a loss of power a journal comes back that is over.",
        caught_by=(
            "tests/ledger/test_chaos.py::test_whenever_power_is_lost_what_was_told_is_there",
        ),
    ),
    Mutant(
        name="a forked process uses the connection of its parent",
        file="discreet/ledger/connection.py",
        old="        if os.getpid() != self._process:\n            raise forked_error()\n",
        new="",
        why="SQLite takes the locks of the parent for those of the child.",
        caught_by=(
            "tests/ledger/test_ledger.py::test_a_child_is_refused_the_ledger_of_its_parent_and_opens_it_anew",
        ),
    ),
    Mutant(
        name="a release without its start is recorded",
        file="discreet/ledger/requests.py",
        old=("    if not history.attempts:\n        raise NotCharged("),
        new=("    if history.attempts and history.charge is None:\n        raise NotCharged("),
        why="What was read, and how often, is not on record.",
        caught_by=("tests/ledger/test_ledger.py::test_the_steps_come_in_order",),
    ),
    Mutant(
        name="entries that do not follow the last one are accepted",
        file="discreet/ledger/state.py",
        old=(
            "            if not row.follows(self.seq, self.head):\n"
            "                raise damaged_entry_error(row.seq)\n"
        ),
        new="",
        why="Entries that were cut out or exchanged go unnoticed.",
        caught_by=("tests/ledger/test_bad_input.py::test_a_changed_line_is_found_on_replay",),
    ),
    Mutant(
        name="charges of a replayed ledger are dropped",
        file="discreet/ledger/state.py",
        old="                for each, pieces in charged:\n",
        new="                for each, pieces in charged[1:]:\n",
        why="After a restart the root has its whole budget again.",
        caught_by=("tests/ledger/test_ledger.py::test_an_account_counts_for_all_above_it",),
    ),
    Mutant(
        name="a reopened question is not closed by a restore",
        file="discreet/ledger/backup.py",
        old='            case "start" | "reopen":\n',
        new='            case "start":\n',
        why="The old ledger may have answered it since: two answers, one of them paid for.",
        caught_by=(
            "tests/ledger/test_restored_questions.py::test_a_restored_ledger_verifies_and_its_own_backup_restores",
        ),
    ),
    Mutant(
        name="attempts count from the first one on, anyone who reopened the question",
        file="discreet/ledger/ledger_view.py",
        old="                starts = [seq for seq in starts if seq > row.seq]\n",
        new="                starts = [seq for seq in starts if seq]\n",
        why="The first attempt after that closes the question again.",
        caught_by=(
            "tests/ledger/test_restored_questions.py::test_a_restored_ledger_verifies_and_its_own_backup_restores",
            "tests/service/test_spending.py::test_three_attempts_at_reading_are_all_that_one_charge_pays_for",
        ),
    ),
    Mutant(
        name="reopening a question forgets attempts at others",
        file="discreet/ledger/ledger_view.py",
        old='            if row.kind == "reopen" and row.key == key:\n',
        new='            if row.kind == "reopen":\n',
        why="Data is read for one charge as often as its question is canceled.",
        caught_by=(
            "tests/ledger/test_restored_questions.py::test_a_restored_ledger_verifies_and_its_own_backup_restores",
        ),
    ),
)
