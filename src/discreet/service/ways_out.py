"""Ways out of a refusal, each with its price: a wider error, fewer groups, a higher limit.

Trust: public.  Prices and errors are those of plans, amounts are those of the ledger, which charges
before data is read, and a limit is raised by two people alone: no number depends on data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, final

from discreet.accounting import Left
from discreet.accounting.amounts import amount_down, amount_up, format_down, format_up
from discreet.accounting.currencies import shown_components
from discreet.documents import QuestionDocument
from discreet.errors import DiscreetError, OverBudget
from discreet.ledger.ledger_view import LedgerView
from discreet.ledger.values import path_and_ancestors
from discreet.plan.plan import Plan
from discreet.plan.policy.policy import Limits
from discreet.query.sql.tokens import Token, TokenKind, tokens
from discreet.session.previews import fits_after
from discreet.session.shares import amounts_of_plan

_ENDS: Final = frozenset({"HAVING", "ORDER BY", "LIMIT", ";"})


def without_last_key(question: str) -> str | None:
    """Return a question without its last key, or None if that is not plain to see.

    >>> without_last_key("SELECT ward, sex, COUNT(*) AS n FROM visits GROUP BY ward, 2")
    'SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward'
    >>> without_last_key("SELECT ward AS w, COUNT(*) AS n FROM visits GROUP BY w LIMIT 9")
    'SELECT COUNT(*) AS n FROM visits LIMIT 9'
    >>> without_last_key("SELECT COUNT(*) AS n FROM visits") is None
    True
    """
    read = tokens(question)
    words = [token.word for token in read]
    once = all(words.count(word) == 1 for word in ("SELECT", "FROM", "GROUP BY"))
    if not once or words[1] == "WITH":
        return None
    first, source, group = (words.index(word) for word in ("SELECT", "FROM", "GROUP BY"))
    end = next(at for at in range(group, len(read)) if words[at] in _ENDS or _is_end(read[at]))
    items, keys = _comma_parts(read[first + 1 : source]), _comma_parts(read[group + 1 : end])
    if not keys or not all(keys) or not all(items):
        return None
    dropped = keys[-1]
    kept = [item for place, item in enumerate(items, 1) if not _is_key(item, dropped, place)]
    if not kept or words[first + 1] in {"DISTINCT", "ALL"}:
        return None
    grouped = f"GROUP BY {_listed(keys[:-1])} " if keys[:-1] else ""
    between = question[read[source].span.start : read[group].span.start].rstrip()
    rest = question[read[end].span.start :].strip()
    head = question[: read[first].span.end]
    return f"{head} {_listed(kept)} {between} {grouped}{rest}".rstrip()


def _comma_parts(read: Sequence[Token]) -> list[list[Token]]:
    """Split tokens at commas outside parentheses."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in read:
        depth += (token.word in {"(", "["}) - (token.word in {")", "]"})
        if token.word == "," and not depth:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _is_key(item: Sequence[Token], key: Sequence[Token], place: int) -> bool:
    """Say whether an output is a key: by its place, its name, or its expression."""
    if len(key) == 1 and key[0].kind is TokenKind.NUMBER:
        return key[0].text == str(place)
    words = [token.text.casefold() for token in item]
    wanted = [token.text.casefold() for token in key]
    named = len(words) > 2 and item[-2].word == "AS"
    return words == wanted or (named and wanted in ([words[-1]], words[:-2]))


def _listed(parts: Sequence[Sequence[Token]]) -> str:
    return ", ".join(part[0].span.to(part[-1].span).words for part in parts)


def _is_end(token: Token) -> bool:
    return token.kind is TokenKind.END


Planned = Callable[[Any, dict[str, Any]], Plan]
"""Plans SQL text, or a question as it travels."""
_PRICES: Final = ("epsilon", "rho")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Shortfall:
    """A limit that a question does not fit into."""

    account: str
    scope: str
    """yours, purpose or dataset: the account of the caller, one above it, or that of all."""
    component: str
    needed: str
    left: str
    limit: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class WayOut:
    """A question that can be asked instead, with its price and its error."""

    title: str
    words: str
    question: Any
    by: str
    amount: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class HigherLimit:
    """A request to the steward under which the question fits."""

    account: str
    budget: Mapping[str, str]

    @property
    def words(self) -> str:
        """The limits in a line."""
        return ", ".join(f"{name} {value}" for name, value in self.budget.items())


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class WaysOut:
    """Which limits are too low, and what can be done about it."""

    shortfalls: tuple[Shortfall, ...] = ()
    """The limit that lacks most comes first."""
    either: bool = False
    """Whether it is enough to fit into one of these limits."""
    ways: tuple[WayOut, ...] = ()
    request: HigherLimit | None = None


def ways_out(  # noqa: PLR0913  a question and its account
    question: Any,
    price: Mapping[str, Any],
    plan: Plan,
    ledger: LedgerView,
    *,
    account: str | None,
    planned: Planned,
) -> WaysOut:
    """Return the ways out for a plan that does not fit into the balance.

    Args:
        question: its text, or the tree of one as it travels.
        price: what was to be paid, with the confidence of intervals.
        plan: how it would be answered.
        ledger: holds the balance.
        account: the account that pays; the first one if None.
        planned: plans a question at a price, and spends nothing.
    """
    accounts = ledger.accounts
    own = account or min(accounts, key=len)
    paths = [path for path in path_and_ancestors(own) if accounts[path].limited]
    tight = [
        (path, left)
        for path in paths
        for left in [ledger.left(plan.scope, account=path)]
        if fits_after(plan, left) is None
    ]
    if not tight:
        return WaysOut()
    tight.sort(key=lambda each: _factor(plan, each[1])[1])
    lacking = tuple(each for path, left in tight for each in _shortfalls(plan, path, left, own))
    path, left = tight[0]
    name, factor = _factor(plan, left)
    ways: list[WayOut] = []
    paid = getattr(plan.price, name, None)
    if name in _PRICES and paid is not None and factor > 0:
        amount = format_down(amount_down(paid * factor))
        others = {each: value for each, value in price.items() if each not in (*_PRICES, "error")}
        ways += _priced(question, {**others, name: amount}, planned, name, "Accept a wider ±")
        fewer = without_last_key(question) if isinstance(question, str) else None
        if fewer is not None:
            ways += _priced(fewer, {**others, name: amount}, planned, name, "Ask for fewer groups")
    return WaysOut(
        shortfalls=lacking,
        either=len(left.budget.currency.routes) > 1,
        ways=tuple(ways),
        request=_request(plan, path, left),
    )


def with_ways_out(  # noqa: PLR0913  a question and its account
    error: OverBudget,
    form: Mapping[str, Any],
    ledger: LedgerView,
    *,
    account: str | None,
    plan: Callable[[QuestionDocument], Plan],
    other_questions: bool = True,
) -> OverBudget:
    """Return a refusal with its ways out, as far as the question can be planned for nothing.

    Args:
        error: the refusal.
        form: the question and its price, as they travel.
        ledger: holds the balance.
        account: the account that pays; the first one if None.
        plan: plans a question, and spends nothing.
        other_questions: whether fewer groups will do; another draw is one of the same question.
    """
    price = {name: each for name, each in form.items() if name not in {"question", "confirm"}}
    question = form["question"]

    def planned(asked: Any, paid: Mapping[str, Any]) -> Plan:
        return plan(QuestionDocument.read({"question": asked, **paid}))

    try:
        found = ways_out(
            question, price, planned(question, price), ledger, account=account, planned=planned
        )
    except DiscreetError:  # limits that are to be bought, or no worker to plan it
        return error
    if not other_questions:
        found = replace(found, ways=tuple(w for w in found.ways if w.question == question))
    return with_shortage(error, found)


def within_policy(
    question: str, price: Mapping[str, Any], limits: Limits, planned: Planned
) -> WaysOut:
    """Return the way out of the highest price that a policy allows for one question."""
    for name in _PRICES:
        most: Fraction | None = getattr(limits, f"max_{name}")
        if most is None or name not in price:
            continue
        amount = format_down(amount_down(most))
        try:
            plan = planned(question, {name: amount})
        except DiscreetError:
            continue
        title = f"Pay {name} {amount}, the most that the policy allows for one question"
        return WaysOut(ways=(_way_out(question, name, amount, plan, title),))
    return WaysOut()


def _shortfalls(plan: Plan, path: str, left: Left, own: str) -> Iterator[Shortfall]:
    scope = "dataset" if "/" not in path else "yours" if path == own else "purpose"
    cost = amounts_of_plan(left.budget, plan)
    parts = list(zip(cost, left.amounts, left.budget.limit, strict=True))
    for name, (needed, have, limit) in shown_components(left.budget.currency, parts):
        if needed > have:
            yield Shortfall(
                account=path,
                scope=scope,
                component=name,
                needed=format_up(needed),
                left=format_down(have),
                limit=format_down(limit),
            )


def _factor(plan: Plan, left: Left) -> tuple[str, Fraction]:
    """Return the component that lacks least on the best route, and which part of its price fits."""
    cost, names = amounts_of_plan(left.budget, plan), left.budget.components
    routes = [
        min(((names[at], Fraction(left.amounts[at], max(cost[at], 1))) for at in route), key=_part)
        for route in left.budget.currency.routes
    ]
    return max(routes, key=_part)


def _part(named: tuple[str, Fraction]) -> Fraction:
    return named[1]


def _priced(
    question: Any, price: dict[str, Any], planned: Planned, name: str, title: str
) -> Iterator[WayOut]:
    """Yield a question at a price, if it is answered and fits."""
    try:
        plan = planned(question, price)
    except DiscreetError:
        return
    if plan.budget_preview is not None and plan.budget_preview.fits:
        yield _way_out(question, name, price[name], plan, title)


def _way_out(question: Any, name: str, amount: str, plan: Plan, title: str) -> WayOut:
    errors = ", ".join(f"{each.output} {each.words}" for each in plan.predicted)
    words = f"{name} {amount} buys {errors}" if errors else f"it costs {name} {amount}"
    return WayOut(title=title, words=words, question=question, by=name, amount=amount)


def _request(plan: Plan, path: str, left: Left) -> HigherLimit | None:
    """Return the limits under which a plan fits, in the format of a budget."""
    budget, cost = left.budget, amounts_of_plan(left.budget, plan)
    lacking = {
        name: max(0, needed - have)
        for name, needed, have in zip(budget.components, cost, left.amounts, strict=True)
    }
    if budget.promise is None:
        limits = dict(zip(budget.components, budget.limit, strict=True))
    else:  # both routes follow from the promise
        bounds = {"epsilon": budget.promise.epsilon_bound, "delta": budget.promise.delta_bound}
        limits = {name: amount_up(value) for name, value in bounds.items()}
    given = {name: limit + lacking.get(name, 0) for name, limit in limits.items() if limit}
    if not set(given) <= {*_PRICES, "delta"}:
        return None
    return HigherLimit(
        account=path, budget={name: format_up(value) for name, value in given.items()}
    )


Way = dict[str, Any]


def with_shortage(error: OverBudget, ways: WaysOut) -> OverBudget:
    """Return a refusal that also says what lacks, and what can be done about it.

    The sentence on what to do lists the priced ways; an error stays unchanged if it is unknown
    which limit is too low.

    >>> low = Shortfall(account="data/ana", scope="yours", component="epsilon", needed="0.5",
    ...                 left="0.2", limit="1")
    >>> wider = WayOut(title="Accept a wider ±", words="epsilon 0.2 buys n ± 15",
    ...                question="SELECT COUNT(*) AS n FROM visits", by="epsilon", amount="0.2")
    >>> refused = OverBudget(what="too much.", why="a promise.", do="less.")
    >>> told = with_shortage(refused, WaysOut(shortfalls=(low,), ways=(wider,)))
    >>> print(told)
    OverBudget[E301]: too much.
      Why: a promise.
      Do:  accept a wider ±: epsilon 0.2 buys n ± 15; or repeat what was paid for before.
    >>> told.shortage["scope"], told.shortage["needed"], told.shortage["left"]
    ('yours', {'epsilon': '0.5'}, {'epsilon': '0.2'})
    >>> [(way["change"], way["cost"]) for way in told.shortage["ways_out"]][0]
    ('Accept a wider ±: epsilon 0.2 buys n ± 15', {'epsilon': '0.2'})
    """
    if not ways.shortfalls:
        return error
    first = ways.shortfalls[0]
    lacking = [each for each in ways.shortfalls if each.account == first.account]
    needed = {each.component: each.needed for each in lacking}
    told = list(_told_ways(ways, needed))
    changes = "; or ".join(_begun_small(way["change"]) for way in told)
    return OverBudget(
        what=error.what,
        why=error.why,
        do=f"{changes}.",
        details=error.details,
        shortage={
            "scope": first.scope,
            "account": first.account,
            "needed": needed,
            "left": {each.component: each.left for each in lacking},
            "ways_out": told,
        },
    )


def _told_ways(ways: WaysOut, needed: dict[str, str]) -> Iterator[Way]:
    """Yield other questions first, then an old answer, then a higher limit."""
    yield from map(_other_question, ways.ways)
    yield {
        "change": "Repeat what was paid for before",
        "cost": {},
        "call": "GET .../releases",
    }
    if ways.request is not None:
        yield _raise(ways.request, needed)


def _other_question(way: WayOut) -> Way:
    return {
        "change": f"{way.title}: {way.words}",
        "cost": {way.by: way.amount},
        "call": "POST .../queries",
        "body": {"question": way.question, way.by: way.amount},
    }


def _raise(request: HigherLimit, needed: dict[str, str]) -> Way:
    return {
        "change": f"Have two people raise the limit of {request.account} to {request.words}",
        "cost": needed,
        "call": "POST .../requests",
        "body": {"account": request.account, "budget": dict(request.budget)},
    }


def _begun_small(words: str) -> str:
    return words[:1].lower() + words[1:]
