"""Truncation: what limits may leave out of an answer, said before and beside it.

Trust: public.  It changes no number; but anyone who is not told takes an answer for more than it
is.

Definition.  Contribution bounding and clamping move an answer away from the same answer of all
rows.  Confidence intervals are for noise alone and do not cover that, because how far it is depends
on rows that do not count.  So a plan says which limits may bind: rows and groups of a unit, values
of a unit, and bounds on values.  It says nothing if none can: if each row is a unit, if a
unit is known to have one row in a group, if there are no more groups than may count, and where
the bounds of a formula follow from its text.  Rows whose key is none of the values that its column
declares are in no group; a plan says so as well.  Rows without a unit are nobody's, and never
count; a plan says so if there may be some: if a column of the unit may be NULL, or a link
lead nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Literal, final

from discreet.plan.binding.public_keys import public_values
from discreet.plan.binding.truth_sets import narrowed
from discreet.plan.binding.value_facts import KnownFacts, argument_of, facts_of
from discreet.plan.setting import Setting
from discreet.plan.statistics.contribution_bounds import OneRow, one_row_of
from discreet.query.expression_text import said
from discreet.query.expressions import Column, walk
from discreet.query.functions import AGGREGATES
from discreet.query.question import Question
from discreet.query.relations import Table, descend
from discreet.requests.table_schema import Schema

if TYPE_CHECKING:  # made by earlier steps
    from discreet.plan.binding.bound_question import BoundQuestion
    from discreet.plan.statistics.contribution_bounds import ContributionBounds

_NOTHING: Final = Fraction(1, 10**100)
_LEFT_OUT: Final = frozenset({"unlisted", "unnamed"})
"""What is left out of an answer by no limit on what a unit adds to its numbers."""
_BRIEF: Final = 4
_ADDED: Final = frozenset({"SUM", "AVG", "VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV_SAMP"})


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Truncation:
    """A limit that may cut something off, in words that a reader of an answer understands.

    >>> print(Truncation(kind="groups", limit=2, words="Each patient counts in 2 wards at most."))
    Each patient counts in 2 wards at most.
    """

    kind: Literal["rows", "groups", "values", "bounds", "unlisted", "unnamed"]
    limit: int | None
    words: str
    brief: str = ""
    """What is cut, in a few words, for answers on one screen."""

    def __str__(self) -> str:
        """Say what may be cut off."""
        return self.words


def truncations(
    question: Question, setting: Setting, schema: Schema, *, searching: bool
) -> tuple[Truncation, ...]:
    """Return what limits may cut off, each of it once; ``searching`` for bounds of values."""
    known, limits = setting.bound, setting.limits
    found: list[Truncation] = []
    if not limits.single:
        who = " and ".join(setting.unit.columns)
        found += [*_rows(known, limits, who), *_groups(known, limits, who)]
        found += _values(known, limits, who)
        found += _per_group(known, who)
    found += _bounds(known, searching=searching)
    found += _unlisted(known)
    found += _unnamed(question, setting, schema)
    return tuple(dict.fromkeys(found))


def brief_cuts(cuts: Iterable[Truncation]) -> str:
    """Say in one line what may be cut off; empty if nothing can be.

    >>> cut = Truncation(kind="rows", limit=5, words="At most 5 rows count.", brief="rows beyond 5")
    >>> brief_cuts([cut]), brief_cuts([])
    ('Left out or clipped, if any: rows beyond 5.', '')
    """
    parts = [cut.brief or cut.words.rstrip(".") for cut in cuts]
    shown = "; ".join(parts[:_BRIEF])
    more = f"; {len(parts) - _BRIEF} more (details)" if len(parts) > _BRIEF else ""
    return f"Left out or clipped, if any: {shown}{more}." if parts else ""


def limits_bind(cuts: Iterable[Truncation]) -> bool:
    """Whether a limit may cut something off the numbers that are shown.

    Rows without a unit are left out by none, and rows with other keys are in no group at all.

    >>> limits_bind([Truncation(kind="unnamed", limit=None, words="Rows are left out.")])
    False
    """
    return any(cut.kind not in _LEFT_OUT for cut in cuts)


def _unlisted(known: BoundQuestion) -> Iterator[Truncation]:
    """Say that rows whose key is not among the declared values are in no group.

    Values that the question or a public table lists leave out what the question itself leaves out.
    """
    cells = {
        name: facts
        if facts.source is None or facts.source.public
        else replace(facts, categories=None, low=None, high=None, days=None)
        for name, facts in known.rows.facts.items()
    }
    for predicate in known.predicates:
        cells |= narrowed(predicate, cells)
    for key in known.keys:
        named = {node.name for node in walk(key.key.expression) if isinstance(node, Column)}
        declared = any(cells[name] != known.rows.facts[name] for name in named)
        if key.values is None or not declared:
            continue
        if public_values(key.key.expression, cells, known.predicates) is None:
            number = sum(value is not None for value in key.values)
            listed = f"none of the {number} listed values"
            if None in key.values:
                listed = f"neither NULL nor one of the {number} listed values"
            words = f"Rows whose {key.key.name} is {listed} are left out."
            brief = f"other values of {key.key.name}"
            yield Truncation(kind="unlisted", limit=None, words=words, brief=brief)


def _unnamed(question: Question, setting: Setting, schema: Schema) -> Iterator[Truncation]:
    """Say that rows without a unit do not count, if there may be some."""
    rows = setting.bound.rows
    names = rows.unit or ()
    missing = any(rows.facts[name].nullable for name in names)
    tables = (node.name for node in descend(question.relation) if isinstance(node, Table))
    found = (schema.at_path(name) for name in tables)
    linked = any(table is not None and table.link is not None for table in found)
    if names and (missing or linked):
        who = " or ".join(setting.unit.columns)
        words = f"Rows whose {who} is missing (NULL) are left out of these numbers."
        brief = f"rows without {who}"
        yield Truncation(kind="unnamed", limit=None, words=words, brief=brief)


def _names(known: BoundQuestion) -> str:
    return " and ".join(key.key.name for key in known.keys)


def _rows(known: BoundQuestion, limits: ContributionBounds, who: str) -> Iterator[Truncation]:
    """Say how many rows of a unit count, if it may have more."""
    counted = [
        outer.function
        for outer, inner in known.aggregates
        if inner.bounds_per_group is None and not inner.distinct
    ]
    if limits.one_row or limits.rows is None or not counted:
        return
    most = limits.rows
    each = f"{who} and {_names(known)}" if known.keys else who
    rows, count = ("1 row", "counts") if most == 1 else (f"{most} rows", "count")
    words = (
        f"At most {rows} of each {each} {count}; rows beyond that are left out of these numbers."
    )
    if _ADDED & set(counted):
        words += f" Whoever has more rows enters sums and means with {rows} of their own mean."
    brief = f"rows of one {who} beyond {most}"
    yield Truncation(kind="rows", limit=most, words=words, brief=brief)


def _groups(known: BoundQuestion, limits: ContributionBounds, who: str) -> Iterator[Truncation]:
    """Say in how many groups a unit counts, if it may be in more."""
    agree = all(key.facts.constant for key in known.keys)
    within = limits.available is not None and limits.available <= limits.groups
    if not known.keys or agree or within or one_row_of(known.rows, known.keys) is OneRow.IN_ALL:
        return
    most = "1 group" if limits.groups == 1 else f"{limits.groups} groups"
    words = f"Each {who} counts in at most {most} of {_names(known)}; their others are left out."
    brief = f"groups of one {who} beyond {limits.groups}"
    yield Truncation(kind="groups", limit=limits.groups, words=words, brief=brief)


def _values(known: BoundQuestion, limits: ContributionBounds, who: str) -> Iterator[Truncation]:
    """Say how many different values of a unit count."""
    for outer, inner in known.aggregates:
        value = argument_of(inner)
        names_unit = isinstance(value, Column) and known.rows.unit == (value.name,)
        if not inner.distinct or names_unit or inner.bounds_per_group is not None:
            continue
        facts = facts_of(value, known.rows.facts)
        listed = facts.categories
        if limits.one_row or limits.rows is None or facts.constant:
            continue
        if listed and len(listed) <= limits.rows:
            continue  # no one has more
        values = "1 value" if limits.rows == 1 else f"{limits.rows} values"
        where = " in a group" if known.keys else ""
        words = f"At most {values} of {said(argument_of(outer))} of each {who} count{where}."
        yield Truncation(kind="values", limit=limits.rows, words=words)


def _per_group(known: BoundQuestion, who: str) -> Iterator[Truncation]:
    """Say between which bounds a unit's own count, sum or mean is kept."""
    for outer, inner in known.aggregates:
        if inner.bounds_per_group is not None:
            low, high = map(_number, inner.bounds_per_group)
            what = {"COUNT": "number of rows", "SUM": "sum", "AVG": "mean"}.get(
                outer.function, "number"
            )
            of = "" if outer.argument is None else f" of {said(outer.argument)}"
            where = " in a group" if known.keys else ""
            words = f"Each {who}'s own {what}{of}{where} is moved between {low} and {high}."
            yield Truncation(kind="bounds", limit=None, words=words)


def _bounds(known: BoundQuestion, *, searching: bool) -> Iterator[Truncation]:
    """Say to which bounds values are clamped, if some may be beyond them."""
    facts = known.rows.facts
    cells = KnownFacts.of(facts).without_bounds()
    for outer, inner in known.aggregates:
        if inner.bounds_per_group is not None or not AGGREGATES[inner.function].clamps:
            continue
        value, text = argument_of(inner), said(argument_of(outer))
        if searching and inner.bounds_per_row != outer.bounds_per_row:
            words = f"{text} beyond the bounds that are found counts as the nearer bound."
            yield Truncation(kind="bounds", limit=None, words=words)
            continue
        pair = inner.bounds_per_row or facts_of(value, facts).bounds
        if pair is None:
            continue  # dates and texts, which are never moved
        sure = facts_of(value, cells).bounds  # whatever the cells of columns hold
        if sure is None or sure[0] < pair[0] or pair[1] < sure[1]:
            low, high = map(_number, pair)
            words = f"{text} below {low} counts as {low}, and above {high} as {high}."
            brief = f"{text} outside {low}..{high}"
            yield Truncation(kind="bounds", limit=None, words=words, brief=brief)


def _number(value: Fraction) -> str:
    large = value.numerator.bit_length() >= value.denominator.bit_length()  # at least a half
    if not large and abs(value) < _NOTHING:  # if rounding has moved a bound of zero
        return "0"
    return f"{value}" if value.denominator == 1 and abs(value) < 10**9 else f"{float(value):.6g}"
