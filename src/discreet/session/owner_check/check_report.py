"""What the owner's check reports: one finding per promise, and how counts are distributed.

Trust: kernel.  These are exact numbers about the data, for its owner only: every display of a
report says first that it is not private.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Self, final

from discreet.notebook import Shown

_LEVELS: Final = (Fraction(1, 2), Fraction(9, 10), Fraction(99, 100))


@final
@dataclass(frozen=True, slots=True, init=False)
class Spread:
    """Values, each with how often it occurs, from the smallest to the largest.

    >>> rows = Spread([(1, 6), (2, 3), (9, 1)])
    >>> rows.words
    'median 1, 90 % have at most 2, 99 % at most 9, the most is 9'
    >>> rows.beyond(2), rows.cut(2)
    (Fraction(1, 10), Fraction(1, 3))
    """

    counts: tuple[tuple[int, int], ...]

    def __init__(self, counts: Iterable[tuple[int, int]]) -> None:
        """Take values with how often they occur, in any order."""
        pairs = tuple(sorted((value, count) for value, count in counts if count > 0))
        object.__setattr__(self, "counts", pairs)

    @property
    def number(self) -> int:
        """How many values there are."""
        return sum(count for _, count in self.counts)

    def quantile(self, level: Fraction) -> int:
        """Return the smallest value that at least this share of all does not exceed."""
        seen = 0
        for value, count in self.counts:
            seen += count
            if seen >= level * self.number:
                return value
        return 0

    def beyond(self, limit: int) -> Fraction:
        """Return what share of the values is larger than a limit."""
        larger = sum(count for value, count in self.counts if value > limit)
        return Fraction(larger, self.number or 1)

    def cut(self, limit: int) -> Fraction:
        """Return what share of their sum is lost if each value is cut to a limit."""
        whole = sum(value * count for value, count in self.counts)
        lost = sum((value - limit) * count for value, count in self.counts if value > limit)
        return Fraction(lost, whole or 1)

    @property
    def words(self) -> str:
        """Say the quantiles in a line."""
        if not self.counts:
            return "there is nobody"
        median, most, nearly = map(self.quantile, _LEVELS)
        last = self.counts[-1][0]
        return (
            f"median {median}, 90 % have at most {most}, 99 % at most {nearly}, the most is {last}"
        )


WARNING: Final = (
    "NOT PRIVATE: exact numbers about the data, without noise, for its owner only. "
    "Do not publish or share them."
)
_HEADER: Final = ("", "table", "column", "promise", "found")
_MARKS: Final = {True: "holds", None: "-"}
_MUCH: Final = Fraction(1, 20)
_SMALLEST: Final = Fraction(1, 10**6)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One promise or declaration, and whether it holds in the data.

    ``trusted`` says that prices rest on it; everything else is enforced whenever data is read, and
    costs accuracy if it does not hold.  ``holds`` is None if data cannot tell, or if there
    is nothing to hold it against.  ``share`` is the part that breaks it: of cells, rows, units or
    keys, as ``detail`` says.

    >>> Finding(table="visits", column="cost", promise="from 0 to 900", holds=False, trusted=False,
    ...         share=Fraction(1, 50), detail="2 % of cells are outside").verdict
    'differs'
    """

    table: str
    column: str
    promise: str
    holds: bool | None
    trusted: bool
    share: Fraction | None
    detail: str
    quiet: bool = False
    """Whether nothing at all breaks a declaration that no price rests on."""

    @classmethod
    def counted(  # noqa: PLR0913  one line of the report
        cls,
        table: str,
        column: str,
        promise: str,
        *,
        broken: int,
        of: int,
        detail: str,
        trusted: bool = False,
    ) -> Self:
        """Take how many break a promise; the braces in ``detail`` are filled with their share."""
        share = Fraction(broken, of or 1)
        return cls(
            table=table,
            column=column,
            promise=promise,
            holds=broken == 0,
            trusted=trusted,
            share=share,
            detail=detail.format(percent(share)),
            quiet=broken == 0 and not trusted,
        )

    @classmethod
    def untold(
        cls, table: str, column: str, promise: str, *, detail: str, trusted: bool = False
    ) -> Self:
        """Take a promise that the data can neither confirm nor refute."""
        return cls(
            table=table,
            column=column,
            promise=promise,
            holds=None,
            trusted=trusted,
            share=None,
            detail=detail,
        )

    @property
    def verdict(self) -> str:
        """Say in a word what was found."""
        if self.holds is False:
            return "BROKEN" if self.trusted else "differs"
        return _MARKS[self.holds]

    def to_json(self) -> dict[str, object]:
        """Return the finding for scripts."""
        return {
            "table": self.table,
            "column": self.column or None,
            "promise": self.promise,
            "holds": self.holds,
            "trusted": self.trusted,
            "share": None if self.share is None else float(self.share),
            "detail": self.detail,
        }


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport(Shown):
    """What a check found, promise by promise.

    >>> report = CheckReport(findings=())
    >>> report.holds, str(report).splitlines()[0] == WARNING
    (True, True)
    """

    findings: tuple[Finding, ...]

    @property
    def broken(self) -> tuple[Finding, ...]:
        """The promises that prices rest on, and that do not hold."""
        return tuple(
            finding for finding in self.findings if finding.trusted and finding.holds is False
        )

    @property
    def holds(self) -> bool:
        """Whether no promise that prices rest on is known to be broken."""
        return not self.broken

    @property
    def summary(self) -> str:
        """Say in a sentence what follows."""
        if not self.broken:
            plain = (
                "No broken promise was found. What differs is enforced, and costs accuracy only."
            )
            return f"{plain} {self._hurts()}".rstrip()
        count = len(self.broken)
        some = "1 promise is" if count == 1 else f"{count} promises are"
        return (
            f"{some} BROKEN: prices that rest on them are too low. Mend the data, or take the "
            "promise out of the policy, and say so to anyone who relies on past answers."
        )

    def _hurts(self) -> str:
        """Say which declaration cuts most, if one cuts much."""
        cut = [each for each in self.findings if each.holds is False and each.share is not None]
        worst = max(cut, key=lambda each: each.share or 0, default=None)
        if worst is None or worst.share is None or worst.share < _MUCH:
            return ""
        place = f"{worst.table}.{worst.column}" if worst.column else worst.table
        return (
            f"What costs most: {place}, {worst.promise}: {percent(worst.share)} is lost. Mend this "
            "line of the policy first: a higher limit, wider bounds, more values or another type."
        )

    def to_json(self) -> dict[str, object]:
        """Return the report for scripts; its first field is the warning."""
        return {
            "warning": WARNING,
            "holds": self.holds,
            "findings": [finding.to_json() for finding in self.findings],
            "summary": self.summary,
        }

    def __repr__(self) -> str:
        """Mention the report, and show nothing of it: logs would keep it."""
        return "<report of a check: not private; print it to read it>"

    def __str__(self) -> str:
        """Show the warning, a line for each finding, and what follows."""
        return "\n".join([WARNING, "", *_lines([_HEADER, *_rows(self)]), "", self.summary])


def percent(share: Fraction) -> str:
    """Show a share; only exact values are shown as 0 % or 100 %.

    >>> percent(Fraction(1, 40)), percent(Fraction(1, 10**9)), percent(Fraction(0))
    ('2.5 %', 'less than 0.0001 %', '0 %')
    >>> percent(Fraction(10**9 - 1, 10**9))
    'more than 99.9999 %'
    """
    if 0 < share < _SMALLEST:
        return "less than 0.0001 %"
    if 1 - _SMALLEST < share < 1:
        return "more than 99.9999 %"
    if share > Fraction(99, 100):
        return f"{float(100 * share):.7g} %"
    return f"{float(100 * share):.3g} %"


def _rows(report: CheckReport) -> Iterator[tuple[str, ...]]:
    """Return the findings that say something, and count those that hold without exception."""
    for finding in report.findings:
        if not finding.quiet:
            yield finding.verdict, finding.table, finding.column, finding.promise, finding.detail
    quiet = sum(finding.quiet for finding in report.findings)
    if quiet:
        words = "declaration holds" if quiet == 1 else "declarations hold"
        yield "holds", "all", "", f"{quiet} other {words}", "without exception; --json lists them"


def _lines(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(padded).rstrip()
