"""What audits and attacks rest on.

Trust: public.
"""

from __future__ import annotations

from typing import Final

from discreet.theorems.theorem import Theorem

ATTACKS: Final = (
    Theorem(
        key="clopper-pearson",
        statement="If L(k) is such that k or more hits of n have a chance of at most a at L(k), "
        "then L of the number of hits is above the true chance with a chance of at most a.",
        source="Clopper and Pearson 1934, The Use of Confidence or Fiducial Limits; proof in "
        "discreet.attacks.proportions",
    ),
    Theorem(
        key="event-bounds",
        statement="An event with chance at least P on one neighbor and at most Q < P on the other "
        "bounds from below epsilon at every delta, rho, and mu, by level curves through (P, Q), "
        "all at once.",
        source="Kairouz, Oh and Viswanath 2015, The Composition Theorem for Differential Privacy; "
        "Lokna and others 2023, Group and Attack: Auditing Differential Privacy; proof in "
        "discreet.attacks.claims",
    ),
    Theorem(
        key="held-out-event",
        statement="If an event, or a pair of neighbors, is chosen before the answers that judge it "
        "are drawn, its bounds hold at their level, however many others were tried.",
        source="conditioning; Bichsel and others 2021, DP-Sniper; proof in discreet.attacks.events",
    ),
    Theorem(
        key="audit-bound",
        statement="The bound of an audit is above the true parameter with a chance of at most its "
        "level, whatever the mechanism.",
        source="clopper-pearson, held-out-event and event-bounds; proof in "
        "discreet.attacks.estimate",
    ),
    Theorem(
        key="stopped-audit",
        statement="If stage k of an audit is judged by new answers at level a / (k (k + 1)), by a "
        "pair and an event that were chosen before, the largest bound of all stages is above the "
        "true parameter with a chance of at most a, whenever and for whatever reason it ends.",
        source="audit-bound and a union over stages; proof in discreet.attacks.stopped_audit",
    ),
    Theorem(
        key="likeliest-first",
        statement="Among the sets of the k outcomes with the largest ratios of chances are those "
        "that give the largest epsilon at every delta, and the largest mu.",
        source="Neyman and Pearson 1933, On the Problem of the Most Efficient Tests of Statistical "
        "Hypotheses; proof in discreet.attacks.exact",
    ),
    Theorem(
        key="reconstruction-ceiling",
        statement="From answers that are (epsilon, delta)-private when one bit changes, a share of "
        "at most (e^epsilon + delta) / (1 + e^epsilon) of fair bits is guessed, in expectation.",
        source="binary hypothesis testing; proof in discreet.attacks.reconstruction.curators",
    ),
    Theorem(
        key="guessed-bits",
        statement="From answers that are epsilon-private when one of n fair bits changes, the "
        "number of bits that are guessed is stochastically at most that of n coins with chance "
        "e^epsilon / (1 + e^epsilon).",
        source="Steinke, Nasr and Jagielski 2023, Privacy Auditing with One Training Run; proof in "
        "discreet.attacks.guessed_bits",
    ),
    Theorem(
        key="guessed-bits-approximate",
        statement="From answers that are (epsilon, delta)-private when one of m fair bits changes, "
        "at least v of at most r guesses are right with a chance of at most that of v heads of r "
        "coins with chance c = e^epsilon / (1 + e^epsilon), plus m delta (1 - c) times the mean of "
        "the chances of the likeliest number of heads of 0 to r - 1 coins.",
        source="after Steinke, Nasr and Jagielski 2023, Privacy Auditing with One Training Run; "
        "proof in discreet.attacks.guessed_bits",
    ),
    Theorem(
        key="one-run-audit",
        statement="The lower bound on epsilon from bits that were guessed in one run is above the "
        "true epsilon with a chance of at most its level.",
        source="guessed-bits and guessed-bits-approximate; proof in discreet.attacks.guessed_bits",
    ),
    Theorem(
        key="fourier-attack",
        statement="If N counts by the signs of a Hadamard matrix err by at most E each, all but "
        "16 E^2 + 1 of N bits are guessed; with normal errors of deviation s, a share of "
        "Phi(sqrt(N) / (4 s)).",
        source="Dwork and Yekhanin 2008, New Efficient Attacks on Statistical Disclosure Control "
        "Mechanisms; proof in discreet.attacks.reconstruction.fourier",
    ),
    Theorem(
        key="general-tracker",
        statement="Four counts of conditions that hold for about half of all rows give the count "
        "of any condition, however few rows meet it.",
        source="Denning and Schlorer 1980, A Fast Procedure for Finding a Tracker in a "
        "Statistical Database; proof in discreet.attacks.reconstruction.tracker",
    ),
    Theorem(
        key="tracing-bound",
        statement="If averages are (epsilon, delta)-private when a person is exchanged, at most a "
        "share of e^epsilon F + delta of the members is traced with a share F of false alarms.",
        source="post-processing; Dwork and others 2015, Robust Traceability from Trace Amounts; "
        "proof in discreet.attacks.tracing",
    ),
)
