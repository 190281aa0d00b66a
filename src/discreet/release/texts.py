"""Answers as text.

Trust: public.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from discreet.accounting.amounts import amount_up, shown_up
from discreet.plan.plan import Plan
from discreet.release.cells import Cell, cells, plain

if TYPE_CHECKING:  # a release shows itself by these functions, so its module imports this one
    from discreet.release.release import Release

__all__ = ["notes", "price_of", "rich_table", "text_of"]

ROWS: Final = 20
_MARK: Final = " ~"


def text_of(release: Release) -> str:
    """Return the table, and below it what the marks mean, what it cost and what that means."""
    columns = [[Cell(plain(column.name)), *cells(column, ROWS)] for column in release.columns]
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
    rule = "  ".join("-" * width for width in widths)
    return "\n".join([*lines[:1], rule, *lines[1:], "", *notes(release)])


def notes(release: Release) -> Iterator[str]:
    """Yield what a reader should know besides the numbers."""
    if not release.private:
        yield "Not private: test mode. Show this to nobody who may not see the data itself."
    more = len(release) - ROWS
    if more > 0:
        yield f"... and {more} rows more."
    shown = [cell for column in release.columns for cell in cells(column, ROWS)]
    if any(cell.ends for cell in shown):
        yield (
            f"± and [ ] hold the number without noise with {float(100 * release.confidence):.6g} % "
            "confidence, each."
        )
    if release.plan.selection is not None:
        yield hidden_groups(release)
    if release.plan.reached is not None:
        yield (
            "Groups are listed that reached the threshold, some of them by noise alone; what ± and "
            "[ ] say is about all groups, and those that are picked by their noise are off more "
            "often."
        )
    if release.plan.found:
        from discreet.plan.show_bounds import found_lines  # noqa: PLC0415  rare

        yield f"Bounds were found privately: {'; '.join(found_lines(release.plan.found))}."
    if any(cell.weak for cell in shown):
        yield f"{_MARK.strip()} marks errors of more than a quarter of the number."
    if not release.private:
        return
    yield cost_of(release)
    unit = release.plan.unit
    yield release.odds.sentence(unit=unit.name, relation=unit.relation)


def hidden_groups(release: Release) -> str:
    """Say which groups are not shown, and whether any is."""
    plan = release.plan
    some = 0 if plan.selection is None else plan.selection.smallest(Fraction(1, 2))
    hidden = f"Groups of fewer than {some} {dict(plan.about)[plan.chosen_by]} are mostly hidden."
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
        at = f" at delta {shown_up(amount_up(price.delta))}" if price.delta else ""
        parts.append(f"epsilon {shown_up(amount_up(price.epsilon))}{at}")
    if price.rho is not None:
        at = f" beside delta {shown_up(amount_up(price.beside))}" if price.beside else ""
        parts.append(f"rho {shown_up(amount_up(price.rho))}{at}")
    return ", ".join(parts)


def rich_table(release: Release) -> Any:
    """Return a table for terminals, with weak numbers in another color."""
    try:
        from rich.console import Group  # noqa: PLC0415  loaded for terminals alone
        from rich.table import Table  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415
    except ImportError:
        from discreet.release.frames import missing_extra  # noqa: PLC0415  rare

        missing_extra("rich", "cli")
    table = Table()
    for column in release.columns:
        table.add_column(
            Text(plain(column.name)), justify="left" if column.low is None else "right"
        )
    shown = [cells(column, ROWS) for column in release.columns]
    for row in zip(*shown, strict=True):
        table.add_row(*(Text(cell.text, style="yellow" if cell.weak else "") for cell in row))
    return Group(table, *(Text(note) for note in notes(release)))
