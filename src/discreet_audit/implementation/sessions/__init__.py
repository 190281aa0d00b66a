"""Attacks on whole sessions: noise that repeats, limits, charges, digests, joins, drift and scopes.

Trust: public.  All but the first are without chance: what is computed and recorded is compared.
"""
