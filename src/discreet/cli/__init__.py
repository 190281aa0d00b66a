"""The command line: one door to a session, for people and for scripts.

Trust: public.
"""

from discreet.cli.app import app, main

__all__ = ["app", "main"]
