"""Stores: SQLite files and PostgreSQL tables that keep the lines of a ledger.

Trust: public.
"""
