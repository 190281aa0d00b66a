"""The theorems that discreet relies on, each under a key.

Trust: public.

Code cites a key in a docstring, a test is marked with it (``@pytest.mark.theorem("key")``), and
documentation prints the statement.  A key that no test is marked with fails the build.
"""

from discreet.theorems.registry import THEOREMS
from discreet.theorems.theorem import Theorem

__all__ = ["THEOREMS", "Theorem"]
