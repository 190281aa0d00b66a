"""How a session shows itself: tables, unit and budget, and never data.

Trust: kernel.  Notebooks and tracebacks show what stands here.
"""

from __future__ import annotations

from html import escape

from discreet.accounting import Left
from discreet.accounting.left import shown_unit
from discreet.plan.schema import ColumnFacts, Schema, TableFacts
from discreet.session.bar import svg_bar
from discreet.units import PrivacyUnit

__all__ = ["about_column", "as_html", "as_line"]


def as_line(schema: Schema, unit: PrivacyUnit, left: Left | str | None) -> str:
    """Show a session on one line; what is left is None once it is closed.

    >>> from discreet.units import row
    >>> as_line(Schema([]), row(), None)
    '<closed session: no tables, for one row under add_remove>'
    """
    names = ", ".join(map(_name, schema.tables)) or "no tables"
    if left is None:
        return f"<closed session: {names}, for {shown_unit(unit)}>"
    return f"<session: {names}; {_budget(left, unit)}>"


def as_html(schema: Schema, unit: PrivacyUnit, left: Left | str | None) -> str:
    """Show a session as HTML: what is public about its tables, and the bar of its budget."""
    rows = "".join(_table_rows(table) for table in schema.tables)
    bar = svg_bar(left) if isinstance(left, Left) else ""
    budget = "closed" if left is None else _budget(left, unit)
    return (
        f"<div><p><b>protected:</b> {escape(shown_unit(unit))}<br>"
        f"<b>budget:</b> {escape(budget)}<br>{bar}</p>"
        "<table><thead><tr><th>table</th><th>column</th><th>type</th>"
        f"<th>public facts</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )


def about_column(column: ColumnFacts, table: TableFacts) -> str:
    """Say what is public about a column besides its type.

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
    return left if isinstance(left, str) else f"{left}" or shown_unit(unit)


def _number(value: object) -> str:
    return str(float(value)) if "/" in str(value) else str(value)  # type: ignore[arg-type]


def _table_rows(table: TableFacts) -> str:
    return "".join(
        f"<tr><td>{escape(_name(table))}</td><td>{escape(column.name)}</td>"
        f"<td>{column.type.value.lower()}</td><td>{escape(about_column(column, table))}</td></tr>"
        for column in table.columns
    )
