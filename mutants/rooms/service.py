"""Mutants of the room ``service``."""

from __future__ import annotations

from typing import Final

from mutants.mutant import Mutant

_TOKENS: Final = "discreet/service/credentials.py"
_CALLER: Final = "discreet/service/roles.py"
_LOGINS: Final = "discreet/service/credentials.py"
_RAISES: Final = "discreet/service/budgets.py"
_FORM: Final = "discreet/documents/question.py"
_CLASSES: Final = "discreet/service/workers/jobs.py"
_JOBS: Final = "discreet/service/workers/jobs.py"
_OPENID: Final = "discreet/service/oidc.py"
_KEPT: Final = "tests/service/test_kept_state.py"
_TICKS: Final = "tests/service/test_spending.py::test_answers_are_due_at_powers_of_two"

MUTANTS: Final = (
    Mutant(
        name="a new ledger takes the place of one that the witness knows",
        file="discreet/service/opened_site.py",
        old="        named = known.receipt.ledger\n",
        new="        named = None\n",
        why="Whoever removes a spent ledger gets a full budget.",
        caught_by=(
            "tests/service/test_upkeep.py::test_a_new_ledger_does_not_take_the_place_of_one_that_the_witness_knows",
        ),
    ),
    Mutant(
        name="a server is content with any ledger",
        file="discreet/service/witness_keeper.py",
        old="        witness.check(ledger)\n",
        new="",
        why="Where a witness is gone, a ledger that was put back to last week is served.",
        caught_by=(
            "tests/service/test_upkeep.py::test_a_witness_that_is_gone_stops_the_start_until_somebody_begins_another",
        ),
    ),
    Mutant(
        name="what an old password has opened stays open",
        file=_LOGINS,
        old='if row is None or row["mark"] != self._directory.mark(row["person"]):',
        new="if row is None:",
        why="A thief keeps the cookie after the password was changed.",
        caught_by=(f"{_KEPT}::test_a_new_password_ends_what_the_old_one_has_opened",),
        fast=True,
    ),
    Mutant(
        name="a name without a password opens with any",
        file="discreet/service/directory.py",
        old="        return stored is not None\n",
        new="        return True\n",
        why="The stand-in that makes all tries take as long would be a password of everybody.",
        caught_by=(f"{_KEPT}::test_what_is_checked_where_there_is_no_password_opens_nothing",),
    ),
    Mutant(
        name="roles of one dataset hold for all",
        file=_CALLER,
        old="if dataset is None or each.covers(dataset))",
        new="if each is not dataset)",
        why="Who may ask about one table and see the releases of another asks about both.",
        caught_by=("tests/service/test_people.py::test_roles_of_one_dataset_are_none_of_another",),
    ),
    Mutant(
        name="a token ends others",
        file=_TOKENS,
        old="if caller.token is not None and caller.token != prefix:",
        new="if caller.token is not None and not prefix:",
        why="Who has stolen one token stops all programs of its person.",
        caught_by=("tests/service/test_people.py::test_a_token_makes_and_ends_no_others",),
    ),
    Mutant(
        name="an owner may be steward and analyst at once",
        file="discreet/service/roles.py",
        old="if {Role.STEWARD, Role.ANALYST} <= roles:",
        new="if {Role.STEWARD, Role.ANALYST} <= roles and Role.OWNER not in roles:",
        why="Whoever asks decides on the budget that pays for it.",
        caught_by=(f"{_KEPT}::test_whoever_spends_does_not_decide",),
    ),
    Mutant(
        name="a request is decided twice",
        file=_RAISES,
        old="WHERE id = ? AND state = 'open' ",
        new="WHERE id = ? ",
        why="What one steward has declined, another approves behind their back.",
        caught_by=(f"{_KEPT}::test_one_decision_is_made_about_a_request",),
    ),
    Mutant(
        name="a token is known by its prefix",
        file=_TOKENS,
        old='if kind != "dsc" or not same_secret(secret_hash(secret), known) or row is None:',
        new='if kind != "dsc" or not known or row is None:',
        why="Prefixes are shown in lists and logs, and would be enough to spend.",
        caught_by=(f"{_KEPT}::test_a_token_is_more_than_its_prefix_and_ends",),
    ),
    Mutant(
        name="a revoked token works on",
        file=_TOKENS,
        old="WHERE prefix = ? AND revoked = 0 AND expires > ?",
        new="WHERE prefix = ? AND expires > ?",
        why="A token that was stolen spends after its person has ended it.",
        caught_by=(f"{_KEPT}::test_a_token_is_more_than_its_prefix_and_ends",),
    ),
    Mutant(
        name="a token makes tokens",
        file=_TOKENS,
        old="        if caller.token is not None:\n            raise",
        new="        if caller.token == caller.person:\n            raise",
        why="A stolen token lives on in those that it has made.",
        caught_by=(f"{_KEPT}::test_a_token_has_no_more_than_its_person_has_now",),
    ),
    Mutant(
        name="a token outlives the roles of its person",
        file=_CALLER,
        old="return found if self.scope is None else found & self.scope",
        new="return found if self.scope is None else self.scope",
        why="Whoever may no longer ask goes on asking.",
        caught_by=(f"{_KEPT}::test_a_token_has_no_more_than_its_person_has_now",),
        fast=True,
    ),
    Mutant(
        name="a token does all that its person may",
        file=_CALLER,
        old="return found if self.scope is None else found & self.scope",
        new="return found",
        why="A token that was made to read spends.",
        caught_by=(f"{_KEPT}::test_a_token_is_more_than_its_prefix_and_ends",),
    ),
    Mutant(
        name="any form of somebody who is logged in is theirs",
        file=_LOGINS,
        old="return token is not None and same_secret(token, self.csrf)",
        new="return token is not None and len(token) == len(self.csrf)",
        why="Another site sends questions in their name, and spends the budget.",
        caught_by=(f"{_KEPT}::test_a_log_in_ends_by_itself_and_knows_its_own_forms",),
    ),
    Mutant(
        name="a log-in lasts for ever",
        file=_LOGINS,
        old="WHERE hash = ? AND expires > ?",
        new="WHERE hash = ? AND (expires > ? OR 1)",
        why="A cookie that was left behind opens the ledger years later.",
        caught_by=(f"{_KEPT}::test_a_log_in_ends_by_itself_and_knows_its_own_forms",),
    ),
    Mutant(
        name="a further draw is one of another question",
        file=_FORM,
        old="    if any(each.is_about != asked[0].is_about for each in asked[1:]):",
        new="    if len(asked) > 2 and any(each.is_about != asked[0].is_about for each in asked[1:]):",
        why="An answer is averaged with one about other rows, and recorded under its name.",
        caught_by=("tests/service/test_spending.py::test_further_draws_are_of_the_same_question",),
    ),
    Mutant(
        name="forms with other limits have one digest",
        file=_FORM,
        old="        text = json.dumps(self.written(), sort_keys=True",
        new=(
            '        held = {n: v for n, v in self.written().items() if n != "max_rows"}\n'
            "        text = json.dumps(held, sort_keys=True"
        ),
        why="A question is answered by what was drawn for another one.",
        caught_by=(f"{_KEPT}::test_forms_that_differ_in_anything_have_other_digests",),
    ),
    Mutant(
        name="a log-in by a provider ends in any browser",
        file=_OPENID,
        old="ours = begun is not None and same_secret(secret_hash(browser), begun.browser)",
        new="ours = begun is not None",
        why="A link logs somebody in under another name, whose account pays.",
        caught_by=(
            "tests/service/test_openid.py::test_a_log_in_ends_in_the_browser_that_began_it_and_once",
        ),
    ),
    Mutant(
        name="an identity token answers any log-in",
        file=_OPENID,
        old='params={"nonce": nonce, "client_id": provider.client_id},',
        new='params={"client_id": provider.client_id},',
        why="A token that was overheard logs somebody in again.",
        caught_by=("tests/service/test_openid.py::test_a_token_about_anything_else_is_refused",),
    ),
    Mutant(
        name="a part of a question is a question",
        file=_FORM,
        old="    if not isinstance(found, Question):\n",
        new="    if found is None:\n",
        why="A caller has the server plan what no reader of questions has checked.",
        caught_by=(f"{_KEPT}::test_a_question_is_made_of_the_classes_of_questions_alone",),
    ),
    Mutant(
        name="an answer that misses its tick is sent when it is ready",
        file=_CLASSES,
        old="    while arrived + wait < ready:\n        wait *= 2\n    return arrived + wait\n",
        new="    return max(arrived + wait, ready)\n",
        why="The time of an answer says how much work the data made.",
        caught_by=(_TICKS,),
        fast=True,
    ),
    Mutant(
        name="ticks come evenly, and not at powers of two",
        file=_CLASSES,
        old="        wait *= 2\n",
        new="        wait += float(tick)\n",
        why="A slow answer tells its time to a quarter of a second, not to a factor of two.",
        caught_by=(_TICKS,),
    ),
    Mutant(
        name="what follows a reading is told on the way",
        file=_JOBS,
        old="        return tuple(self.events[:first])\n",
        new="        return tuple(self.events)\n",
        why="When a second charge comes depends on what was read.",
        caught_by=(
            "tests/service/test_timing.py::test_what_follows_a_reading_is_not_told_on_the_way",
        ),
    ),
    Mutant(
        name="a connection is used again while a reply is due",
        file="discreet/service/workers/writer.py",
        old="        self._ready = False\n        reply = self._reply(message)\n",
        new="        reply = self._reply(message)\n",
        why="After Ctrl-C the late reply stands for the next request, and what is refused is told.",
        caught_by=(
            "tests/service/test_writer_faults.py::test_a_reply_belongs_to_its_request_wherever_an_interrupt_comes",
        ),
    ),
    Mutant(
        name="a reply is taken whatever request it answers",
        file="discreet/service/workers/writer.py",
        old=(
            '        if reply.get("number") != self._number:\n            raise _misunderstood()\n'
        ),
        new="",
        why="A writer that answers out of order has the wrong charges told as paid.",
        caught_by=(
            "tests/service/test_writer_faults.py::test_a_writer_that_does_not_number_its_replies_is_refused[number0]",
        ),
    ),
    Mutant(
        name="charges go to whatever ledger a writer has",
        file="discreet/service/workers/writer.py",
        old='        if found.get("ledger") != self.opening.ledger:\n',
        new="        if not found:\n",
        why="A socket of another server takes the charges, and the ledger of the data none.",
        caught_by=(
            "tests/service/test_writer_faults.py::test_a_writer_of_another_ledger_is_refused_also_later",
        ),
    ),
)
