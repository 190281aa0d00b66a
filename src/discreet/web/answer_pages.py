"""Answers: under way, released, explained, remeasured, shown again, with their labels.

Trust: public.  Everything shown was released, and is on record; visitors who may not read the
ledger see its published part.

Definition.  A mean of two draws with weights in inverse proportion to their variances has less
noise than either (key ``inverse-variance``).  The half-widths of an answer shrink as the standard
deviations of its noises do, roughly: sums of two noises have lighter tails than one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from discreet.documents import QuestionDocument
from discreet.errors import DiscreetError, UnknownName
from discreet.explain import explain, label_of
from discreet.explain.label.rendering import label_lines
from discreet.explain.pictures.answer_bars import answer_bars, can_be_drawn
from discreet.ledger.ledger_view import LedgerView
from discreet.ledger.values import path_and_ancestors
from discreet.plan.plan import Plan
from discreet.plan.plan_words import brief_price
from discreet.release import Release
from discreet.release.combination import remaining_spread
from discreet.release.display import brief_notes, cells, notes, plain
from discreet.release.serialization import read_columns
from discreet.session.previews import check_gains, fits_after
from discreet.web.desk import DatasetFacts, Progress, Visitor, form_of
from discreet.web.ledger_facts import THRESHOLD, Shares, cost_of_entry, shares_of
from discreet.web.question_builder import copies_of
from discreet.web.rendering import Refusal, see_other
from discreet.web.visits import (
    Form,
    Numbered,
    Visiting,
    dataset_of,
    desk_of,
    field,
    need,
    ours,
    visited,
    waiting,
)

_NOTICED: Final = 0.995


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NarrowedColumn:
    """One number of an answer: its widest half-width now, and with another draw."""

    name: str
    now: float
    then: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Remeasure:
    """What another draw costs and gives."""

    by: str
    amount: str
    cost: str
    shares: Shares
    columns: tuple[NarrowedColumn, ...]
    fits: bool
    free: bool
    """Whether the visitor has bought this very draw before."""

    @property
    def token(self) -> str:
        """What a confirmation names, so that it is for this price and no other."""
        return f"{self.by} {self.amount} {self.shares.whole}"

    @property
    def confirm(self) -> bool:
        """Whether it costs so much that it is confirmed."""
        return not self.free and self.shares.whole > THRESHOLD


def remeasure_of(  # noqa: PLR0913  an answer, a price, and who pays
    release: Release,
    plan: Plan,
    ledger: LedgerView,
    *,
    account: str | None,
    price: tuple[str, str],
    free: bool,
) -> Remeasure:
    """Return what another draw of an answer would cost and give; refuse one that changes nothing.

    Args:
        release: the answer.
        plan: the same question at the price of the other draw.
        ledger: its balance is shown.
        account: who pays; the first account if None.
        price: its name and its amount.
        free: whether this draw is on record.
    """
    if release.parts:  # of a combination they stay where it was made, which checks it too
        check_gains(release.parts, plan)
    known = ledger.accounts
    own = account or min(known, key=len)
    limited = [path for path in path_and_ancestors(own) if known[path].limited]
    return Remeasure(
        by=price[0],
        amount=price[1],
        cost=brief_price(plan.price),
        shares=shares_of(ledger, plan, account),
        columns=tuple(_narrowed(release, remaining_spread(release.plans, plan))),
        fits=free
        or all(fits_after(plan, ledger.left(plan.scope, account=each)) for each in limited),
        free=free,
    )


def _narrowed(release: Release, part: float) -> Iterator[NarrowedColumn]:
    for column in release.columns:
        if column.low is None or column.high is None or column.listed:
            continue
        ends = zip(column.low.to_pylist(), column.high.to_pylist(), strict=True)
        now = _widest([(low, high) for low, high in ends if low is not None and high is not None])
        if now > 0 and part < _NOTICED:
            yield NarrowedColumn(name=plain(column.name), now=now, then=now * part)


def _widest(ends: Sequence[tuple[float, float]]) -> float:
    widths = [float(Fraction(high) - Fraction(low)) / 2 for low, high in ends if _finite(low, high)]
    return max(widths, default=0.0)


def _finite(*values: float) -> bool:
    return all(abs(value) < float("inf") for value in values)


router = APIRouter()
AUDIENCES: Final = ("analyst", "subject", "steward", "auditor")
_ROWS: Final = 500
_KEPT: Final = frozenset({"confidence", "delta", "dialect", "params", "size"})
"""What another draw of an answer takes over from the first."""


@router.get("/data/{dataset}/answers/{number}")
async def answer(request: Request, visitor: Visiting, dataset: str, number: str) -> Response:
    """Show an answer, or how long it has been under way; no thread waits for it."""
    await desk_of(request).until_told(visitor, number)
    return await _shown(request, visitor=visitor, dataset=dataset, number=number)


@waiting
def _shown(request: Request, visitor: Visitor, dataset: str, number: str) -> Response:
    facts, progress = _found(request, visitor, dataset, number)
    return _page(request, visitor, facts, progress)


@router.post("/data/{dataset}/answers/{number}/cancel", dependencies=[Depends(ours)])
def cancel(request: Request, visitor: Visiting, dataset: str, number: str) -> Response:
    """Stop waiting for an answer."""
    _found(request, visitor, dataset, number)
    desk_of(request).open.cancel(visitor.caller, number)
    return see_other(f"/data/{dataset}/answers/{number}")


@router.post("/data/{dataset}/releases/{entry}", dependencies=[Depends(ours)])
def again(request: Request, visitor: Visiting, dataset: str, entry: Numbered) -> Response:
    """Ask the same question again: it is free, from the record."""
    need(visitor, "ask", dataset)
    dataset_of(request, visitor, dataset)
    desk = desk_of(request)
    begun = desk.ask(visitor, dataset, *desk.asked(visitor, dataset, entry).forms)
    return see_other(f"/data/{dataset}/answers/{begun.id}")


@router.post("/data/{dataset}/answers/{number}/remeasure")
@waiting
def remeasure(
    request: Request, visitor: Visiting, form: Form, dataset: str, number: str
) -> Response:
    """Say what another draw would cost and give; or buy it, and combine both."""
    need(visitor, "ask", dataset)
    facts, progress = _found(request, visitor, dataset, number)
    by = "rho" if field(form, "by") == "rho" else "epsilon"
    price = (by, field(form, "amount").strip())
    more = _another(progress, price)
    if field(form, "action") != "pay" or progress.release is None:
        return _page(request, visitor, facts, progress, price=price)
    offer = _offer(request, visitor, facts, progress, price)
    confirmed = field(form, "confirm") == offer.token
    if not offer.fits or (offer.confirm and not confirmed):
        return _page(request, visitor, facts, progress, price=price, urged=True)
    begun = desk_of(request).ask(visitor, dataset, *progress.forms, more)
    return see_other(f"/data/{dataset}/answers/{begun.id}", request)


def _another(progress: Progress, price: tuple[str, str]) -> QuestionDocument:
    """Return another draw of a question, with the confidence of the first."""
    first = progress.forms[0]
    kept = {name: value for name, value in first.price.items() if name in _KEPT}
    return form_of(first.question, {**kept, price[0]: price[1]})


def _offer(
    request: Request,
    visitor: Visitor,
    facts: DatasetFacts,
    progress: Progress,
    price: tuple[str, str],
) -> Remeasure:
    """Plan another draw; this spends nothing."""
    assert progress.release is not None  # noqa: S101  asked for if there is one
    desk, more = desk_of(request), _another(progress, price)
    bought = desk.open.asked(visitor.caller, facts.name)
    return remeasure_of(
        progress.release,
        desk.plan(visitor, facts.name, more.question, more.price),
        facts.ledger,
        account=desk.open.account_of(visitor.caller, facts.name),
        price=price,
        free=any(each.forms == (*progress.forms, more) for each in bought),
    )


def _page(  # noqa: PLR0913  who sees what, and what was asked for below it
    request: Request,
    visitor: Visitor,
    facts: DatasetFacts,
    progress: Progress,
    *,
    price: tuple[str, str] | None = None,
    urged: bool = False,
) -> Response:
    shown: dict[str, Any] = {"progress": progress, "refusal": None, "release": None}
    shown |= {"offer": None, "not_offered": None, "urged": urged}
    if progress.refused is not None:
        shown["refusal"] = Refusal.of(progress.refused)
    if progress.release is not None:
        question, paid = progress.forms[0].text, progress.forms[0].price
        shown |= _answer(progress.release)
        shown["copies"] = copies_of(
            question, paid, site=desk_of(request).open.site, dataset=facts.name
        )
        name = "rho" if "rho" in paid else "epsilon"
        shown["price"] = price or (name, str(paid.get(name, "0.1")))
        if visitor.may("ask"):
            try:
                shown["offer"] = _offer(request, visitor, facts, progress, shown["price"])
            except DiscreetError as error:
                shown["not_offered"] = Refusal.of(error)
    return visited("answer.html", request, visitor, facts, **shown)


@router.get("/data/{dataset}/answers/{number}/explain/{audience}")
def explained(
    request: Request, visitor: Visiting, dataset: str, number: str, audience: str
) -> Response:
    """Say what an answer gives away, to one of four audiences."""
    facts, progress = _found(request, visitor, dataset, number)
    if progress.release is None or audience not in AUDIENCES:
        raise _unknown()
    told = explain(progress.release, audience=audience, about=facts.policy.about)
    return visited(
        "explain.html",
        request,
        visitor,
        facts,
        told=told,
        audiences=AUDIENCES,
        base=f"/data/{dataset}/answers/{number}",
    )


@router.get("/data/{dataset}/answers/{number}/label")
def answer_label(request: Request, visitor: Visiting, dataset: str, number: str) -> Response:
    """Show the privacy label of one answer."""
    facts, progress = _found(request, visitor, dataset, number)
    if progress.release is None:
        raise _unknown()
    number_of = None if progress.release.receipt is None else progress.release.receipt.seq
    record = desk_of(request).open.ledger(visitor.caller, dataset, entry=number_of)
    label = label_of(progress.release, ledger=record, about=facts.policy.about)
    return visited(
        "label.html",
        request,
        visitor,
        facts,
        lines=list(label_lines(label.content)),
        pictures=label.pictures,
        named=f"R-{progress.release.receipt.seq:04d}" if progress.release.receipt else "",
    )


def _found(
    request: Request, visitor: Visitor, dataset: str, number: str
) -> tuple[DatasetFacts, Progress]:
    need(visitor, "releases", dataset)
    facts = dataset_of(request, visitor, dataset)
    progress = desk_of(request).progress(visitor, number)
    if progress.job.dataset != dataset:
        raise _unknown()
    return facts, progress


def _answer(release: Release) -> dict[str, Any]:
    columns = [cells(column, _ROWS) for column in release.columns]
    return {
        "release": release,
        "heads": [(plain(column.name), column.low is not None) for column in release.columns],
        "rows": list(zip(*columns, strict=True)),
        "notes": list(brief_notes(release)),
        "details": list(notes(release)),
        "chart": answer_bars(release) if can_be_drawn(release) else None,
        "odds": release.odds.sentence(),
    }


def _unknown() -> UnknownName:
    return UnknownName(
        what="there is no such answer here.",
        why="only what was asked and answered can be shown.",
        do="look at the list of releases.",
    )


_LISTED: Final = 200
_SHOWN_ROWS: Final = 500


@router.get("/data/{dataset}/releases")
def releases(request: Request, visitor: Visiting, dataset: str) -> Response:
    """List the visitor's questions, and all releases, the latest first."""
    need(visitor, "releases", dataset)
    facts = dataset_of(request, visitor, dataset)
    asked = desk_of(request).open.asked(visitor.caller, dataset)
    history = [(each, each.forms[0].text, each.forms[0].price, len(each.forms)) for each in asked]
    return visited(
        "releases.html", request, visitor, facts, history=history, published=_published(facts)
    )


@router.get("/data/{dataset}/releases/{entry}")
def recorded(request: Request, visitor: Visiting, dataset: str, entry: Numbered) -> Response:
    """Show an answer on record, and what it reveals."""
    need(visitor, "releases", dataset)
    facts = dataset_of(request, visitor, dataset)
    counter = desk_of(request).open
    stored = counter.release(visitor.caller, dataset, entry)
    record = counter.ledger(visitor.caller, dataset, entry=entry)
    try:
        told = explain(record, audience="subject", entry=entry, about=facts.policy.about)
    except DiscreetError:  # it rests on a charge that is explained as a part of all answers
        told = None
    return visited(
        "recorded.html",
        request,
        visitor,
        facts,
        entry=entry,
        stored=stored,
        told=told,
        **_stored_cells(stored),
    )


@router.get("/data/{dataset}/label")
def whole_label(request: Request, visitor: Visiting, dataset: str) -> Response:
    """Show the privacy label of all answers."""
    need(visitor, "releases", dataset)
    facts = dataset_of(request, visitor, dataset)
    label = label_of(facts.ledger, about=facts.policy.about)
    lines = list(label_lines(label.content))
    return visited(
        "label.html", request, visitor, facts, lines=lines, pictures=label.pictures, named=""
    )


@router.get("/data/{dataset}/releases/{entry}/label")
def recorded_label(request: Request, visitor: Visiting, dataset: str, entry: Numbered) -> Response:
    """Show the privacy label of one answer on record."""
    need(visitor, "releases", dataset)
    facts = dataset_of(request, visitor, dataset)
    record = desk_of(request).open.ledger(visitor.caller, dataset, entry=entry)
    label = label_of(record, about=facts.policy.about, entry=entry)
    return visited(
        "label.html",
        request,
        visitor,
        facts,
        lines=list(label_lines(label.content)),
        pictures=label.pictures,
        named=f"R-{entry:04d}",
    )


def _published(facts: DatasetFacts) -> list[tuple[int, str, str]]:
    """Return the entry, the minute and the cost of each published answer, the newest first."""
    budget = facts.ledger.left().budget
    costs: dict[object, str] = {}
    found = []
    for entry in facts.ledger.entries():
        if entry["kind"] == "charge":
            costs[entry["key"]] = cost_of_entry(budget, entry)
        elif entry["kind"] == "release":
            seq = int(str(entry["seq"]))
            found.append((seq, str(entry["at"]), costs.get(entry["key"], "")))
    return found[::-1][:_LISTED]


def _stored_cells(stored: Any) -> dict[str, Any]:
    """Return the table of a stored answer."""
    document = stored["answer"]
    if isinstance(document, dict) and isinstance(document.get("answer"), dict):
        document = document["answer"]  # bounds were found first
    if not isinstance(document, dict) or "columns" not in document:
        raise UnknownName(
            what="this entry records something other than a table.",
            why="programs record models and synthetic tables, which are files.",
            do="look at its explanation in the ledger.",
        )
    columns = read_columns(document)
    return {
        "heads": [(plain(column.name), column.low is not None) for column in columns],
        "rows": list(zip(*(cells(column, _SHOWN_ROWS) for column in columns), strict=True)),
    }
