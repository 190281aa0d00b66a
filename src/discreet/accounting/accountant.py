"""From a tree and a unit to a price: which rows can change, and the worst of these changes.

Trust: kernel.

A change that is not listed is a neighbor that no price covers.

Theorem (key ``contribution``).  Let one unit have at most c rows, of which at most m share a value
of a column, and at most p values of it occur.  The price is the largest over all ways to hand out
the rows to cells within the limits; a row that is added never lowers it.
Columns that no condition links go together in every way, so that nodes which depend on different
columns may be given their worst rows apart, if as many rows change for each.

Consequences of key ``general-composition``.  Parallel parts under add/remove cost the largest of
them (key ``parallel``); under replace, the largest sum of two different ones, or of one at a record
that is replaced inside it (key ``bounded-parallel``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from discreet.accounting.box import Box, Contribution
from discreet.accounting.cells import Domain, Groups, Rows, bits, independent
from discreet.accounting.fold import Moved, Price, TreeFold, count_of, directed, product, repeated
from discreet.accounting.granularity import Metric, Record, RecordRule, difference
from discreet.accounting.leaf_price import UNPROTECTED
from discreet.accounting.nodes import Choice, Node, Post, Repeat, Sequential, checked_node
from discreet.accounting.parts_and_samples import (
    Group,
    Parallel,
    Sampled,
    Shuffled,
    Where,
    takes_whole,
)
from discreet.accounting.statement import AFTER, BEFORE, Option, OptionCell, Statement, pruned
from discreet.accounting.values import Values, equals
from discreet.errors import OutOfRange, WrongKind
from discreet.loss import PrivacyLoss, Pure, ZeroConcentrated
from discreet.loss.composition import Composition
from discreet.loss.envelope import chained, upper_envelope
from discreet.units import PrivacyUnit, Relation, row, same_unit

_MOST_PAIRS: Final = 500_000  # of ways to place the old rows and the new ones
_MOST_CHANGES: Final = 50_000  # of these pairs that are priced, for single rows
_MOST_MULTIPLE: Final = 4_000  # and for several rows, each of which may lie elsewhere
_MOST_ROWS: Final = 6
_FEW_STEPS: Final = 8
_GROUP: Final = "rows of a group"  # names no column of any table


def account(
    tree: Node,
    *,
    relation: Relation | RecordRule | Metric | str | None = None,
    unit: PrivacyUnit | None = None,
    contribution: Contribution | None = None,
    impossible: Iterable[Box | Mapping[str, object]] = (),
) -> Statement:
    """Account for a tree: what one unit can lose by everything that it releases.

    Give ``unit``, or just ``relation`` to protect rows: a built-in relation, a rule about records,
    or a metric on tables; neighbors are then at most one step apart.  ``contribution`` limits what
    belongs to one unit.  ``impossible`` lists combinations of values that no record has.

    >>> from discreet.accounting import Leaf
    >>> from discreet.mechanisms import Laplace
    >>> wards = Parallel("ward", {"A": Leaf(Laplace(scale=1)), "B": Leaf(Laplace(scale=2))})
    >>> account(wards, relation="add_remove").epsilon(delta=0)
    1.0
    """
    whole = checked_node(tree)
    if isinstance(relation, RecordRule | Metric):
        return _between(whole, relation, unit, contribution, [_box(each) for each in impossible])
    protected = _unit(relation, unit)
    limits = _limits(whole, protected, contribution)
    boxes = [_box(region) for region in impossible]
    return _Accountant(whole, protected, limits, boxes).statement()


class _Accountant:
    """One tree, and everything that is worked out about it."""

    def __init__(
        self, tree: Node, unit: PrivacyUnit, contribution: Contribution, boxes: list[Box]
    ) -> None:
        self._tree, self._unit = tree, unit
        self._contribution, self._boxes = contribution, boxes
        self._domain = Domain(tree, boxes, contribution)
        self._fold = TreeFold(
            tree, self._domain, unit=unit, contribution=contribution, alone=self._alone
        )
        self._alike = self._domain.alike(tree, self._fold.number)
        self._parts = list(_parts(tree, 1))
        linked = [[column for column, _ in box.conditions] for box in boxes]
        # what has no columns, and no choice, is priced as one
        together = [
            self._fold.uses(node) or [""] * (not any(isinstance(n, Choice) for n in node.walk()))
            for node, _ in self._parts
        ]
        self._groups = independent(together, linked)

    def statement(self) -> Statement:
        rows = self._contribution.rows if self._unit.columns else 1
        old: list[Option] = []
        new: list[Option] = []
        if self._unit.relation.adds:
            old, new = self._options((rows, 0)), self._options((0, rows))
        if self._unit.relation.replaces:
            both = self._replaced(rows)
            old, new = [*old, *both], [*new, *both]
        if self._domain.most_vague:  # sets that enclose what is meant may be smaller than they look
            old, new = ([replace(o, attained=False) for o in options] for options in (old, new))
        first = tuple(pruned(old))
        return self._stated(first, tuple(pruned(new)) if self._unit.relation.adds else first)

    def between(self, changes: Iterable[tuple[Sequence[Record], Sequence[Record]]]) -> Statement:
        """Account for neighbors that are given one by one: rows that leave, and rows that enter."""
        if self._domain.most_vague:
            raise WrongKind(
                "a range of texts is a condition, and neighbors are given record by record; name "
                "the texts: one_of('a', 'b')."
            )
        options: list[Option] = []
        seen: set[tuple[Rows, Rows]] = set()
        for gone, come in changes:
            old, new = (self._rows(records) for records in (gone, come))
            if (old, new) not in seen:
                seen.add((old, new))
                prices = self._prices(self._parts, old, new, (count_of(old), count_of(new)))
                options += [Option.of(price, self._cells(old, new)) for price in prices]
        kept = tuple(pruned(options))
        return self._stated(kept, kept)

    def _stated(self, old: tuple[Option, ...], new: tuple[Option, ...]) -> Statement:
        theorems = _theorems(self._tree, self._unit, self._contribution)
        return Statement(self._tree, self._unit, theorems, old, new, self._domain, self._again)

    def _rows(self, records: Iterable[Record]) -> Rows:
        cells = []
        for record in records:
            missing = [column for column in self._domain.names() if column not in record]
            if missing:
                raise WrongKind(
                    f"a record has no column {missing[0]!r}, and the tree has a condition on it; "
                    "give all columns on which the tree has conditions."
                )
            cells.append(self._domain.cell(record))
        return tuple(sorted(Counter(cells).items()))

    def _replaced(self, rows: int) -> list[Option]:
        """Replace a unit: any numbers of rows, or by way of the table without it.

        Sets that enclose what is meant may look the same and be different, so that one record is in
        one of them and another in both.  If a column has several, the way round covers that.
        """
        if rows <= _MOST_ROWS and self._domain.most_vague < 2:
            every = range(1, rows + 1)
            moves = [(old, new) for old in every for new in every]
            return [option for move in moves for option in self._options(move)]
        halves = [
            upper_envelope([option.composition for option in self._options(move)])
            for move in ((rows, 0), (0, rows))
        ]
        there, back = chained(*halves), chained(*(half.reverse() for half in reversed(halves)))
        return [Option(way, (), attained=False) for way in (there, back)]

    def _again(self, node: Node) -> Statement:
        """Account for a part of the tree by itself."""
        return _Accountant(node, self._unit, self._contribution, self._boxes).statement()

    def _alone(self, node: Node, relation: Relation, rows: int) -> PrivacyLoss:
        """Price a node for rows that may lie anywhere: they belong to a unit of their own."""
        unit = PrivacyUnit(name="group", columns=(_GROUP,), relation=relation)
        return _Accountant(node, unit, Contribution(rows=rows), []).statement().loss

    def _options(self, move: Moved) -> list[Option]:
        """Return what may be worst: nodes on different columns are given their worst rows apart."""
        found = [Option(Composition())]
        lists: list[list[Option]] = []
        for columns, places in self._groups:
            nodes = [self._parts[at] for at in places]
            options = self._group(columns, nodes, move, self._alike)
            if options is not None:
                lists.append(options)
                continue
            for node, count in nodes:  # too many: each is given its own worst rows
                own = self._domain.alike(node, self._fold.number)
                alone = self._group(self._fold.uses(node), [(node, count)], move, own)
                if alone is None:
                    return [self._row_by_row(move)]
                lists.append([replace(option, attained=False) for option in alone])
        for options in lists:
            together = [one.compose(other) for one in found for other in options]
            single = len(found) == 1 or len(options) == 1  # nothing new can be dominated
            found = together if single else pruned(together)
        return found

    def _group(
        self,
        columns: Collection[str],
        nodes: Sequence[tuple[Node, int]],
        move: Moved,
        like: Groups,
    ) -> list[Option] | None:
        """Price some nodes for all rows of their columns; None if there are too many."""
        cells = self._domain.cells(columns, like, sum(move))
        old, new = (None if cells is None else self._domain.placings(cells, n) for n in move)
        if old is None or new is None:
            return None
        changes = self._domain.first_changes(old, new, like, _MOST_PAIRS)
        most = _MOST_MULTIPLE if max(move) > 1 else _MOST_CHANGES
        if changes is None or len(changes) > most:
            return None
        found: dict[Price, Option] = {}
        for leaving, entering in changes:
            for price in self._prices(nodes, leaving, entering, move):
                if price not in found:
                    found[price] = Option.of(price, self._cells(leaving, entering))
        return pruned(found.values())

    def _prices(
        self, nodes: Iterable[tuple[Node, int]], old: Rows, new: Rows, move: Moved
    ) -> tuple[Price, ...]:
        prices = (repeated(self._fold.price(node, old, new, move), n) for node, n in nodes)
        return product(prices)

    def _cells(self, old: Rows, new: Rows) -> tuple[OptionCell, ...]:
        counts: Counter[tuple[str, int, int]] = Counter()
        for side, rows in ((BEFORE, old), (AFTER, new)):
            for cell, count in rows:
                for column, atoms in zip(self._domain.names(), cell, strict=True):
                    for atom in bits(atoms):
                        counts[column, side, atom] += count
        return tuple((*place, n) for place, n in counts.items())

    def _row_by_row(self, move: Moved) -> Option:
        """Change one row after another, each the worst one, in a unit that changes in part."""
        if sum(move) == 1:
            return Option.of(directed(UNPROTECTED, 1, 1, attained=False), ())
        steps = PrivacyUnit(name="row", columns=(), relation=Relation.ADD_REMOVE)
        one = _Accountant(self._tree, steps, Contribution(), self._boxes).statement().loss
        return Option.of(directed(_steps(one, sum(move)), *move, attained=False), ())


def _between(
    tree: Node,
    granularity: RecordRule | Metric,
    unit: PrivacyUnit | None,
    contribution: Contribution | None,
    boxes: list[Box],
) -> Statement:
    """Account for a granularity of the user's own; its rows are counted one by one."""
    if unit is not None or contribution is not None:
        raise WrongKind(
            "a granularity is given together with a unit or a contribution; leave out the unit "
            "and the contribution."
        )
    accountant = _Accountant(tree, row(relation=Relation.EITHER), Contribution(), boxes)

    def changes() -> Iterator[tuple[list[Record], list[Record]]]:
        if isinstance(granularity, RecordRule):
            for old, new in granularity.neighbors():
                yield [] if old is None else [old], [] if new is None else [new]
            return
        for left, right in granularity.neighbors():
            gone, come = difference(left, right), difference(right, left)
            yield gone, come
            yield come, gone

    def allowed(records: Sequence[Record]) -> bool:
        return not any(record in box for record in records for box in boxes)

    return accountant.between(
        (gone, come) for gone, come in changes() if allowed(gone) and allowed(come)
    )


def _steps(one: PrivacyLoss, count: int) -> PrivacyLoss:
    """Return what a chain of steps loses; a long one is not followed link by link."""
    bound, rho = one.pure_bound(), one.concentrated()
    if bound is not None:
        return Pure(epsilon=count * bound)
    if count <= _FEW_STEPS:
        return one.group(count)
    return UNPROTECTED if rho is None else ZeroConcentrated(rho=count**2 * rho)


def _parts(node: Node, times: int) -> Iterator[tuple[Node, int]]:
    """Yield what is released side by side, and how often."""
    match node:
        case Sequential(children=children):
            for child in children:
                yield from _parts(child, times)
        case Repeat(child=child, count=count):
            yield from _parts(child, times * count)
        case Post(child=child):
            yield from _parts(child, times)
        case _:
            yield node, times


def _unit(relation: Relation | str | None, unit: PrivacyUnit | None) -> PrivacyUnit:
    if (relation is None) == (unit is None):
        raise WrongKind(
            'neither or both of unit and relation are given; give unit=person("id"), or '
            'relation="add_remove" to protect rows.'
        )
    return same_unit(unit) if unit is not None else row(relation=Relation.read(relation))


def _limits(tree: Node, unit: PrivacyUnit, contribution: Contribution | None) -> Contribution:
    """Return what belongs to one unit, or refuse if that is not given."""
    if contribution is not None:
        return contribution.within(unit.columns) if unit.columns else contribution
    if unit.columns and not takes_whole(tree, unit.columns):
        raise OutOfRange(
            f"it is not said how many rows a {unit.name} can have; give "
            "contribution=Contribution(rows=...), a limit that is enforced on the data."
        )
    return Contribution()


def _box(given: Box | Mapping[str, object]) -> Box:
    if isinstance(given, Mapping):
        given = Box({c: v if isinstance(v, Values) else equals(v) for c, v in given.items()})
    if not isinstance(given, Box) or not given.exact or not given.conditions:
        raise WrongKind(
            "an impossible combination does not map columns to exactly known values; give, say, "
            'impossible=[{"ward": "maternity", "sex": "m"}].'
        )
    return given


def _theorems(tree: Node, unit: PrivacyUnit, contribution: Contribution) -> tuple[str, ...]:
    """Name what the price of a tree rests on."""
    keys = {"general-composition", "scenario-accounting", "dominating-pair"}
    bounded = unit.relation.replaces
    for node in tree.walk():
        match node:
            case Parallel() | Where():
                keys.add("bounded-parallel" if bounded else "parallel")
            case Sampled():
                keys.add("poisson-sampling" if node.rate is not None else "amplification")
            case Shuffled():
                keys.add("shuffling")
            case Choice(adaptive=True):
                keys.add("adaptive-choice")
            case Group():
                keys.add("group-profile")
            case Post():
                keys.add("post-processing")
    if contribution.rows > 1 and unit.columns:
        keys.add("contribution")
    return tuple(sorted(keys))
