"""Answers as bytes, exactly: what a ledger keeps, and a replay gives back.

Trust: kernel.  A replay must be the answer that was paid for, bit for bit.

Definition.  Canonical JSON: keys are sorted, without spaces, in ASCII.  INTEGER is a number, FLOAT
its hexadecimal text, DATE and TIMESTAMP their ISO text, TEXT and BOOLEAN are themselves, NULL is
null.  A column of FLOATs without NULL is one text: the hexadecimal digits of their 64 bits in a
row, the sign first.  ``plans`` are the digests of the plans; ``sources`` are the states of the
tables that were read, if these are known; ``confidence`` is that of the intervals.  Beside the
columns, the noisy totals and chosen leaves of all groups are kept under the names of the plan, so
that a later answer to the same question can be combined with them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from discreet import mechanisms
from discreet.aggregates.noisy_totals import (
    Chosen,
    GroupSums,
    Noisy,
    NoisyTotal,
    Run,
    drawn_sums,
    joined_totals,
)
from discreet.errors import WrongKind
from discreet.plan.workload.other_groups import other_noise
from discreet.query.types import Type
from discreet.release.frames import ReleasedColumn
from discreet.requests.raw_totals import ARROW_TYPES, arrow_numbers, arrow_values, numbers

if TYPE_CHECKING:  # for annotations alone
    from discreet.plan.plan import Plan

__all__ = ["decode_release", "encode_release", "read_columns", "recorded_question"]

_FORMAT: Final = 1
_BITS: Final = np.dtype(">f8")
_NUMBERS: Final = frozenset({Type.INTEGER, Type.FLOAT})
_WRITE: Final[dict[Type, Callable[[Any], Any]]] = {
    Type.FLOAT: float.hex,
    Type.DATE: date.isoformat,
    Type.TIMESTAMP: datetime.isoformat,
}
_READ: Final[dict[Type, Callable[[Any], Any]]] = {
    Type.FLOAT: float.fromhex,
    Type.DATE: date.fromisoformat,
    Type.TIMESTAMP: datetime.fromisoformat,
}


def encode_release(
    plans: Sequence[Plan],
    columns: Sequence[ReleasedColumn],
    parts: Sequence[Noisy],
    sources: Sequence[tuple[str, str]] = (),
) -> bytes:
    """Write an answer."""
    document: dict[str, Any] = {
        "columns": [_column(column) for column in columns],
        "confidence": str(plans[-1].confidence),
        "format": _FORMAT,
        "noisy": _noisy(plans[0], parts[0]) if len(plans) == len(parts) == 1 else None,
        "plans": [plan.digest for plan in plans],
        "question": plans[0].question.text or "",
    }
    if sources:
        document["sources"] = [list(source) for source in sources]
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("ascii")


def decode_release(
    data: bytes, plans: Sequence[Plan]
) -> tuple[tuple[ReleasedColumn, ...], tuple[Noisy, ...], tuple[tuple[str, str], ...]]:
    """Read an answer that was written for these plans: columns, noisy totals and sources."""
    try:
        document = json.loads(data)
        known = document["format"] == _FORMAT
        digests = document["plans"]
        columns = tuple(_read_column(column) for column in document["columns"]) if known else ()
        noisy = document["noisy"] if known else None
        sources = tuple((str(table), str(state)) for table, state in document.get("sources", ()))
    except (ValueError, KeyError, TypeError, AttributeError, pa.ArrowException):
        raise _undecodable() from None
    if not known:
        raise WrongKind(
            what="an answer is written in a form that this version does not know.",
            why="a later version of this package wrote it.",
            do="install that version.",
        )
    if digests != [plan.digest for plan in plans]:
        raise WrongKind(
            what="an answer was written for another plan.",
            why="what a number means follows from the plan that it was computed by.",
            do="read it with the plan of its own question and price.",
        )
    try:
        parts = () if noisy is None else (_read_noisy(plans[0], noisy),)
    except (ValueError, KeyError, TypeError, AttributeError, pa.ArrowException):
        raise _undecodable() from None
    return columns, parts, sources


def read_columns(document: Mapping[str, Any]) -> tuple[ReleasedColumn, ...]:
    """Read the columns of a stored answer, for what can be said of it without its plan."""
    try:
        return tuple(_read_column(column) for column in document["columns"])
    except (ValueError, KeyError, TypeError, AttributeError, pa.ArrowException):
        raise _undecodable() from None


def recorded_question(answer: bytes) -> str:
    """Return what was asked for a stored answer, on one line; empty if that is not on record.

    >>> recorded_question(b'{"answer":"synthetic table"}'), recorded_question(b"12")
    ('synthetic table', '')
    """
    try:
        document = json.loads(answer)
    except (ValueError, RecursionError):
        return ""
    while isinstance(document, dict):
        known = document.get("question", document.get("answer"))
        if isinstance(known, str):
            return " ".join(known.split())
        document = known
    return ""


def _undecodable() -> WrongKind:
    return WrongKind(
        what="a stored answer cannot be read.",
        why="it is not what this package writes.",
        do="take it from the ledger as it is, without changing it.",
    )


def _column(column: ReleasedColumn) -> dict[str, Any]:
    document = {
        "high": _values(column.high, column.type),
        "list": column.listed,
        "low": _values(column.low, column.type),
        "name": column.name,
        "type": column.type.value,
        "values": _values(column.values, column.type),
    }
    if column.unclipped is not None:
        document["unclipped"] = _values(column.unclipped, column.type)
    if column.clamped is not None:
        document["clamped"] = [str(end) for end in column.clamped]
    return document


def _values(array: pa.Array | None, kind: Type) -> list[Any] | str | None:
    if array is None:
        return None
    if kind in _NUMBERS and array.null_count == 0 and not pa.types.is_list(array.type):
        values = numbers(array)
        if kind is Type.FLOAT:
            return str(values.astype(_BITS).tobytes().hex())
        whole: list[Any] = values.tolist()  # the same as below, many times faster
        return whole
    return _mapped(array.to_pylist(), _WRITE.get(kind))


def _mapped(values: list[Any], change: Callable[[Any], Any] | None) -> list[Any]:
    """Change all values that are not NULL, also inside of lists."""
    if change is None:
        return values
    if not {type(None), list} & set(map(type, values)):
        return list(map(change, values))

    def changed(value: Any) -> Any:
        return _mapped(value, change) if isinstance(value, list) else change(value)

    return [None if value is None else changed(value) for value in values]


def _read_column(document: Mapping[str, Any]) -> ReleasedColumn:
    kind = Type(document["type"])
    arrow = pa.list_(ARROW_TYPES[kind]) if document["list"] else ARROW_TYPES[kind]

    def array(values: list[Any] | str | None) -> pa.Array | None:
        return None if values is None else _array(values, kind, arrow)

    return ReleasedColumn(
        name=document["name"],
        type=kind,
        values=array(document["values"]),
        low=array(document["low"]),
        high=array(document["high"]),
        unclipped=array(document.get("unclipped")),
        clamped=_bounds(document.get("clamped")),
    )


def _bounds(ends: list[str] | None) -> tuple[Fraction, Fraction] | None:
    return None if ends is None else (Fraction(ends[0]), Fraction(ends[1]))


def _array(values: list[Any] | str, kind: Type, arrow: pa.DataType) -> pa.Array:
    """Read what ``_values`` wrote."""
    if isinstance(values, str):
        return arrow_numbers(np.frombuffer(bytes.fromhex(values), _BITS).astype("f8"), arrow)
    return arrow_values(_mapped(values, _READ.get(kind)), arrow)


def _noisy(plan: Plan, noisy: Noisy) -> dict[str, Any]:
    kinds = [key.type for key in plan.request.keys]
    totals = dict(noisy.totals)
    joined: dict[str, list[int]] = {}
    for noise in plan.noises:
        strategy = noise.distances.strategy
        if strategy is not None and strategy.source.frames:
            joined[noise.measure] = noisy.sums[noise.measure].drawn.tolist()
        elif strategy is not None:
            joined[noise.measure] = drawn_sums(strategy, totals).tolist()
            totals = {name: totals[name] for name in totals if name not in strategy.names}
    other = {name: total.runs[0].values.tolist() for name, total in noisy.other.items()}
    return ({"other": other} if other else {}) | {
        "chosen": [chosen.leaves.tolist() for chosen in noisy.chosen],
        "keys": [_values(key, kind) for key, kind in zip(noisy.keys, kinds, strict=True)],
        "size": noisy.size,
        "totals": joined | {name: total.runs[0].values.tolist() for name, total in totals.items()},
    }


def _read_noisy(plan: Plan, document: Mapping[str, Any]) -> Noisy:
    kinds = [key.type for key in plan.request.keys]
    totals = dict(document["totals"])
    runs: dict[str, NoisyTotal] = {}
    sums: dict[str, GroupSums] = {}
    for noise in plan.noises:
        strategy, law = noise.distances.strategy, noise.mechanism
        drawn = _integers(totals.pop(noise.measure))
        if strategy is None:
            runs[noise.measure] = NoisyTotal((Run(values=drawn, mechanism=law),))
        elif strategy.source.frames:
            sums[noise.measure] = GroupSums(strategy=strategy, mechanism=law, drawn=drawn)
        else:
            runs |= joined_totals(strategy, law, drawn, plan.selection)
    keys = plan.selection
    if plan.chosen_by in totals and isinstance(keys, mechanisms.NoisyKeys):
        run = Run(values=_integers(totals.pop(plan.chosen_by)), mechanism=keys.noise, keys=keys)
        runs[plan.chosen_by] = NoisyTotal((run,))
    if totals:
        raise _undecodable()
    laws = {noise.measure: other_noise(noise, plan.unit).mechanism for noise in plan.noises}
    other = {
        name: NoisyTotal((Run(values=_integers(values), mechanism=laws[name]),))
        for name, values in document.get("other", {}).items()
    }
    return Noisy(
        size=document["size"],
        keys=tuple(
            _array(key, kind, ARROW_TYPES[kind])
            for key, kind in zip(document["keys"], kinds, strict=True)
        ),
        totals=runs,
        chosen=tuple(
            Chosen(choice=choice, leaves=_integers(leaves))
            for choice, leaves in zip(plan.choices, document["chosen"], strict=True)
        ),
        sums=sums,
        other=other,
    )


def _integers(values: list[int]) -> Any:
    if not set(map(type, values)) <= {int}:
        raise _undecodable()
    return np.array(values, np.int64)
