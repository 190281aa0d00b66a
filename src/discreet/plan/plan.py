"""A plan: what will be computed, which mechanism protects it and what it costs, before any data.

Trust: kernel.  How a plan stands is read from its ledger, and from no data.  Two plans with one
digest are answered once.

A plan is a value.  It was made from the question, the schema and the policy alone, so it may be
shown to anyone.  Its executor charges ``tree`` to the records of ``scope``, lets an
engine compute ``request``, shows the groups that ``selection`` chooses by the count ``chosen_by``
(all of them where it is None, or those that meet ``having_threshold``, or those of every grouping
set of a ``cube``), adds ``noises``, makes
``choices``, and computes the columns of ``layout`` from ``estimates``.  The price is right if
``promises`` are true, which only the owner of the data can know.  ``truncations`` say what limits
may leave out, ``found_limits`` which limits were bought for it, and ``released_by`` which questions
have released its groups, and at what price; ``unmet`` names conditions that no declared value
meets, and ``warnings`` these and all else for which an answer may be paid in vain.
``budget_preview`` says what the ledger of the session that made the plan had left for it then; plan
again to look again.  ``expected`` says, if the size of its table is public, what to expect of
the answer.  A plan that is ``exact`` reads public tables alone, and its groups are the rows of its
answer.

Definition.  The digest of a plan is the same for every way to write the same request.  It is the
SHA-256 of a JSON text: the canonical question, whom it protects, the bound relation with the types
of its columns, the groups, the measures with their bounds, all mechanisms, and the scope.  So it
changes with the price, and with every declared fact that changes what is computed; spelling, the
confidence at which errors are shown, and the hash that decides which groups of a unit are kept do
not matter.  Only ends of intervals of quantiles are chosen for a confidence, of 95 % or a higher
one that is asked for.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import date
from fractions import Fraction
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, final

from discreet.accounting import Box, Budget, Node, encode
from discreet.accounting.codec import encode_unit
from discreet.accounting.currencies import format_amounts
from discreet.accounting.filter import more_words
from discreet.doors import Explainable
from discreet.errors import WrongKind
from discreet.loss import PrivacyLoss
from discreet.plan.estimator import Predicted
from discreet.plan.policy.owner_promises import OwnerPromise
from discreet.plan.pricing.calibration import Price, loss_of
from discreet.plan.pricing.group_sensitivity import LeafChoice, Noise, Releases, trees_of
from discreet.plan.pricing.linear_strategy import CellSensitivity
from discreet.plan.statistics.answer_layout import AnswerLayout, Estimate
from discreet.query.canonical import canonical, form
from discreet.query.expressions import Expression
from discreet.query.question import Question
from discreet.requests.engine_request import (
    CellSums,
    DistinctCount,
    DistinctSum,
    EngineRequest,
    KeyValue,
    Leaves,
    Measure,
    PublicGroups,
    Total,
)
from discreet.requests.table_schema import Product
from discreet.units import PrivacyUnit

if TYPE_CHECKING:  # loaded when first used, because a plain question needs none of it
    from discreet.mechanisms import NoisyKeys, OptimalKeys, SumKeys
    from discreet.plan.bounds_search import BoundsSearch, FoundBounds
    from discreet.plan.expectation import Expectation
    from discreet.plan.pricing.cube_strategy import CubeKeys
    from discreet.plan.statistics.having_threshold import HavingThreshold
    from discreet.plan.statistics.limit_choice import FoundLimits
    from discreet.plan.statistics.truncation import Truncation

__all__ = ["BudgetPreview", "Plan", "Predicted", "Price", "plan_digest"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetPreview:
    """Whether a plan was answered before, whether it fits, and what is left after it.

    ``entry`` is the number of the entry that holds its answer; ``left`` is what would be left for
    questions about the same units, and what is left now if the plan does not fit.  ``notes``
    say what later questions can no longer do; ``part`` is the share of the budget that is left
    after it, and ``more`` how many more such plans fit then; ``cost`` is the share that it takes;
    ``better`` says how the same share would err less.
    All of these are about the same units: others may have more left, or less.

    >>> print(BudgetPreview(entry=None, fits=True, left="epsilon 2.5 of 3"))
    leaves epsilon 2.5 of 3
    >>> print(BudgetPreview(entry=4, fits=True, left=""))
    was answered before, in entry 4, and costs nothing again
    >>> print(BudgetPreview(entry=None, fits=False, left="epsilon 0.1 of 3"))
    does not fit into what is left: epsilon 0.1 of 3
    """

    entry: int | None
    fits: bool
    left: str
    notes: tuple[str, ...] = ()
    part: Fraction | None = None
    more: int | None = None
    cost: Fraction | None = None
    better: str = ""

    @property
    def brief(self) -> str:
        """What is left in one number, and how many more such answers that is."""
        if self.entry is not None or not self.fits or self.part is None:
            return str(self)
        return f"leaves {budget_words(self.part, self.more)}"

    def __str__(self) -> str:
        """Say it in a line."""
        if self.entry is not None:
            return f"was answered before, in entry {self.entry}, and costs nothing again"
        if not self.fits:
            return f"does not fit into what is left: {self.left}"
        return f"leaves {self.left}"


def budget_words(part: Fraction, more: int | None) -> str:
    """Say what part of a budget is left, and for how many more questions like this one.

    >>> budget_words(Fraction(9, 10), 9), budget_words(Fraction(1, 2), 1)
    ('90 % of the budget, about 9 more like this', '50 % of the budget, one more like this')
    """
    return f"{int(100 * part)} % of the budget{'' if more is None else more_words(more)}"


@final
@dataclass(frozen=True, slots=True, kw_only=True, weakref_slot=True)
class Plan(Explainable):
    r"""How a question will be answered, and what that costs.

    >>> from discreet.plan.policy.policy import read_policy
    >>> from discreet.requests.table_schema import Schema
    >>> from discreet.planner import plan
    >>> from discreet.query.sql.parse import read
    >>> policy = read_policy(
    ...     'format = 1\nunit = "patient"\n[limits]\nmax_rows = 5\n'
    ...     '[tables.visits.columns.patient]\ntype = "integer"')
    >>> made = plan(read("SELECT COUNT(*) AS visits FROM visits"), schema=Schema(policy.tables),
    ...             policy=policy, unit=policy.unit, public_rows=list, epsilon=0.5)
    >>> print(made.details)
    SELECT COUNT(*) AS visits FROM visits
    ├── protects one person (patient) under add_remove, who counts in at most 1 group
    ├── is about everything
    ├── rests on promises of the owner
    │   └── a unit keeps its patient across tables, files and time: old people get no new names
    ├── has one group
    ├── releases
    │   └── count: rows, moved by 5 in L1; Laplace noise of scale 10; epsilon 0.5
    ├── has limits that may cut something off
    │   └── At most 5 rows of each patient count; rows beyond that are left out of these numbers.
    ├── leaves out rows whose patient is missing (NULL)
    ├── costs epsilon 0.5; rho 0.1225
    └── error, with 95 % confidence
        └── visits ± 30
    >>> print(made)
    SELECT COUNT(*) AS visits FROM visits
    ├── protects one person (patient) under add_remove, who counts in at most 1 group
    ├── has one group
    ├── left out or clipped, if any: rows of one patient beyond 5; rows without patient
    ├── costs epsilon 0.5
    └── error, with 95 % confidence: visits ± 30
    """

    question: Question
    unit: PrivacyUnit
    request: EngineRequest
    selection: OptimalKeys | NoisyKeys | SumKeys | None
    chosen_by: str
    noises: tuple[Noise, ...]
    choices: tuple[LeafChoice, ...]
    estimates: tuple[Estimate, ...]
    layout: AnswerLayout
    tree: Node
    scope: Box
    price: Price
    delta: Fraction | None
    confidence: Fraction
    predicted: Sequence[Predicted] = field(compare=False)
    descriptions: tuple[tuple[str, str], ...]
    digest: str
    having_threshold: HavingThreshold | None = None
    search: BoundsSearch | None = None
    cube: CubeKeys | None = None
    found: tuple[FoundBounds, ...] = ()
    promises: tuple[OwnerPromise, ...] = ()
    unmet: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    truncations: tuple[Truncation, ...] = ()
    exact: bool = False
    found_limits: FoundLimits | None = field(default=None, compare=False)
    released_by: tuple[str, ...] = field(default=(), compare=False)
    budget_preview: BudgetPreview | None = field(default=None, compare=False)
    expected: Expectation | None = field(default=None, compare=False)
    print_statements: Callable[[EngineRequest], str] | None = field(
        default=None, compare=False, repr=False
    )

    def __reduce__(self) -> tuple[Callable[[dict[str, Any]], Plan], tuple[dict[str, Any]]]:
        """Copy a plan without the engine that prints for it."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return _copied, ({**values, "print_statements": None},)

    def sql(self) -> str:
        """Return the statements that the engine will run, for its reader; the salt is not there."""
        if self.print_statements is None:
            raise WrongKind(
                what="this plan was made without an engine.",
                why="a statement is printed in the dialect of the engine that runs it.",
                do="make it with session.plan(...).",
            )
        return "\n\n".join(map(self.print_statements, self.reads))

    @property
    def loss(self) -> PrivacyLoss:
        """The whole loss of one unit, as accounting works it out."""
        return loss_of(self.tree, self.unit)

    @property
    def reads(self) -> tuple[EngineRequest, ...]:
        """What engines are asked, in all stages."""
        return (self.request,) if self.search is None else (self.request, self.search.request)

    def costs(self, budget: Budget) -> str:
        """Say what a budget counts for this plan; a delta is spent only if it has to be."""
        try:
            amounts = budget.price(self.loss)
        except WrongKind:
            amounts = budget.price(self.loss, delta=self.delta)
        return format_amounts(budget.currency, amounts)

    def __repr__(self) -> str:
        """Show the question and the price on one line."""
        return str(_words().plan_line(self))

    def __str__(self) -> str:
        """Show what matters before paying, in at most a dozen lines."""
        return str(_words().plan_screen(self))

    @property
    def details(self) -> str:
        """Everything that will happen, as a tree of lines."""
        return str(_words().plan_tree(self))

    def _repr_html_(self) -> str:
        return str(_words().plan_html(self))


def _words() -> ModuleType:
    from discreet.plan import plan_words  # noqa: PLC0415  rare

    return plan_words


_FORMAT: Final = 1
_ONE_TABLE: Final = [frozenset({""})]
_TAGS: Final = {
    Total: "Total",
    DistinctCount: "Distinct",
    DistinctSum: "DistinctSum",
    Leaves: "Leaves",
    CellSums: "CellSums",
}
"""What digests call the measures, regardless of the names of their classes."""


def _copied(values: dict[str, Any]) -> Plan:
    return Plan(**values)


def plan_digest(  # noqa: PLR0913  all that decides an answer
    question: Question,
    *,
    unit: PrivacyUnit,
    request: EngineRequest,
    releases: Releases,
    tree: Node,
    scope: Box,
    search: BoundsSearch | None = None,
) -> str:
    """Return the digest of what will be released, and how.

    The order of an answer and its limit are left out: they are post-processing of a release, so the
    same release serves the question without them.
    """
    data = {
        "format": _FORMAT,
        "question": canonical(replace(question, order=(), limit=None, offset=0)),
        "unit": encode_unit(unit),
        **request_document(request),
        "tree": encode(tree),
        "chosen_by": releases.chosen_by,
        "offsets": [choice.offset for choice in releases.choices],
        "scope": scope.written(),
    }
    joined = [
        [noise.measure, *noise.distances.cells.document()]
        for noise in releases.noises
        if isinstance(noise.distances, CellSensitivity)
    ]
    if joined:
        data["strategies"] = joined
    trees = trees_of(releases.choices)
    if trees:
        data["trees"] = [
            [
                tree.measure,
                tree.distances.leaves,
                tree.distances.arity,
                [[str(choice.level), choice.side, str(choice.missed)] for choice in read],
            ]
            for tree, read in trees.items()
        ]
    if search is not None:
        data["search"] = {
            "relation": form(search.request.relation),
            "measures": [_measure(part) for part in search.request.measures],
            "tree": encode(search.tree),
            "answer": [encode(part) for part in search.promise.leaves],
        }
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def request_document(request: EngineRequest) -> dict[str, Any]:
    """Return what an engine is asked, in plain JSON: the part of a digest that is about data.

    >>> from discreet.query.relations import Scan
    >>> visits = EngineRequest(
    ...     relation=Scan("visits", ()), unit=(), keys=(), groups=None, measures=())
    >>> request_document(visits)["groups"] is None
    True
    """
    return {
        "relation": form(request.relation),
        "units": [_form(part) for part in request.unit],
        "keys": [[_form(key.expression), key.type.value] for key in request.keys],
        "groups": request.groups,
        "public": _public(request.public),
        "measures": [_measure(part) for part in request.measures],
    }


def _form(expression: Expression) -> Any:
    return form(expression, _ONE_TABLE)


def _measure(measure: Measure) -> list[Any]:
    values = (getattr(measure, item.name) for item in fields(measure))
    shown = [value if isinstance(value, str | int | None) else _form(value) for value in values]
    return [_TAGS[type(measure)], *shown]


def _public(groups: PublicGroups | None) -> list[list[Any]] | dict[str, Any] | None:
    if groups is None:
        return None
    if isinstance(groups, Product):  # as many as there are values, not groups
        lists = [sorted(map(_value, values), key=json.dumps) for values in groups.lists]
        return {"product": lists}
    return sorted(([_value(value) for value in group] for group in groups), key=json.dumps)


def _value(value: KeyValue) -> Any:
    return [type(value).__name__, value.isoformat()] if isinstance(value, date) else value
