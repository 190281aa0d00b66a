"""Random questions built node by node, some of them with parts that no reader would make."""

import random
from fractions import Fraction

from discreet.query.expressions import (
    Aggregate,
    Call,
    Case,
    Cast,
    Column,
    Grouped,
    Literal,
    Order,
    Star,
    Window,
)
from discreet.query.functions import AGGREGATES, FUNCTIONS, PLAIN, WINDOWS
from discreet.query.question import Clause, Question
from discreet.query.relations import (
    Aggregated,
    Distinct,
    Filter,
    Join,
    Named,
    Project,
    Scan,
    Table,
    UnionAll,
)
from discreet.query.types import Type

BREAKOUT = "inner JOIN pg_shadow ON true --"
"""Words that no statement may hold."""


HOSTILE = (
    *(BREAKOUT, 'a" OR "b', "a' OR 'b", "", "\0", "\ud800"),
    *(True, None, 0.5, float("nan"), 2**70, -1, b"patient", object()),
    *([Column("patient")], (Column("patient"),), {}, Table("visits")),
    *(Column("patient"), Literal(None), Aggregate("COUNT"), Window("RANK", ()), Star(), Grouped(0)),
    *(Type.TEXT, "TEXT", Scan("visits", (("patient", Type.INTEGER),)), Order(Column("patient"))),
)

TABLES = {
    "visits": {
        Type.INTEGER: ("patient", "visit", "age", "stay", "born"),
        Type.FLOAT: ("cost", "height", "note"),
        Type.TEXT: ("ward", "city", "sex"),
        Type.BOOLEAN: ("paid",),
        Type.DATE: ("day",),
    },
    "drugs": {Type.INTEGER: ("person",), Type.FLOAT: ("dose",), Type.TEXT: ("drug",)},
    "bills": {Type.INTEGER: ("visit",), Type.FLOAT: ("sum",)},
    "wards": {Type.INTEGER: ("beds",), Type.TEXT: ("ward",)},
}
UNITS = {"visits": "patient", "drugs": "person"}
VALUES = {
    Type.INTEGER: (0, 1, 2, 5, -3, 110, 2**63 - 1),
    Type.FLOAT: (Fraction(1, 2), Fraction(-5, 2), Fraction(10**400)),
    Type.TEXT: ("A", "B", "x", "it's", '"', "\\", "%", "--"),
    Type.BOOLEAN: (True, False),
}


class Builder:
    """Builds a question; each part is exchanged for a hostile one with a small chance."""

    def __init__(self, seed, poison):
        self.random = random.Random(seed)  # noqa: S311 (the same examples on every machine)
        self.poison = poison

    def one(self, values):
        return self.random.choice(tuple(values))

    def part(self, value):
        """Return a part, or something else in its place."""
        if self.random.random() < self.poison:
            return self.one((*HOSTILE, [value], (value,)))
        return value

    def chance(self, value):
        return self.random.random() < value

    # --- expressions over one row ---------------------------------------------------------------

    def leaf(self, kind, columns):
        names = [name for name, found in columns.items() if found is kind]
        if names and self.chance(0.7):
            return Column(self.part(self.one(names)))
        return Literal(self.part(self.one(VALUES.get(kind, (None,)))))

    def value(self, kind, columns, depth):
        if depth == 0 or self.chance(0.3):
            return self.leaf(kind, columns)
        below = depth - 1
        if self.chance(0.12):
            branch = (
                self.value(Type.BOOLEAN, columns, below),
                self.value(kind, columns, below),
            )
            default = self.value(kind, columns, below) if self.chance(0.7) else None
            return Case(self.part((self.part(branch),)), self.part(default))
        if self.chance(0.1):
            return Cast(self.value(self.one(VALUES), columns, below), self.part(kind))
        known = [each for each in FUNCTIONS.values() if each.gives in {kind, "same", "first"}]
        function = self.one(known)
        count = max(len(function.takes) - function.optional, 1) + (
            self.random.randrange(2) if function.repeats else 0
        )
        arguments = []
        for at in range(count):
            takes = function.takes[min(at, len(function.takes) - 1)]
            wanted = kind if function.gives in {"same", "first"} and kind in takes else None
            wanted = wanted or self.one(sorted(takes, key=lambda each: each.value))
            arguments.append(self.argument(function, at, wanted, columns, below))
        return Call(self.part(function.name), self.part(tuple(arguments)))

    def argument(self, function, at, kind, columns, depth):
        if at in function.written:
            part = {"EXTRACT": "YEAR", "DATE_TRUNC": "MONTH", "DATE_DIFF": "DAY"}.get(function.name)
            known = (part,) if part and kind is Type.TEXT else VALUES.get(kind, (1,))
            return Literal(self.part(self.one(known)))
        return self.value(kind, columns, depth)

    def condition(self, columns):
        return self.part(self.value(Type.BOOLEAN, columns, 2))

    # --- relations ------------------------------------------------------------------------------

    def relation(self, depth):
        """Return a relation, the types of its columns, and the column of the unit."""
        if depth == 0 or self.chance(0.25):
            return self.table()
        step = self.one(
            (self.filter, self.project, self.join, self.aggregated, self.distinct, self.union)
        )
        return step(depth - 1)

    def table(self):
        name = self.one(("visits", "visits", "visits", "drugs", "bills", "wards"))
        columns = {each: kind for kind, names in TABLES[name].items() for each in names}
        relation = Table(self.part(name))
        if self.chance(0.1):
            relation = Named(relation, self.part("t"))
        return relation, columns, UNITS.get(name)

    def filter(self, depth):
        relation, columns, unit = self.relation(depth)
        return Filter(self.part(relation), self.condition(columns)), columns, unit

    def project(self, depth):
        relation, columns, unit = self.relation(depth)
        kept = {name: kind for name, kind in columns.items() if self.chance(0.6) or name == unit}
        outputs = [(name, Column(name)) for name in kept]
        if self.chance(0.4):
            kind = self.one(VALUES)
            outputs.append((self.part("made"), self.value(kind, columns, 2)))
            kept["made"] = kind
        if self.chance(0.3):
            outputs.append((self.part("place"), self.window(columns, unit)))
            kept["place"] = Type.INTEGER
        outputs = outputs or [("all", Star())]
        return Project(self.part(relation), self.part(tuple(outputs))), kept, unit

    def window(self, columns, unit):
        function = WINDOWS[self.one(("ROW_NUMBER", "RANK", "COUNT", "SUM", "MIN"))]
        arguments = (self.leaf(Type.INTEGER, columns),) if function.takes else ()
        partition = (Column(unit),) if unit and self.chance(0.9) else ()
        order = (Order(self.leaf(self.one(VALUES), columns), self.part(self.chance(0.5))),)
        return Window(
            self.part(function.name),
            self.part(arguments),
            partition=self.part(partition),
            order=self.part(order if self.chance(0.5) else ()),
        )

    def join(self, depth):
        left, columns, unit = self.relation(depth)
        right, others, other = self.relation(depth)
        left, right = Named(left, "l"), Named(right, "r")
        kind = self.one(("inner", "left", "right", "full", "cross"))
        on = None
        if kind != "cross":
            pair = (unit, other) if unit and other else ("ward", "ward")
            same = (Column(pair[0], table="l"), Column(pair[1], table="r"))
            on = Call("=", same)
        made = Join(self.part(left), self.part(right), self.part(kind), self.part(on))
        names = {**others, **columns}
        outputs = [
            (name, Column(name, table=self.part("l" if name in columns else "r"))) for name in names
        ]
        held = unit or other
        return Project(made, tuple(outputs)), names, held

    def aggregated(self, depth):
        relation, columns, unit = self.relation(depth)
        keys = [unit] if unit and self.chance(0.95) else []
        keys += [name for name in columns if name != unit and self.chance(0.2)]
        function = self.one(PLAIN)
        argument = self.leaf(Type.INTEGER, columns)
        where = self.condition(columns) if self.chance(0.3) else None
        total = Aggregate(self.part(function), self.part(argument), where=where)
        found = Aggregated(
            self.part(relation),
            self.part(tuple((name, Column(name)) for name in keys)),
            self.part((("total", self.part(total)),)),
        )
        kept = {**{name: columns[name] for name in keys}, "total": Type.INTEGER}
        return found, kept, unit if unit in keys else None

    def distinct(self, depth):
        relation, columns, unit = self.relation(depth)
        return Distinct(self.part(relation)), columns, unit

    def union(self, depth):
        relation, columns, unit = self.relation(depth)
        other = relation if self.chance(0.7) else self.relation(depth)[0]
        return UnionAll(self.part((relation, other))), columns, unit

    # --- questions ------------------------------------------------------------------------------

    def aggregate(self, columns):
        name = self.one(AGGREGATES)
        argument = self.value(self.one((Type.INTEGER, Type.FLOAT)), columns, 1)
        low, high = sorted(self.random.randrange(-5, 20) for _ in range(2))
        bounds = (Fraction(low), Fraction(high))
        given = {"where": self.condition(columns)} if self.chance(0.3) else {}
        if name == "COUNT":
            given["distinct"] = self.part(self.chance(0.3))
        elif self.chance(0.8):
            given["bounds_per_row"] = self.part(bounds)
        if name in {"PERCENTILE_CONT", "APPROX_QUANTILES"}:
            share = Fraction(1, 2) if name == "PERCENTILE_CONT" else Fraction(3)
            given["parameter"] = self.part(share)
        return Aggregate(self.part(name), self.part(argument), **given)

    def question(self):
        relation, columns, _ = self.relation(3)
        keys = [name for name in columns if self.chance(0.15)]
        outputs = [(name, Grouped(at)) for at, name in enumerate(keys)]
        outputs += [
            (self.part(f"n{at}"), self.part(self.aggregate(columns)))
            for at in range(self.random.randrange(1, 4))
        ]
        clause = None
        if self.chance(0.3):
            clause = Clause(
                max_rows_per_group=self.part(self.random.randrange(1, 4)),
                noise=self.part(self.one((None, "LAPLACE", "GAUSSIAN"))),
            )
        return Question(
            relation=self.part(relation),
            keys=self.part(tuple((name, self.part(Column(name))) for name in keys)),
            outputs=self.part(tuple(outputs)),
            limit=self.part(self.one((None, None, 3))),
            clause=self.part(clause),
        )
