"""What exact numbers and exact noise rest on.

Trust: public.
"""

from __future__ import annotations

from typing import Final

from discreet.theorems.theorem import Theorem

__all__ = ["NOISE"]

_PROOFS: Final = "proof in docs/proofs/noise.md"

NOISE: Final = (
    Theorem(
        key="directed-rounding",
        statement="Every number that enters or leaves exact arithmetic as a float or fixed-"
        "point integer moves only in the direction that the function names.",
        source="IEEE 754 ordering of floats; floor and ceiling of rationals",
    ),
    Theorem(
        key="enclosure",
        statement="The integer enclosures of exp, log, square root and pi contain the true value.",
        source=f"Taylor series with counted truncations; {_PROOFS}",
    ),
    Theorem(
        key="lazy-inversion",
        statement="Revealing the bits of a uniform U one by one, and answering as soon as "
        "certified enclosures of the boundaries determine the outcome, has exactly "
        "the law F^-1(U).",
        source=f"inverse transform sampling with lazy comparison; {_PROOFS}",
    ),
    Theorem(
        key="block-mixture",
        statement="Splitting a law over blocks of 2^b integers into a flat part and a residual "
        "that is accepted with probability (w - min) / (max - min) leaves the law "
        "unchanged.",
        source=f"rejection sampling from a mixture; {_PROOFS}",
    ),
    Theorem(
        key="geometric-log",
        statement="floor(-s ln U) is geometric: it is at least k with probability exp(-k/s).",
        source=f"Devroye 1986, Non-Uniform Random Variate Generation, X.2; {_PROOFS}",
    ),
    Theorem(
        key="geometric-split",
        statement="A geometric variable of scale s is Q 2^b + R with Q geometric of scale s/2^b"
        " and an independent R on [0, 2^b) of weight exp(-R/s).",
        source=f"Canonne, Kamath and Steinke 2020, algorithm 2; {_PROOFS}",
    ),
    Theorem(
        key="laplace-sign",
        statement="A geometric magnitude with a fair sign, minus zero rejected, is discrete "
        "Laplace.",
        source=f"Canonne, Kamath and Steinke 2020, algorithm 2; {_PROOFS}",
    ),
    Theorem(
        key="gaussian-rejection",
        statement="A discrete Laplace Y of integer scale t, accepted with probability exp(-(|Y|"
        " - v/t)^2 / 2v), is discrete Gaussian of parameter v.",
        source=f"Canonne, Kamath and Steinke 2020, algorithm 3; {_PROOFS}",
    ),
    Theorem(
        key="gaussian-tail",
        statement="Euler-Maclaurin summation and the continued fraction of Mills' ratio, with "
        "their remainders, enclose every tail of the discrete Gaussian.",
        source=f"Laplace's continued fraction; Euler-Maclaurin formula; {_PROOFS}",
    ),
    Theorem(
        key="permute-and-flip",
        statement="A uniform member of the heads among independent coins Bernoulli(exp(c (u_i -"
        " u*))) has the law of permute-and-flip.",
        source="McKenna and Sheldon 2020, Permute-and-Flip; " + _PROOFS,
    ),
    Theorem(
        key="exponential-inversion",
        statement="Inverting certified prefix sums of exp(c (u_i - u*)) draws an index with "
        "probability proportional to exp(c u_i), whatever the size of the scores.",
        source=f"inverse transform sampling with lazy comparison; {_PROOFS}",
    ),
    Theorem(
        key="grid-distance",
        statement="Rounding down to a grid of step g moves values at distance d to grid "
        "distance at most ceil(d/g), and an L1 or L2 bound grows by what m changed "
        "coordinates allow.",
        source=f"floor(a) - floor(b) <= ceil(a - b); {_PROOFS}",
    ),
)
