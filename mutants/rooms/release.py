"""Mutants of the room ``release``."""

from __future__ import annotations

from typing import Final

from mutants.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        name="a span is as deep as its lower side",
        file="discreet/release/choices.py",
        old="np.minimum(rank - below, upto - rank)",
        new="(rank - below)",
        why="Intervals end below their quantile.",
        caught_by=(
            "tests/release/test_leaf_choice.py::test_spans_of_several_groups_are_those_of_each",
            "tests/release/test_leaf_choice.py::test_the_law_of_a_span_is_that_of_its_size",
        ),
    ),
    Mutant(
        name="all rows of a span count, and not a third",
        file="discreet/release/choices.py",
        old="    inside = (upto - below) // 3\n",
        new="    inside = upto - below\n",
        why="A row moves scores by 1, and the price is that of max(q, 1 - q).",
        caught_by=(
            "tests/release/test_leaf_choice.py::test_spans_of_several_groups_are_those_of_each",
            "tests/release/test_leaf_choice.py::test_the_law_of_a_span_is_that_of_its_size",
        ),
    ),
    Mutant(
        name="an interval of a quantile costs nothing of the share",
        file="discreet/plan/pricing/release_parts.py",
        old="(value, self._span(scale(1 - VALUE_SHARE)))",
        new="(value, self._span(scale(Fraction(1))))",
        why="A value and its interval together cost more than the share.",
        caught_by=(
            "tests/release/test_quantile_ends.py::test_a_quantile_and_its_ends_share_one_price",
        ),
    ),
    Mutant(
        name="noise derived from the plan",
        file="discreet/release/answer.py",
        old="        noisy = noised(plan, raw, entropy=entropy)\n",
        new=(
            '        digest = bytes.fromhex(plan.digest)[:32].ljust(32, b"0")\n'
            '        noisy = noised(plan, raw, entropy=KeyedEntropy(key=digest, label="noise"))\n'
        ),
        why="Whoever knows the question computes the noise and subtracts it.",
        caught_by=("tests/audit/test_repeated_noise.py::test_noise_does_not_repeat",),
    ),
    Mutant(
        name="which groups are shown follows from the plan",
        file="discreet/release/answer.py",
        old="    match plan.selection:\n        case mechanisms.OptimalKeys():\n            return",
        new=(
            '    entropy = KeyedEntropy(key=bytes.fromhex(plan.digest)[:32], label="shown")\n'
            "    match plan.selection:\n        case mechanisms.OptimalKeys():\n            return"
        ),
        why="Whoever knows the question knows which counts a shown group may have.",
        caught_by=(
            "tests/session/test_fresh_noise.py::test_two_ledgers_get_different_answers[groups that are shown]",
        ),
    ),
    Mutant(
        name="quantiles and modes follow from the plan",
        file="discreet/release/answer.py",
        old="    read: dict[LeafChoice, Integers] = {}\n",
        new=(
            '    entropy = KeyedEntropy(key=bytes.fromhex(plan.digest)[:32], label="chosen")\n'
            "    read: dict[LeafChoice, Integers] = {}\n"
        ),
        why="Whoever knows the question knows which scores led to a choice.",
        caught_by=tuple(
            f"tests/session/test_fresh_noise.py::test_two_ledgers_get_different_answers[{kind}]"
            for kind in ("quantiles", "trees of quantiles", "modes", "extremes")
        ),
    ),
    Mutant(
        name="which groups are above a threshold follows from the plan",
        file="discreet/release/answer.py",
        old="plan.having_threshold, raw, entropy=entropy)",
        new=(
            "plan.having_threshold, raw, entropy=KeyedEntropy(\n"
            '            key=bytes.fromhex(plan.digest)[:32], label="above"))'
        ),
        why="Whoever knows the question knows which counts a group above it may have.",
        caught_by=(
            "tests/session/test_fresh_noise.py::test_two_ledgers_get_different_answers[groups above a threshold]",
        ),
    ),
    Mutant(
        name="all groups share one noise",
        file="discreet/release/answer.py",
        old="        values = law.run(exact, entropy=entropy)\n",
        new="        values = exact + law.run(np.zeros(1, np.int64), entropy=entropy)\n",
        why="All groups share one noise, so differences of groups are exact.",
        caught_by=(
            "tests/release/test_answer.py::test_an_answer_is_one_run_of_each_mechanism_of_the_plan",
        ),
    ),
    Mutant(
        name="private keys are shown without a choice",
        file="discreet/release/answer.py",
        old="    elif private and plan.selection is None:\n",
        new="    elif private and plan.selection is None and not plan.noises:\n",
        why="A group of a single person is shown.",
        caught_by=(
            "tests/release/test_answer.py::test_a_plan_that_would_show_private_keys_is_refused",
        ),
        fast=True,
    ),
    Mutant(
        name="keys are chosen by a count that moves further",
        file="discreet/release/answer.py",
        old="    if not (isinstance(found, Total) and found.low >= 0 and found.high <= keys.most):\n",
        new="    if not (isinstance(found, Total) and found.low >= 0):\n",
        why="The noise of the choice is too small for the count that decides.",
        caught_by=(
            "tests/release/test_answer.py::test_keys_are_not_chosen_by_a_count_that_moves_further_than_was_priced",
        ),
    ),
    Mutant(
        name="totals without noise where there are no groups",
        file="discreet/release/answer.py",
        old="        values = law.run(exact, entropy=entropy)\n",
        new="        values = exact if not plan.request.keys else law.run(exact, entropy=entropy)\n",
        why="Counts of everybody are told as they are.",
        caught_by=(
            "tests/audit/test_questions.py::test_answers_that_are_paid_and_recorded_keep_their_promise",
        ),
    ),
)
