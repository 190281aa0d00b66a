"""What private training rests on.

Trust: public.
"""

from __future__ import annotations

from typing import Final

from discreet.theorems.theorem import Theorem

LEARNING: Final = (
    Theorem(
        key="gradient-sum",
        statement="Float64 totals of contributions that are scaled to an L2 norm of at most C, "
        "each made of products that add up to at most k C, differ by at most C + 2 g k B C between "
        "batches of at most B units that differ by one, g being the rounding of the operations "
        "behind a product; floored to a dyadic grid they differ by less than that and the root of "
        "the number of coordinates, in steps.",
        source="Higham 2002, Accuracy and Stability, lemma 3.1; grid-distance; proof in "
        "docs/proofs/learning.md",
    ),
    Theorem(
        key="short-sums",
        statement="If parts of contributions that have one product in each coordinate are added up "
        "in float32 first, with at most r roundings before a number is added up in float64, totals "
        "of neighbors differ by at most 2 B C (g + 2 h) more, g being r roundings of float32 and h "
        "those of float64, and by what underflows.",
        source="gradient-sum; proof in docs/proofs/learning.md",
    ),
    Theorem(
        key="capped-batch",
        statement="A Poisson sample that is cut to its first k units loses no more than the sample "
        "itself, beside a release that tells all with the chance that k of the other units show "
        "heads.",
        source="proof in learning/sampling.py and docs/proofs/learning.md; enumeration",
    ),
    Theorem(
        key="side-counts",
        statement="With m further coordinates, to each of which a unit adds a number of at most w, "
        "a sum of contributions of a norm of at most C moves by at most the root of C**2 + m w**2; "
        "a ramp over norms, or a cut mean objective, moves by at most 3 t w where the norm or the "
        "objective moves by a share of at most t.",
        source="Andrew, Thakkar, McMahan and Ramaswamy 2021 for a count; proof in "
        "learning/side_counts.py and docs/proofs/learning.md",
    ),
    Theorem(
        key="augmented-views",
        statement="The mean over any number of random views of a unit's own rows, clipped once, "
        "costs what one view costs, beside the rounding of as many products.",
        source="De, Berrada, Hayes, Smith and Balle 2022; proof in learning/deep/rows.py",
    ),
    Theorem(
        key="banded-sums",
        statement="If units take turns in b parts, each step draws a Poisson sample of rate b q "
        "from one part, and each sum is measured in b steps with public coefficients r and fresh "
        "noise, a run of T steps loses no more than ceil(T / b) Gaussian releases at |r| times the "
        "distance of one sum, each on a Poisson sample of rate b q.",
        source="Choquette-Choo, Ganesh, McKenna, McMahan, Rush, Thakurta and Xu 2023; proof for "
        "discrete noise in learning/banded_noise.py and docs/proofs/learning.md",
    ),
    Theorem(
        key="marked-steps",
        statement="If every attempt at a run records how far it is about to draw, stops where a "
        "later attempt is on record, and is charged again for the steps between where it begins "
        "and the last mark of the latest attempt that has one before its start, then no more "
        "steps are drawn than are charged, and stopping in order is free.",
        source="proof in learning/marks.py and docs/proofs/learning.md; one-answer",
    ),
    Theorem(
        key="adopted-coins",
        statement="A row that is kept where a float32, equally likely any multiple of 2**-24 below "
        "1, is below q is kept with a chance of q rounded up to such a multiple.",
        source="proof in learning/adoption.py; enumeration",
    ),
    Theorem(
        key="told-samples",
        statement="A release from a Poisson sample of rate q is (0, q)-differentially private "
        "where a unit is added or removed, whatever it tells of the sample.",
        source="proof in learning/adoption.py; enumeration",
    ),
)
