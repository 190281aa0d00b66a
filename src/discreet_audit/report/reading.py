"""How to read a report, and what it does not cover: the same words in every form of it.

Trust: public.
"""

from __future__ import annotations

from typing import Final

from discreet_audit.suite.report import Report

_EXPLANATION: Final = """
A *measured* value is a certified lower bound of what is lost: two neighboring tables are asked
about many times, an event that tells them apart is learned from some answers and judged by others.
*Near* is the same without a margin for chance, and proves nothing. Where a mechanism says with
which chance each outcome comes, no answers are drawn, and the bound is exact. A promise is *kept*
if the bound is not above it; a *broken twin*, a mechanism with a known mistake, must be *caught*.

What a row *shows* is how large a mistake would have to be to be seen: × 1.2 says that 1.2 times the
loss that was seen would have refuted the claim, by as many answers. *No noise* says that only
answers without any noise would have. A row that could not have shown a mistake of a factor two is
*no evidence*, and not called kept.

For twins the number of answers is what it took, in steps of ten. The chance that any bound on a
promise is too high is at most 1 in {odds:,}; for each broken twin it is the same, and attacks on
the implementation state their own.
"""


def explanation(report: Report) -> str:
    """Say what the words of a report mean: paragraphs, with stars around what is explained."""
    return _EXPLANATION.format(odds=int(1 / report.level)).strip()


_UNSEEN: Final = """
A bound below a claim does not prove the claim. Other neighbors, other parameters or another
event may lose more. What mechanisms lose is computed from their laws to the last digit; for
questions there are no such laws.

Questions are audited on the numbers that their mechanisms drew, from which everything in a
release is computed, with one order of rows, the same on both sides. A promise holds for every
order; that the order itself tells nothing is tested elsewhere.

Of the bits of a number the lowest that is set and the last four are looked at, in the first 32
numbers of an answer; another pattern of bits stays unseen.

Answers are taken to be independent. What one answer tells about the noise of the next is the
matter of the attacks on randomness and replay, not of the bounds.

Time is looked at by the attacks on time alone, on one machine, for a few questions. What is
written to stderr, memory, caches and power are not looked at.

Questions that find their bounds privately, and programs that use the libraries directly, are
not audited here.

Broken twins are ours, on neighbors that were picked to show their mistakes, so that catching
all of them says little about mistakes that nobody thought of. The budget that refunds was
missed in its first form and made to give more away; the analyst of A8, who asks at random, did
not find a filter that one who plans ahead would break.

Nobody outside the project has repeated any of this.
"""
WEAKNESSES: Final = tuple(" ".join(paragraph.split()) for paragraph in _UNSEEN.split("\n\n"))
"""What the suite does not cover."""
