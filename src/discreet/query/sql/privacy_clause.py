"""The differential privacy clause: WITH DIFFERENTIAL_PRIVACY OPTIONS(name = value, ...).

Trust: public.  Plan and engine read one tree, so what is misread here costs meaning, never privacy.

It is parsed in every dialect (:mod:`discreet.query.sql.dialects`), and lowered here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Final

from sqlglot import exp

from discreet.exact import decimal
from discreet.query.expression_text import said_number
from discreet.query.expressions import Column
from discreet.query.question import NOISES, STRATEGIES, Clause
from discreet.query.source_text import unreadable, unsupported
from discreet.query.sql.reading import Reading

_OTHERS: Final = {
    "ANONYMIZATION": "its name in GoogleSQL is DIFFERENTIAL_PRIVACY now.",
    "AGGREGATION_THRESHOLD": "a threshold without noise protects nobody.",
}


def privacy_clause(reading: Reading, node: Any) -> Clause:
    """Lower the clause.

    >>> reading = Reading("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.1) COUNT(*) FROM t")
    >>> privacy_clause(reading, reading.query().args["hint"]).epsilon
    Fraction(1, 10)
    """
    first, _ = reading.at(node)
    reading.use_word(first + 1)
    word = reading.tokens[first + 1]
    if word.word in _OTHERS:
        why, do = _OTHERS[word.word], "write WITH DIFFERENTIAL_PRIVACY."
        raise unsupported(word.span, f"{word.word} is not answered here.", why, do)
    given: dict[str, Any] = {}
    for option in node.expressions:
        _option(reading, option, given)
    return _checked(Clause(**given, span=reading.span(node)))


def clause_of(given: Mapping[str, object]) -> Clause:
    """Return the clause of options given in Python: numbers, or text as in SQL.

    >>> clause_of({"epsilon": 0.1, "noise": "gaussian"}).epsilon
    Fraction(1, 10)
    """
    options: dict[str, Any] = {}
    for name, value in given.items():
        text = value if isinstance(value, str) else said_number(decimal(value, name=name))
        reading = Reading(f"{name} = {text}")
        _option(reading, reading.parse("_parse_disjunction"), options)
        reading.check_used()
    return _checked(Clause(**options))


def _checked(clause: Clause) -> Clause:
    """Refuse two currencies."""
    if clause.rho is not None and clause.epsilon is not None:
        what, why = "both epsilon and rho are given.", "a question has one price."
        raise unsupported(clause.span, what, why, "give epsilon, or rho.")
    return clause


def _option(reading: Reading, node: Any, given: dict[str, Any]) -> None:
    named = node.this if isinstance(node, exp.EQ) else node
    first, _ = reading.at(named)
    name = reading.tokens[first].text.lower()
    if name == "max_rows_contributed":
        raise unsupported(
            reading.span(named),
            "max_rows_contributed is not an option here.",
            "in GoogleSQL it limits the rows of a person in all groups together.",
            "write max_rows_per_group = 5, the rows of a person in each group, and "
            "max_groups_contributed = 3 for the groups.",
        )
    if name not in OPTIONS:
        raise unsupported(
            reading.span(named),
            f"there is no option {name}.",
            "what is not understood may change the promise.",
            f"use one of: {', '.join(OPTIONS)}.",
        )
    if not isinstance(node, exp.EQ) or not isinstance(named, exp.Column):
        what = f"{name} is not given as one value."
        raise unreadable(reading.span(node), what, f"write {name} = value, and commas between.")
    reading.only(named, "this")
    reading.use_word(first)
    value = OPTIONS[name](reading, node.expression, name)
    if name in given:
        raise unreadable(reading.span(node), f"{name} is given twice.", "give it once.")
    given[name] = value


def _above_zero(reading: Reading, node: Any, name: str) -> Fraction:
    value, span = reading.signed(node, name)
    if value <= 0:
        what, why = f"{name} is not above zero.", "nothing can be told at no price."
        raise unsupported(span, what, why, f"give {name} above zero.")
    return value


def _chance(reading: Reading, node: Any, name: str) -> Fraction:
    value, span = reading.signed(node, name)
    if not 0 <= value < 1:
        raise unsupported(
            span,
            f"{name} is not from 0 up to 1.",
            "it is a chance, and at 1 nothing is promised.",
            f"give a {name} far below one over the number of people.",
        )
    return value


def _count(reading: Reading, node: Any, name: str) -> int:
    if isinstance(node, exp.Null):
        why = "without a limit one person could change every group."
        raise unsupported(reading.span(node), f"{name} is NULL.", why, "give a whole number.")
    value, span = reading.signed(node, name)
    if value.denominator != 1 or not 1 <= value < 2**31:
        what, why = f"{name} is not a whole number above zero.", "it counts groups, rows or people."
        raise unsupported(span, what, why, "give 1 or more.")
    return int(value)


def _unit(reading: Reading, node: Any, name: str) -> Column:
    column = reading.lower(node) if isinstance(node, exp.Column) else None
    if not isinstance(column, Column):
        why = "who is protected is told by one column."
        raise unsupported(
            reading.span(node), f"{name} is not a column.", why, f"write {name} = column."
        )
    return column


def _word(choices: tuple[str, ...]) -> Callable[[Reading, Any, str], str]:
    def read(reading: Reading, node: Any, name: str) -> str:
        first, last = reading.at(node)
        token = reading.tokens[first]
        written = isinstance(node, exp.Column) or (isinstance(node, exp.Literal) and node.is_string)
        if not written or first != last or token.text.upper() not in choices:
            why, do = "what is not understood may change the promise.", " or ".join(choices)
            raise unsupported(reading.span(node), f"this is not a {name}.", why, f"use {do}.")
        reading.use_word(first)
        return token.text.upper()

    return read


OPTIONS: Final[dict[str, Callable[[Reading, Any, str], Any]]] = {
    "epsilon": _above_zero,
    "delta": _chance,
    "rho": _above_zero,
    "max_groups_contributed": _count,
    "max_rows_per_group": _count,
    "privacy_unit_column": _unit,
    "group_selection_strategy": _word(STRATEGIES),
    "group_selection_epsilon": _above_zero,
    "min_privacy_units_per_group": _count,
    "noise": _word(NOISES),
}
"""The options of the clause, and how each is read."""
