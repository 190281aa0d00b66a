"""The dialect of DuckDB.

Trust: kernel (T1, T2).  ``TRY`` and ``TRY_CAST`` make NULL of what would fail.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final, final

from sqlglot import exp

from discreet.engines.dialect import Dialect
from discreet.engines.fragments import Node, call, number, select
from discreet.query.functions import LONGEST_TEXT, searches
from discreet.query.types import Type

_PURPOSES: Final = {"groups": 0, "values": 1, "leaves": 2}
_PARTS: Final = ("YEAR", "QUARTER", "MONTH", "DAY", "DAYOFYEAR", "HOUR", "MINUTE", "SECOND")


@final
class DuckDBDialect(Dialect):
    """DuckDB: integers that overflow are NULL by TRY, floats stay open."""

    name = "duckdb"
    title = "DuckDB"
    portable = False
    let = "list_transform(:items, lambda _v: :body)[1]"
    templates: ClassVar[Mapping[str, str]] = {
        "same": ":x IS NOT DISTINCT FROM :y",
        **{sign: f"TRY(:x {sign} :y)" for sign in ("+", "-", "*")},
        "DIV": "TRY_CAST(CAST(:x AS HUGEINT) // NULLIF(CAST(:y AS HUGEINT), 0) AS BIGINT)",
        "MOD": "TRY_CAST(CAST(:x AS HUGEINT) % NULLIF(CAST(:y AS HUGEINT), 0) AS BIGINT)",
        "quotient": ":x // :y",
        "finite": "CASE WHEN isfinite(:x) THEN :x END",
        "FLOAT /": ":x / :y",
        "FLOAT ROUND": "round(:x)",
        "FLOAT SQRT": "sqrt(:x)",
        "FLOAT to INTEGER": "TRY_CAST(:x AS BIGINT)",
        **{
            f"TEXT to {kind}": f"TRY_CAST(regexp_extract(:x, :form) AS {native})"
            for kind, native in (
                ("INTEGER", "BIGINT"),
                ("FLOAT", "DOUBLE"),
                ("DATE", "DATE"),
                ("TIMESTAMP", "TIMESTAMP"),
            )
        },
        "bytes": "strlen(:x)",
        "translate": "translate(:x, :y, :z)",
        "LENGTH": "length(:x)",
        "SUBSTR": "substr(:x, :y, :z)",
        "CONCAT": ":x || :y",
        "TRIM": "trim(:x, ' ')",
        "STARTS_WITH": "starts_with(:x, :y)",
        "ENDS_WITH": "ends_with(:x, :y)",
        **{f"EXTRACT {part}": f"{part.lower()}(:x)" for part in _PARTS},
        "EXTRACT DAYOFWEEK": "dayofweek(:x) + 1",
        "DATE_TRUNC": "date_trunc(:word, :x)",
        "DATE_DIFF": ":x - :y",
        "DATE_ADD": ":x + (:y)",
        "micros": "epoch_us(:x)",
        "hex number": "TRY_CAST('0x' || substr(:x, 1, 15) AS BIGINT)",
        "wide": "CAST(:x AS HUGEINT)",
        "sum": "SUM(:x)",
        "fitting": "TRY_CAST(:x AS BIGINT)",
        "root": "pow(2e0, -8 * (floor(log2(greatest(coalesce(:x, 0e0), 5e-324)) / 16) + 1))",
        "LAG": "LAG",
    }

    def semi_join(
        self, outputs: Sequence[Node], left: exp.Expr, right: exp.Expr, on: Node, *, anti: bool
    ) -> exp.Select:
        """Return the rows on the left that meet one on the right, or that meet none."""
        found = select(outputs, left)
        found.set("joins", [exp.Join(this=right, kind="ANTI" if anti else "SEMI", on=on.leaf)])
        return found

    def salt(self) -> Node:
        """Return the salt of a run, which is a variable of the connection."""
        return self.own("CAST(getvariable('salt') AS TEXT)")

    def place(self, purpose: str, values: Sequence[tuple[Node, Type]], *, portable: bool) -> Node:
        """Return where values come in the order of its own hash, or in the portable one.

        The hash is taken twice: DuckDB joins the hashes of several values by XOR, and then some
        groups win regardless of the salt.
        """
        if portable:
            return super().place(purpose, values, portable=True)
        nodes = [self.own("getvariable('salt')"), number(_PURPOSES[purpose])]
        return call("hash", [call("hash", [*nodes, *(node for node, _ in values)])])

    def below(self, limit: Node, values: Sequence[tuple[Node, Type]], *, portable: bool) -> Node:
        """Return the number from 0 to the limit - 1 that belongs to values."""
        if portable:
            return super().below(limit, values, portable=True)
        hashed = self.place("leaves", values, portable=False)
        return self.own("CAST(:x AS HUGEINT) % :limit", x=hashed, limit=limit)

    def like(self, value: Node, pattern: str) -> Node:
        """Return a match, which takes no longer than ``text_limits`` reckons with (T1).

        DuckDB finds parts without _ by their letters.  With one, it tries all places for each %:
        one such search is left to it, and of several parts each is cut off where it first ends.
        """
        written = re.sub("%+", "%", pattern)
        if "_" not in written or "%" not in written:
            return self._alike(value, written)
        if searches(written) <= 1:
            return self._short(value, lambda x: self._alike(x, written))
        first, *parts = written.split("%")
        return self._short(value, lambda x: self._cut_off(x, first, parts))

    def _short(self, value: Node, body: Callable[[Node], Node]) -> Node:
        checked = "CASE WHEN strlen(:x) <= :most THEN :made END"
        return self.once([value], lambda x: self.own(checked, x=x, most=LONGEST_TEXT, made=body(x)))

    def _cut_off(self, value: Node, first: str, parts: Sequence[str]) -> Node:
        """Return whether a short text begins with the first part, and has the others in order."""
        if not first:
            return self._found(value, parts)
        rest = self._found(self._after(value, number(len(first))), parts)
        return self.sql(
            "CASE WHEN :begins THEN :rest ELSE FALSE END",
            begins=self._alike(value, f"{first}%"),
            rest=rest,
        )

    def _after(self, value: Node, end: Node) -> Node:
        return self.own("substr(:x, :end + 1)", x=value, end=end)

    def _found(self, value: Node, parts: Sequence[str]) -> Node:
        """Return whether a text has all parts in their order; it ends with the last."""
        part, *others = parts
        if not others or others == [""]:
            return self._alike(value, "%".join(("", *parts)))

        def body(x: Node) -> Node:
            rest = self._found(self._after(x, self._end(x, part)), others)
            return self.sql(
                "CASE WHEN :there THEN :rest ELSE FALSE END",
                there=self._alike(x, f"%{part}%"),
                rest=rest,
            )

        return self.once([value], body)

    def _end(self, value: Node, part: str) -> Node:
        """Return where a part that a short text has ends for the first time."""
        if "_" not in part:
            return self.own("instr(:x, :part) + :size", x=value, part=part, size=len(part) - 1)
        steps = ", ".join(str(LONGEST_TEXT >> n) for n in range(1, LONGEST_TEXT.bit_length()))
        has = self._alike(self.own("substr(:x, 1, ended + step)", x=value), f"%{part}%")
        return self.own(
            f"list_reduce([0, {steps}], lambda ended, step:"
            " CASE WHEN :has THEN ended ELSE ended + step END) + 1",
            has=has,
        )

    def _alike(self, value: Node, pattern: str) -> Node:
        return self.sql("(:x) LIKE :y", x=value, y=pattern)


DUCKDB: Final = DuckDBDialect()
