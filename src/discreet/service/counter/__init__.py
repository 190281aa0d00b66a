"""The counter of a server: everything that calls and pages do, by what it is about.

Trust: kernel.
"""

from __future__ import annotations

from discreet.service.counter.service_counter import ServiceCounter

__all__ = ["ServiceCounter"]
