"""Posteriors that know about the noise, and single draws that need none.

Trust: kernel.
"""

from __future__ import annotations
