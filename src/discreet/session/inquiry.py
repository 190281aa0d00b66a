"""Questions built step by step on a table of a session, and asked there.

Trust: public.  Every step is one of the table builder.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, Unpack, cast, final

from discreet import query as queries
from discreet.errors import DiscreetError, WrongKind
from discreet.plan.plan import Plan
from discreet.query.builder import Asked
from discreet.query.expressions import Grouped
from discreet.query.question import Question
from discreet.query.relations import Relation, Table, descend
from discreet.query.sql.parse import read
from discreet.query.sql.tokens import ParameterValues, parameters_of

if TYPE_CHECKING:  # annotations alone name them
    from discreet.mechanisms.mechanism import Number
    from discreet.plan.pricing.requested_price import BoundsPrice
    from discreet.plan.statistics.limit_choice import LimitsPrice, QuestionLimits, SharePrice
    from discreet.release.release import Release
    from discreet.session.session import Session


class PriceOptions(TypedDict, total=False):
    """What a question may cost: one of the first four, and what goes with it."""

    epsilon: Number | None
    rho: Number | None
    error: Mapping[str, Number] | None
    share: Number | None
    delta: Number | None
    size: int | None
    confidence: Number | None
    bounds: BoundsPrice | None
    intervals: str | bool | None


class AskOptions(PriceOptions, total=False):
    """A price, limits of this question, further purchases; dialect and parameters."""

    limits: QuestionLimits | LimitsPrice | None
    share_cut: SharePrice | None
    dialect: str | None
    params: ParameterValues | None
    other: bool | None


class Answerer(Protocol):
    """What plans and answers questions: a session, or a connection to a server."""

    def plan(self, question: Any, **price: Unpack[AskOptions]) -> Plan:
        """Plan a question."""

    def ask(self, question: Any, *, confirm: bool = ..., **price: Unpack[AskOptions]) -> Release:
        """Answer a question."""


@final
class Inquiry:
    """Rows or groups of a table, with all methods of the table builder, and ``plan`` and ``ask``.

    ``session.table("visits").where("age >= 18").group_by("ward").count(name="n").ask(epsilon=0.1)``
    """

    __slots__ = ("_builder", "_session")

    def __init__(self, built: queries.Rows | Asked, *, session: Answerer) -> None:
        """Take the question so far, and its planner: a session, or a connection."""
        self._builder = built
        self._session = session

    @property
    def session(self) -> Session:
        """The session that it belongs to, which a workshop such as ``models`` goes on with."""
        if not hasattr(self._session, "perform"):
            raise WrongKind(
                what="these rows are on a server, and no session holds them.",
                why="a model is fitted where the rows are.",
                do="fit it in a session of dp.open, on the machine that holds the table.",
            )
        return cast("Session", self._session)

    @property
    def rows(self) -> queries.Rows:
        """The current rows, before any aggregate."""
        if not isinstance(self._builder, queries.Rows):
            raise WrongKind(
                what="groups or totals are asked for, and no rows are left.",
                why="a model is fitted on rows.",
                do="use session.table('visits'), with .where(...) if need be.",
            )
        return self._builder

    def question(self) -> Question:
        """Return the current question."""
        if isinstance(self._builder, queries.Rows):
            raise WrongKind(
                what="nothing is asked about the rows yet.",
                why="an answer is about groups, with noise.",
                do="add .count(), or .group_by('ward').mean('cost'), say.",
            )
        return self._builder.question()

    def plan(self, **price: Unpack[AskOptions]) -> Plan:
        """Plan the question; takes what ``Session.plan`` takes, and spends nothing."""
        return self._session.plan(self.question(), **price)

    def ask(self, *, confirm: bool = False, **price: Unpack[AskOptions]) -> Release:
        """Answer the question; takes what ``Session.ask`` takes."""
        return self._session.ask(self.question(), confirm=confirm, **price)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Find a method of the builder."""
        method = None if name.startswith("_") else getattr(self._builder, name, None)
        if not callable(method):
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(message)  # noqa: TRY004  (what Python says of such names)

        @functools.wraps(method)
        def step(*arguments: Any, **named: Any) -> Any:
            if {"low", "high"} & named.keys() and "bounds" not in named:
                named["bounds"] = (named.pop("low", None), named.pop("high", None))
            built = method(*map(_plain, arguments), **named)
            if not isinstance(built, queries.Rows | Asked):
                return built
            return Inquiry(built, session=self._session)

        return step

    def __dir__(self) -> list[str]:
        """List the steps that can follow."""
        names = [name for name in dir(self._builder) if not name.startswith("_")]
        steps = [name for name in names if callable(getattr(self._builder, name))]
        return sorted({*object.__dir__(self), *steps})

    def __repr__(self) -> str:
        """Show on one line the question so far, which is public, and how to go on."""
        if isinstance(self._builder, queries.Rows):
            return f"<rows of {_tables(self._builder.source)}; go on with .group_by() or .count()>"
        try:
            question = self.question()
        except DiscreetError:
            return "<question that cannot be asked as it is; .plan() says why>"
        shown = ", ".join(n for n, value in question.outputs if not isinstance(value, Grouped))
        keys = ", ".join(name for name, _ in question.keys)
        by = f" by {keys}" if keys else ""
        of = _tables(question.relation)
        return f"<question: {shown or 'groups'}{by} of {of}; go on with .plan() or .ask()>"


def _tables(relation: Relation) -> str:
    return ", ".join(node.name for node in descend(relation) if isinstance(node, Table))


def _plain(value: object) -> object:
    return value._builder if isinstance(value, Inquiry) else value  # noqa: SLF001 (its own)


QuestionLike = str | Question | Asked | Inquiry | Plan
"""A question: SQL text, the table builder, or what has been read or planned already."""

Questions = list[Any] | tuple[QuestionLike, ...]
"""Several questions, planned together."""


_read = functools.lru_cache(maxsize=64)(read)  # a text is planned, asked and remeasured


def question_of(
    asked: object, dialect: str | None = None, params: ParameterValues | None = None
) -> Question:
    """Return a question, however it is given.

    >>> question_of("SELECT COUNT(*) AS n FROM visits").outputs[0][0]
    'n'
    """
    match asked:
        case str():
            return _read(asked, dialect, parameters_of(params))
        case _ if params is not None:
            raise WrongKind(
                what="params are given for a question that is not text.",
                why="parameters are marks in the text of SQL.",
                do="write the values where the question is built.",
            )
        case Question():
            return asked
        case Asked() | Inquiry():
            return asked.question()
        case _:
            raise WrongKind(
                what=f"a {type(asked).__name__} is not a question.",
                why="a question is SQL text, or made by the table builder.",
                do="give 'SELECT COUNT(*) FROM visits', say, or session.table('visits').count().",
            )
