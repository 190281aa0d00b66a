"""The screens of ``discreet init``: a line for each column, a letter changes one, Enter accepts.

Trust: public.  What it shows of the rows is for the owner alone, who looks at this terminal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import zip_longest
from typing import TYPE_CHECKING, Final, final

from discreet.errors import DiscreetError
from discreet.plan.expectation import ExpectedOutput, expect, short
from discreet.plan.policy.policy import Policy
from discreet.plan.steps import plan as plan_question
from discreet.query.sql.parse import read
from discreet.query.types import Type
from discreet.requests.table_schema import ColumnFacts, Schema
from discreet.session.first_run.column_lines import line_of, range_of, read_line

if TYPE_CHECKING:  # handed in: questions are asked without what looks at rows
    from discreet.session import Proposals, UnitGuess
    from discreet.session.owner_check import ColumnProposal

Prompt = Callable[[str, str], str]
"""Asks a question with a default, and returns what was said."""

_FORMS: Final = "as LOW..HIGH, LOW:HIGH or A, B, C"
_WIDE: Final = 44
_SHOWN: Final = 6
_MANY: Final = 40
_HALF: Final = 78
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"


def letter_of(place: int) -> str:
    """Return the letter of a column: a to z, then aa, ab, and so on.

    >>> letter_of(0), letter_of(25), letter_of(26)
    ('a', 'z', 'aa')
    """
    before, at = divmod(place, len(_LETTERS))
    return (letter_of(before - 1) if before else "") + _LETTERS[at]


@final
@dataclass(slots=True)
class ColumnScreen:
    """The lines of all columns, as they are now."""

    facts: list[ColumnFacts]
    proposals: Proposals | None
    unit: tuple[str, ...]
    several: bool = field(init=False)

    def __post_init__(self) -> None:
        """Leave out the columns that name a person: nothing is declared of them."""
        self.facts = [each for each in self.facts if each.name not in self.unit]
        self.several = bool(self.unit)

    def edit(
        self, show: Callable[[str], None], ask: Prompt, check: Callable[[ColumnFacts], None]
    ) -> None:
        """Show all lines, and change those whose letters are given, until Enter."""
        show(
            "Columns (Enter accepts all, a letter changes one; nothing is written before the end):"
        )
        for line in self.lines():
            show(line)
        while said := ask("change", "").strip().lower():
            letter, _, change = said.partition(" ")
            place = self._place(letter)
            if place is None:
                show(f"  there is no column {letter}; Enter accepts all")
                continue
            before = self.facts[place]
            change = change or ask(f"  {before.name}, {_FORMS}", line_of(before))
            try:
                changed = read_line(change, before)
                check(changed)
                self.facts[place] = changed
            except DiscreetError as error:
                show(f"  {fault_words(error)}")
            show(self._line(place))

    def _place(self, letter: str) -> int | None:
        for place, facts in enumerate(self.facts):
            if letter in {letter_of(place), facts.name.lower()}:
                return place
        return None

    def lines(self) -> Iterator[str]:
        """Return all lines, in two columns where there are many."""
        lines = [self._line(place) for place in range(len(self.facts))]
        if len(lines) <= _MANY:
            yield from lines
            return
        half = (len(lines) + 1) // 2  # what fits beside another: details come with a letter
        for left, right in zip_longest(lines[:half], lines[half:], fillvalue=""):
            yield f"{left[:_HALF]:<{_HALF}} {right[:_HALF]}".rstrip()

    def _line(self, place: int) -> str:
        facts = self.facts[place]
        name = max((len(each.name) for each in self.facts), default=0)
        kind, said = facts.type.value.lower(), _range(facts)
        notes = "; ".join(self._notes(facts))
        width = min(_WIDE, max((len(_range(each)) for each in self.facts), default=0))
        line = f"  {letter_of(place):<2} {facts.name:<{name}}  {kind:<9} {said:<{width}}  {notes}"
        return line.rstrip()

    def _notes(self, facts: ColumnFacts) -> Iterator[str]:
        found = _proposal(self.proposals, facts.name)
        if found is None:
            return
        seen = facts.type is found.facts.type  # what was read as another type says nothing of this
        same = seen and range_of(facts) == range_of(found.facts)
        if seen and found.lost:
            yield f"{share_words(found.lost)} of cells are no {found.facts.type.value.lower()}"
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


def fault_words(error: DiscreetError) -> str:
    """Say in a line what is wrong with an answer; errors of one line say what to do themselves."""
    return error.what if error.args == (error.what,) else f"{error.what} {error.do}"


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


def _proposal(proposals: Proposals | None, name: str) -> ColumnProposal | None:
    columns = () if proposals is None else proposals.columns
    return next((each for each in columns if each.facts.name == name), None)


def _range(facts: ColumnFacts) -> str:
    """Show bounds, or the first values with how many there are."""
    values = facts.categories or ()
    said = range_of(facts)
    if len(said) <= _WIDE or not values:
        return said
    shown = ", ".join(str(value) for value in values)[: _WIDE - 15]
    return f"{len(values)} values: {shown}…"


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
    """Say what an epsilon means: how often somebody who knows all others guesses right.

    >>> guess_words(1.0)
    'a guesser is right at most 74 of 100 times'
    """
    right = math.ceil(100 / (1 + math.exp(-min(epsilon, 30))))
    return f"a guesser is right at most {min(right, 100)} of 100 times"


def forecast_lines(policy: Policy, schema: Schema) -> Iterator[str]:
    """Say how exact ten questions that share the budget would be, and four."""
    budget = policy.budget
    promise = None if budget is None else budget.promise
    (table, *_) = policy.tables
    if promise is None or table.size is None:
        return
    total = Fraction(promise.epsilon_bound)
    first = list(_forecasts(policy, schema, total / 10))
    if first:
        yield f"Ten questions at {short_epsilon(total / 10)} each: {', '.join(first)}."
    then = [words for words in _forecasts(policy, schema, total / 4) if "by" in words]
    if then:
        yield f"Four at {short_epsilon(total / 4)} each: {', '.join(then)}."


def short_epsilon(epsilon: Fraction) -> str:
    """Show an epsilon.

    >>> short_epsilon(Fraction(1, 4))
    '0.25'
    """
    return f"{float(epsilon):.4g}"


def _forecasts(policy: Policy, schema: Schema, epsilon: Fraction) -> Iterator[str]:
    (table, *_) = policy.tables
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
    return facts.bounded and facts.name not in key and not facts.constant and not _groups(facts)
