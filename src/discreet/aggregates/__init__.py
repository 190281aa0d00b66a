"""Aggregates, one file each: what is measured for it, its forecast, its value and its interval.

Trust: kernel.

To add an aggregate: write its file here, with a test; put a line into ``measured.AGGREGATES``, its
SQL name into :mod:`discreet.query.functions`, and its method into :mod:`discreet.query.builder`.
One that chooses a leaf of a histogram brings its ``LeafPart`` and its ``LeafChoice``, which say how
leaves are scored and how far a row moves that: price, forecast and draws follow from these.
"""

__all__: list[str] = []
