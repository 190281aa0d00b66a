"""What randomizers in the local model rest on.

Trust: public.
"""

from __future__ import annotations

from typing import Final

from discreet.theorems.theorem import Theorem

LOCAL_RANDOMIZERS: Final = (
    Theorem(
        key="frequency-oracle",
        statement="If a report supports its sender's value with chance p and any other with "
        "chance q, and C of n independent reports support a value that a share f of the senders "
        "have, (C/n - q)/(p - q) estimates f without bias, with variance (f p (1 - p) + (1 - f) q "
        "(1 - q)) / (n (p - q)^2).",
        source="Wang, Blocki, Li and Jha 2017, Locally Differentially Private Protocols for "
        "Frequency Estimation",
    ),
    Theorem(
        key="oracle-loss",
        statement="If the ratio of the chances of a report under two values depends only on "
        "which of the two it supports, the loss between them is that of three outcomes: only the "
        "sender's value is supported, only the other one, and the rest.",
        source="outcomes of equal likelihood ratio may be merged; proof in "
        "discreet.local.randomizers.oracle",
    ),
    Theorem(
        key="unary-oracle",
        statement="A one-hot row whose own bit is 1 with chance p and each other with chance q "
        "loses ln(p (1 - q) / (q (1 - p))): epsilon both for p = 1 - q = e^(epsilon/2) / "
        "(e^(epsilon/2) + 1) and for p = 1/2, q = 1/(e^epsilon + 1).",
        source="Erlingsson, Pihur and Korolova 2014; Wang, Blocki, Li and Jha 2017",
    ),
    Theorem(
        key="subset-oracle",
        statement="If the w-subsets of k values with the sender's value weigh e^epsilon and the "
        "others 1, a report has that value with chance p = w e^epsilon / (w e^epsilon + k - w) and "
        "any other with chance (p (w - 1) + (1 - p) w)/(k - 1).",
        source="Ye and Barg 2018, Optimal Schemes for Discrete Distribution Estimation under "
        "Locally Differential Privacy",
    ),
    Theorem(
        key="uniform-sets",
        statement="A row of independent equal coins, of which uniform ones are removed or "
        "uniform zeros added until w - 1 are left, and to which one uniform zero is added, is a "
        "uniform w-subset, and what was added last is uniform in it.",
        source="symmetry; proof in discreet.local.randomizers.uniform_sets",
    ),
    Theorem(
        key="hadamard-oracle",
        statement="Two columns of the Hadamard matrix but the first agree on half of all rows; "
        "so a sign of a uniform row, kept with chance e^epsilon / (e^epsilon + 1), supports every "
        "other value with chance 1/2.",
        source="Bassily and Smith 2015; Acharya, Sun and Zhang 2019, Hadamard Response",
    ),
    Theorem(
        key="affine-hashing",
        statement="Over uniform W-bit integers a, b the upper l bits of (a x + b) mod 2^W are "
        "uniform and pairwise independent for different x below 2^w, if W >= w + l - 1.",
        source="Dietzfelbinger 1996, Universal Hashing and k-Wise Independent Random Variables "
        "via Integer Arithmetic without Primes",
    ),
    Theorem(
        key="hashing-oracle",
        statement="If two values share one of g cells with chance kappa over uniform seeds, "
        "direct response on the cell of the value supports any other value with chance p kappa + "
        "(1 - p)(1 - kappa)/(g - 1), and loses what direct response on g cells loses, with chance "
        "1 - kappa.",
        source="Wang, Blocki, Li and Jha 2017",
    ),
    Theorem(
        key="pool-floor",
        statement="With a pool of m random hash functions to g cells, shared by everybody, "
        "estimates have a variance of at most sum f^2 / (m (g - 1)) over the choice of functions, "
        "whatever the number of reports.",
        source="variance of the share of functions under which two values collide; proof in "
        "discreet.local.randomizers.hashing; Cormode, Maddock and Maple 2021 share seeds",
    ),
)
