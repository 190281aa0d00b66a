"""The owner's rules about questions: which are approved, how many people a shown group has.

Trust: kernel (T1).  Planning follows them, so that every door does, and before anything is charged.

Definition.  A question is approved if it is one of the policy's templates, with any literal in the
place of each parameter and the same one wherever a parameter stands twice.  Questions are compared
by their canonical text, so spelling does not matter; neither does a price in the clause.

Definition.  With a least number of people, a group is shown only if its noisy count of people is
at least that number.  The count is one that the question asks for; where it asks for none, one is
measured for this, at a share of the price.
Theorem (key ``post-processing``).  Which groups are shown is computed from released counts, and so
costs nothing of its own.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from discreet.errors import DiscreetError, NotAllowed
from discreet.plan.binding.bound_question import BoundQuestion
from discreet.plan.policy.table_fields import bad
from discreet.query.canonical import SORTED, canonical
from discreet.query.expressions import Aggregate, Call, Column, Literal, conjunction
from discreet.query.question import Clause, Question
from discreet.query.sql.parse import read
from discreet.query.sql.tokens import parameters_of

if TYPE_CHECKING:  # which reads the rules from here
    from discreet.plan.policy.policy import Policy

Approved = tuple[tuple[str, str], ...]
"""The names and the texts of questions that are approved."""

Values = dict[str, Any]
"""The literals of parameters, as canonical texts have them."""

_PARAMETER: Final = re.compile(r"(?<![:\w])[:@$]([A-Za-z_]\w*)")
_MARKED: Final = "the value of parameter "


def read_approved(data: Mapping[str, Any], dialect: str | None) -> Approved | None:
    """Read the questions under ``[approved]``; None if the policy does not list any.

    >>> read_approved({"visits": "SELECT COUNT(*) AS n FROM visits WHERE ward = :ward"}, None)
    (('visits', 'SELECT COUNT(*) AS n FROM visits WHERE ward = :ward'),)
    """
    for name, text in data.items():
        if not isinstance(text, str):
            raise bad(f"approved.{name}", "it is not a text", 'write a question, "SELECT ..."')
        try:
            _template(text, dialect)
        except DiscreetError as error:
            what = f"it cannot be read: {error.what.rstrip('.').splitlines()[0]}"
            do = "write one question, with parameters such as :ward in the place of values"
            raise bad(f"approved.{name}", what, do) from None
    return tuple(data.items()) or None


def check_approved(question: Question, approved: Approved | None, dialect: str | None) -> None:
    """Refuse a question that the policy does not list.

    >>> listed = read_approved({"a": "SELECT COUNT(*) AS n FROM visits WHERE ward = :ward"}, None)
    >>> check_approved(read("SELECT COUNT(*) AS n FROM visits WHERE 'B' = ward"), listed, None)
    """
    if approved is None:
        return
    asked = _compared(question)
    if not any(
        next(_matches(_template(text, dialect), asked, {}), None) is not None
        for _, text in approved
    ):
        raise NotAllowed(
            what="this question is not one of those that the policy has approved.",
            why="the owner of the data has listed which questions may be asked.",
            do=f"ask one of these, with values for its parameters: "
            f"{'; '.join(f'{name}: {text}' for name, text in approved)}.",
        )


def refuse_ruled(policy: Policy, what: str, *, cells: bool = True) -> None:
    """Refuse a purchase that no rule about questions can be held against.

    ``cells`` says that it shows how many people small groups have.
    """
    rule = "[approved]" if policy.approved is not None else "min_people"
    if policy.approved is not None or (cells and policy.limits.min_people is not None):
        raise NotAllowed(
            what=f"{what} cannot be bought under the rule {rule} of the policy.",
            why="the owner of the data has listed the questions that may be asked.",
            do="ask a question; limits of your own are given by limits=dp.limits(max_rows=5).",
        )


@functools.lru_cache(maxsize=256)
def _template(text: str, dialect: str | None) -> Any:
    names = dict.fromkeys(_PARAMETER.findall(text))
    values = parameters_of({name: f"{_MARKED}{name}" for name in names})
    return _compared(read(text, dialect, values))


def _compared(question: Question) -> Any:
    """Return what is compared of a question: all but its price, with the questions of WITH."""
    clause = replace(question.clause or Clause(), epsilon=None, rho=None, delta=None)
    own = json.loads(canonical(replace(question, clause=clause)))
    return [own, [[name, _compared(inner)] for name, inner in question.released]]


def _matches(template: Any, asked: Any, found: Values) -> Iterator[Values]:
    """Yield the values of parameters with which a template is a question.

    Operands that canonical texts sort come in any order, because values decide how they are sorted.
    """
    match template, asked:
        case ["literal", _, str(text)], ["literal", *_] if text.startswith(_MARKED):
            if found.get(text, asked) == asked:
                yield {**found, text: asked}
        case ["call", name, [*wanted]], ["call", other, [*given]] if name == other:
            fixed = {"IN": 1}.get(name, 0 if name in SORTED else len(wanted))
            for known in _matches(wanted[:fixed], given[:fixed], found):
                yield from _in_any_order(wanted[fixed:], given[fixed:], known)
        case dict(), dict():
            yield from _matches(sorted(template.items()), sorted(asked.items()), found)
        case [first, *wanted], [other, *given]:
            for known in _matches(first, other, found):
                yield from _matches(wanted, given, known)
        case _ if template == asked:
            yield found


def _in_any_order(wanted: list[Any], given: list[Any], found: Values) -> Iterator[Values]:
    if not wanted and not given:
        yield found
    for at, other in enumerate(given if wanted else ()):
        for known in _matches(wanted[0], other, found):
            yield from _in_any_order(wanted[1:], given[:at] + given[at + 1 :], known)


def with_least_people(
    bound: BoundQuestion, least: int | None, *, period: str | None
) -> BoundQuestion:
    """Return a question that shows groups of at least so many people, by a noisy count."""
    unit = bound.rows.unit
    if least is None or unit is None or bound.rows.public:
        return bound
    counted = Aggregate("COUNT")
    if len(unit) == 1 + (period is not None):
        counted = Aggregate("COUNT", Column(unit[0]), distinct=True)
    elif unit:
        counted = Aggregate("COUNT", bounds_per_group=(Fraction(0), Fraction(1)))
    people = next((outer for outer, inner in bound.aggregates if inner == counted), None)
    pairs = bound.aggregates if people else (*bound.aggregates, (counted, counted))
    enough = Call(">=", (people or counted, Literal(least)))
    having = bound.question.having
    return replace(
        bound,
        question=replace(bound.question, having=conjunction((having, enough))),
        aggregates=pairs,
        warnings=(
            *bound.warnings,
            f"groups with a noisy count of fewer than {least} people are not shown (min_people)",
        ),
    )


def check_answer_rows(bound: BoundQuestion, groups: int | None, most: int | None) -> None:
    """Refuse a question whose answer may have more rows than the policy allows."""
    rows, question = groups, bound.question
    if rows is not None and question.sets:  # each grouping set has groups of its own
        sizes = [len(key.values or ()) for key in bound.keys]
        rows = sum(math.prod(sizes[at] for at in some) for some in question.sets)
    if most is None or (rows is not None and rows <= most):
        return
    if question.limit is None or question.limit > most:
        raise NotAllowed(
            what=f"the answer may have {'any number of' if rows is None else rows} rows; the "
            f"policy allows {most}.",
            why="the owner of the data has limited how many rows one answer may have.",
            do=f"add LIMIT {most}, or group by fewer or coarser keys.",
        )
