"""The privacy label: one page about a ledger, filled from its entries and its policy.

Trust: public.
"""
