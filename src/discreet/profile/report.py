"""A profile that was released: as text, as a page with small pictures, and as a frame.

Trust: public.  All of it is made of released numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Any, Final, Self, final

from discreet.charts import STYLE, Area, Picture, Shape, Words
from discreet.errors import UnknownName
from discreet.extend import KeyValue, Tabular
from discreet.profile.columns import ProfiledColumn

if TYPE_CHECKING:  # large
    import pyarrow as pa

_WIDE: Final = 240
_HIGH: Final = 56
_LINE: Final = 16
_SHOWN: Final = 5
_LEAST_SHARE: Final = 0.005
_BLOCKS: Final = " ▁▂▃▄▅▆▇█"
_PAGE: Final = (
    "body{font:15px sans-serif;max-width:72em;margin:2em auto;padding:0 1em}"
    "table{border-collapse:collapse}td,th{text-align:left;vertical-align:top;"
    "padding:.4em 1em .4em 0;border-bottom:1px solid #ccc}"
)

Value = float | int | str | bool | None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnProfile:
    """One column: share of NULL, different values, and quartiles or the most frequent categories.

    ``error`` is by how many rows the rank of a quartile or a count may be off; of categories that
    had to be found, how many rows one needs to be shown.  ``quartiles`` are three triples: a value,
    and the ends of its interval.  ``bars`` are the edges of a histogram, and the counts between
    them.  ``top`` are categories with their counts, and ``other`` is what is left for all others.
    Categories of fewer than ``least`` rows, of which noise is the larger part, are not printed.
    """

    name: str
    type: str
    null_share: float
    distinct: int | None
    error: int
    quartiles: tuple[tuple[Value, Value, Value], ...] = ()
    bars: tuple[tuple[Value, ...], tuple[float, ...]] | None = None
    top: tuple[tuple[KeyValue, int], ...] | None = None
    other: int = 0
    least: int = 0

    @property
    def median(self) -> Value:
        """The median; None of a column of categories."""
        return self.quartiles[1][0] if self.quartiles else None

    def picture(self) -> Picture:
        """Draw the histogram, or the most frequent categories, as a small picture."""
        shapes: list[Shape] = []
        if self.bars is not None:
            edges, counts = self.bars
            tallest, step = max(*counts, 1.0), _WIDE / len(counts)
            for place, count in enumerate(counts):
                top = _HIGH * (1 - max(count, 0.0) / tallest)
                corners = ((place * step, top), ((place + 1) * step - 1, float(_HIGH)))
                shapes.append(Area(corners=corners, color=0, opacity=0.75))
            ends = ((0.0, "start", edges[0]), (float(_WIDE), "end", edges[-1]))
            for x, anchor, edge in ends:
                shapes.append(Words(at=(x, _HIGH + 14.0), text=_shown(edge), anchor=anchor))
            return self._pictured(shapes, _HIGH + 18)
        rows = self._categories()
        most = max([count for _, count in rows], default=1) or 1
        for place, (name, count) in enumerate(rows):
            corners = (
                (0.0, place * _LINE + 2.0),
                (_WIDE * count / most, (place + 1) * _LINE - 1.0),
            )
            shapes.append(Area(corners=corners, color=0, opacity=0.3))
            at = (4.0, (place + 1) * _LINE - 3.5)
            shapes.append(Words(at=at, text=f"{name[:24]}  {count:,}", anchor="start"))
        return self._pictured(shapes, max(1, len(rows)) * _LINE + 2)

    def sentence(self) -> str:
        """Say what is known of it, on one line."""
        if self.quartiles:
            low, middle, high = (_shown(triple[0]) for triple in self.quartiles)
            _, least, most = map(_shown, self.quartiles[1])
            return f"quartiles {low}, {middle} ({least} to {most}), {high}"
        rows = self._categories()
        return ", ".join(f"{name} {count:,}" for name, count in rows) or "no category is shown"

    def line(self) -> str:
        """Draw the histogram with blocks on one line; "" of a column of categories."""
        if self.bars is None:
            return ""
        most = max(*self.bars[1], 1.0)
        return "".join(_BLOCKS[round(8 * max(count, 0.0) / most)] for count in self.bars[1])

    def _categories(self) -> list[tuple[str, int]]:
        listed = [(str(name), count) for name, count in self.top or ()]
        shown = [each for each in listed if each[1] >= self.least][:_SHOWN]
        other = self.other + sum(count for _, count in listed) - sum(count for _, count in shown)
        return shown + ([("all others", other)] if other > self.least else [])

    def _pictured(self, shapes: list[Shape], height: int) -> Picture:
        return Picture(
            title=self.name,
            description=self.sentence(),
            width=_WIDE,
            height=height,
            shapes=tuple(shapes),
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Profile(Tabular):
    """All columns of a table, for one price; ``profile["age"]`` is one of them.

    ``people`` is None where each row is a unit.  Intervals hold with about the ``confidence``, each
    for itself; they are about noise, and about the rows that limits keep.
    """

    table: str
    rows: int
    people: int | None
    columns: tuple[ColumnProfile, ...]
    price: str
    confidence: Fraction
    errors: Mapping[str, int]
    receipt: str | None
    replayed: bool
    private: bool

    @classmethod
    def of(
        cls,
        stored: bytes,
        *,
        columns: Sequence[ProfiledColumn],
        table: str,
        column_errors: Sequence[int],
        **about: Any,
    ) -> Self:
        """Read what was stored."""
        found = json.loads(stored)
        rows, people = max(0, round(found["rows"])), found["people"]
        return cls(
            table=table,
            rows=rows,
            people=None if people is None else max(0, round(people)),
            columns=tuple(
                _column(column, entry, rows, error)
                for column, entry, error in zip(
                    columns, found["columns"], column_errors, strict=True
                )
            ),
            **about,
        )

    def __getitem__(self, name: str) -> ColumnProfile:
        """Return a column by its name."""
        for column in self.columns:
            if column.name.casefold() == str(name).casefold():
                return column
        raise UnknownName(
            what=f"there is no column {name} in this profile.",
            why="a profile has the columns that were asked for.",
            do=f"use one of: {', '.join(column.name for column in self.columns)}.",
        )

    def to_arrow(self, *_: Any, **__: Any) -> pa.Table:
        """Return a row for each column; quartiles of dates are in columns of their own."""
        import pyarrow as pa  # noqa: PLC0415  large

        names = ("first_quartile", "median", "third_quartile")
        content: dict[str, pa.Array] = {
            "column": pa.array([c.name for c in self.columns], pa.string()),
            "type": pa.array([c.type for c in self.columns], pa.string()),
            "null_share": pa.array([c.null_share for c in self.columns], pa.float64()),
            "distinct": pa.array([c.distinct for c in self.columns], pa.int64()),
        }
        for place, name in enumerate(names):
            values = [c.quartiles[place][0] if c.quartiles else None for c in self.columns]
            plain = [None if v is None or isinstance(v, str) else float(v) for v in values]
            content[name] = pa.array(plain, pa.float64())
            times = [_time(v) if isinstance(v, str) else None for v in values]
            if any(times):
                content[f"{name}_time"] = pa.array(times, pa.timestamp("us"))
        content["top"] = pa.array(
            [None if c.top is None else [str(name) for name, _ in c.top] for c in self.columns],
            pa.list_(pa.string()),
        )
        return pa.table(content)

    def to_dict(self) -> dict[str, Any]:
        """Return everything in plain JSON."""
        return {
            "table": self.table,
            "rows": self.rows,
            "people": self.people,
            "price": self.price,
            "confidence": str(self.confidence),
            "errors": dict(self.errors),
            "receipt": self.receipt,
            "replayed": self.replayed,
            "private": self.private,
            "columns": [
                {
                    "name": c.name,
                    "type": c.type,
                    "null_share": c.null_share,
                    "distinct": c.distinct,
                    "error": c.error,
                    "quartiles": [list(triple) for triple in c.quartiles],
                    "bars": None if c.bars is None else [list(part) for part in c.bars],
                    "top": None if c.top is None else [[_shown(v), n] for v, n in c.top],
                    "other": c.other,
                }
                for c in self.columns
            ],
        }

    def html(self) -> str:
        """Return a page of its own, with a small picture for each column."""
        title = escape(f"Profile of {self.table}")
        return (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
            f"<style>{_PAGE}{STYLE}</style><h1>{title}</h1>{self._content()}</html>\n"
        )

    def __repr__(self) -> str:
        """Show the table and its size on one line."""
        return f"<profile of {self.table}: {len(self.columns)} columns, about {self.rows:,} rows>"

    def __str__(self) -> str:
        """Show a line for each column."""
        wide = max(len(column.name) for column in self.columns)
        lines = [self._heading(), ""]
        for c in self.columns:
            facts = [c.line(), c.sentence(), *_facts(c)]
            lines.append(f"{c.name:<{wide}}  {'  '.join(filter(None, facts))}")
        return "\n".join([*lines, "", self._footer()])

    def _repr_html_(self) -> str:
        return f"<style>{STYLE}</style>{self._content()}"

    def _content(self) -> str:
        return (
            f"<p>{escape(self._heading())}</p><table>"
            + "".join(self._table_rows())
            + f"</table><p>{escape(self._footer())}</p>"
        )

    def _table_rows(self) -> Iterator[str]:
        for c in self.columns:
            facts = "<br>".join(map(escape, [c.type.lower(), *_facts(c)]))
            said = escape(c.sentence()) if c.quartiles else ""
            yield (
                f"<tr><th>{escape(c.name)}</th><td>{facts}</td>"
                f"<td>{c.picture().svg(styled=False)}</td><td>{said}</td></tr>"
            )

    def _heading(self) -> str:
        people = "" if self.people is None else f", {self.people:,} people"
        return f"{self.table}: about {self.rows:,} rows{people}"

    def _footer(self) -> str:
        paid = f"Costs {self.price} for everything together"
        paid += "; already paid, free" if self.replayed else ""
        errors = ", ".join(f"{name} ± {error:,}" for name, error in self.errors.items())
        test = "" if self.private else " TEST MODE: not private."
        return (
            f"{errors}. {paid}.{test} Intervals include noise, and not sampling; each holds with "
            f"about {100 * float(self.confidence):g} %."
        )


def _column(column: ProfiledColumn, entry: dict[str, Any], rows: int, error: int) -> ColumnProfile:
    missing = min(1.0, max(0.0, entry["missing"] / max(rows, 1))) if column.nullable else 0.0
    bars, top = entry.get("bars"), entry.get("top")
    known = round(rows * (1 - missing)) - sum(count for _, count in top or ())
    distinct = entry.get("distinct")
    if distinct is None and column.listed is not None:
        distinct = len(column.listed)
    return ColumnProfile(
        name=column.name,
        type=column.type.value,
        null_share=round(missing, 4),
        distinct=distinct,
        error=error,
        quartiles=tuple(tuple(triple) for triple in entry.get("quartiles", ())),
        bars=None if bars is None else (tuple(bars[0]), tuple(bars[1])),
        top=None if top is None else tuple((name, count) for name, count in top),
        other=max(0, known) if top is not None else 0,
        least=0 if column.listed is None else error,
    )


def _facts(column: ColumnProfile) -> list[str]:
    facts = []
    if column.distinct is not None:
        facts.append(f"{column.distinct:,} different" if column.distinct else "few different")
    if column.null_share >= _LEAST_SHARE:
        facts.append(f"{100 * column.null_share:.2g} % NULL")
    return facts


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.6g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value).removesuffix("T00:00:00")


def _time(text: str) -> datetime:
    """Return the time that a text says, or midnight of a day."""
    return (
        datetime.fromisoformat(text)
        if "T" in text
        else datetime.combine(date.fromisoformat(text), datetime.min.time())
    )
