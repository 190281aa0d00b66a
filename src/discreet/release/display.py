"""A release on a screen and in a notebook: tables, lines of words, and bars with intervals.

Trust: public.  Drawn with matplotlib, which is an extra.

Definition.  A number is shown as ``v ± h`` if its interval reaches about as far to both sides, else
as ``v [low, high]``.  Digits go down to the second digit of h.  An interval of one whole number is
no certainty, and shown as ``± <1``; at a bound to which values were moved it is shown as ``at
least`` or ``at most``.  It is *weak* if h, the distance to
the farther end, is more than a quarter of it.

HTML, for notebooks, is escaped, has no scripts, and loads nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final, final

from discreet import mechanisms
from discreet.accounting.amounts import amount_up, format_up
from discreet.errors import UnknownName
from discreet.plan.statistics.truncation import brief_cuts, limits_bind
from discreet.query.expressions import Column, walk
from discreet.query.types import Type
from discreet.release.frames import ReleasedColumn
from discreet.release.tabular import missing_extra

if TYPE_CHECKING:  # for annotations alone
    from discreet.plan.plan import Plan
    from discreet.release.release import Release


WEAK: Final = 0.25
_LOPSIDED: Final = 0.1
_LONGEST: Final = 60
_MOST_DIGITS: Final = 17  # of a float


@final
@dataclass(frozen=True, slots=True)
class ShownCell:
    """A text, whether it shows an interval, and whether its error is large."""

    text: str
    ends: bool = False
    weak: bool = False


def cells(column: ReleasedColumn, rows: int) -> list[ShownCell]:
    """Return the first cells of a column.

    >>> import pyarrow as pa
    >>> visits = ReleasedColumn(name="n", type=Type.INTEGER, values=pa.array([120, 7]),
    ...                         low=pa.array([114, 1]), high=pa.array([126, 13]))
    >>> [(cell.text, cell.weak) for cell in cells(visits, 10)]
    [('120 ± 6', False), ('7 ± 6', True)]
    >>> oldest = ReleasedColumn(name="age", type=Type.INTEGER, values=pa.array([65, 64]),
    ...     low=pa.array([65, 64]), high=pa.array([65, 64]), clamped=(Fraction(0), Fraction(65)))
    >>> [cell.text for cell in cells(oldest, 10)]
    ['at least 65', '64 ± <1']
    """
    values = column.values.slice(0, rows).to_pylist()
    if column.low is None or column.high is None or column.listed:
        return [ShownCell(plain(value)) for value in values]
    lows, highs = (end.slice(0, rows).to_pylist() for end in (column.low, column.high))
    return [_cell(*cell, column) for cell in zip(values, lows, highs, strict=True)]


def plain(value: Any) -> str:
    r"""Show a value without an interval; control characters are escaped.

    >>> plain(None), plain(2.0), plain([1.5, None]), plain(chr(27) + "[2J")
    ('NULL', '2', '[1.5, NULL]', '\\x1b[2J')
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case float():
            return f"{value:.6g}"
        case str():
            shown = value if value.isprintable() else repr(value)[1:-1]
            return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"
        case list():
            return f"[{', '.join(map(plain, value))}]"
        case _:
            return str(value)


def _cell(value: Any, low: Any, high: Any, column: ReleasedColumn) -> ShownCell:
    if value is None:
        return ShownCell(_NULL)
    if low is None or high is None:
        return ShownCell(f"{plain(value)} {_UNBOUNDED}", weak=True)
    half = max(high - value, value - low)
    if low == high and column.clamped is not None and value in column.clamped:
        side = "at most" if value == column.clamped[0] else "at least"
        return ShownCell(f"{side} {plain(value)}", ends=True)
    if low == high:
        return ShownCell(f"{plain(value)} ± {_ONE_NUMBER}", ends=True)
    weak = half > WEAK * abs(value)
    places = 0 if column.type is Type.INTEGER else _places(half)
    if abs((high - value) - (value - low)) <= _LOPSIDED * (high - low):
        return ShownCell(
            f"{_number(value, places)} ± {_number(half, places)}", ends=True, weak=weak
        )
    ends: Sequence[str] = [_number(end, places) for end in (low, high)]
    return ShownCell(f"{_number(value, places)} [{ends[0]}, {ends[1]}]", ends=True, weak=weak)


_ONE_NUMBER: Final = "<1"
_NULL: Final = plain(None)
_UNBOUNDED: Final = "[?]"


def _missing(release: Release) -> Iterator[str]:
    """Say why there is no number, or none that can be relied on."""
    shown = [
        cell.text
        for column in release.columns
        if column.low is not None
        for cell in cells(column, ROWS)
    ]
    if any(text.endswith(_UNBOUNDED) for text in shown):
        yield f"{_UNBOUNDED} marks numbers whose error has no bound: their divisor may be 0."
    if _NULL in shown:
        yield "NULL: the rows are too few for this noise, or there are none."
    keys = {key.name for key in release.plan.request.keys}
    bare = [each.name for each in release.columns if each.low is None and each.name not in keys]
    if release.intervals == "population" and bare:
        yield f"Without an interval for the population, but with noise: {', '.join(bare)}."


def _places(half: float) -> int | None:
    """Return how many decimals are worth showing, None for powers of ten."""
    if not 1e-12 < half < 1e15:
        return None
    return max(0, 1 - math.floor(math.log10(half)))


def _number(value: float, places: int | None) -> str:
    if places is None or abs(value) >= 1e15:
        return f"{value:.6g}"
    return f"{value:.{places}f}"


ROWS: Final = 20
_MARK: Final = " ~"


def text_of(release: Release, *, details: bool = False) -> str:
    """Return the table, and below it the meaning of the marks and the cost.

    A bar that is the same in all rows of a column is said once, beside the names of the columns.
    """
    shown = [cells(column, ROWS) for column in release.columns]
    once = [] if details else [_one_bar(column) for column in shown]
    if not any(once):
        once = [""] * len(shown)
    columns = [
        [ShownCell(plain(column.name)), *(_without_bar(cell) if bar else cell for cell in cells)]
        for column, cells, bar in zip(release.columns, shown, once, strict=True)
    ]
    right = [column.low is not None for column in release.columns]
    texts = [[cell.text + (_MARK if cell.weak else "") for cell in column] for column in columns]
    if any(cell.weak for column in columns for cell in column):  # figures stay in line
        texts = [
            [text if text.endswith(_MARK) or not end else f"{text}  " for text in column]
            for column, end in zip(texts, right, strict=True)
        ]
    widths = [max(map(len, column)) for column in texts]
    lines = [
        "  ".join(
            text.rjust(width) if end else text.ljust(width)
            for text, width, end in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in zip(*texts, strict=True)
    ]
    bars = [
        bar if sum(right) == 1 else f"{plain(column.name)} {bar}"
        for column, bar in zip(release.columns, once, strict=True)
        if bar
    ]
    if bars:
        about = f"{_percent(release.confidence)} for {_about(release)}"
        lines[0] = f"{lines[0]}   ({', '.join(bars)}, {about})"
    rule = "  ".join("-" * width for width in widths)
    below = notes(release) if details else brief_notes(release, bars=bool(bars))
    return "\n".join([*lines[:1], rule, *lines[1:], "", *below])


def _one_bar(column: Sequence[ShownCell]) -> str:
    """Return the bar that all cells share; nothing if there is none, or a single row."""
    bars = {cell.text.partition(" ± ")[2] for cell in column}
    (bar, *others) = bars or {""}
    return f"± {bar}" if bar and not others and len(column) > 1 else ""


def _without_bar(cell: ShownCell) -> ShownCell:
    return ShownCell(cell.text.partition(" ± ")[0], ends=cell.ends, weak=cell.weak)


def brief_notes(release: Release, *, bars: bool = False) -> Iterator[str]:
    """Yield what a reader should know, in a few lines; ``notes`` has all of it.

    ``bars`` says that half-widths and their confidence stand above the table.
    """
    plan = release.plan
    shown = [cell for column in release.columns for cell in cells(column, ROWS)]
    if not release.private:
        yield "Not private: test mode. Show this to nobody who may not see the data itself."
    yield from _more_rows(release)
    yield from (f"WARNING: {words}." for words in plan.warnings)
    yield from _marks(release, shown, bars=bars)
    yield from _missing(release)
    if cut := brief_cuts(plan.truncations):
        yield cut
    if release.share is not None:
        yield str(release.share)
    if plan.selection is not None:
        yield hidden_groups(release)
    if plan.having_threshold is not None:
        yield "Some groups reached the threshold by noise alone; bars are those of all groups."
    if plan.found:
        from discreet.plan.plan_words import found_lines  # noqa: PLC0415  rare

        yield f"Bounds were found privately: {'; '.join(found_lines(plan.found))}."
    if release.private:
        yield cost_of(release)


def _more_rows(release: Release) -> Iterator[str]:
    """Say how many rows are not shown, and where all of them are."""
    more = len(release) - ROWS
    if more > 0:
        rows = "row" if more == 1 else "rows"
        yield f"... and {more} more {rows}: --json, or .to_pandas() in Python, has them all."


def _marks(release: Release, shown: Sequence[ShownCell], *, bars: bool) -> Iterator[str]:
    """Say what the marks mean, as far as they are there."""
    marks = f"{_MARK.strip()} marks errors above a quarter of the number"
    weak = any(cell.weak for cell in shown)
    if any(cell.ends for cell in shown) and not bars:
        percent = _percent(release.confidence)
        more = f"; {marks}" if weak else ""
        yield f"± and [ ] are {percent} intervals for {_about(release)}{more}."
    elif weak:
        yield f"{marks}."


def _about(release: Release) -> str:
    """Say what intervals are about."""
    return "the noise" if release.intervals == "noise" else "noise and sampling"


def notes(release: Release) -> Iterator[str]:
    """Yield what a reader should know beside the numbers."""
    if not release.private:
        yield "Not private: test mode. Show this to nobody who may not see the data itself."
    yield from _more_rows(release)
    yield from (f"WARNING: {words}." for words in release.plan.warnings)
    shown = [cell for column in release.columns for cell in cells(column, ROWS)]
    cuts = release.plan.truncations
    if any(cell.ends for cell in shown):
        percent = _percent(release.confidence)
        if release.intervals == "population":
            yield (
                f"± and [ ] are {percent} intervals for {_about(release)}, each: of the population "
                "that units are drawn from, as limits and bounds leave it."
            )
        else:
            yield (
                f"± and [ ] are {percent} intervals for the noise alone, each; limits may have cut "
                "more off:"
                if limits_bind(cuts)
                else f"± and [ ] hold the number without noise with {percent} confidence, each."
            )
    yield from _missing(release)
    yield from map(str, cuts)
    if release.share is not None:
        yield str(release.share)
    yield from (f"The groups were released apart, by {each}." for each in release.plan.released_by)
    if release.plan.selection is not None:
        yield hidden_groups(release)
    if release.plan.having_threshold is not None:
        yield (
            "The listed groups reached the threshold, some of them by noise alone. The confidence "
            "of ± and [ ] is that of all groups; groups picked by their noise are off more often."
        )
    if release.plan.found:
        from discreet.plan.plan_words import found_lines  # noqa: PLC0415  rare

        yield f"Bounds were found privately: {'; '.join(found_lines(release.plan.found))}."
    if any(cell.weak for cell in shown):
        yield f"{_MARK.strip()} marks errors of more than a quarter of the number."
    if not release.private:
        return
    yield cost_of(release)


def _percent(confidence: Fraction) -> str:
    """Show a confidence; one that is not 100 % is not shown as if it were.

    >>> _percent(Fraction(19, 20)), _percent(1 - Fraction(1, 10**10)), _percent(Fraction(2, 3))
    ('95 %', '99.99999999 %', '66.6667 %')
    """
    digits = 6
    while (shown := f"{float(100 * confidence):.{digits}g}") == "100" and digits < _MOST_DIGITS:
        digits += 1
    return f"{shown} %"


def hidden_groups(release: Release) -> str:
    """Say which groups are not shown, and whether any is."""
    plan = release.plan
    some = 0 if plan.selection is None else plan.selection.smallest(Fraction(1, 2))
    hidden = (
        f"Groups of fewer than {some} {dict(plan.descriptions)[plan.chosen_by]} are mostly hidden."
    )
    if isinstance(plan.selection, mechanisms.SumKeys):
        hidden = f"{hidden} If noise shows one of these, it is off more often than ± says."
    return hidden if len(release) else f"No group is left to show. {hidden}"


def cost_of(release: Release) -> str:
    """Say what an answer cost."""
    prices = " and ".join(price_of(plan) for plan in release.plans)
    if not release.replayed:
        return f"Cost: {prices}."
    entry = "" if release.receipt is None else f" entry {release.receipt.seq},"
    return f"Replayed{entry} cost nothing now; when it was first answered: {prices}."


def price_of(plan: Plan) -> str:
    """Say what a plan costs."""
    price, parts = plan.price, []
    if price.epsilon is not None:
        delta = f" at delta {format_up(amount_up(price.delta))}" if price.delta else ""
        parts.append(f"epsilon {format_up(amount_up(price.epsilon))}{delta}")
    if price.rho is not None and price.epsilon is None:
        delta = f" beside delta {format_up(amount_up(price.beside))}" if price.beside else ""
        parts.append(f"rho {format_up(amount_up(price.rho))}{delta}")
    return ", ".join(parts)


def html_of(release: Release) -> str:
    """Return the table and the notes below it."""
    heads = "".join(f"<th>{escape(plain(column.name))}</th>" for column in release.columns)
    shown = [cells(column, ROWS) for column in release.columns]
    rows = "".join(f"<tr>{''.join(map(_html_cell, row))}</tr>" for row in zip(*shown, strict=True))
    below, folded = (
        "".join(f"<p>{escape(note)}</p>" for note in some)
        for some in (brief_notes(release), notes(release))
    )
    return (
        f"<div><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{below}"
        f"<details><summary>details</summary>{folded}</details></div>"
    )


def _html_cell(cell: ShownCell) -> str:
    return f"<td>{escape(cell.text)}{_MARK if cell.weak else ''}</td>"  # no color fits each theme


_LONGEST_LABELS: Final = 60
_TICKS: Final = 25
_AS_IT_IS: Final = {"parse_math": False}  # a dollar is a dollar


def bars(release: Release, name: str | None) -> tuple[Any, ...]:
    """Draw the measure of this name, or all of them one above the other; return their axes."""
    try:
        from matplotlib import pyplot as plt  # noqa: PLC0415  an optional library
    except ImportError:
        missing_extra("matplotlib", "plots")
    keys, measures, others = keys_and_measures(release)
    drawn = measures if name is None else [each for each in measures if each.name == name][:1]
    if not drawn:
        raise UnknownName(
            what=f"there is no {'number' if name is None else 'such column of numbers'} to draw.",
            why="a bar shows a number; texts, days and truth values have no height.",
            do=f"use one of: {', '.join(each.name for each in measures) or '(there are none)'}.",
        )
    size = (6.4, 4.8 if len(drawn) == 1 else 1 + 2.2 * len(drawn))
    figure, grid = plt.subplots(
        len(drawn), sharex=True, squeeze=False, figsize=size, layout="constrained"
    )
    axes = tuple(grid[:, 0])
    lines = [_draw(each, column) for each, column in zip(axes, drawn, strict=True)]
    figure.align_ylabels(axes)
    labels, step = group_labels(keys, len(release)), 1 + len(release) // _TICKS
    turned = len(labels) > 6 or sum(map(len, labels)) > _LONGEST_LABELS
    turn: dict[str, Any] = {"rotation": 45, "ha": "right"} if turned else {}
    axes[-1].set_xticks(range(0, len(labels), step), labels[::step], **turn, **_AS_IT_IS)
    axes[-1].set_xlabel(plain(", ".join(key.name for key in keys)), **_AS_IT_IS)
    beside = 0.6 if len(release) > 1 else 1.5  # a single bar is not a wall
    axes[-1].set_xlim(-beside, max(len(release), 1) - 1 + beside)
    said = _below(release, lines=any(lines), left_out=() if name is not None else others)
    figure.supxlabel("\n".join(said), fontsize="small", **_AS_IT_IS)
    return axes


def keys_and_measures(release: Release) -> tuple[list[ReleasedColumn], ...]:
    """Return the columns that name groups, those that can be drawn, and the others.

    After ``map``, numbers that are not keys of the question are drawn, and other values name
    groups.
    """
    slots = {estimate.slot for estimate in release.plan.estimates}
    layout = release.plan.layout
    noisy = {
        output.name: any(
            isinstance(node, Column) and node.name in slots
            for node in walk(layout.unfolded(output.expression))
        )
        for output in layout.outputs
    }
    keys: list[ReleasedColumn] = []
    measures: list[ReleasedColumn] = []
    others: list[ReleasedColumn] = []
    for column in release.columns:
        told = column.low is not None or noisy.get(column.name, True)
        if told and column.type.is_number:
            measures.append(column)
        else:
            (others if noisy.get(column.name, False) else keys).append(column)
    return keys, measures, others


def _below(release: Release, *, lines: bool, left_out: Sequence[ReleasedColumn]) -> Iterator[str]:
    """Yield what a reader of the picture should know."""
    if not release.private:
        yield "Not private: test mode."
    if lines:
        cut = "; limits may have cut more off" if limits_bind(release.plan.truncations) else ""
        percent = f"{float(100 * release.confidence):.6g} %"
        alone = " alone" if release.intervals == "noise" else ""
        yield f"Lines are {percent} intervals for {_about(release)}{alone}{cut}."
    if left_out:
        names = plain(", ".join(column.name for column in left_out))
        yield f"Not drawn, because they are not numbers: {names}."


def group_labels(keys: Sequence[ReleasedColumn], rows: int) -> list[str]:
    """Return the keys of every row, or its number if several rows have no key."""
    if keys:
        values = zip(*(key.values.to_pylist() for key in keys), strict=True)
        return [", ".join(map(plain, row)) for row in values]
    return [] if rows == 1 else [str(number) for number in range(1, rows + 1)]


def _draw(axes: Any, column: ReleasedColumn) -> bool:
    """Draw numbers as bars, and lists of them as dots side by side; say whether lines are there.

    A NULL is written as such, and has neither.  An interval has a line if both its ends are known.
    """
    rows = len(column.values)
    cells = [
        [[cell] if not isinstance(cell, list) else cell for cell in array.to_pylist()]
        if array is not None
        else [[None]] * rows
        for array in (column.values, column.low, column.high)
    ]
    marks = [
        (row + 0.8 * ((place + 0.5) / len(cell) - 0.5), *mark)
        for row, (cell, *ends) in enumerate(zip(*cells, strict=True))
        for place, mark in enumerate(zip_longest(cell, *ends))
        if place < len(cell)
    ]
    known = [(at, value) for at, value, *_ in marks if _finite(value)]
    if column.listed:
        axes.plot(*zip(*known, strict=True) if known else ((), ()), "o", zorder=3)
    else:
        axes.bar([at for at, _ in known], [value for _, value in known])
    whole = [(at, *ends) for at, *ends in marks if all(map(_finite, ends))]
    if whole:
        middle = [(low + high) / 2 for _, _, low, high in whole]
        half = [abs(high - low) / 2 for _, _, low, high in whole]
        axes.errorbar([at for at, *_ in whole], middle, half, fmt="none", ecolor="0.2", capsize=3)
    for at, value, *_ in marks:
        if not _finite(value):
            axes.text(at, 0.02, plain(value), transform=axes.get_xaxis_transform(), ha="center")
    if not rows:
        axes.text(0.5, 0.5, "no rows", transform=axes.transAxes, ha="center")
        axes.set_yticks([])
    axes.set_ylabel(plain(column.name) + (" (in order)" if column.listed else ""), **_AS_IT_IS)
    return bool(whole)


def _finite(value: Any) -> bool:
    return value is not None and math.isfinite(value)
