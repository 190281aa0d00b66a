"""Learning: models that are trained and posteriors that are drawn, each paid for before it reads.

Trust: kernel.
"""

from __future__ import annotations
