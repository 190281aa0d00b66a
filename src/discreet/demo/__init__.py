"""The demo: a guided tour on generated data, offline, in a few seconds.

Trust: public.
"""

from discreet.demo.tour import tour

__all__ = ["tour"]
