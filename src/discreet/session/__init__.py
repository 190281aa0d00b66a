"""Sessions: the counter where questions are asked, paid for, answered and recorded.

Trust: kernel.
"""

from discreet.session.describing import describe
from discreet.session.inquiry import Inquiry
from discreet.session.opening import open  # noqa: A004  called discreet.open
from discreet.session.record import NoLedger, Rehearsal
from discreet.session.session import Session

__all__ = ["Inquiry", "NoLedger", "Rehearsal", "Session", "describe", "open"]
