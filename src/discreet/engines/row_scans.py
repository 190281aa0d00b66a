"""Row scans: requests that read one table row by row, and whose units compare as they are written.

Trust: kernel.  Engines may look at such rows in several ways, which all see the same units.
"""

from __future__ import annotations

from discreet.query.expression_types import columns, typed
from discreet.query.expressions import Window, walk
from discreet.query.relations import Filter, Named, Project, Relation, Scan
from discreet.query.types import Type
from discreet.requests.engine_request import EngineRequest


def has_exact_units(request: EngineRequest) -> bool:
    """Say whether units are equal where their values are the same: floats have two zeros."""
    types = dict(columns(request.relation))
    return all(typed(part, types) is not Type.FLOAT for part in request.unit)


def scan_below(node: Relation) -> Scan | None:
    """Return the table that a relation reads row by row; None if it does anything else."""
    match node:
        case Scan():
            return node
        case Filter(child=child) | Named(child=child):
            return scan_below(child)
        case Project(child=child, outputs=outputs):
            windows = any(isinstance(part, Window) for _, value in outputs for part in walk(value))
            return None if windows else scan_below(child)
        case _:
            return None
