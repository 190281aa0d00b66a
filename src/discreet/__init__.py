"""discreet: answers questions about people without giving any of them away.

Trust: public.

>>> import discreet as dp
>>> dp.noise.DiscreteLaplace(scale=2).sample(10).shape
(10,)
"""

from discreet import errors, exact, noise, theorems

__version__ = "0.1.0"

__all__ = ["__version__", "errors", "exact", "noise", "theorems"]
