"""Aggregates, one file each: what is measured for it, how its error is forecast, and its words.

Trust: kernel.

To add an aggregate: write its file here, and one for its value and interval in
:mod:`discreet.release.aggregates`; put a line for each into ``measured.AGGREGATES`` and
``release.aggregates.KINDS``, its SQL name into :mod:`discreet.query.functions`, and its
method into :mod:`discreet.query.builder`.  An aggregate that chooses a leaf of a histogram
brings its ``LeafPart`` and its ``LeafChoice``, which say how leaves are scored and how far a row
moves that: price, forecast and draws follow from these.
"""
