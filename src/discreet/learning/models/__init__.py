"""Models as scikit-learn has them, each paid for before it sees a row.

Trust: kernel.
"""

from __future__ import annotations
