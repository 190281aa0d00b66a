"""The digest of a plan: the same for every way to write the same request.

Trust: kernel.  Two plans with one digest are answered once.

Definition.  The digest is the SHA-256 of a JSON text: the canonical question, whom it protects, the
bound relation with the types of its columns, the groups, the measures with their bounds, all
mechanisms, and the scope.  So it changes with the price, and with every declared fact that changes
what is computed; spelling, the confidence at which errors are shown, and the hash that decides
which groups of a unit are kept do not matter.  Only ends of intervals of quantiles are chosen for a
confidence, of 95 % or a higher one that is asked for.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields
from datetime import date
from typing import TYPE_CHECKING, Any, Final

from discreet.accounting import Box, Node, written
from discreet.accounting.codec import written_unit
from discreet.plan.lowered import KeyValue, Lowered, Measure, PublicGroups
from discreet.plan.product import Product
from discreet.plan.tree import Releases
from discreet.query.canonical import canonical, relation_form
from discreet.query.expressions import Expression
from discreet.query.operands import form
from discreet.query.question import Question
from discreet.units import PrivacyUnit

if TYPE_CHECKING:  # loaded when first used, because a plain question needs none of it
    from discreet.plan.search import Search

__all__ = ["digest_of"]

_FORMAT: Final = 1
_ONE_TABLE: Final = [frozenset({""})]


def digest_of(  # noqa: PLR0913  all that decides an answer
    question: Question,
    *,
    unit: PrivacyUnit,
    lowered: Lowered,
    releases: Releases,
    tree: Node,
    scope: Box,
    search: Search | None = None,
) -> str:
    """Return the digest of what will be answered, and how."""
    data = {
        "format": _FORMAT,
        "question": canonical(question),
        "unit": written_unit(unit),
        "relation": relation_form(lowered.relation),
        "units": [_form(each) for each in lowered.unit],
        "keys": [[_form(key.expression), key.type.value] for key in lowered.keys],
        "groups": lowered.groups,
        "public": _public(lowered.public),
        "measures": [_measure(each) for each in lowered.measures],
        "tree": written(tree),
        "chosen_by": releases.chosen_by,
        "offsets": [choice.offset for choice in releases.choices],
        "scope": scope.written(),
    }
    if search is not None:  # without one, digests are as they ever were
        data["search"] = {
            "relation": relation_form(search.lowered.relation),
            "measures": [_measure(each) for each in search.lowered.measures],
            "tree": written(search.tree),
            "answer": [written(each) for each in search.promise.leaves],
        }
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _form(expression: Expression) -> Any:
    return form(expression, _ONE_TABLE)


def _measure(measure: Measure) -> list[Any]:
    values = (getattr(measure, item.name) for item in fields(measure))
    shown = [value if isinstance(value, str | int | None) else _form(value) for value in values]
    return [type(measure).__name__, *shown]


def _public(groups: PublicGroups | None) -> list[list[Any]] | dict[str, Any] | None:
    if groups is None:
        return None
    if isinstance(groups, Product):  # as many as there are values, not groups
        lists = [sorted(map(_value, values), key=json.dumps) for values in groups.lists]
        return {"product": lists}
    return sorted(([_value(value) for value in group] for group in groups), key=json.dumps)


def _value(value: KeyValue) -> Any:
    return [type(value).__name__, value.isoformat()] if isinstance(value, date) else value
