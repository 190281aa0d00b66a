"""The counter of a server: everything that calls and pages do, by what it is about.

Trust: kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import late_names

if TYPE_CHECKING:  # loaded when it is first used, as all names of this room's door are
    from discreet.service.counter.service_counter import ServiceCounter

__all__ = ["ServiceCounter"]

if not TYPE_CHECKING:  # to which every name would be one of this room
    __getattr__, __dir__ = late_names(__name__, {"service_counter": ("ServiceCounter",)})
