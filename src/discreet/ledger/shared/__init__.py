"""A ledger that many processes share through one writer: charges of all of them are grouped.

Trust: kernel.
"""
