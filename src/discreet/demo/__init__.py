"""The demo: a guided tour on made-up data, offline, in a few seconds.

Trust: public.
"""

from discreet.demo.tour import tour

__all__ = ["tour"]
