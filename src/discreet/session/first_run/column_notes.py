"""What the owner should see of a proposal: notes on a column, and what questions would be worth.

Trust: public.  The words hold exact numbers about the rows: they are for the owner alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from discreet.errors import DiscreetError
from discreet.plan.expectation import ExpectedOutput, expect, short
from discreet.plan.policy.policy import Policy
from discreet.planner import plan as plan_question
from discreet.query.sql.parse import read
from discreet.query.types import Type
from discreet.requests.table_schema import ColumnFacts, Schema, TableFacts
from discreet.session.first_run.policy_questionnaire import range_of

if TYPE_CHECKING:  # handed in: questions are asked without what looks at rows
    from discreet.session import Proposals, UnitGuess

_SHOWN: Final = 6


def notes_of(proposals: Proposals | None, facts: ColumnFacts) -> Iterator[str]:
    """Describe what the rows show of a column, as far as it concerns its declaration."""
    columns = () if proposals is None else proposals.columns
    found = next((each for each in columns if each.facts.name == facts.name), None)
    if found is None:
        return
    seen = facts.type is found.facts.type  # what was read as another type says nothing of this
    same = seen and range_of(facts) == range_of(found.facts)
    if seen and found.lost:
        yield f"{share_words(found.lost)} of cells are not {_types(found.facts.type)}"
    if same and found.inside is not None and found.inside < 1:
        yield f"{share_words(found.inside)} of cells inside"
    if same and found.rarer:
        yield f"{found.rarer} rarer {'value' if found.rarer == 1 else 'values'} not shown"
    if seen:
        yield "no NULL" if not found.null else f"{share_words(found.null)} NULL"
    if facts.constant:
        yield "the same in all rows of a person"
    elif found.groups > 1:
        yield f"people are in up to {found.groups}"


def limit_words(proposals: Proposals | None, unit: Sequence[str]) -> str:
    """Say which limits on a person are proposed; nothing if each row is one."""
    if proposals is None or not unit:
        return ""
    limits = f"max_rows {proposals.max_rows}, max_groups {proposals.max_groups}"
    return f"Limits: {limits}; 99 % of people have no more."


def _types(kind: Type) -> str:
    return f"{kind.value.lower()}s"


def share_words(share: Fraction) -> str:
    """Show a share in words that are never 0 % or 100 % by rounding.

    >>> share_words(Fraction(29, 100)), share_words(Fraction(1, 10**5)), share_words(Fraction(1))
    ('29 %', 'under 0.1 %', '100 %')
    """
    if 0 < share < Fraction(1, 1000):
        return "under 0.1 %"
    if Fraction(999, 1000) < share < 1:
        return "over 99.9 %"
    percent = float(100 * share)
    return f"{percent:.1f} %" if 90 < percent < 100 else f"{percent:.{2 + (share == 1)}g} %"


def unit_words(guesses: Sequence[UnitGuess]) -> tuple[str, str]:
    """Return the question who a person is, and the answer that is proposed.

    >>> unit_words([])[1]
    'row'
    """
    if not guesses:
        return "Who is a person?  No column looks like a name of people: each row is one", "row"
    best = guesses[0]
    if best.repeats is None:
        return f"Who is a person?  {best.column} is called as names of people are", best.column
    if best.repeats > 1:
        often = f"{best.column} repeats {float(best.repeats):.3g} times"
        return f"Who is a person?  {often} and looks like a name of people", best.column
    return f"Who is a person?  {best.column} is different in each row and names people", best.column


def guess_words(epsilon: float) -> str:
    """Explain an epsilon: how often an attacker who knows all others guesses right.

    >>> guess_words(1.0)
    'a guesser is right at most 74 of 100 times'
    """
    right = math.ceil(100 / (1 + math.exp(-min(epsilon, 30))))
    return f"a guesser is right at most {min(right, 100)} of 100 times"


def forecast_lines(policy: Policy, schema: Schema) -> Iterator[str]:
    """Say how exact ten questions that share the budget would be, and four."""
    budget = policy.budget
    promise = None if budget is None else budget.promise
    sized = [each for each in policy.tables if each.size is not None and each.link is None]
    if promise is None or not sized:
        return
    total = Fraction(promise.epsilon_bound)
    first = list(_forecasts(policy, schema, sized[0], total / 10))
    if first:
        yield f"Ten questions at {short_epsilon(total / 10)} each: {', '.join(first)}."
    then = [words for words in _forecasts(policy, schema, sized[0], total / 4) if "by" in words]
    if then:
        yield f"Four at {short_epsilon(total / 4)} each: {', '.join(then)}."


def short_epsilon(epsilon: Fraction) -> str:
    """Show an epsilon.

    >>> short_epsilon(Fraction(1, 4))
    '0.25'
    """
    return f"{float(epsilon):.4g}"


def _forecasts(
    policy: Policy, schema: Schema, table: TableFacts, epsilon: Fraction
) -> Iterator[str]:
    unit = table.unit
    people = f"COUNT(DISTINCT `{unit[0]}`)" if len(unit) == 1 else "COUNT(*)"
    questions = [(f"SELECT {people} AS n FROM {table.name}", "a count of all people")]  # noqa: S608
    by = next((each.name for each in table.columns if _groups(each)), None)
    number = next((each.name for each in table.columns if _is_amount(each, table.key)), None)
    if by is not None:
        text = f"SELECT `{by}`, COUNT(*) AS n FROM {table.name} GROUP BY `{by}`"  # noqa: S608
        questions.append((text, f"a count by {by}"))
    if number is not None:
        mean = f"AVG(`{number}`) AS m FROM {table.name}"
        questions.append((f"SELECT {mean}", f"a mean {number}"))
        if by is not None:
            text = f"SELECT `{by}`, {mean} GROUP BY `{by}`"
            questions.append((text, f"a mean {number} by {by}"))
    for text, words in questions:
        try:
            made = plan_question(
                read(text),
                schema=schema,
                policy=policy,
                unit=policy.unit,  # type: ignore[arg-type]  # (init always writes one)
                public_rows=lambda _: [],
                epsilon=epsilon,
            )
        except DiscreetError:
            continue
        expected = expect(made, schema)
        if expected is not None and expected.outputs:
            yield f"{words} {_verdict(expected.outputs[0])}"


def _verdict(output: ExpectedOutput) -> str:
    if output.share is None:
        return f"± {short(output.half_width or Fraction(0))}"
    return f"± {output.percent}" if output.share < 1 else "no use"


def _groups(facts: ColumnFacts) -> bool:
    if facts.categories is not None or facts.type is Type.BOOLEAN:
        return not facts.constant
    few = facts.bounded and (facts.high or 0) - (facts.low or 0) < _SHOWN * 4
    return facts.type is Type.INTEGER and few


def _is_amount(facts: ColumnFacts, key: tuple[str, ...]) -> bool:
    if facts.name in {*key, "unnamed"}:  # numbers of rows, in files of R and pandas
        return False
    return facts.bounded and not facts.constant and not _groups(facts)
