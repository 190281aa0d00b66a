"""Programs: how a workshop above has several things measured for one price, as one answer.

Trust: kernel.  A program takes the steps of a question (:mod:`discreet.session.answer_pipeline`):
it is found on record or charged, data is read after it is paid for, and draws are stored before
they are released.

Definition.  A program is a value: the question whose rows it reads, what engines are asked about
them, what one unit loses, and ``draw``, which turns bounded totals into released bytes and may use
nothing else of the data.  ``what`` are its public parameters.
Its digest covers all of it but ``draw``, which has to follow from ``what``: so one program is
carried out once, and carried out again gives the same bytes for free.

True by construction.  The execution of a program binds its question once more, under the schema,
the policy and the unit of the session, and refuses a program that reads other rows than these, for
another unit or another scope.  Conditions on single rows may be added, and nothing else: leaving
out rows of a unit by their own values keeps the relation a union over units (key ``unit-local``).
The request holds the bounds on a unit's contribution, and engines enforce them; the tree and the
digest are derived from the requests and from ``draw`` again before anything is charged, and the
price follows from the tree.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, Protocol, Self, final

from discreet.accounting import Box, Node, encode
from discreet.accounting.codec import encode_unit
from discreet.errors import OutOfRange, WrongKind
from discreet.noise import Entropy
from discreet.plan.binding.bound_question import BoundQuestion
from discreet.plan.plan import request_document
from discreet.plan.policy.owner_promises import OwnerPromise, promises_behind
from discreet.plan.policy.policy import Policy
from discreet.plan.pricing.calibration import Price, price_of
from discreet.plan.statistics.contribution_bounds import (
    ContributionBounds,
    contribution_bounds,
    one_row_of,
    table_limits,
)
from discreet.planner import check_unit
from discreet.query.canonical import canonical
from discreet.query.expressions import Column, Expression
from discreet.query.question import Clause, Question
from discreet.query.relations import Filter, Relation
from discreet.requests.engine_request import EngineRequest, KeyColumn, Measure
from discreet.requests.raw_totals import RawTotals
from discreet.requests.table_schema import Schema
from discreet.units import PrivacyUnit

_FORMAT: Final = 1


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False, weakref_slot=True)
class ProgramRows:
    """The rows that a program may read, as a session has bound them, and how a unit is bounded.

    ``contributions`` hold for totals by any keys that a program computes: that a unit has one row
    for each value of a column says nothing about what several values are merged into.
    """

    bound: BoundQuestion
    contributions: ContributionBounds
    promises: tuple[OwnerPromise, ...]

    @property
    def scope(self) -> Box:
        """The records that the rows are of."""
        return self.bound.rows.scope

    @property
    def unit(self) -> tuple[Expression, ...]:
        """The columns that name the unit; none if each row is a unit."""
        return tuple(Column(name) for name in self.bound.rows.unit or ())

    def request(
        self,
        *,
        keys: tuple[KeyColumn, ...],
        measures: tuple[Measure, ...],
        conditions: tuple[Expression, ...] = (),
        groups: int,
    ) -> EngineRequest:
        """Ask for totals of rows that meet conditions; a unit counts in this many groups."""
        relation: Relation = self.bound.rows.relation
        for condition in conditions:
            relation = Filter(relation, condition)
        return EngineRequest(
            relation=relation,
            unit=self.unit,
            keys=keys,
            groups=groups if self.unit else None,
            measures=measures,
        )


def program_rows(
    bound: BoundQuestion, *, schema: Schema, policy: Policy, unit: PrivacyUnit
) -> ProgramRows:
    """Return the rows of a bound question, and what one unit may add to totals of them."""
    if bound.rows.public:
        raise WrongKind(
            what="the rows of a program are public.",
            why="anybody may see them as they are; there is nobody to protect.",
            do="read the public table itself, or name a private one.",
        )
    check_unit(unit, bound.rows.unit or ())
    question = bound.question
    contributions = contribution_bounds(
        bound.keys,
        clause=question.clause or Clause(),
        limits=table_limits(question, schema, policy.limits),
        available=None,
        single=not bound.rows.unit,
        one_row=one_row_of(bound.rows, ()),
    )
    promises = promises_behind(bound.rows.relation, bound.rows.scope, schema=schema, unit=unit)
    return ProgramRows(bound=bound, contributions=contributions, promises=promises)


class ProgramDraw(Protocol):
    """Draws what a program releases, and says what that costs.

    It is code of the kernel, and trusted to use totals as it says: sessions take programs from
    workshops of the same process, and never from outside.
    """

    def document(self) -> Mapping[str, Any]:
        """Return all public parameters, in plain JSON."""
        ...

    def charged(self, reads: tuple[EngineRequest, ...], unit: PrivacyUnit) -> Node:
        """Return the composition of all steps, by the bounds that engines enforce for a unit."""
        ...

    def __call__(
        self,
        raws: tuple[RawTotals, ...],
        *,
        entropy: Entropy,
        digest: str,
        sources: tuple[tuple[str, str], ...],
    ) -> bytes:
        """Return the stored release, from the results of engines.

        Args:
            raws: bounded totals, one for each read.
            entropy: random bits for all noise.
            digest: the name of the program on record.
            sources: the states of the tables that were read.
        """
        ...


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What a workshop has measured for one price.

    ``delta`` is the delta charged to a budget counted in epsilon, in addition to its epsilon.
    """

    what: Mapping[str, Any]
    question: Question
    unit: PrivacyUnit
    reads: tuple[EngineRequest, ...]
    tree: Node
    scope: Box
    delta: Fraction | None
    digest: str
    draw: ProgramDraw = field(compare=False, repr=False)

    @property
    def price(self) -> Price:
        """Its cost, derived on demand and never stated by the caller."""
        return price_of(self.tree, self.unit, self.delta)

    @classmethod
    def of(
        cls,
        rows: ProgramRows,
        *,
        unit: PrivacyUnit,
        reads: tuple[EngineRequest, ...],
        delta: Fraction | None,
        draw: ProgramDraw,
    ) -> Self:
        """Put a program together, with its tree and its digest."""
        question, what, tree = rows.bound.question, draw.document(), draw.charged(reads, unit)
        document = {
            "format": _FORMAT,
            "program": what,
            "question": canonical(question),
            "unit": encode_unit(unit),
            "reads": list(map(request_document, reads)),
            "tree": encode(tree),
            "scope": rows.scope.written(),
            "delta": None if delta is None else str(delta),
        }
        text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return cls(
            what=what,
            question=question,
            unit=unit,
            reads=reads,
            tree=tree,
            scope=rows.scope,
            delta=delta,
            digest=hashlib.sha256(text.encode("ascii")).hexdigest(),
            draw=draw,
        )


def check_program(
    program: object, bind: Callable[[Question], ProgramRows], unit: PrivacyUnit
) -> Program:
    """Refuse a program that reads anything but rows that a session has bound for it."""
    if not isinstance(program, Program):
        raise WrongKind(
            what=f"a {type(program).__name__} is not a program.",
            why="what is carried out has a price and a digest.",
            do="hand over what discreet.plan_synthesis has planned, say.",
        )
    rows = bind(program.question)
    same = (
        program.unit == unit
        and program.scope == rows.scope
        and all(read.unit == rows.unit for read in program.reads)
        and all(_is_about(read.relation, rows.bound.rows.relation) for read in program.reads)
    )
    if not same:
        raise WrongKind(
            what="this program was not planned for this session.",
            why="it may rest on another unit, another policy or other tables.",
            do="plan it with this session, and carry out that plan.",
        )
    made = Program.of(rows, unit=unit, reads=program.reads, delta=program.delta, draw=program.draw)
    if program != made:
        raise OutOfRange(
            what="a program claims another price, or other parameters, than those of its steps.",
            why="policies limit what is really lost.",
            do="make programs with Program.of.",
        )
    return program


def _is_about(relation: Relation, rows: Relation) -> bool:
    """Whether a relation is these rows, below conditions on single rows."""
    while relation != rows and isinstance(relation, Filter):
        relation = relation.child
    return relation == rows
