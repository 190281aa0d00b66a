"""Functions of texts and days, one value at a time; none fails, whatever the values are.

Trust: public.

The meaning of each is that of :mod:`discreet.query.signatures`, and how it is computed that of all
engines (:mod:`discreet.query.texts` and its neighbors).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from discreet.query.days import DAYS
from discreet.query.text_casts import TEXT_CASTS
from discreet.query.texts import TEXTS
from discreet.query.types import Type

__all__ = ["CASTS", "VALUES"]

_GIVES: Final[dict[str, Type | None]] = {
    "LOWER": Type.TEXT,
    "UPPER": Type.TEXT,
    "LENGTH": Type.INTEGER,
    "SUBSTR": Type.TEXT,
    "CONCAT": Type.TEXT,
    "TRIM": Type.TEXT,
    "STARTS_WITH": Type.BOOLEAN,
    "ENDS_WITH": Type.BOOLEAN,
    "REPLACE": Type.TEXT,
    "LIKE": Type.BOOLEAN,
    "EXTRACT": Type.INTEGER,
    "DATE_TRUNC": None,
    "DATE_DIFF": Type.INTEGER,
    "DATE_ADD": Type.DATE,
}
VALUES: Final[dict[str, tuple[Type | None, Callable[..., Any]]]] = {
    name: (_GIVES[name], compute) for name, compute in {**TEXTS, **DAYS}.items()
}
"""What each function gives (None: the type of its first argument), and how it is computed."""

CASTS: Final = TEXT_CASTS
"""Casts that are made one value at a time."""
