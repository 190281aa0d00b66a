"""One run of ``discreet init``: what it looks at, what it proposes, and what the owner decides.

Trust: kernel.  What comes from rows is shown at the owner's terminal, and is written only where the
owner accepted it there, or a script says ``--accept-proposals``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, final

from discreet import session as sessions
from discreet.accounting import Budget
from discreet.cli.init_screen import (
    ColumnScreen,
    Prompt,
    fault_words,
    guess_words,
    unit_words,
)
from discreet.errors import DiscreetError
from discreet.plan.policy.policy import Policy, SessionSettings, read_policy
from discreet.requests.table_schema import ColumnFacts, TableFacts
from discreet.session.first_run.policy_questionnaire import (
    Answers,
    facts_from,
    looks_like_a_name,
    policy_from,
    policy_of,
    types_said,
    unit_said,
    usual_delta,
)
from discreet.session.opening_arguments import unit_of
from discreet.session.schemas import schema_of

if TYPE_CHECKING:  # questions are asked without what looks at rows
    from discreet.requests.csv_format import CsvFormat
    from discreet.requests.table_schema import Schema
    from discreet.session import FirstLook, Proposals
    from discreet.units import PrivacyUnit


@final
class FirstRun:
    """A table that has no policy yet, and what is said and proposed about it."""

    def __init__(self, source: str, table: str | None, answers: Answers, *, owner: bool) -> None:
        """Look at the columns; as the owner, also at how their cells can be read."""
        self.source, self.owner = source, owner
        self.look = sessions.first_look(source, tables=table, csv=answers.csv, owner=owner)
        self.answers = answers
        self.name = self.look.table
        form = sessions.csv_form(self.look, source) if owner and self.look.shares else None
        self._seen: tuple[FirstLook, CsvFormat] | None = None
        if form is not None and answers.csv is None:
            look = sessions.first_look(source, tables=table, csv=form, owner=owner)
            self._seen = look, form

    def accepted(self, place: SessionSettings, *, proposals: bool) -> Policy:
        """Return the policy of the answers, with all proposals or with none from the rows."""
        if not proposals:
            look = replace(self.look, shares=None)
            return policy_from(self.answers, look=look, session=place)
        self._take_form()
        if not self.answers.unit:
            _, proposed = unit_words(sessions.unit_guesses(self.look, self.source))
            self.answers = replace(self.answers, unit=proposed)
        return policy_from(self.answers, look=self.look, session=place, proposals=self._proposals())

    def asked(self, show: Callable[[str], None], ask: Prompt, place: SessionSettings) -> Policy:
        """Ask for everything, on one screen; Enter accepts what is proposed."""
        _check_budget(self.answers.epsilon or "1", self.answers.delta or "1e-9")
        columns = len(self.look.columns)
        if self.owner:
            show(
                f"Looking at {self.source} (you are the owner; nothing leaves this screen).   "
                f"{columns} columns"
            )
        if self._seen is not None:
            show(f"The file is written with {self._seen[1].words}: taken from its cells.")
            self._take_form()
        self._ask_unit(show, ask)
        proposals = self._proposals() if self.owner else None
        key: tuple[str, ...] = () if proposals is None else proposals.key
        if proposals is not None:
            show(f"  about {proposals.size.rows:,} rows")
            key = self._ask_key(proposals, ask)
        unit = unit_said(self.answers.unit, self.look.columns)
        facts = list(facts_from(self.answers, self.look, proposals, unit))
        names = [each for each in facts if each.name in unit.columns]
        screen = ColumnScreen(facts, proposals, unit.columns)
        screen.edit(show, ask, lambda facts: self._check_column(facts, unit))
        size = None
        if proposals is not None:
            size = proposals.size
            words = f"{size.people:,} people" + (
                f", {size.rows:,} rows" if size.rows != size.people else ""
            )
            question = f"May the size be public, rounded: {words}? (plans warn before you pay)"
            size = size if _is_yes(ask(f"{question} [Y/n]", "y")) else None
        self._ask_budget(show, ask, "1e-9" if size is None else usual_delta(size))
        return policy_of(
            self.answers,
            (*names, *screen.facts),
            look=self.look,
            session=place,
            proposals=proposals,
            size=size,
            key=key,
        )

    def fitting(self, made: Policy) -> tuple[Policy, Schema]:
        """Return a policy as it is read again, and the schema: it can be followed, and fits."""
        rules = read_policy(made.written())
        columns, stored = {self.name: self.look.columns}, {self.name: self.look.stored}
        return rules, schema_of(rules, unit_of(None, rules), columns, stored)

    def _check_column(self, facts: ColumnFacts, unit: PrivacyUnit) -> None:
        table = TableFacts(name=self.name, columns=(facts,), unit=unit.columns)
        self.fitting(Policy(unit=unit, tables=(table,)))

    def _take_form(self) -> None:
        if self._seen is not None:
            self.look, form = self._seen
            self.answers = replace(self.answers, csv=form)

    def _proposals(self) -> Proposals:
        unit = unit_said(self.answers.unit, self.look.columns)
        types = types_said(self.answers, self.look)
        return sessions.propose(self.look, self.source, unit=unit.columns, types=types)

    def _ask_unit(self, show: Callable[[str], None], ask: Prompt) -> None:
        if self.answers.unit:
            return
        if self.owner:
            guesses = sessions.unit_guesses(self.look, self.source)
        else:
            named = filter(looks_like_a_name, self.look.columns)
            guesses = tuple(sessions.UnitGuess(name) for name in named)
        question, proposed = unit_words(guesses)
        said = ask_until(
            lambda said: unit_said(said, self.look.columns),
            show,
            lambda: ask(f"{question}; a column, or row", proposed),
        )
        self.answers = replace(self.answers, unit=said)

    def _ask_key(self, proposals: Proposals, ask: Prompt) -> tuple[str, ...]:
        if len(proposals.key) < 2:
            return proposals.key
        listed = ", ".join(proposals.key)
        question = (
            f"  ({listed}) is unique: one row for each person and {proposals.key[-1]}. "
            "Declare this key? [Y/n]"
        )
        return proposals.key if _is_yes(ask(question, "y")) else ()

    def _ask_budget(self, show: Callable[[str], None], ask: Prompt, proposed: str) -> None:
        question = f"How much privacy may be lost in total? (1: {guess_words(1.0)}) epsilon"
        epsilon = self.answers.epsilon or ask_until(
            lambda said: _check_budget(said, self.answers.delta or proposed),
            show,
            lambda: ask(question, "1"),
        )
        delta = self.answers.delta or ask_until(
            lambda said: _check_budget(epsilon, said),
            show,
            lambda: ask("  delta, far below 1 / people", proposed),
        )
        self.answers = replace(self.answers, epsilon=epsilon, delta=delta)


def ask_until(
    check: Callable[[str], object], show: Callable[[str], None], ask: Callable[[], str]
) -> str:
    """Ask again until an answer can be used: a slip must not cost all other answers.

    >>> said = iter(["abc", "2"])
    >>> ask_until(lambda said: _check_budget(said, "0"), print, lambda: next(said))
      epsilon is text that is not a number. write epsilon like '0.1', '1e-6' or '2/3'.
    '2'
    """
    while True:
        said = ask()
        try:
            check(said)
        except DiscreetError as error:
            show(f"  {fault_words(error)}")
        else:
            return said


def _check_budget(epsilon: str, delta: str) -> None:
    Budget(epsilon=epsilon.strip(), delta=delta.strip())


def _is_yes(said: str) -> bool:
    return said.strip().lower() in {"", "y", "yes"}
