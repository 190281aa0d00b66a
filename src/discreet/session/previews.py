"""What can be known before paying is said before paying.

Trust: public.  It reads plans, the ledger and the public size of tables, and no data.

A plan says what it would leave of the budget, and how many more like it would fit.  An answer
dominated by noise is refused, with the price of a readable one.

Noise of several draws of one total averages out (key ``inverse-variance``); each draw is paid for.
Draws of different data, or of totals with other bounds, say nothing about each other: combining
them is refused before another one is charged, and so is a draw that would change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from discreet.accounting import Box, Left, equals
from discreet.accounting.amounts import format_down
from discreet.accounting.currencies import shown_components
from discreet.errors import DiscreetError, LedgerError, TooNoisy, WrongKind
from discreet.plan.binding.scope import scope_name
from discreet.plan.binding.value_facts import as_keys
from discreet.plan.expectation import WEAK, WHOLE, Expectation, expect, short
from discreet.plan.plan import BudgetPreview, Plan
from discreet.requests.table_schema import KeyValue, Schema

if TYPE_CHECKING:  # handed in
    from discreet.aggregates.noisy_totals import Noisy
    from discreet.ledger.ledger import Ledger
    from discreet.release.release import Release
    from discreet.session.answer_pipeline import Payable

_STEPS: Final = tuple(Fraction(quarters, 4) for quarters in (4, 5, 6, 8, 10, 12, 16, 20, 24, 32))
_TRIED: Final = 12


def budget_preview(plan: Payable, ledger: Ledger, account: str | None) -> BudgetPreview | None:
    """Look a plan up in the current ledger; None if that is not possible.

    The balance after it covers the units of its scope, and equals the balance after a charge: a
    copy of the ledger's sums is charged.
    """
    try:
        stored = ledger.find(plan.digest)
        if stored is not None:
            return BudgetPreview(entry=stored.receipt.seq, fits=True, left="")
        left = ledger.left(plan.scope, account=account)
        after = fits_after(plan, left)
    except (LedgerError, WrongKind):
        return None
    if after is None:
        return BudgetPreview(entry=None, fits=False, left=_shown(left))
    notes = tuple(_notes(left, after))
    return BudgetPreview(
        entry=None,
        fits=True,
        left=_shown(after),
        notes=notes,
        part=after.share,
        cost=left.share - after.share,
        more=how_many_more(plan, after),
    )


def period_boxes(
    schema: Schema, period: str | None, names: tuple[str, ...]
) -> Mapping[KeyValue, Box]:
    """Return the units of each declared period; ``names`` are those of the unit, it is the last."""
    if period is None:
        raise WrongKind(
            what="the budget has no periods.",
            why="without them, there is one budget for all time.",
            do='write per = "month" under [budget], if that is what was promised.',
        )
    for table in schema.tables:
        column = None if table.public or not table.unit else table.column(table.unit[-1])
        if column is not None and column.categories:
            name = scope_name(schema, table, column, names)
            assert name is not None  # noqa: S101  (a column of the unit has one)
            values = as_keys(column.categories, column.type)
            return {value: Box({name: equals(value)}) for value in values}
    raise WrongKind(
        what=f"the periods of {period} are not declared.",
        why="which periods the data has is not told for free.",
        do=f"list them in the policy, as the categories of {period}.",
    )


def _notes(left: Left, after: Left) -> Iterator[str]:
    """Say which route a plan closes for later questions, and whether it takes most of delta."""
    names = left.budget.components
    was_open = [each for each in left.budget.currency.routes if left.fits_on(each)]
    closed = [names[each[0]] for each in was_open if not after.fits_on(each)]
    rest = [names[each[0]] for each in was_open if after.fits_on(each)]
    if closed and rest:
        yield (
            f"closes the route of {' and '.join(closed)}: later questions have to fit in "
            f"{' or '.join(rest)}"
        )
    if 2 * after.amounts[-1] < left.amounts[-1]:
        yield "takes more than half of the delta that is left"


def fits_after(plan: Payable, left: Left) -> Left | None:
    """Return what a plan leaves, None if it does not fit; a delta is spent only if it must be."""
    delta: Fraction | None = None
    try:
        fits = left.fitting(plan.tree, delta)
    except WrongKind:  # as for a charge
        delta = plan.delta
        fits = left.fitting(plan.tree, delta)
    return left.after(plan.tree, delta=delta) if fits(1) else None


def how_many_more(plan: Payable, left: Left) -> int:
    """Return how many such plans fit into the balance; a delta is spent only if necessary."""
    try:
        return left.how_many(plan.tree)
    except WrongKind:  # as for a charge
        return left.how_many(plan.tree, delta=plan.delta)


def _shown(left: Left) -> str:
    amounts = list(zip(left.amounts, left.budget.limit, strict=True))
    return ", ".join(
        f"{name} {format_down(have)} of {format_down(limit)}"
        for name, (have, limit) in shown_components(left.budget.currency, amounts)
        if limit or name != "delta"
    )


def expected_well(plan: Plan, schema: Schema) -> bool:
    """Say whether nothing speaks against asking."""
    expected = expect(plan, schema)
    return expected is None or not expected.unreadable


def too_noisy(
    plan: Plan, schema: Schema, *, price: Callable[[Mapping[str, Any]], Plan], left: Left
) -> TooNoisy:
    """Return the error that says why an answer would not be worth its price, and what would be.

    ``price`` plans the same question at another price.
    """
    expected = expect(plan, schema)
    assert expected is not None  # noqa: S101  (asked only if something is expected)
    found = None if expected.unmet else _better(plan, expected, schema, price, left)
    do = "ask about larger groups, or the whole table"
    if expected.group == WHOLE:
        do = "this statistic needs more people, or a larger budget"
    if found is not None:
        epsilon, shown, part = found
        do = f"epsilon {_text(epsilon)} gives {shown}, {_part(part)}"
    elif expected.unmet:
        do = "compare with declared values, or have the policy declare others"
    elif expected.empty:
        key = expected.group.removeprefix("a group of ")
        do = f"name the groups: WHERE {key} IN ('A', 'B'), or have the policy declare them"
    elif plan.price.epsilon is not None:
        do = f"no epsilon that is left would be enough; {do}"
    return TooNoisy(
        what=f"{expected.why()}.",
        why="the answer would be paid for and could not be read; nothing was spent.",
        do=f"{do}; confirm=True asks anyway.",
        epsilon=None if found is None else _text(found[0]),
    )


def _better(
    plan: Plan,
    expected: Expectation,
    schema: Schema,
    price: Callable[[Mapping[str, Any]], Plan],
    left: Left,
) -> tuple[Fraction, str, Fraction] | None:
    """Return the first round epsilon that makes an answer fine, or else the largest that helps."""
    if plan.price.epsilon is None:
        return None
    worst = max((each.share or Fraction(0) for each in expected.outputs), default=Fraction(0))
    best = None
    start = plan.price.epsilon * (1 if expected.empty else max(Fraction(1), worst / WEAK / 4))
    for epsilon in _rounded(start):
        try:
            other = price({"epsilon": epsilon, "confidence": plan.confidence})
            after = fits_after(other, left)
        except DiscreetError:
            break
        if after is None:
            break
        then = expect(other, schema)
        if then is None or then.unreadable:
            continue
        best = epsilon, _forecast(then), left.share - after.share
        if all(not each.weak for each in then.outputs):
            break
    return best


def _rounded(start: Fraction) -> list[Fraction]:
    """Return round numbers above a number."""
    power = Fraction(1, 1000)
    found: list[Fraction] = []
    while len(found) < _TRIED:
        found += [step * power for step in _STEPS if step * power > start]
        power *= 10
    return found[:_TRIED]


def _forecast(expected: Expectation) -> str:
    known = [each for each in expected.outputs if each.share is not None]
    return f"{expected.worst.width} ({expected.worst.percent})" if known else "an answer"


def _text(epsilon: Fraction) -> str:
    return f"{float(epsilon):g}"


def _part(part: Fraction) -> str:
    """Say what part of the whole budget a price is.

    >>> _part(Fraction(1, 2)), _part(Fraction(21, 100))
    ('half of your budget', '21 % of your budget')
    >>> _part(Fraction(999, 1000))
    '100 % of your budget'
    """
    if abs(part - Fraction(1, 2)) < Fraction(1, 200):
        return "half of your budget"
    return f"{short(100 * part)} % of your budget"


def check_combinable(
    before: Release, plan: Plan, *, ledger: str, sources: tuple[tuple[str, str], ...] | None
) -> None:
    """Refuse to combine an answer with a draw of another question, or of other data.

    ``sources`` are the states of the tables that another draw would be from; None if it is on
    record, and its own states are compared when the two are combined.
    """
    if before.receipt is None or before.receipt.ledger != ledger:
        raise WrongKind(
            what="the answer was not recorded by this ledger.",
            why="it may be about other people.",
            do="remeasure an answer of this session, or ask the question anew.",
        )
    old = before.plan
    if plan.having_threshold is not None:
        raise WrongKind(
            what="groups that did not reach the threshold have no number to be averaged.",
            why="a mean of only those that reached it would say more than is there.",
            do="ask the question anew, at a higher price.",
        )
    if not (old.request == plan.request and combination().combinable(old, plan) and before.parts):
        raise WrongKind(
            what="the answer cannot be combined with another draw.",
            why="it was computed under other bounds, or changed since.",
            do="remeasure an answer as it came, under the same policy; or ask the question anew.",
        )
    if sources is not None and before.sources != sources:
        raise WrongKind(
            what="the data may have changed since the answer was drawn.",
            why="draws from two states of the data say nothing of each other; nothing was spent.",
            do="ask the question anew at another price; to combine draws of several sessions, open "
            "files, or declare frozen = true for the table.",
        )
    if sources is not None:
        check_gains(before.parts, plan)


def check_gains(parts: Sequence[Noisy] | None, plan: Plan) -> None:
    """Refuse another draw that would be charged for and change nothing.

    ``parts`` are what was drawn before; None for one draw of the same plan, which is still to come.
    """
    if combination().gains(parts, plan):
        return
    raise WrongKind(
        what="another draw at this price would change nothing in the answer.",
        why="values that are chosen, as medians, quantiles and modes are, cannot be averaged: the "
        "choice with the higher price stays; and noise that is far larger than what there is "
        "gets no weight.  Nothing was spent on another draw.",
        do="ask the question anew at a higher price, or remeasure its answer at one.",
    )


def combination() -> ModuleType:
    """Return what combines answers, which is rare."""
    from discreet.release import combination as module  # noqa: PLC0415  rare

    return module
