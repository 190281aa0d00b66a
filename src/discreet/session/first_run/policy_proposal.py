"""Tables that have no policy yet: the proposal for them, and their owner's decisions.

Trust: kernel.  What comes from rows is shown to the owner alone, and is written only if the owner
accepts it.  A policy that names the id of its ledger never makes another one.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

from discreet import session as sessions
from discreet.errors import BadPolicy, NotALedger, UnknownName, WrongKind
from discreet.ledger import Ledger
from discreet.ledger.store import is_server
from discreet.notebook import Shown
from discreet.plan.policy.policy import Policy, SessionSettings, read_policy
from discreet.query.relations import folded
from discreet.query.types import Type
from discreet.requests.table_schema import ColumnFacts, Link, PublicSize, TableFacts
from discreet.session.first_run.column_notes import limit_words, notes_of
from discreet.session.first_run.policy_questionnaire import (
    LOOKED,
    ROW,
    Answers,
    facts_from,
    known,
    looks_like_a_name,
    policy_of,
    read_line,
    says_something,
    short_range,
    types_said,
    unit_said,
)
from discreet.session.opening_arguments import named_sources, unit_of
from discreet.session.schemas import schema_of
from discreet.units import PrivacyUnit

if TYPE_CHECKING:  # handed in: questions are asked without what looks at rows
    from discreet.requests.table_schema import CsvFormat, Schema
    from discreet.session import FirstLook, Proposals, UnitGuess
    from discreet.session.owner_check.exact_counts import ExactCounter


_TITLE: Final = "# Who is protected, and what is public.  Review this file like code.\n"
_KNOWN: Final = "# Bounds and categories are what people know, and never come from the rows.\n"
_WIDTH: Final = 98


@final
class NewTable:
    """One table as found, and its declarations so far."""

    def __init__(self, name: str, source: object, answers: Answers, *, owner: bool) -> None:
        """Look at the columns; as the owner, also at how their cells can be read."""
        self.name, self.source, self.owner = name, source, owner
        self.look: FirstLook = sessions.first_look({name: source}, csv=answers.csv, owner=owner)
        self.found = self.look
        self.answers = answers
        self.unit: tuple[str, ...] = ()
        self.link: Link | None = None
        self.pointed: tuple[str, ...] = ()  # the columns that links of other tables point to
        self.public = False
        self.proposals: Proposals | None = None
        self.facts: list[ColumnFacts] = []
        self.key: tuple[str, ...] = ()
        self.size: PublicSize | None = None

    @cached_property
    def form(self) -> CsvFormat | None:
        """How the file seems to be written, if that is not as usual; for the owner."""
        if not self.owner or not self.look.shares or self.answers.csv is not None:
            return None
        return sessions.csv_form(self.look, {self.name: self.source})

    def take_form(self) -> None:
        """Read the cells as the file seems to be written."""
        if self.form is not None:
            self.answers = replace(self.answers, csv=self.form)
            source = {self.name: self.source}
            self.look = self.found = sessions.first_look(source, csv=self.form, owner=True)

    def forget_rows(self) -> None:
        """Propose nothing that comes from the rows; ``found`` still says what was seen of them."""
        self.look, self.owner = replace(self.look, shares=None), False

    @cached_property
    def guesses(self) -> tuple[UnitGuess, ...]:
        """The columns that look like names of people."""
        if self.owner:
            return sessions.unit_guesses(self.look, {self.name: self.source})
        return tuple(
            sessions.UnitGuess(name) for name in self.look.columns if looks_like_a_name(name)
        )

    def shared_with(self, other: NewTable) -> tuple[UnitGuess, ...]:
        """The columns of any name that another table has too, for the owner."""
        shared = [name for name in self.look.columns if other.own_name(name) is not None]
        if not self.owner or not shared:
            return ()
        return sessions.unit_guesses(self.look, {self.name: self.source}, shared)

    def own_name(self, column: str) -> str | None:
        """Return the name of a column in this table, if it is there."""
        wanted = folded(column.strip())
        return next((name for name in self.look.columns if folded(name) == wanted), None)

    @property
    def naming(self) -> tuple[str, ...]:
        """The columns that name people here, or that point to a row of one."""
        return self.unit if self.link is None else (self.link.column,)

    @property
    def _said(self) -> Answers:
        return replace(self.answers, **_about(self.answers, self.look.columns))

    def described(self) -> TableFacts:
        """Return the table with a type for each column that can be read, to be looked at."""
        kept = (*self.naming, *self.pointed)
        types = {
            **types_said(self._said, self.look),
            **{name: kind for name in kept if (kind := self.look.columns[name])},
        }
        columns = tuple(
            ColumnFacts(name=name, type=types.get(name) or sessions.kind_of(self.look, name))
            for name, kind in self.look.columns.items()
            if kind is not None
        )
        return TableFacts(
            name=self.name,
            columns=columns,
            public=self.public,
            unit=self.unit,
            link=self.link,
            csv=self.answers.csv,
        )

    def declare(self, counting: ExactCounter | None) -> None:
        """Propose what to declare; without counts from what was said and from names alone."""
        if counting is not None and not self.public:
            self.proposals = sessions.propose_columns(counting, self.described(), self.look)
            self.key = self.proposals.key
            self.size = self.proposals.size
        kept = (*self.naming, *self.pointed)
        self.facts = list(facts_from(self._said, self.look, self.proposals, kept))

    def table(self) -> TableFacts:
        """Return the declarations of the table."""
        return TableFacts(
            name=self.name,
            columns=tuple(each for each in self.facts if says_something(each, self.look)),
            public=self.public,
            unit=self.unit,
            link=self.link,
            csv=self.answers.csv,
            key=self.key,
            size=self.size,
        )

    def listed(self) -> list[ColumnFacts]:
        """Return the columns with declarations: not those that name people."""
        return [each for each in self.facts if each.name not in {*self.naming, *self.pointed}]

    @property
    def limits(self) -> str:
        """The limits that are proposed, in words."""
        return limit_words(self.proposals, self.naming)

    def notes(self, facts: ColumnFacts) -> str:
        """Say what the owner should see of a column."""
        return "; ".join(notes_of(self.proposals, facts))


@final
class PolicyProposal(Shown):
    """What may be declared of some tables, proposed for their owner to accept or to change.

    NOT private if the owner looks at the rows.

    >>> import pyarrow as pa
    >>> people = pa.table({"age": [20 + at % 50 for at in range(500)], "sex": ["f", "m"] * 250})
    >>> made = PolicyProposal({"people": people})
    >>> made.protect("row")
    >>> made.change("age", "0..100")
    >>> print(made)
    NOT PRIVATE: for the owner of the data only.
    people: about 500 rows
      age  integer  0..100  no NULL
      sex  text     f, m    no NULL
    >>> made.policy.tables[0].size.people
    500
    """

    def __init__(
        self,
        source: object,
        answers: Answers | None = None,
        *,
        name: str | None = None,
        owner: bool = True,
    ) -> None:
        """Look at the columns of all tables; as the owner, also at their cells."""
        said = Answers() if answers is None else answers
        self.answers, self.owner = said, owner
        named = named_sources(source, name, [])
        self.tables = [NewTable(each, where, said, owner=owner) for each, where in named.items()]
        for column in (*said.bounds, *said.categories, *said.types, *said.constant):
            known(column, self.columns)

    @property
    def columns(self) -> dict[str, Type | None]:
        """All columns, by their names."""
        return {name: kind for table in self.tables for name, kind in table.look.columns.items()}

    def unit_guesses(self) -> list[UnitGuess]:
        """Return the columns that may name people, the best first: all tables have or reach it."""
        found: dict[str, list[UnitGuess]] = {}
        for table in self.tables:
            for guess in table.guesses:
                found.setdefault(folded(guess.column), []).append(guess)
        ranks: dict[str, Any] = {
            name: (
                len(self._placed((same[0].column,))),
                min(each.repeats or 0 for each in same),
                len(same),
            )
            for name, same in found.items()
        }
        if len(self.tables) == 1:
            return [same[0] for same in found.values()]
        return [found[name][0] for name in sorted(ranks, key=ranks.__getitem__, reverse=True)]

    def protect(self, said: str, public: Sequence[str] = ()) -> None:
        """Decide who is protected, and propose what to declare of all columns.

        A table without the columns of the unit points to one that has them, by a column of the same
        name, or it is public.

        Args:
            said: the columns that name a person, with commas, or ``row``.
            public: the public tables.
        """
        self.answers = replace(self.answers, unit=said)
        names = unit_said(said, self.columns).columns
        placed = self._placed(names)
        for table in self.tables:
            table.public = table.name in public
            place = placed.get(table.name, ())
            table.unit = () if table.public or isinstance(place, Link) else place
            table.link = place if isinstance(place, Link) and not table.public else None
            if names and not table.public and table.name not in placed:
                raise unclear_table(table.name, said)
        links = [each.link for each in self.tables if each.link is not None]
        for table in self.tables:
            table.pointed = tuple({link.key for link in links if link.parent == table.name})
        self._declare()
        for table in self.tables:
            if table.public:
                shared = [name for name in table.look.columns if self._is_shared(table, name)]
                table.key = tuple(shared[:1])

    def unclear(self, said: str) -> list[str]:
        """Return the tables that neither name a person nor point to a table that does."""
        names = unit_said(said, self.columns).columns
        placed = self._placed(names)
        return [each.name for each in self.tables if names and each.name not in placed]

    def _placed(self, names: Sequence[str]) -> dict[str, tuple[str, ...] | Link]:
        """Return how each table finds its people: by columns of its own, or by a link."""
        placed: dict[str, tuple[str, ...] | Link] = {}
        for table in self.tables:
            own = tuple(filter(None, map(table.own_name, names)))
            if names and len(own) == len(names):
                placed[table.name] = own
        grown = True
        while grown:
            grown = False
            for table in self.tables:
                if table.name not in placed and (link := self._link(table, placed)) is not None:
                    placed[table.name], grown = link, True
        return placed

    def _link(self, table: NewTable, placed: Mapping[str, object]) -> Link | None:
        for parent in self.tables:
            if parent.name not in placed:
                continue
            for guess in (*parent.guesses, *parent.shared_with(table)):
                column = table.own_name(guess.column)
                if column is not None and guess.repeats in {None, 1}:
                    return Link(column=column, parent=parent.name, key=guess.column)
        return None

    def _declare(self) -> None:
        """Propose what to declare of all tables, which are opened together for their owner."""
        if not any(table.owner and not table.public for table in self.tables):
            for table in self.tables:
                table.declare(None)
            return
        sources = {table.name: table.source for table in self.tables}
        with sessions.open_tables(sources, [t.described() for t in self.tables]) as counting:
            for table in self.tables:
                table.declare(counting if table.owner else None)

    def _is_shared(self, table: NewTable, column: str) -> bool:
        others = [each for each in self.tables if each is not table]
        return any(each.own_name(column) is not None for each in others)

    def change(self, column: str, line: str, *, table: str | None = None) -> None:
        """Change the declaration of a column, such as ``integer 0..110, no NULL`` or ``A, B``."""
        for each in self.tables:
            if table not in {None, each.name}:
                continue
            for place, facts in enumerate(each.facts):
                if folded(facts.name) == folded(column):
                    changed = read_line(line, facts)
                    self._check(each, changed)
                    each.facts[place] = changed
                    return
        raise UnknownName(
            what=f"there is no column {column}.",
            why="only what is there can be declared.",
            do=f"use one of: {', '.join(self.columns)}.",
        )

    def _check(self, table: NewTable, facts: ColumnFacts) -> None:
        unit = PrivacyUnit(name="person", columns=table.naming)
        alone = TableFacts(name=table.name, columns=(facts,), unit=table.naming)
        rules = read_policy(Policy(unit=unit, tables=(alone,)).written())
        self._schema(rules, [table])

    @staticmethod
    def _schema(rules: Policy, tables: Sequence[NewTable]) -> Schema:
        columns = {each.name: each.look.columns for each in tables}
        stored = {each.name: each.look.stored for each in tables}
        return schema_of(rules, unit_of(None, rules), columns, stored)

    def made(
        self, session: SessionSettings | None = None, *, accepted: str = LOOKED
    ) -> tuple[Policy, Schema]:
        """Return the policy as read back, and its schema: it is enforceable, and fits."""
        limits = {
            each.name: (each.proposals.max_rows, each.proposals.max_groups)
            for each in self.tables
            if each.proposals is not None
        }
        policy = policy_of(
            self.answers,
            [each.table() for each in self.tables],
            session=session or SessionSettings(),
            limits=limits or None,
            accepted=accepted if limits else None,
        )
        rules = read_policy(policy.written())
        return rules, self._schema(rules, self.tables)

    @property
    def policy(self) -> Policy:
        """The policy that this makes."""
        return self.made()[0]

    def write(self, path: str | Path, *, data: str | Mapping[str, str], ledger: str) -> Policy:
        """Make the ledger, and write the policy with its id; say that the owner has looked.

        Args:
            path: where to write; nothing may be there yet.
            data: the location of the data, relative to the policy.
            ledger: the location of the new ledger, relative to the policy.
        """
        refuse_overwriting(Path(path))
        rules, _ = self.made(SessionSettings(data=data, ledger=ledger))
        rules = with_ledger(rules, ledger, Path(path))
        write_policy(Path(path), rules)
        return rules

    def _titles(self) -> Iterator[tuple[str, NewTable]]:
        for table in self.tables:
            about = "" if table.size is None else f": about {table.size.rows:,} rows"
            yield f"{table.name}{' (public)' if table.public else ''}{about}", table

    def __repr__(self) -> str:
        """Mention the proposal, and show nothing of it: logs would keep it."""
        return "<proposals for a policy: not private; print it to read it>"

    def __str__(self) -> str:
        """Show a line for each column."""
        lines = ["NOT PRIVATE: for the owner of the data only."] if self.owner else []
        for title, table in self._titles():
            lines.append(title)
            rows = [
                (each.name, each.type.value.lower(), short_range(each), table.notes(each))
                for each in table.listed()
            ]
            widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
            for row in rows:
                cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
                lines.append(f"  {'  '.join(cells).rstrip()}")
            lines += [f"  {table.limits}"] * bool(table.limits)
        return "\n".join(lines)


def propose(
    source: object,
    *,
    unit: str | Sequence[str] | None = None,
    public: Sequence[str] = (),
    **said: Any,
) -> PolicyProposal:
    """Look at all rows, as their owner, and propose a policy.  NOT private.

    Print the proposals, ``change`` lines, and ``write`` the policy, or open it with ``.policy``.

    Args:
        source: what ``open`` takes; a mapping from names to sources for several tables.
        unit: the column that names a person, or "row"; the most likely one unless given.
        public: the public tables.
        said: epsilon, delta, max_rows, max_groups and analysts, as texts; bounds, categories and
            types by the names of columns; csv, how the files are written.

    >>> import pyarrow as pa
    >>> visits = pa.table({"patient": [at % 300 for at in range(900)], "cost": [5, 7, 9] * 300})
    >>> propose({"visits": visits}).policy.unit.columns
    ('patient',)
    """
    proposal = PolicyProposal(source, Answers(**said))
    for table in proposal.tables:
        table.take_form()
    if unit is None:
        guesses = proposal.unit_guesses()
        unit = guesses[0].column if guesses else ROW
    proposal.protect(unit if isinstance(unit, str) else ",".join(unit), public)
    return proposal


def unclear_table(name: str, unit: str) -> BadPolicy:
    """Return the refusal of a table that says nothing of people."""
    return BadPolicy(
        what=f"{name} has no column {unit}, and no column in common with a table that has one.",
        why="each row belongs to a person, unless anybody may see the table.",
        do="say that it is public, or leave it out.",
    )


def _about(answers: Answers, columns: Mapping[str, object]) -> dict[str, Any]:
    """Return what was said of the columns of one table."""
    there = {folded(name) for name in columns}
    return {
        name: {each: value for each, value in said.items() if folded(each.strip()) in there}
        if isinstance(said, Mapping)
        else tuple(each for each in said if folded(each.strip()) in there)
        for name in ("bounds", "categories", "types", "constant")
        for said in (getattr(answers, name),)
    }


# --- a new policy on disk ---------------------------------------------------------------------


def with_ledger(rules: Policy, ledger: str, policy: Path) -> Policy:
    r"""Make the ledger, and return the policy with its id: from now on it has to exist.

    >>> import tempfile
    >>> from discreet.plan.policy.policy import read_policy
    >>> rules = read_policy('format = 1\nunit = "patient"\n[budget]\nepsilon = 1')
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = with_ledger(rules, "clinic.ledger", Path(folder) / "policy.toml")
    >>> len(made.session.ledger_id)
    32
    """
    with Ledger.open(_address(ledger, policy), unit=rules.unit, budget=rules.budget) as made:
        session = replace(rules.session or SessionSettings(), ledger_id=made.id)
    return replace(rules, session=session)


def _address(ledger: str, policy: Path) -> str:
    return ledger if is_server(ledger) else str(policy.parent / ledger)


def refuse_damaged(ledger: str, policy: Path) -> None:
    """Refuse a file that is not a ledger, or the remains of a lost one, before asking questions.

    >>> refuse_damaged("a ledger that nobody has made", Path("policy.toml"))
    """
    place = Path(_address(ledger, policy))
    if not is_server(ledger):
        with suppress(*(() if place.exists() else (NotALedger,))):
            Ledger.open(place).close()


def refuse_overwriting(path: Path) -> None:
    """Refuse a path that exists.

    >>> refuse_overwriting(Path("a policy that nobody has written"))
    """
    if path.exists():
        raise WrongKind(
            what=f"{path} is there already.",
            why="a policy that people have reviewed is not replaced in passing.",
            do="remove it, or give --policy with another name.",
        )


def _header(rules: Policy) -> str:
    """Say above a policy whether anything in it comes from the rows, and who let it."""
    told = rules.about.tuning
    if told is None:
        return f"{_TITLE}{_KNOWN}\n"
    words = f"NOT PRIVATE: {told}  Whoever sees them learns that much."
    lines = (f"# {line}\n" for line in textwrap.wrap(words, _WIDTH))
    return f"{_TITLE}{''.join(lines)}\n"


def write_policy(path: Path, rules: Policy) -> None:
    r"""Write a new policy: after a power cut or on a full disk the whole of it is there, or none.

    >>> import tempfile
    >>> from discreet.plan.policy.policy import read_policy
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_policy(Path(folder) / "policy.toml", read_policy('format = 1\nunit = "patient"'))
    ...     [found.name for found in Path(folder).iterdir()]
    ['policy.toml']
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with beside.open("x", encoding="utf-8") as file:
            file.write(_header(rules) + rules.written())
            file.flush()
            os.fsync(file.fileno())
        refuse_overwriting(path)
        beside.replace(path)
    except OSError as error:
        raise WrongKind(
            what=f"{path} cannot be written: {error.strerror}.",
            why="nothing was written; the ledger that was made for it is still there.",
            do="make room, or choose another folder; remove the ledger, which is empty.",
        ) from None
    finally:
        with suppress(OSError):
            beside.unlink()
