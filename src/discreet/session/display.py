"""The display of a session: tables, unit and the balance of the budget, and never data.

Trust: kernel.  Notebooks and tracebacks show these texts.

A budget may limit several numbers.  The bar shows the one with the smallest remaining share; if
there are several routes, and one has to fit, that of the route with the largest.
"""

from __future__ import annotations

from html import escape
from typing import Final

from discreet.accounting import Left
from discreet.requests.table_schema import ColumnFacts, Schema, TableFacts
from discreet.units import PrivacyUnit, describe_unit

_WIDTH: Final = 240


def text_bar(left: Left, width: int = 24) -> str:
    """Draw the bar with characters; the filled part is the balance.

    >>> from discreet.accounting import Budget, PrivacyFilter
    >>> from discreet.units import row
    >>> text_bar(PrivacyFilter(Budget(epsilon=2), unit=row()).left(), width=4)
    '████ 100 %'
    """
    part = left.share
    full = int(part * width)
    return f"{'█' * full}{'░' * (width - full)} {int(part * 100)} %"


def svg_bar(left: Left) -> str:
    """Draw the bar as SVG; the filled part is the balance.

    >>> from discreet.accounting import Budget, PrivacyFilter
    >>> from discreet.units import row
    >>> svg_bar(PrivacyFilter(Budget(epsilon=2), unit=row()).left()).startswith("<svg ")
    True
    """
    part = left.share
    full = float(part * _WIDTH)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH + 60}" height="16" role="img" '
        f'aria-label="{int(part * 100)} % of the budget is left">'
        f'<rect x="0.5" y="0.5" width="{_WIDTH}" height="15" rx="3" fill="none" stroke="#888"/>'
        f'<rect x="0.5" y="0.5" width="{full:.1f}" height="15" rx="3" fill="#0060a8"/>'
        f'<text x="{_WIDTH + 8}" y="12" font-size="12" font-family="sans-serif" '
        f'fill="currentColor">{int(part * 100)} %</text></svg>'
    )


def as_line(schema: Schema, unit: PrivacyUnit, left: Left | str | None) -> str:
    """Show a session on one line; ``left`` is None once it is closed.

    >>> from discreet.units import row
    >>> as_line(Schema([]), row(), None)
    '<closed session: no tables, for one row under add_remove>'
    """
    names = ", ".join(map(_name, schema.tables)) or "no tables"
    if left is None:
        return f"<closed session: {names}, for {describe_unit(unit)}>"
    return f"<session: {names}; {_budget(left, unit)}>"


def as_html(schema: Schema, unit: PrivacyUnit, left: Left | str | None) -> str:
    """Show a session as HTML: the public facts about its tables, and the bar of its budget."""
    rows = "".join(_table_rows(table) for table in schema.tables)
    bar = svg_bar(left) if isinstance(left, Left) else ""
    budget = "closed" if left is None else _budget(left, unit)
    return (
        f"<div><p><b>protected:</b> {escape(describe_unit(unit))}<br>"
        f"<b>budget:</b> {escape(budget)}<br>{bar}</p>"
        "<table><thead><tr><th>table</th><th>column</th><th>type</th>"
        f"<th>public facts</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )


def about_column(column: ColumnFacts, table: TableFacts) -> str:
    """Describe the public facts about a column other than its type.

    >>> from fractions import Fraction
    >>> from discreet.query.types import Type
    >>> age = ColumnFacts(name="age", type=Type.INTEGER, low=Fraction(0), high=Fraction(110))
    >>> about_column(age, TableFacts(name="t", columns=(age,)))
    'from 0 to 110'
    """
    said = []
    if column.name in table.unit:
        said.append("names the unit")
    if table.link is not None and column.name == table.link.column:
        said.append(f"row of {table.link.parent}")
    if column.bounded:
        said.append(f"from {_number(column.low)} to {_number(column.high)}")
    if column.days is not None:
        said.append(f"from {column.days[0]} to {column.days[1]}")
    if column.categories is not None:
        said.append(f"{len(column.categories)} categories")
    if column.constant:
        said.append("constant")
    if not column.nullable:
        said.append("never NULL")
    return ", ".join(said)


def _name(table: TableFacts) -> str:
    return f"{table.name} (public)" if table.public else table.name


def _budget(left: Left | str, unit: PrivacyUnit) -> str:
    if isinstance(left, str) or left.like is None:
        return str(left)
    return f"{left}, for {describe_unit(unit)}"


def _number(value: object) -> str:
    return str(float(value)) if "/" in str(value) else str(value)  # type: ignore[arg-type]


def _table_rows(table: TableFacts) -> str:
    return "".join(
        f"<tr><td>{escape(_name(table))}</td><td>{escape(column.name)}</td>"
        f"<td>{column.type.value.lower()}</td><td>{escape(about_column(column, table))}</td></tr>"
        for column in table.columns
    )
