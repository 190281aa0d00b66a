"""The evidence of a synthetic table: what was released of the data, and all that a ledger keeps.

Trust: kernel.  Everything that is stored here was drawn by a mechanism and paid for, or is public.

Models and rows follow from the evidence, at any size and at any time, so no table is stored: a
reader can fit a better model to it years later, for nothing.

Evidence as bytes: written once for a ledger, and read strictly.

Reading goes through the constructors of the values, and refuses anything that differs from the
written form: an unknown name, a wrong type or a surplus count.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import Any, Final, Literal, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DiscreetError, WrongKind
from discreet.ledger.entries import canonical
from discreet.query.types import TYPES_BY_NAME, Type
from discreet.requests.table_schema import KeyValue
from discreet.synthetic.constraints import Constraint, Determined, Forbidden
from discreet.synthetic.domain import Categories, CodedColumn, Coding, Domain, NumberBins, Periods
from discreet.synthetic.inference.inference import CodedDomain, Marginal, Measurement

FORMAT: Final = 1
"""The storage format of evidence."""

Law = Literal["gaussian", "laplace"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """How a marginal, or a cell, was chosen by the exponential mechanism.

    ``scale`` and ``distance`` are in rows times weights: the chosen score is at most
    ``scale * ln(candidates / beta)`` below the best, with probability at least 1 - beta.
    ``round`` counts the selections of a program from 0.

    >>> Selection(round=0, candidates=8, scale=Fraction(4), distance=Fraction(1)).candidates
    8
    """

    round: int
    candidates: int
    scale: Fraction
    distance: Fraction


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measured:
    """Noisy counts of all cells of a marginal, or of one of them.

    ``scale`` is the variance of discrete Gaussian noise, or the scale of discrete Laplace noise.
    ``cell`` is the number of the one cell that was measured, in C order; None means all.

    >>> wards = Measured(marginal=(0,), values=np.array([5, 7]), law="gaussian", scale=Fraction(4))
    >>> wards.variance, wards.measurement.total
    (Fraction(4, 1), 12)
    """

    marginal: Marginal
    values: NDArray[np.int64]
    law: Law
    scale: Fraction
    cell: int | None = None
    selection: Selection | None = None

    @property
    def variance(self) -> Fraction:
        """The variance of the noise on each count, or a little more than it."""
        return self.scale if self.law == "gaussian" else 2 * self.scale**2

    @property
    def measurement(self) -> Measurement:
        """The input of inference, if all cells were measured."""
        return Measurement(marginal=self.marginal, values=self.values, variance=self.variance)


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence:
    """What a synthetic table rests on.

    ``method`` are the name and the public parameters of the method; ``domain`` has the bins that
    were bought, if any.  ``rows`` are the rows that DualQuery released, as codes. ``spent`` is the
    price of what was measured, in rho, or in epsilon if ``pure``: at most what was charged.
    ``sources`` are the states of the tables that were read.
    """

    digest: str
    method: Mapping[str, Any]
    domain: Domain
    constraints: tuple[Constraint, ...] = ()
    measured: tuple[Measured, ...] = ()
    rows: NDArray[np.int64] | None = None
    spent: Fraction = Fraction(0)
    pure: bool = False
    sources: tuple[tuple[str, str], ...] = ()

    @property
    def coded(self) -> CodedDomain:
        """The domain as inference reads it."""
        return self.domain.coded

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """The marginals with all cells measured."""
        return tuple(each.measurement for each in self.measured if each.cell is None)

    def __repr__(self) -> str:
        """Show how much there is of it."""
        name = self.method.get("name", "?")
        return f"<evidence: {len(self.measured)} measurements by {name}>"


_KIND: Final = "synthetic table"
_LAWS: Final[tuple[Law, ...]] = ("gaussian", "laplace")
_DAYS: Final = {"date": date, "datetime": datetime}


def written(evidence: Evidence) -> bytes:
    """Write evidence, in one form for each."""
    return canonical(
        {
            "answer": _KIND,
            "format": FORMAT,
            "digest": evidence.digest,
            "method": dict(evidence.method),
            "domain": domain_document(evidence.domain),
            "constraints": [constraint_document(each) for each in evidence.constraints],
            "measured": [_measured_document(each) for each in evidence.measured],
            "rows": None if evidence.rows is None else evidence.rows.tolist(),
            "spent": str(evidence.spent),
            "pure": evidence.pure,
            "sources": [list(source) for source in evidence.sources],
        }
    ).encode("ascii")


def read(data: bytes) -> Evidence:
    """Read what was written; refuse anything else."""
    try:
        document = json.loads(data)
        evidence = _evidence(document)
        same = written(evidence) == data
    except (ValueError, KeyError, TypeError, IndexError, ZeroDivisionError, DiscreetError):
        raise _unreadable() from None
    if not same:
        raise _unreadable()
    return evidence


def _evidence(document: Mapping[str, Any]) -> Evidence:
    if document["answer"] != _KIND or document["format"] != FORMAT:
        raise _unreadable()
    domain = _domain(document["domain"])
    rows = document["rows"]
    return Evidence(
        digest=_text(document["digest"]),
        method=dict(document["method"]),
        domain=domain,
        constraints=tuple(_constraint(each) for each in document["constraints"]),
        measured=tuple(_measured(each, domain) for each in document["measured"]),
        rows=None if rows is None else _rows(rows, domain),
        spent=Fraction(_text(document["spent"])),
        pure=document["pure"] is True,
        sources=tuple((_text(table), _text(state)) for table, state in document["sources"]),
    )


def domain_document(domain: Domain) -> dict[str, Any]:
    """Return a domain in plain JSON."""
    return {
        "columns": [
            {
                "name": column.name,
                "type": column.type.value,
                "nullable": column.nullable,
                "coding": _coding_document(column.coding),
            }
            for column in domain.columns
        ],
        "fresh": [[name, kind.value] for name, kind in domain.fresh],
    }


def constraint_document(constraint: Constraint) -> dict[str, Any]:
    """Return a constraint in plain JSON."""
    if isinstance(constraint, Forbidden):
        return {"forbid": [[name, _value(value)] for name, value in constraint.values]}
    pairs = [[_value(value), _value(image)] for value, image in constraint.values]
    return {"determines": [constraint.column, constraint.other, pairs]}


def _coding_document(coding: Coding) -> dict[str, Any]:
    match coding:
        case Categories(values=values):
            return {"categories": [_value(value) for value in values]}
        case NumberBins(edges=edges, whole=whole):
            return {"edges": [str(edge) for edge in edges], "whole": whole}
        case Periods(edges=days, moments=moments):
            return {"days": [day.isoformat() for day in days], "moments": moments}


def _value(value: Any) -> Any:
    """Return a value in plain JSON, which has no days, and no two kinds of numbers."""
    if isinstance(value, float):
        return ["float", str(Fraction(value))]
    if isinstance(value, Fraction):
        return ["number", str(value)]
    if isinstance(value, date):
        return [type(value).__name__, value.isoformat()]
    return value


def _read_value(document: Any) -> KeyValue | Fraction:
    if not isinstance(document, list):
        if document is None or isinstance(document, bool | int | str):
            return document
        raise _unreadable()
    kind, text = document
    if kind in _DAYS:
        day: date = _DAYS[kind].fromisoformat(text)
        return day
    number = Fraction(_text(text))
    return float(number) if kind == "float" else number


def _domain(document: Mapping[str, Any]) -> Domain:
    columns = tuple(
        CodedColumn(
            name=_text(column["name"]),
            type=_type(column["type"]),
            coding=_coding(column["coding"]),
            nullable=column["nullable"] is True,
        )
        for column in document["columns"]
    )
    fresh = tuple((_text(name), _type(kind)) for name, kind in document["fresh"])
    return Domain(columns=columns, fresh=fresh)


def _coding(document: Mapping[str, Any]) -> Coding:
    if "categories" in document:
        values = (_read_value(value) for value in document["categories"])
        return Categories(tuple(values))  # type: ignore[arg-type]  # no Fraction is written there
    if "edges" in document:
        edges = tuple(Fraction(_text(edge)) for edge in document["edges"])
        return NumberBins(edges=edges, whole=document["whole"] is True)
    days = tuple(date.fromisoformat(day) for day in document["days"])
    return Periods(edges=days, moments=document["moments"] is True)


def _constraint(document: Mapping[str, Any]) -> Constraint:
    if "forbid" in document:
        pairs = ((_text(name), _read_value(value)) for name, value in document["forbid"])
        return Forbidden(tuple(pairs))
    column, other, values = document["determines"]
    images = tuple((_read_value(value), _read_value(image)) for value, image in values)
    return Determined(_text(column), _text(other), images)


def _measured_document(measured: Measured) -> dict[str, Any]:
    chosen = measured.selection
    return {
        "marginal": list(measured.marginal),
        "values": measured.values.tolist(),
        "law": measured.law,
        "scale": str(measured.scale),
        "cell": measured.cell,
        "selection": None
        if chosen is None
        else [chosen.round, chosen.candidates, str(chosen.scale), str(chosen.distance)],
    }


def _measured(document: Mapping[str, Any], domain: Domain) -> Measured:
    marginal = domain.coded.marginal(_whole(column) for column in document["marginal"])
    cell = document["cell"]
    size = domain.coded.size(marginal)
    values = [_whole(value) for value in document["values"]]
    if document["law"] not in _LAWS or len(values) != (size if cell is None else 1):
        raise _unreadable()
    if cell is not None and not 0 <= _whole(cell) < size:
        raise _unreadable()
    chosen = document["selection"]
    return Measured(
        marginal=marginal,
        values=np.array(values, dtype=np.int64),
        law=document["law"],
        scale=_positive(document["scale"]),
        cell=cell,
        selection=None if chosen is None else _selection(chosen),
    )


def _selection(document: Sequence[Any]) -> Selection:
    number, candidates, scale, distance = document
    return Selection(
        round=_whole(number),
        candidates=_whole(candidates),
        scale=_positive(scale),
        distance=_positive(distance),
    )


def _rows(document: Sequence[Any], domain: Domain) -> np.ndarray[Any, np.dtype[np.int64]]:
    rows = [[_whole(code) for code in row] for row in document]
    sizes = domain.coded.sizes
    if any(
        len(row) != len(sizes) or not all(0 <= code < size for code, size in zip(row, sizes))  # noqa: B905
        for row in rows
    ):
        raise _unreadable()
    return np.array(rows, dtype=np.int64).reshape(len(rows), len(sizes))


def _whole(value: object) -> int:
    if type(value) is not int:
        raise _unreadable()
    return value


def _text(value: object) -> str:
    if type(value) is not str:
        raise _unreadable()
    return value


def _positive(value: object) -> Fraction:
    number = Fraction(_text(value))
    if number <= 0:
        raise _unreadable()
    return number


def _type(value: object) -> Type:
    return TYPES_BY_NAME[_text(value)]


def _unreadable() -> WrongKind:
    return WrongKind(
        "what is stored of a synthetic table cannot be read; read it with the version that wrote "
        "it."
    )
