"""Aggregates, one file each: what is measured for it, how its error is forecast, and its words.

Trust: kernel.

To add an aggregate: write its file, put its function into ``measured.AGGREGATES``, its value and
interval into :mod:`discreet.release.aggregates`, and its SQL name into
:mod:`discreet.query.signatures`.
"""
