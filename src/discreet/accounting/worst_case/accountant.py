"""From a tree and a unit to a price: which neighbors there are, and the worst of them.

Trust: kernel.

Theorem (key ``general-composition``; Guerra-Balboa, Miranda-Pascual, Parra-Arnau and Strufe 2024).
Let leaf i read f_i(D) and be d_i-private.  Then the releases together are d-private with
d(D, D') = sum of d_i(f_i(D), f_i(D')), also if later leaves depend on earlier answers.  A leaf
whose input does not change is free; one whose input changes in a way that its certificate does not
cover costs everything.
Consequences.  Parallel parts under add/remove cost the largest of them (key ``parallel``); under
replace, the largest sum of two different ones, or of one at a record that is replaced inside it
(key ``bounded-parallel``).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from discreet.accounting.scopes.atoms import ColumnAtoms
from discreet.accounting.scopes.box import Box
from discreet.accounting.scopes.column_conditions import equals
from discreet.accounting.scopes.contribution import Contribution, RowChange
from discreet.accounting.scopes.value_set import Values
from discreet.accounting.tree.leaf import UNPROTECTED, Leaf
from discreet.accounting.tree.node import Choice, Node, Repeat, Sequential, checked_node
from discreet.accounting.tree.parallel import Parallel, Where, overlapping_keys
from discreet.accounting.tree.processing import Group, Post, Sampled, Shuffled
from discreet.accounting.worst_case.changes import Domain, alike, independent, is_first
from discreet.accounting.worst_case.fold import (
    Cell,
    Price,
    Rows,
    TreeFold,
    bits,
    count_of,
    directed,
    product,
    repeated,
)
from discreet.accounting.worst_case.granularity import Metric, Record, RecordRule, difference
from discreet.accounting.worst_case.options import Option, OptionCell, pruned
from discreet.accounting.worst_case.statement import AFTER, BEFORE, Statement
from discreet.errors import OutOfRange, WrongKind
from discreet.loss import PrivacyLoss, Pure, ZeroConcentrated
from discreet.loss.composition import Composition
from discreet.loss.envelope import chained, upper_envelope
from discreet.units import PrivacyUnit, Relation, row, same_unit

BOTH: Final = BEFORE + AFTER
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
        self._inner = [node for node in tree.walk() if not isinstance(node, Leaf)]
        self._contribution, self._boxes = contribution, boxes
        overlaps = overlapping_keys(tree, boxes)
        sets = _sets(self._inner, boxes)
        vague = [sum(not values.exact for values in used) for used in sets.values()]
        self._exact, self._vague = not any(vague), max(vague, default=0) > 1
        self._columns = ColumnAtoms(sets)
        self._fold = TreeFold(
            tree, self._columns, unit=unit, contribution=contribution, alone=self._alone
        )
        self._domain = Domain(self._columns, overlaps, contribution, tuple(boxes))
        self._alike = alike(tree, self._columns, boxes, self._fold.number)
        self._parts = list(_parts(tree, 1))
        linked = [[column for column, _ in box.conditions] for box in boxes]
        self._groups = independent([self._fold.uses(node) for node, _ in self._parts], linked)

    def statement(self) -> Statement:
        rows = self._contribution.rows if self._unit.columns else 1
        old: list[Option] = []
        new: list[Option] = []
        if self._unit.relation.adds:
            old += self._options(RowChange(rows, 0))
            new += _turned(old) if self._symmetric(rows) else self._options(RowChange(0, rows))
        if self._unit.relation.replaces:
            both = self._replaced(rows)
            old, new = [*old, *both], [*new, *both]
        if not self._exact:  # sets that enclose what is meant may be smaller than they look
            old, new = ([replace(o, attained=False) for o in options] for options in (old, new))
        first, second = (tuple(pruned(options)) for options in (old, new))
        return Statement(
            self._tree,
            self._unit,
            _theorems(self._inner, self._unit, self._contribution),
            first,
            second if self._unit.relation.adds else first,
            self._columns,
            self._again,
        )

    def between(self, changes: Iterable[tuple[Sequence[Record], Sequence[Record]]]) -> Statement:
        """Account for neighbors that are given one by one: rows that leave, and rows that enter."""
        if not self._exact:
            raise WrongKind(
                what="a range of texts is a condition, and neighbors are given record by record.",
                why="which texts lie between two others depends on the engine.",
                do="name the texts: one_of('a', 'b').",
            )
        options: list[Option] = []
        seen: set[tuple[Rows, Rows]] = set()
        for gone, come in changes:
            old, new = (self._rows(records) for records in (gone, come))
            if (old, new) in seen:
                continue
            seen.add((old, new))
            move = RowChange(count_of(old), count_of(new))
            prices = product(
                repeated(self._fold.price(node, old, new, move), count)
                for node, count in self._parts
            )
            where = self._cells(old, BEFORE) + self._cells(new, AFTER)
            options += [Option.of(price, where) for price in prices]
        kept = tuple(pruned(options))
        theorems = _theorems(self._inner, self._unit, self._contribution)
        return Statement(self._tree, self._unit, theorems, kept, kept, self._columns, self._again)

    def _rows(self, records: Iterable[Record]) -> Rows:
        return tuple(sorted(Counter(map(self._cell, records)).items()))

    def _cell(self, record: Record) -> Cell:
        """Return in which atoms a record lies."""
        cell = []
        for column in self._columns.names():
            if column not in record:
                raise WrongKind(
                    what=f"a record has no column {column!r}, and the tree has a condition on it.",
                    why="who lies in which part must be known of every record.",
                    do="give all columns on which the tree has conditions.",
                )
            value: Any = record[column]
            values = value if isinstance(value, tuple) else (value,)
            atoms = (
                1 << atom
                for atom in range(self._columns.count(column))
                if any(each in self._columns.atom(column, atom) for each in values)
            )
            cell.append(sum(atoms))
        return tuple(cell)

    def _replaced(self, rows: int) -> list[Option]:
        """Replace a unit: any numbers of rows, or by way of the table without it.

        Sets that enclose what is meant may look the same and be different, so that one record is in
        one of them and another in both.  Where a column has several, the way round covers that.
        """
        if rows <= _MOST_ROWS and not self._vague:
            every = range(1, rows + 1)
            moves = [RowChange(old, new) for old in every for new in every]
            return [option for move in moves for option in self._options(move)]
        halves = [
            upper_envelope([option.composition for option in self._options(move)])
            for move in (RowChange(rows, 0), RowChange(0, rows))
        ]
        there, back = chained(*halves), chained(*(half.reverse() for half in reversed(halves)))
        return [Option(way, (), attained=False) for way in (there, back)]

    def _symmetric(self, rows: int) -> bool:
        """Say whether every release loses the same when a row leaves as when it comes."""
        if any(isinstance(node, Sampled | Group) for node in self._inner):
            return False
        leaves = {node for node in self._tree.walk() if isinstance(node, Leaf)}
        for leaf in leaves:
            for size in {1, rows}:
                profile = leaf.price(size, 0, wanted=self._unit.relation).profile()
                same = profile.remove is profile.add
                if not same and set(profile.remove) != set(profile.add):
                    return False
        return True

    def _again(self, node: Node) -> Statement:
        """Account for a part of the tree by itself."""
        return _Accountant(node, self._unit, self._contribution, self._boxes).statement()

    def _alone(self, node: Node, relation: Relation, rows: int) -> PrivacyLoss:
        """Price a node for rows that may lie anywhere: they belong to a unit of their own."""
        unit = PrivacyUnit(name="group", columns=(_GROUP,), relation=relation)
        return _Accountant(node, unit, Contribution(rows=rows), []).statement().loss

    def _options(self, move: RowChange) -> list[Option]:
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
                own = alike(node, self._columns, self._boxes, self._fold.number)
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
        move: RowChange,
        like: Mapping[str, list[list[int]]],
    ) -> list[Option] | None:
        """Price some nodes for all rows of their columns; None if there are too many."""
        cells = self._domain.cells(columns, like, move.removed + move.inserted)
        old = None if cells is None else self._domain.placings(cells, move.removed)
        new = None if cells is None else self._domain.placings(cells, move.inserted)
        if old is None or new is None:
            return None
        masks = [
            [sum(1 << atom for atom in atoms) for atoms in like[column]]
            for column in self._columns.names()
        ]
        first = [rows for rows in old if is_first(masks, rows, ())]
        if len(first) * len(new) > _MOST_PAIRS:
            return None
        changes = [pair for pair in itertools.product(first, new) if is_first(masks, *pair)]
        several = max(move.removed, move.inserted) > 1
        if len(changes) > (_MOST_MULTIPLE if several else _MOST_CHANGES):
            return None
        options = []
        seen: set[Price] = set()
        for leaving, entering in changes:
            prices = product(
                repeated(self._fold.price(node, leaving, entering, move), count)
                for node, count in nodes
            )
            if not seen.issuperset(prices):
                where = self._cells(leaving, BEFORE) + self._cells(entering, AFTER)
                options += [Option.of(price, where) for price in prices if price not in seen]
                seen.update(prices)
        return pruned(options)

    def _cells(self, rows: Rows, side: int) -> tuple[OptionCell, ...]:
        counts: Counter[tuple[str, int]] = Counter()
        for cell, count in rows:
            for column, atoms in zip(self._columns.names(), cell, strict=True):
                for atom in bits(atoms):
                    counts[column, atom] += count
        return tuple((column, side, atom, n) for (column, atom), n in counts.items())

    def _row_by_row(self, move: RowChange) -> Option:
        """Change one row after another, each the worst one, in a unit that changes in part."""
        if move.removed + move.inserted == 1:
            return Option.of(directed(UNPROTECTED, 1, 1, attained=False), ())
        steps = PrivacyUnit(name="row", columns=(), relation=Relation.ADD_REMOVE)
        one = _Accountant(self._tree, steps, Contribution(), self._boxes).statement().loss
        loss = _steps(one, move.removed + move.inserted)
        return Option.of(directed(loss, move.removed, move.inserted, attained=False), ())


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
            what="a granularity is given together with a unit or a contribution.",
            why="who is whose neighbor is said by the granularity alone.",
            do="leave out the unit and the contribution.",
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


def _turned(options: Iterable[Option]) -> list[Option]:
    """Look at the same rows from the other side."""
    return [
        replace(option, cells=tuple((c, BOTH - side, atom, n) for c, side, atom, n in option.cells))
        for option in options
    ]


def _unit(relation: Relation | str | None, unit: PrivacyUnit | None) -> PrivacyUnit:
    if (relation is None) == (unit is None):
        raise WrongKind(
            what="neither or both of unit and relation are given.",
            why="a price means something only for a unit and its neighbors.",
            do='give unit=person("id"), or relation="add_remove" to protect rows.',
        )
    return same_unit(unit) if unit is not None else row(relation=Relation.read(relation))


def _limits(tree: Node, unit: PrivacyUnit, contribution: Contribution | None) -> Contribution:
    """Return what belongs to one unit, or refuse if that is not given."""
    if contribution is not None:
        return contribution.within(unit.columns) if unit.columns else contribution
    whole = all(node.takes_whole(unit.columns) for node in tree.walk())
    if unit.columns and not whole:
        raise OutOfRange(
            what=f"it is not said how many rows a {unit.name} can have.",
            why="each row adds to the loss, and without a limit there is no bound.",
            do="give contribution=Contribution(rows=...), a limit that is enforced on the data.",
        )
    return Contribution()


def _box(given: Box | Mapping[str, object]) -> Box:
    if isinstance(given, Mapping):
        given = Box({c: v if isinstance(v, Values) else equals(v) for c, v in given.items()})
    if not isinstance(given, Box) or not given.exact or not given.conditions:
        raise WrongKind(
            what="an impossible combination does not map columns to exactly known values.",
            why="it says what no record of the domain can be, and must not say too much.",
            do='give, say, impossible=[{"ward": "maternity", "sex": "m"}].',
        )
    return given


def _sets(inner: Iterable[Node], boxes: Iterable[Box]) -> dict[str, list[Values]]:
    """Gather the sets of values that are used for each column."""
    sets: dict[str, list[Values]] = {}
    for node in inner:
        match node:
            case Parallel(key=key, parts=parts):
                sets.setdefault(key, []).extend(part.values for part in parts)
            case Where(box=box):
                for column, values in box.conditions:
                    sets.setdefault(column, []).append(values)
    for box in boxes:
        for column, values in box.conditions:
            sets.setdefault(column, []).append(values)
    return sets


def _theorems(
    inner: Iterable[Node], unit: PrivacyUnit, contribution: Contribution
) -> tuple[str, ...]:
    """Name what the price of a tree rests on."""
    keys = {"general-composition", "scenario-accounting", "dominating-pair"}
    bounded = unit.relation.replaces
    for node in inner:
        match node:
            case Parallel(routed=True):
                keys.add("routing")
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
