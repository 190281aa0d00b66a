"""The screens of ``discreet init``: a line for each column, a letter changes one, Enter accepts.

Trust: kernel.  What comes from rows is shown at the owner's terminal, and is written only if the
owner accepts it there, or a script says ``--accept-proposals``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import zip_longest
from typing import Final

from discreet.accounting import Budget
from discreet.errors import DiscreetError
from discreet.requests.table_schema import ColumnFacts
from discreet.session.first_run.column_notes import guess_words, unit_words
from discreet.session.first_run.policy_proposal import NewTable, PolicyProposal, unclear_table
from discreet.session.first_run.policy_questionnaire import (
    line_of,
    short_range,
    unit_said,
    usual_delta,
)

Prompt = Callable[[str, str], str]
"""Asks a question with a default, and returns what was said."""
Show = Callable[[str], None]

_FORMS: Final = "as LOW..HIGH, LOW:HIGH or A, B, C"
_MANY: Final = 40
_HALF: Final = 78
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"


def ask_everything(made: PolicyProposal, show: Show, ask: Prompt) -> None:
    """Ask for everything that makes a policy; Enter accepts the proposal."""
    _check_budget(made.answers.epsilon or "1", made.answers.delta or "1e-9")
    for table in made.tables:
        if made.owner:
            show(
                f"Looking at {table.source} (you are the owner; nothing leaves this screen).   "
                f"{len(table.look.columns)} columns"
            )
        if table.form is not None:
            show(f"The file is written with {table.form.words}: taken from its cells.")
            table.take_form()
    _ask_unit(made, show, ask)
    for table in made.tables:
        _ask_table(made, table, show, ask)
    _ask_sizes(made, ask)
    people = [each.size for each in made.tables if each.size is not None]
    largest = max(people, key=lambda size: size.people, default=None)
    _ask_budget(made, show, ask, usual_delta(largest))


def _ask_unit(made: PolicyProposal, show: Show, ask: Prompt) -> None:
    said = made.answers.unit
    if not said:
        question, proposed = unit_words(made.unit_guesses())
        said = _ask_until(
            lambda said: unit_said(said, made.columns),
            show,
            lambda: ask(f"{question}; a column, or row", proposed),
        )
    public = []
    for name in made.unclear(said):
        question = (
            f"{name} has no column {said}, and none in common with a table that has one. "
            "May anybody see all of it? [y/N]"
        )
        if not _is_yes(ask(question, "n")):
            raise unclear_table(name, said)
        public.append(name)
    made.protect(said, public)


def _ask_table(made: PolicyProposal, table: NewTable, show: Show, ask: Prompt) -> None:
    found = table.proposals
    several = len(made.tables) > 1
    if several:
        linked = (
            "" if table.link is None else f", linked to {table.link.parent} by {table.link.column}"
        )
        show(f"{table.name}{', public' if table.public else linked}")
    seen = ""
    if found is not None:
        seen = f", from about {found.size.rows:,} rows"
        if len(found.key) > 1:
            listed = ", ".join(found.key)
            question = (
                f"  ({listed}) is unique: one row for each person and {found.key[-1]}. "
                "Declare this key? [Y/n]"
            )
            table.key = found.key if _is_yes(ask(question, "y")) else ()
    show(f"Columns{seen} (Enter accepts all, a letter changes one; nothing is written yet):")
    _ask_columns(made, table, show, ask)
    if table.limits:
        show(table.limits)


def _ask_columns(made: PolicyProposal, table: NewTable, show: Show, ask: Prompt) -> None:
    """Show all lines, and change the selected ones, until Enter."""
    for line in column_lines(table):
        show(line)
    while said := ask("change", "").strip().lower():
        letter, _, change = said.partition(" ")
        place = _place(table, letter)
        if place is None:
            show(f"  there is no column {letter}; Enter accepts all")
            continue
        before = table.listed()[place]
        change = change or ask(f"  {before.name}, {_FORMS}", line_of(before))
        try:
            made.change(before.name, change, table=table.name)
        except DiscreetError as error:
            show(f"  {_fault_words(error)}")
        show(_line(table, table.listed(), place))


def _ask_sizes(made: PolicyProposal, ask: Prompt) -> None:
    parts = []
    for table in made.tables:
        if table.size is not None:
            size = table.size
            rows = f", {size.rows:,} rows" if size.rows != size.people else ""
            name = f"{table.name} " if len(made.tables) > 1 else ""
            parts.append(f"{name}{size.people:,} people{rows}")
    if not parts:
        return
    question = f"May the size be public, rounded: {'; '.join(parts)}? (plans warn before you pay)"
    if not _is_yes(ask(f"{question} [Y/n]", "y")):
        for table in made.tables:
            table.size = None


def _ask_budget(made: PolicyProposal, show: Show, ask: Prompt, proposed: str) -> None:
    question = f"How much privacy may be lost in total? (1: {guess_words(1.0)}) epsilon"
    epsilon = made.answers.epsilon or _ask_until(
        lambda said: _check_budget(said, made.answers.delta or proposed),
        show,
        lambda: ask(question, "1"),
    )
    delta = made.answers.delta or _ask_until(
        lambda said: _check_budget(epsilon, said),
        show,
        lambda: ask("  delta, far below 1 / people", proposed),
    )
    made.answers = replace(made.answers, epsilon=epsilon, delta=delta)


def letter_of(place: int) -> str:
    """Return the letter of a column: a to z, then aa, ab, and so on.

    >>> letter_of(0), letter_of(25), letter_of(26)
    ('a', 'z', 'aa')
    """
    before, at = divmod(place, len(_LETTERS))
    return (letter_of(before - 1) if before else "") + _LETTERS[at]


def _place(table: NewTable, letter: str) -> int | None:
    for place, facts in enumerate(table.listed()):
        if letter in {letter_of(place), facts.name.lower()}:
            return place
    return None


def column_lines(table: NewTable) -> Iterator[str]:
    """Return the lines of all columns, in two columns if there are many."""
    listed = table.listed()
    lines = [_line(table, listed, place) for place in range(len(listed))]
    if len(lines) <= _MANY:
        yield from lines
        return
    half = (len(lines) + 1) // 2  # what fits next to another: details come with a letter
    for left, right in zip_longest(lines[:half], lines[half:], fillvalue=""):
        yield f"{left[:_HALF]:<{_HALF}} {right[:_HALF]}".rstrip()


def _line(table: NewTable, listed: list[ColumnFacts], place: int) -> str:
    facts = listed[place]
    name = max(len(each.name) for each in listed)
    width = max(len(short_range(each)) for each in listed)
    kind, said = facts.type.value.lower(), short_range(facts)
    line = f"  {letter_of(place):<2} {facts.name:<{name}}  {kind:<9} {said:<{width}}  "
    return (line + table.notes(facts)).rstrip()


def _ask_until(check: Callable[[str], object], show: Show, ask: Callable[[], str]) -> str:
    """Ask again until an answer can be used: a slip must not cost all other answers."""
    while True:
        said = ask()
        try:
            check(said)
        except DiscreetError as error:
            show(f"  {_fault_words(error)}")
        else:
            return said


def _fault_words(error: DiscreetError) -> str:
    """Return one line about a wrong answer; errors of one line already say what to do."""
    return error.what if error.args == (error.what,) else f"{error.what} {error.do}"


def _check_budget(epsilon: str, delta: str) -> None:
    Budget(epsilon=epsilon.strip(), delta=delta.strip())


def _is_yes(said: str) -> bool:
    return said.strip().lower() in {"", "y", "yes"}
