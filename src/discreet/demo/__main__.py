"""``python -m discreet.demo``: what ``./run demo`` does.

Trust: public.
"""

from discreet.demo.tour import tour

__all__ = ["tour"]

if __name__ == "__main__":
    tour()
