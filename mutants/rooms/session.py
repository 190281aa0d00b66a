"""Mutants of the room ``session``."""

from __future__ import annotations

from typing import Final

from mutants.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        name="a plan buys limits",
        file="discreet/session/purchases.py",
        old="        if buying is None:\n",
        new="        if buying is None and not plans:\n",
        why="A plan spends nothing: anyone who plans again and again has bought what nobody counted on.",
        caught_by=("tests/session/test_purchases.py::test_a_plan_spends_nothing",),
    ),
    Mutant(
        name="a table whose rows belong to other people now",
        file="discreet/session/table_records.py",
        old="    if before.agrees(now):\n        return\n",
        new="    if before.agrees(now) or before.columns != now.columns:\n        return\n",
        why="What was charged before protects those to whom the rows belonged then.",
        caught_by=(
            "tests/session/test_scope_names.py::test_a_table_that_was_recorded_with_another_unit_is_refused",
        ),
    ),
    Mutant(
        name="bounds that are found follow from the plan",
        file="discreet/session/answer_pipeline.py",
        old="        bounds = private_bounds(plan.search, raw, entropy=self.entropy)\n",
        new=(
            "        from discreet.noise import KeyedEntropy\n"
            "        again = KeyedEntropy(key=bytes.fromhex(plan.digest)[:32], label='bounds')\n"
            "        bounds = private_bounds(plan.search, raw, entropy=again)\n"
        ),
        why="Whoever knows the question knows which values stood out.",
        caught_by=("tests/session/test_fresh_noise.py::test_bounds_that_are_found_are_drawn_anew",),
    ),
    Mutant(
        name="data is read before it is paid for",
        file="discreet/session/answer_pipeline.py",
        old=(
            "        key, begun = self._begin(plan, question)\n"
            "        if isinstance(begun, Started):\n"
            "            begun = self.record.release(key, self._close_on_failure(key, draw))\n"
        ),
        new=(
            "        written = draw()\n"
            "        key, begun = self._begin(plan, question)\n"
            "        if isinstance(begun, Started):\n"
            "            begun = self.record.release(key, written)\n"
        ),
        why="A process that dies in between has told its data and paid nothing.",
        caught_by=(
            "tests/session/test_session.py::test_without_a_ledger_questions_are_planned_and_not_asked",
        ),
    ),
    Mutant(
        name="another draw is charged under the first one's name",
        file="discreet/session/answer_pipeline.py",
        old="        return _digest(plan.digest, draw) if draw > 1 else plan.digest",
        new="        return plan.digest",
        why="To remeasure returns what was told, or is free.",
        caught_by=("tests/session/test_remeasure.py::test_two_draws_are_better_than_one",),
    ),
    Mutant(
        name="another draw is not charged",
        file="discreet/session/answer_pipeline.py",
        old="        key = self._key(question, delta)\n        return key",
        new="        key = self._key(plan.digest, delta)\n        return key",
        why="A second answer to the same question is told for the price of one.",
        caught_by=("tests/session/test_remeasure.py::test_two_draws_are_better_than_one",),
    ),
    Mutant(
        name="a failure that can be retried for other noise",
        file="discreet/session/answer_pipeline.py",
        old=(
            "    except Exception:  # noqa: BLE001  (its text may quote the data)\n"
            "        return _FAILURE\n"
        ),
        new=(
            "    except Exception:  # noqa: BLE001  (its text may quote the data)\n        raise\n"
        ),
        why="Whether noise was drawn decides what is told, and asking again draws new noise.",
        caught_by=(
            "tests/session/test_crashes.py::test_a_failure_after_noise_was_drawn_is_the_answer",
        ),
    ),
    Mutant(
        name="tables that changed are read",
        file="discreet/session/answer_pipeline.py",
        old="        self.engine.identities(_tables(plan))\n",
        new="        self.engine.identities(frozenset())\n",
        why="People move between the states that the ledger was told of.",
        caught_by=(
            "tests/session/test_source_states.py::test_a_plan_that_was_made_before_the_change_is_refused",
        ),
    ),
    Mutant(
        name="a private table is read as public",
        file="discreet/session/public_tables.py",
        old="            if not read.isdisjoint(theirs):\n",
        new="            if read == theirs:\n",
        why="Rows of people are read exactly, for nothing.",
        caught_by=(
            "tests/session/test_public_tables.py::test_one_source_is_not_public_and_private_at_once",
        ),
    ),
    Mutant(
        name="a table of people may become public",
        file="discreet/session/public_tables.py",
        old=(
            "        if folded(table.name) in promised:\n            before = folded(table.name)\n"
        ),
        new="",
        why="People who were promised protection are read exactly.",
        caught_by=(
            "tests/session/test_public_tables.py::test_a_database_has_public_tables_and_private_ones",
            "tests/session/test_public_tables.py::test_a_table_on_record_as_private_is_never_public",
        ),
    ),
    Mutant(
        name="a frozen table that changed",
        file="discreet/session/table_records.py",
        old=(
            '    if last is None or last["digest"] is None or last["digest"] == _salted(last["salt"], content):\n'
            "        return\n"
        ),
        new=('    if last is None or last["digest"] is None or last["salt"]:\n        return\n'),
        why="Answers about a frozen table are about different data.",
        caught_by=(
            "tests/audit/test_changed_tables.py::test_a_table_that_changed_while_open_or_frozen_is_refused",
        ),
    ),
    Mutant(
        name="the reason of a failure is told",
        file="discreet/session/answer_pipeline.py",
        old=(
            "        except Exception:  # noqa: BLE001, S110 (its text may quote the data; replaced below)\n"
            "            pass\n"
            "        if written"
        ),
        new=(
            "        except DiscreetError as error:\n"
            "            failure = error\n"
            "        except Exception:  # noqa: BLE001, S110 (its text may quote the data; replaced below)\n"
            "            pass\n"
            "        if written"
        ),
        why="Errors of the engine quote values of the data, and the question stays open.",
        caught_by=(
            "tests/session/test_crashes.py::test_an_error_of_the_engine_closes_the_question_whatever_it_says",
        ),
    ),
    Mutant(
        name="a program costs what it says",
        file="discreet/session/programs.py",
        old="    if program != made:\n",
        new="    if program.digest != made.digest:\n",
        why="A workshop names a price, and the ledger charges that.",
        caught_by=("tests/synthetic/test_programs.py::test_forged_programs_are_refused",),
    ),
    Mutant(
        name="a program reads other rows than its session has bound",
        file="discreet/session/programs.py",
        old="        and all(_is_about(read.relation, rows.bound.rows.relation) for read in program.reads)\n",
        new="",
        why="Rows of another table are read under the bounds and the scope of this one.",
        caught_by=(
            "tests/synthetic/test_programs.py::test_a_program_that_is_whole_but_about_other_rows_is_refused",
        ),
    ),
    Mutant(
        name="a program is carried out for regardless of the policy allows",
        file="discreet/session/answer_pipeline.py",
        old="            check_allowed(known.price, self.policy.limits)",
        new="            str(known.price)",
        why="The limit for one question is the owner's, and programs are questions.",
        caught_by=("tests/synthetic/test_programs.py::test_the_policy_limits_the_price",),
    ),
)
