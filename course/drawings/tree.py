"""Trees of releases as SVG text: what each node costs, and what the worst neighbor touches.

A box shows a node and what it costs by itself, on the records that it sees.  Boxes in color are
those that the worst neighbor touches.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from discreet.accounting import Box, Leaf, Node, Parallel, Place, Values, Where, account
from discreet.charts import STYLE

LEFT, TOP, ROW, TALL, GAP, LETTER = 20, 52, 58, 44, 34, 7.6
LEAST_WIDTH = 640


@dataclass(slots=True, kw_only=True)
class Drawn:
    """One node: its words, its price, whether it is touched, and where it is drawn."""

    name: str
    price: str
    touched: bool
    depth: int
    children: tuple[Drawn, ...]
    at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """The picture of a tree; ``unit`` and the rest are what ``account`` is given."""

    title: str
    tree: Node
    how: Mapping[str, object]
    delta: object = 0

    def svg(self) -> str:
        """Return the whole picture."""
        statement = account(self.tree, **self.how)  # type: ignore[arg-type]
        witness = statement.witness_at(delta=self.delta)
        sides = [side for side in (witness.removed, witness.inserted) if side] or [()]
        root = self._drawn(self.tree, "", Box.everything(), sides, 0)
        boxes = list(_walk(root))
        rows = _place(root, 0)
        starts = _starts(boxes)
        width = max(LEAST_WIDTH, math.ceil(starts[-1] - GAP + LEFT))
        height = TOP + rows * ROW + 34
        cost = f"ε = {_number(statement.epsilon(delta=self.delta))}"
        caption = f"worst: {witness}: {cost} at δ = {self.delta}"
        size = f'width="{width}" height="{height}"'
        view = f'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        return "\n".join(
            [
                f'<svg {view} {size} role="img"><rect class="page" {size} rx="8"/>',
                f"<title>{escape(self.title)}</title><style>{STYLE}</style>",
                _text(LEFT, 28, self.title, ' class="b"'),
                *(
                    line
                    for on in (False, True)
                    for box in boxes
                    for line in _edges(box, starts, on)
                ),
                *(line for box in boxes for line in _shape(box, starts)),
                _text(LEFT, height - 16, caption),
                "</svg>\n",
            ]
        )

    def _drawn(
        self, node: Node, label: str, seen: Box, sides: Sequence[Sequence[Place]], depth: int
    ) -> Drawn:
        """Look at a node behind the conditions on its path."""
        alone = node if seen == Box.everything() else Where(seen, node)
        cost = account(alone, **self.how).epsilon(delta=self.delta)  # type: ignore[arg-type]
        met = any(_meets(seen, places) for places in sides)
        children = tuple(
            self._drawn(child, name, box, sides, depth + 1)
            for name, child, box in _below(node, seen)
        )
        inside = any(child.touched for child in children) if children else met and cost > 0
        title = node.name if isinstance(node, Leaf) and node.name else node.title()
        return Drawn(
            name=f"{label}: {title}" if label else title,
            price="free" if cost == 0 else f"ε = {_number(cost)}",
            touched=inside,
            depth=depth,
            children=children,
        )


def _below(node: Node, seen: Box) -> Iterator[tuple[str, Node, Box]]:
    """Yield the nodes below, with labels and with the records that they see."""
    match node:
        case Parallel(key=key, parts=parts):
            for (values, child), (label, _) in zip(parts, node.branches(), strict=True):
                yield label, child, seen & Box({key: values})
        case Where(box=box, child=child):
            yield "", child, seen & box
        case _:
            yield from ((label, child, seen) for label, child in node.branches())


def _meets(seen: Box, places: Sequence[Place]) -> bool:
    """Say whether rows in these places are seen; where a column is open they are anywhere."""
    where: dict[str, list[Values]] = {}
    for place in places:
        where.setdefault(place.column, []).append(place.values)
    return all(
        any(not values.disjoint(found) for found in where.get(column, [values]))
        for column, values in seen.conditions
    )


def _walk(box: Drawn) -> Iterator[Drawn]:
    yield box
    for child in box.children:
        yield from _walk(child)


def _place(box: Drawn, row: int) -> int:
    """Give each leaf a row, and put every other box beside the middle of those below it."""
    if not box.children:
        box.at = float(row)
        return row + 1
    for child in box.children:
        row = _place(child, row)
    box.at = (box.children[0].at + box.children[-1].at) / 2
    return row


def _starts(boxes: Sequence[Drawn]) -> list[float]:
    """Return where each column of boxes starts, and where the last one ends."""
    starts = [float(LEFT)]
    for depth in range(max(box.depth for box in boxes) + 1):
        words = [text for box in boxes if box.depth == depth for text in (box.name, box.price)]
        starts.append(starts[-1] + 24 + LETTER * max(map(len, words)) + GAP)
    return starts


def _edges(box: Drawn, starts: Sequence[float], touched: bool) -> Iterator[str]:  # noqa: FBT001
    """Draw lines from a box to those below it that are touched, or to the others."""
    right, here = starts[box.depth + 1] - GAP, TOP + box.at * ROW + TALL / 2
    for child in box.children:
        if child.touched is not touched:
            continue
        there = TOP + child.at * ROW + TALL / 2
        kind = "l s1" if child.touched else "l g"
        turn = right + GAP / 2
        path = f"M{right:.1f} {here:.1f}H{turn:.1f}V{there:.1f}H{starts[child.depth]:.1f}"
        yield f'<path class="{kind}" d="{path}"/>'


def _shape(box: Drawn, starts: Sequence[float]) -> Iterator[str]:
    left, top = starts[box.depth], TOP + box.at * ROW
    size = f'x="{left:.1f}" y="{top:.1f}" width="{starts[box.depth + 1] - GAP - left:.1f}"'
    fill = (
        'class="f1 s1" fill-opacity="0.18"' if box.touched else 'class="f0 g" fill-opacity="0.06"'
    )
    yield f'<rect {fill} {size} height="{TALL}" rx="6"/>'
    yield _text(left + 12, top + 18, box.name)
    yield _text(left + 12, top + 35, box.price)


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text{more} x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


def _number(cost: float) -> str:
    """Show a price rounded up to three places."""
    return "∞" if math.isinf(cost) else f"{math.ceil(cost * 1000 - 1e-6) / 1000:g}"
