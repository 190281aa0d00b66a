"""What reports on the wire and their collectors rest on.

Trust: public.
"""

from __future__ import annotations

from typing import Final

from discreet.theorems.theorem import Theorem

LOCAL_REPORTS: Final = (
    Theorem(
        key="collector-monoid",
        statement="Collectors of one form are a commutative monoid under merging, and collecting "
        "is a homomorphism: however reports are divided and ordered, the merged collectors are the "
        "collector of all reports.",
        source="every field is a sum over reports; proof in discreet.local.reports.collector",
    ),
    Theorem(
        key="total-decoding",
        statement="Every string of bytes decodes into payloads and refused stretches; what clients "
        "write decodes into what they wrote, also behind foreign bytes without a header.",
        source="discreet.local.reports.wire",
    ),
    Theorem(
        key="plausible-ones",
        statement="The number of ones in an honest unary report has the same law for every value, "
        "and lies outside the bounds with a chance of at most 1e-9 on either side.",
        source="sum of one coin of chance p and k - 1 of chance q; Cao, Jia and Gong 2021, Data "
        "Poisoning Attacks to Local Differential Privacy Protocols",
    ),
)
