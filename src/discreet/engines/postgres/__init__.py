"""The engine on tables of a PostgreSQL server.

Trust: kernel.
"""
