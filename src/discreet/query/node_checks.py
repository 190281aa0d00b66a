"""The checks that every node of a question makes when it is made, and how large a question may be.

Trust: kernel.  Engines print and compute what nodes hold, so nothing else may be held.  Limits on
length, depth and size let every later step end soon, and none run out of stack.

Definition.  A name is a text that is not empty, a number is an exact int or Fraction, and a flag is
True or False; all of them, and tuples, are of the very class: a subclass could answer differently
each time that it is asked, once to the plan and once to the engine.  No name holds a zero byte, and
no name or text half a character, which engines store each in their own way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from discreet.errors import UnknownName, UnsupportedSQL, WrongKind
from discreet.query.signatures import Function
from discreet.query.source_text import Span, pointed

if TYPE_CHECKING:  # expressions make these checks
    from discreet.query.expressions import Expression

LONGEST_QUESTION: Final = 100_000
"""Characters of a text."""
DEEPEST_NESTING: Final = 80
"""Parentheses, subqueries and prefix operators inside each other."""
TALLEST_TREE: Final = 100
"""Nodes below each other in a tree."""
MOST_ENTRIES: Final = 100
"""Entries of GROUP BY and of ORDER BY."""
LARGEST_TREE: Final = 20_000
"""Nodes of a tree, after names have been replaced by what they stand for."""

_MOST_BITS: Final = 2**13
"""So long may the parts of a number be; decimal texts of longer ones are not made by Python."""


def wrong(what: str, span: Span | None = None) -> WrongKind:
    """Return the refusal of a node that holds something else.

    >>> wrong("the kind of a join is not known.").code
    'E003'
    """
    return WrongKind(
        what=pointed(what, span),
        why="engines compute what a question holds, and it is priced for that alone.",
        do="write the question in SQL or with the table builder, which make no such thing.",
    )


def check_span(span: object) -> None:
    """Refuse anything but a place in a text, or None."""
    if span is not None and type(span) is not Span:
        raise wrong("the place of a node in a text is not a Span.")


def check_name(name: object, what: str, span: Span | None = None) -> None:
    """Refuse anything but a name."""
    if type(name) is not str or not name or "\0" in name or not _is_text(name):
        raise wrong(f"the name of {what} is not a text of characters.", span)


def check_names(names: object, what: str, span: Span | None = None) -> None:
    """Refuse anything but a tuple of names."""
    check_tuple(names, f"the names of {what}", span)
    for name in names:  # type: ignore[attr-defined]
        check_name(name, what, span)


def check_tuple(value: object, what: str, span: Span | None = None) -> None:
    """Refuse anything but a tuple: a list could change later."""
    if type(value) is not tuple:
        raise wrong(f"a {type(value).__name__} stands for {what}, and not a tuple.", span)


def check_flag(value: object, what: str, span: Span | None = None) -> None:
    """Refuse anything but True and False."""
    if type(value) is not bool:
        raise wrong(f"{what} is neither True nor False.", span)


def check_place(value: object, what: str, *, low: int = 0, span: Span | None = None) -> None:
    """Refuse anything but a whole number from ``low`` on."""
    if type(value) is not int or not low <= value < 2**31:
        raise wrong(f"{what} is not a whole number from {low} on.", span)


def check_outputs(outputs: object, span: Span | None = None) -> Iterator[Expression]:
    """Refuse anything but named columns; yield what they hold, which is not checked yet.

    >>> from discreet.query.expressions import Aggregate
    >>> [type(value).__name__ for value in check_outputs((("n", Aggregate("COUNT")),))]
    ['Aggregate']
    """
    check_tuple(outputs, "columns with names", span)
    for output in outputs:  # type: ignore[attr-defined]
        name, value = named_part(output, span)
        check_name(name, "a column", span)
        yield value


def named_part(value: object, span: Span | None = None) -> tuple[object, Any]:
    """Return the name and what it stands for, neither of which is checked yet.

    >>> named_part(("ward", 1))
    ('ward', 1)
    """
    check_tuple(value, "a column", span)
    if len(value) != 2:  # type: ignore[arg-type]
        raise wrong("a column is not a name and what it stands for.", span)
    return value  # type: ignore[return-value]


def check_function(
    name: object, known: Mapping[str, Function], count: int, span: Span | None
) -> None:
    """Refuse a function that is not known, or that takes another number of arguments.

    >>> from discreet.query.signatures import ANYWHERE
    >>> check_function("ABS", ANYWHERE, 1, None)
    """
    if type(name) is not str:
        raise wrong("the name of a function is not a text.", span)
    function = known.get(name)
    if function is None or not function.accepts(count):
        shown = name if function is not None else "of this name"
        raise UnknownName(
            what=pointed(f"there is no function {shown} of {count} arguments.", span),
            why="only functions that mean the same on every engine can be used.",
            do="see the list of functions.",
        )


def fraction_of(value: object, what: str, span: Span | None = None) -> Fraction:
    """Return an exact fraction that nobody else holds.

    >>> fraction_of(Fraction(1, 2), "epsilon")
    Fraction(1, 2)
    """
    if type(value) is Fraction:
        above, below = value.numerator, value.denominator
        if type(above) is int and type(below) is int and _is_short(above) and _is_short(below):
            return Fraction(above) if below == 1 else Fraction(above, below)
    raise wrong(f"{what} is not a Fraction, or has too many digits.", span)


def _is_short(part: int) -> bool:
    return part.bit_length() <= _MOST_BITS


def pair_of(value: object, what: str, span: Span | None = None) -> tuple[Fraction, Fraction]:
    """Return two exact bounds in their order.

    >>> pair_of((Fraction(0), Fraction(9)), "the bounds")
    (Fraction(0, 1), Fraction(9, 1))
    """
    if type(value) is tuple and len(value) == 2:
        low, high = (fraction_of(end, what, span) for end in value)
        if low <= high:
            return low, high
    raise wrong(f"{what} are not a pair of numbers in their order.", span)


def scalar_of(value: object, span: Span | None = None) -> bool | int | Fraction | str | date | None:
    """Return a written value of one of the known classes.

    >>> scalar_of("ward A"), scalar_of(None)
    ('ward A', None)
    """
    kind = type(value)
    if value is None or kind is bool or kind is date:
        return value  # type: ignore[return-value]
    if kind is int and value.bit_length() <= _MOST_BITS:  # type: ignore[attr-defined]
        return value  # type: ignore[return-value]
    if kind is str and _is_text(value):  # type: ignore[arg-type]
        return value  # type: ignore[return-value]
    if kind is datetime and value.tzinfo is None:  # type: ignore[attr-defined]
        return value  # type: ignore[return-value]
    if kind is Fraction:
        return fraction_of(value, "a written number", span)
    raise wrong(f"a written value is a {kind.__name__} that is not known here.", span)


def _is_text(value: str) -> bool:
    """Say whether every engine can hold a text."""
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def too_much(what: str, span: Span | None) -> UnsupportedSQL:
    """Return the refusal of something that is too long, too deep or too large.

    >>> too_much("the text is too long.", None).what
    'the text is too long.'
    """
    return UnsupportedSQL(
        what=pointed(what, span),
        why="a question must be checked completely, in a time and a memory known in advance.",
        do="split it into several questions, or prepare the table beforehand.",
    )


def check_size(*expressions: Expression) -> Expression:
    """Return the last expression, unless all together are too tall or too large.

    >>> from discreet.query.expressions import Column
    >>> check_size(Column("ward"))
    Column(name='ward', table=None)
    """
    level: Sequence[Expression] = expressions
    height = count = 0
    while level:
        height += 1
        count += len(level)
        if height > TALLEST_TREE or count > LARGEST_TREE:
            raise too_much("this expression is too large.", expressions[-1].span)
        level = [child for node in level for child in node.children()]
    return expressions[-1]
