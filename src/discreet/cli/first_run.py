"""One run of ``discreet init``: what it looks at, what it proposes, and what the owner decides.

Trust: kernel.  What comes from rows is shown at the owner's terminal, and is written only where the
owner accepted it there, or a script says ``--accept-proposals``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final, final

from discreet import session as sessions
from discreet.cli.init_screen import ColumnScreen, Prompt, guess_words, unit_words
from discreet.plan.policy.policy import Policy, SessionSettings
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

if TYPE_CHECKING:  # questions are asked without what looks at rows
    from discreet.requests.csv_format import CsvFormat
    from discreet.session import FirstLook, Proposals

LOOKED: Final = """\
# NOT PRIVATE: types, bounds, categories, limits, key and size were proposed by `discreet init
# --owner` from the rows, and confirmed by the owner after looking.  Whoever sees them learns that
# much, and no price covers it.

"""


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
        columns = len(self.look.columns)
        if self.owner:
            show(
                f"Looking at {self.source} (you are the owner; nothing leaves this screen).   "
                f"{columns} columns"
            )
        if self._seen is not None:
            show(f"The file is written with {self._seen[1].words}: taken from its cells.")
            self._take_form()
        self._ask_unit(ask)
        proposals = self._proposals() if self.owner else None
        key: tuple[str, ...] = () if proposals is None else proposals.key
        if proposals is not None:
            show(f"  about {proposals.size.rows:,} rows")
            key = self._ask_key(proposals, ask)
        unit = unit_said(self.answers.unit, self.look.columns)
        facts = list(facts_from(self.answers, self.look, proposals, unit))
        names = [each for each in facts if each.name in unit.columns]
        screen = ColumnScreen(facts, proposals, unit.columns)
        screen.edit(show, ask)
        size = None
        if proposals is not None:
            size = proposals.size
            words = f"{size.people:,} people" + (
                f", {size.rows:,} rows" if size.rows != size.people else ""
            )
            question = f"May the size be public, rounded: {words}? (plans warn before you pay)"
            size = size if _is_yes(ask(f"{question} [Y/n]", "y")) else None
        self._ask_budget(ask, None if size is None else usual_delta(size))
        return policy_of(
            self.answers,
            (*names, *screen.facts),
            look=self.look,
            session=place,
            proposals=proposals,
            size=size,
            key=key,
        )

    def _take_form(self) -> None:
        if self._seen is not None:
            self.look, form = self._seen
            self.answers = replace(self.answers, csv=form)

    def _proposals(self) -> Proposals:
        unit = unit_said(self.answers.unit, self.look.columns)
        types = types_said(self.answers, self.look)
        return sessions.propose(self.look, self.source, unit=unit.columns, types=types)

    def _ask_unit(self, ask: Prompt) -> None:
        if self.answers.unit:
            return
        if self.owner:
            guesses = sessions.unit_guesses(self.look, self.source)
        else:
            named = filter(looks_like_a_name, self.look.columns)
            guesses = tuple(sessions.UnitGuess(name) for name in named)
        question, proposed = unit_words(guesses)
        said = ask(f"{question}; a column, or row", proposed)
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

    def _ask_budget(self, ask: Prompt, delta: str | None) -> None:
        epsilon = self.answers.epsilon or ask(
            f"How much privacy may be lost in total? (1: {guess_words(1.0)}) epsilon", "1"
        )
        proposed = delta or "1e-9"
        said = self.answers.delta or ask("  delta, far below 1 / people", proposed)
        self.answers = replace(self.answers, epsilon=epsilon, delta=said)


def _is_yes(said: str) -> bool:
    return said.strip().lower() in {"", "y", "yes"}
