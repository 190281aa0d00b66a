"""Covariances and correlations, written out as means: formulas of released numbers.

Trust: public.  Plan and engine read one tree, so what is misread here costs meaning, never privacy.

Definition.  Over the rows in which neither x nor y is NULL, COVAR_POP(x, y) is AVG(x y) - AVG(x)
AVG(y), COVAR_SAMP is that times n / (n - 1), and CORR is COVAR_POP over the product of the two
deviations, moved between -1 and 1, where it lies without noise.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from discreet.query.expressions import Aggregate, Call, Expression, Literal
from discreet.query.source_text import Span, unknown

COVARIANCES: Final = frozenset({"CORR", "COVAR_POP", "COVAR_SAMP"})


def covariance(
    word: str, values: list[Expression], where: Expression | None, span: Span
) -> Expression:
    """Return a covariance or a correlation as a formula of means.

    >>> from discreet.query.expressions import Column
    >>> covariance("COVAR_POP", [Column("x"), Column("y")], None, Span("", 0, 0)).function
    '-'
    """
    if len(values) != 2:
        raise unknown(span, f"{word} takes two values.", f"write {word}(x, y).")
    x, y = values
    known = [
        Call("NOT", (Call("IS NULL", (value,)),), span=span) for value in dict.fromkeys(values)
    ]
    conditions = known if where is None else [where, *known]
    both = conditions[0] if len(conditions) == 1 else Call("AND", tuple(conditions), span=span)

    def of(function: str, value: Expression | None) -> Aggregate:
        return Aggregate(function, value, where=both, span=span)

    means = Call("*", (of("AVG", x), of("AVG", y)), span=span)
    product = of("AVG", Call("*", (x, y), span=span))
    together = Call("-", (product, means), span=span)
    if word == "COVAR_POP":
        return together
    if word == "COVAR_SAMP":
        count = of("COUNT", None)
        fewer = Call("-", (count, Literal(1)), span=span)
        return Call("*", (together, Call("/", (count, fewer), span=span)), span=span)
    apart = Call("*", (of("STDDEV_POP", x), of("STDDEV_POP", y)), span=span)
    share = Call("/", (together, apart), span=span)
    least = Call("GREATEST", (share, Literal(Fraction(-1))), span=span)
    return Call("LEAST", (least, Literal(Fraction(1))), span=span)
