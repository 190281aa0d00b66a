"""Answers as plain values, and an engine whose tables can be filled again and again."""

import atexit

from discreet.engines.engine import Performance
from tests.engines.edges import filled, opened
from tests.engines.questions import TYPES
from tests.reference.engine import Reference

ENGINE = opened(TYPES, performance=Performance(threads=1))
atexit.register(ENGINE.close)


def flat(raw):
    """Return all numbers and keys of an answer as plain values."""
    return {
        "keys": [column.to_pylist() for column in raw.keys],
        "units": raw.units.tolist(),
        "totals": {name: values.tolist() for name, values in raw.totals.items()},
        "leaves": {name: [part.tolist() for part in parts] for name, parts in raw.leaves.items()},
    }


def run(lowered, rows, order, engine=ENGINE):
    """Answer with DuckDB."""
    filled(engine, rows, TYPES)
    return flat(engine.run(lowered, order=order))


def reference(lowered, rows, order):
    """Answer with the reference."""
    return flat(Reference(rows, TYPES).run(lowered, order=order))


def by_group(answer):
    """Return the numbers of each group that are not zero: {group: {(name, leaf): number}}."""
    groups = (
        list(zip(*answer["keys"], strict=True)) if answer["keys"] else [()] * len(answer["units"])
    )
    found = {group: {} for group in groups}
    for name, values in {"units": answer["units"], **answer["totals"]}.items():
        for group, value in zip(groups, values, strict=True):
            found[group][name, None] = value
    for name, (places, leaves, counts) in answer["leaves"].items():
        for place, leaf, count in zip(places, leaves, counts, strict=True):
            found[groups[place]][name, leaf] = count
    return {
        group: {name: value for name, value in values.items() if value}
        for group, values in found.items()
        if any(values.values())
    }
