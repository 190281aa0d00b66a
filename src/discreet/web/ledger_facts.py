"""The record as pages show it: charges with their state, an entry with its mechanisms, the budget.

Trust: public.  All of it is in the ledger, and none of it depends on data.

Definition.  The curve of a ledger is delta(epsilon): the least delta that is known to go with an
epsilon for all charges so far.  It is drawn as it stood before a charge, and after it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any, Final, final

from discreet.accounting import Budget, Leaf, Left, decode
from discreet.accounting.amounts import format_up
from discreet.accounting.currencies import shown_components
from discreet.charts import NARROW, Axis, Chart, Picture
from discreet.errors import DiscreetError
from discreet.explain.ledger_sources import from_ledger, leaves_of
from discreet.explain.pictures.spending import highest_amount
from discreet.ledger.ledger_view import LedgerView
from discreet.ledger.values import Receipt
from discreet.loss import PrivacyLoss
from discreet.plan.plan import Plan
from discreet.plan.policy.policy import About
from discreet.session.previews import fits_after
from discreet.session.shares import amounts_of_plan

THRESHOLD: Final = Fraction(1, 10)
"""The share of a whole budget above which a question is confirmed."""
_NAMED: Final = 5
"""How many entries a warning names."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """One entry: its time, account, subject, cost and status."""

    seq: int
    at: str
    kind: str
    account: str = ""
    purpose: str = ""
    person: str = ""
    about: str = ""
    cost: str = ""
    state: str = ""
    answer: str = ""


def purpose_and_person(path: str, people: Collection[str]) -> tuple[str, str]:
    """Return what an account is for, and whose it is, as far as its path says so.

    >>> purpose_and_person("data/flu/ana", {"ana"}), purpose_and_person("data/ana", {"ana"})
    (('flu', 'ana'), ('', 'ana'))
    """
    names = path.split("/")[1:]
    person = names.pop() if names and names[-1] in people else ""
    return "/".join(names), person


def ledger_rows(
    ledger: LedgerView,
    entries: Sequence[Mapping[str, Any]],
    questions: Mapping[str, str],
    *,
    people: Collection[str] = (),
) -> list[LedgerRow]:
    """Return one row for each entry but the steps of an answer, which are the state of a charge.

    Args:
        ledger: an open ledger.
        entries: its entries.
        questions: the texts of questions that the visitor may see, by the digests of their charges.
        people: the names that may end the path of an account.
    """
    budget = ledger.left().budget
    answers = {entry["key"]: entry for entry in entries if entry["kind"] == "release"}
    started = {entry["key"] for entry in entries if entry["kind"] == "start"}
    closed = set(ledger.closed)
    rows = []
    for entry in entries:
        kind = entry["kind"]
        if kind in {"start", "release"}:
            continue
        if kind != "charge":
            rows.append(_other(entry))
            continue
        key = entry["key"]
        state = "charged"
        if key in answers:
            state = "released"
        elif key in closed:
            state = "closed"
        elif key in started:
            state = "started"
        purpose, person = purpose_and_person(str(entry["account"]), people)
        rows.append(
            LedgerRow(
                seq=entry["seq"],
                at=entry["at"],
                kind=kind,
                account=entry["account"],
                purpose=purpose,
                person=person,
                about=questions.get(key, f"question {str(entry['question'])[:16]}"),
                cost=cost_of_entry(budget, entry),
                state=state,
                answer=str(answers[key]["answer"]) if key in answers else "",
            )
        )
    return rows


def _other(entry: Mapping[str, Any]) -> LedgerRow:
    words = {
        "open": "the ledger was opened",
        "describe": f"a {entry.get('what', 'thing')} was described",
        "account": "an account was opened",
        "raise": f"a limit was raised: {entry.get('reason', '')}",
        "reopen": f"a question was reopened: {entry.get('reason', '')}",
        "fail": "an attempt failed",
    }
    people = " and ".join(str(entry[name]) for name in ("by", "approved_by") if entry.get(name))
    about = words.get(entry["kind"], entry["kind"])
    return LedgerRow(
        seq=entry["seq"],
        at=entry["at"],
        kind=entry["kind"],
        account=str(entry.get("account", "")),
        person=people,
        about=f"{about}, by {people}" if people else about,
    )


def cost_of_entry(budget: Budget, entry: Mapping[str, Any]) -> str:
    """Describe the largest cost of a charge to any unit."""
    return cost_words(
        budget, [highest_amount(entry, place) for place in range(len(budget.components))]
    )


def cost_words(budget: Budget, amounts: Sequence[int]) -> str:
    """Describe spending, without its zero components.

    >>> cost_words(Budget(epsilon=1), [10**23, 0])
    'epsilon 0.1'
    """
    parts = shown_components(budget.currency, amounts)
    return ", ".join(f"{name} {format_up(amount)}" for name, amount in parts if amount) or "nothing"


def share_of(budget: Budget, plan: Plan) -> Fraction:
    """Return which share of a whole budget a plan costs if nothing was spent before."""
    pairs = list(zip(amounts_of_plan(budget, plan), budget.limit, strict=True))
    routes = [[pairs[at] for at in route] for route in budget.currency.routes]
    shares = [
        max((Fraction(cost, limit) if limit else Fraction(bool(cost)) for cost, limit in route))
        for route in routes
    ]
    return min(shares)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Which share of the whole budget something takes, and of the account that pays, if limited."""

    whole: Fraction
    own: Fraction | None

    @property
    def words(self) -> str:
        """Both in percent.

        >>> Shares(whole=Fraction(1, 5), own=Fraction(2, 5)).words
        '40 % of your budget, 20 % of the dataset'
        """
        if self.own is None:
            return f"{_percent(self.whole)} of the budget"
        return f"{_percent(self.own)} of your budget, {_percent(self.whole)} of the dataset"


def shares_of(ledger: LedgerView, plan: Plan, account: str | None) -> Shares:
    """Return which shares a plan takes of the whole budget and of the account that pays."""
    known = ledger.accounts
    limited = account is not None and "/" in account and known[account].limited
    return Shares(
        whole=_taken(ledger.left(plan.scope), plan),
        own=_taken(ledger.left(plan.scope, account=account), plan) if limited else None,
    )


def _taken(left: Left, plan: Plan) -> Fraction:
    """Return the share of the budget by which a plan lowers the balance, if it fits."""
    after = fits_after(plan, left)
    return share_of(left.budget, plan) if after is None else left.share - after.share


def _percent(share: Fraction) -> str:
    return f"{100 * float(share):.3g} %"


def attention(rows: Iterable[LedgerRow], left: Fraction) -> list[str]:
    """Say what a steward should look at.

    >>> attention([LedgerRow(seq=4, at="", kind="charge", state="started")], Fraction(1, 2))
    ['1 question is paid for and not answered (entry 4): asking again completes it at no charge.']
    """
    listed = list(rows)
    said = []
    waiting = [row.seq for row in listed if row.state in {"started", "charged"}]
    if waiting:
        are = "question is" if len(waiting) == 1 else "questions are"
        said.append(
            f"{len(waiting)} {are} paid for and not answered ({_numbered(waiting)}): asking again "
            "completes it at no charge."
        )
    closed = [row.seq for row in listed if row.state == "closed"]
    if closed:
        said.append(
            f"{len(closed)} closed by a failed attempt ({_numbered(closed)}): the owner can reopen "
            "them."
        )
    if left < Fraction(1, 10):
        said.append("Less than a tenth of the budget is left.")
    return said


def _numbered(entries: Sequence[int]) -> str:
    shown = ", ".join(map(str, entries[:_NAMED]))
    more = f" and {len(entries) - _NAMED} more" if len(entries) > _NAMED else ""
    return f"{'entry' if len(entries) == 1 else 'entries'} {shown}{more}"


_FLOOR: Final = 1e-12
_STEPS: Final = 48
_LABELS: Final = 4


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class MechanismFacts:
    """One mechanism of a charge: what it protects, its parameters, and how far inputs move."""

    name: str
    mechanism: str
    parameters: str
    moved: str
    times: int
    price: str


def mechanism_facts(entry: Mapping[str, Any]) -> list[MechanismFacts]:
    """Return the mechanisms of a charge; none if a later version wrote them.

    >>> from discreet.accounting import encode
    >>> from discreet.mechanisms import Laplace
    >>> tree = encode(Leaf(Laplace(scale=Fraction(20, 3)), name="visits", added=2))
    >>> mechanism_facts({"tree": tree})[0].parameters
    'scale 20/3, which is about 6.667'
    """
    try:
        tree = decode(entry["tree"])
    except (DiscreetError, KeyError):
        return []
    return [_facts(leaf, times) for leaf, times in leaves_of(tree, 1)]


def _facts(leaf: Leaf, times: int) -> MechanismFacts:
    source: Any = leaf.source  # a mechanism, or a loss
    known = [each.name for each in fields(source) if each.repr] if is_dataclass(source) else []
    values = [(name, getattr(source, name)) for name in known]
    return MechanismFacts(
        name=leaf.name or "(no name)",
        mechanism=type(source).__name__,
        parameters=", ".join(
            f"{name.strip('_')} {_exact(value)}" for name, value in values if value is not None
        ),
        moved=_exact(leaf.added),
        times=times,
        price=_price(leaf),
    )


def _exact(value: object) -> str:
    """Say a number exactly, and roughly if that is hard to read."""
    if not isinstance(value, Fraction) or value.denominator == 1:
        return str(value)
    near = f"{float(value):.4g}"
    return near if Fraction(near) == value else f"{value}, which is about {near}"


def _price(leaf: Leaf) -> str:
    try:
        loss = leaf.price(1, 1) if leaf.relation.replaces else leaf.price(1, 0)
    except DiscreetError:
        return ""
    return str(loss).rpartition("; ")[2]  # the pair is in the parameters


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Chained:
    """Where an entry hangs in the chain: the hash before it, and the one after it."""

    before: str
    after: Receipt


def chained(ledger: LedgerView, seq: int) -> Chained:
    """Return the hashes around an entry that exists, once the whole chain is proved."""
    receipts = ledger.proved_receipts()
    return Chained(before=receipts[seq - 2].head if seq > 1 else "", after=receipts[seq - 1])


def curve_around(ledger: LedgerView, about: About, around: Chained) -> Picture | None:
    """Draw delta(epsilon) of all charges before an entry, and with it."""
    after = around.after
    if not around.before:
        return None
    before = Receipt(after.ledger, after.seq - 1, around.before)
    worlds = [from_ledger(ledger, about, receipt=receipt).losses for receipt in (before, after)]
    return curves(worlds, names=("before", "with this entry"))


def curves(worlds: Sequence[Sequence[PrivacyLoss]], *, names: Sequence[str]) -> Picture | None:
    """Draw the least delta of some bounds at each epsilon, one line for each sequence of bounds.

    >>> from discreet.loss import Pure
    >>> drawn = curves([[Pure(epsilon=1)], [Pure(epsilon=2)]], names=("one", "two"))
    >>> drawn.description
    'at epsilon 0, delta is at most 0.462 (one), 0.762 (two)'
    """
    ends = [_end(losses) for losses in worlds]
    if not all(ends[1:]):
        return None
    end = 1.1 * max(ends)
    epsilons = [Fraction(step * int(end * 10**6), _STEPS * 10**6) for step in range(_STEPS + 1)]
    lines = [[(float(each), _delta(losses, each)) for each in epsilons] for losses in worlds]
    ticks = [end * step / _LABELS for step in range(_LABELS + 1)]
    chart = Chart(
        width=NARROW,
        title="delta at each epsilon",
        x=Axis(
            label="epsilon",
            low=0,
            high=end,
            ticks=ticks,
            names=[f"{tick:.3g}" for tick in ticks],
        ),
        y=Axis(label="delta", low=_FLOOR, high=1, ticks=(1e-12, 1e-9, 1e-6, 1e-3, 1), log=True),
        description="at epsilon 0, delta is at most "
        + ", ".join(f"{line[0][1]:.3g} ({name})" for name, line in zip(names, lines, strict=True)),
    )
    for color, (name, line) in enumerate(zip(names, lines, strict=True)):
        shown = [(x, min(max(y, _FLOOR), 1.0)) for x, y in line]
        chart.line(shown, color=color, label=name, dashed=color == 0)
    return chart.picture()


def _delta(losses: Sequence[PrivacyLoss], epsilon: Fraction) -> float:
    return min(loss.delta(epsilon) for loss in losses)


def _end(losses: Sequence[PrivacyLoss]) -> float:
    """Return the epsilon at which the curve leaves the picture."""
    for floor in (_FLOOR, 1e-9, 1e-6, 1e-3):  # a curve may never fall below its delta
        ends = []
        for loss in losses:
            try:
                ends.append(float(loss.epsilon(delta=floor)))
            except DiscreetError:
                continue
        if math.isfinite(end := min(ends, default=0.0)):
            return end
    return 0.0
