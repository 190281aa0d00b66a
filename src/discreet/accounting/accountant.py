"""From a tree and a unit to a price: which rows can change, and the worst of these changes.

Trust: kernel.

A change that is not listed is a neighbor that nobody pays for.

Definition.  A cell says in which atoms of each column a record lies: one atom, or up to r of them
where a record has up to r values of a key.  Atoms that the tree treats alike are told apart only as
far as different rows may lie in different ones of them.
Theorem (key ``contribution``).  Let one unit have at most c rows, of which at most m share a value
of a column, and at most p values of it occur.  The price is the largest over all ways to hand out
the rows to cells within the limits; a row that is added never lowers it.
Columns that no condition links go together in every way, so that nodes which depend on different
columns may be given their worst rows apart, if as many rows change for each.

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
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, final

from discreet.accounting.atoms import ColumnAtoms
from discreet.accounting.box import Box, Contribution, RowChange
from discreet.accounting.fold import (
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
from discreet.accounting.granularity import Metric, Record, RecordRule, difference
from discreet.accounting.leaf_price import UNPROTECTED
from discreet.accounting.nodes import (
    Choice,
    Leaf,
    Node,
    Repeat,
    Sequential,
    checked_node,
)
from discreet.accounting.parts_and_samples import (
    Group,
    Parallel,
    Post,
    Sampled,
    Shuffled,
    Where,
    overlapping_keys,
)
from discreet.accounting.statement import AFTER, BEFORE, Option, OptionCell, Statement, pruned
from discreet.accounting.values import Values, equals
from discreet.errors import OutOfRange, WrongKind
from discreet.loss import PrivacyLoss, Pure, ZeroConcentrated
from discreet.loss.composition import Composition
from discreet.loss.envelope import chained, upper_envelope
from discreet.units import PrivacyUnit, Relation, row, same_unit

_MOST_CELLS: Final = 50_000


@final
@dataclass(frozen=True, slots=True)
class Domain:
    """The cells of some columns, and what one unit can have in them."""

    columns: ColumnAtoms
    overlaps: Mapping[str, int]
    contribution: Contribution
    impossible: tuple[Box, ...]

    def cells(
        self, used: Collection[str], like: Mapping[str, list[list[int]]], rows: int
    ) -> list[Cell] | None:
        """Return the cells of some columns, as many alike as rows can tell apart; None if many.

        ``like`` lists for each column the atoms that are treated alike.
        """
        choices: list[list[int]] = []
        size = 1
        for column in self.columns.names():
            if column not in used:
                choices.append([0])
                continue
            most = self.overlaps.get(column, 1)
            atoms = [atom for alike in like[column] for atom in alike[: rows * most]]
            masks = [
                sum(1 << atom for atom in some)
                for count in range(1, most + 1)
                for some in itertools.combinations(sorted(atoms), count)
            ]
            choices.append(masks)
            size *= len(masks)
            if size > _MOST_CELLS:
                return None
        return [cell for cell in itertools.product(*choices) if not self._is_impossible(cell)]

    def _is_impossible(self, cell: Cell) -> bool:
        for box in self.impossible:
            places = {column: at for at, column in enumerate(self.columns.names())}
            met = (
                cell[places[column]] & self.columns.mask(column, values)
                for column, values in box.conditions
            )
            if all(met):
                return True
        return False

    def placings(self, cells: Sequence[Cell], size: int) -> list[Rows] | None:
        """Return the ways in which so many rows of a unit can lie in cells; fewer if they must.

        None if there are too many of them to look at.
        """
        if size == 0:
            return [()]
        if math.comb(len(cells) + size - 1, size) > _MOST_CELLS:
            return None
        for count in range(size, 0, -1):
            ways = [
                tuple(sorted(Counter(way).items()))
                for way in itertools.combinations_with_replacement(cells, count)
                if self._fits(way)
            ]
            if ways:
                return ways
        return []

    def _fits(self, rows: Sequence[Cell]) -> bool:
        if len(rows) == 1:
            return True
        for at, column in enumerate(self.columns.names()):
            if not self.contribution.limits(column) or not any(cell[at] for cell in rows):
                continue
            times = self.overlaps.get(column, 1)
            counts = Counter(atom for cell in rows for atom in bits(cell[at]))
            if len(counts) > self.contribution.most_parts(column) * times:
                return False
            most = self.contribution.most_rows(column)
            for atom, count in counts.items():
                values = self.columns.points(column, atom)
                if values is not None and count > most * values:
                    return False
        return True


def alike(  # noqa: C901  (two kinds of conditions, and boxes)
    tree: Node, columns: ColumnAtoms, impossible: Sequence[Box], number: Callable[[Node], int]
) -> dict[str, list[list[int]]]:
    """Group the atoms of each column that a tree and impossible boxes treat alike."""
    marks: dict[str, list[list[object]]] = {
        column: [[columns.points(column, atom)] for atom in range(columns.count(column))]
        for column in columns.names()
    }

    def note(column: str, mask: int, mark: object) -> None:
        for atom in bits(mask):
            marks[column][atom].append(mark)

    for at, node in enumerate(tree.walk()):
        match node:
            case Parallel(key=key):
                for place, part in enumerate(node.parts):
                    mask = columns.mask(key, part.values)
                    single = mask.bit_count() == 1  # parts of several atoms keep them together
                    note(key, mask, (at, number(part.child), -1 if single else place))
            case Where(box=box):
                for column, values in box.conditions:
                    note(column, columns.mask(column, values), at)
    for box in impossible:
        for column, values in box.conditions:
            note(column, columns.mask(column, values), box)
    found = {}
    for column, atoms in marks.items():
        groups: dict[tuple[object, ...], list[int]] = {}
        for atom, mark in enumerate(atoms):
            groups.setdefault(tuple(mark), []).append(atom)
        found[column] = list(groups.values())
    return found


def is_first(masks: Sequence[Sequence[int]], old: Rows, new: Rows) -> bool:
    """Return whether a change is the first of those that differ in the names of atoms alone.

    ``masks`` are the groups of atoms of each column that are treated alike.  The old rows take the
    first atoms of a group, and the new ones the first that are left; a single old row shares its
    first atoms.
    """
    for at, groups in enumerate(masks):
        left, entered = (_union(rows, at) for rows in (old, new))
        for group in groups:
            mine = left & group
            apart, shared = entered & group & ~mine, entered & mine
            if not (_is_prefix(mine, group) and _is_prefix(apart, group & ~mine)):
                return False
            if len(old) == 1 and old[0][1] == 1 and not _is_prefix(shared, mine):
                return False
    return True


def _union(rows: Rows, at: int) -> int:
    union = 0
    for cell, _ in rows:
        union |= cell[at]
    return union


def _is_prefix(some: int, every: int) -> bool:
    """Return whether some atoms come before all others."""
    rest = every & ~some
    return not some or not rest or (rest & -rest) > some


def independent(
    parts: Sequence[Sequence[str]], linked: Sequence[Sequence[str]]
) -> list[tuple[frozenset[str], list[int]]]:
    """Group the places of parts by the columns on which they depend, if they share any."""
    groups: list[tuple[frozenset[str], list[int]]] = []
    sets: list[tuple[frozenset[str], list[int]]] = [(frozenset(names), []) for names in linked]
    sets += [(frozenset(part), [at]) for at, part in enumerate(parts)]
    for names, places in sets:
        touching = [group for group in groups if group[0] & names]
        columns = names.union(*(group[0] for group in touching))
        together = sorted([*places, *(at for group in touching for at in group[1])])
        groups = [group for group in groups if group not in touching] + [(columns, together)]
    return sorted((group for group in groups if group[1]), key=lambda group: group[1])


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
                "a range of texts is a condition, and neighbors are given record by record; name "
                "the texts: one_of('a', 'b')."
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
                    f"a record has no column {column!r}, and the tree has a condition on it; give "
                    "all columns on which the tree has conditions."
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


def _turned(options: Iterable[Option]) -> list[Option]:
    """Look at the same rows from the other side."""
    return [
        replace(option, cells=tuple((c, BOTH - side, atom, n) for c, side, atom, n in option.cells))
        for option in options
    ]


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
    whole = all(node.takes_whole(unit.columns) for node in tree.walk())
    if unit.columns and not whole:
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
