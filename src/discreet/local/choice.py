"""Which frequency oracle to use: the one of least variance that fits, and the reasons.

Trust: public.  Every choice has the loss that was asked for; a bad one costs accuracy or traffic.

Rule.  Of all oracles whose report fits into ``wire`` bytes, take the one of least variance at share
0, including the floor of a pool of hash functions; of those within one percent of it, the one with
the shortest report.  Subset selection is never worse than direct response, which is its w = 1, nor
than optimized unary response; it is not tried above 4096 values, if one report takes longer than
it is worth.  Hashing without a pool is not tried: decoding takes people times values.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

from discreet.errors import OutOfRange
from discreet.exact import whole
from discreet.local.direct import Direct
from discreet.local.domain import Domain
from discreet.local.hadamard import Hadamard
from discreet.local.hashing import Hashing
from discreet.local.randomizer import FrequencyOracle, local_epsilon, value_count
from discreet.local.subset import Subset
from discreet.local.unary import Unary
from discreet.mechanisms.mechanism import Number

WIRE: Final = 512
"""The most bytes of a report, unless another number is given."""
_MOST_SUBSET: Final = 4096
_MOST_VALUES: Final = 1 << 24
_NEAR: Final = Fraction(101, 100)
_POOLS: Final = tuple(1 << bits for bits in range(6, 17))
_SMALL: Final = Fraction(1, 10)  # of the noise: how large a pool's floor may be


@final
@dataclass(frozen=True, slots=True)
class OracleChoice:
    """An oracle, and why it was chosen."""

    oracle: FrequencyOracle
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        """Show the oracle and the reasons."""
        return "\n".join((repr(self.oracle), *(f"  {reason}" for reason in self.reasons)))


def choose(
    domain: Domain | int,
    *,
    epsilon: Number,
    wire: int = WIRE,
    people: int | None = None,
) -> OracleChoice:
    """Choose the oracle for a domain, or for a number of values.

    Args:
        domain: the public set of possible answers.
        epsilon: the loss of one report.
        wire: the most bytes that a report may have.
        people: about how many will report; a pool of hash functions needs to know.

    >>> print(choose(128, epsilon=1))
    Subset(epsilon=Fraction(1, 1), values=128, size=34)
      least variance of all that fit into 512 bytes: 3.61 / people at share 0, in 16 bytes
      next: unary 3.683 in 16 bytes, hadamard 4.683 in 2 bytes, direct 43.6 in 1 byte
    """
    count = domain.values if isinstance(domain, Domain) else domain
    values, loss = value_count(count, high=_MOST_VALUES), local_epsilon(epsilon)
    limit = whole(wire, name="wire", low=1)
    crowd = None if people is None else whole(people, name="people", low=1)
    fitting = [
        (total_variance(oracle, crowd), oracle)
        for oracle in _candidates(loss, values, crowd)
        if oracle.report_bytes <= limit
    ]
    if not fitting:
        raise OutOfRange(
            f"no report about {values} values fits into {limit} bytes; allow longer reports, with "
            "a larger wire."
        )
    fitting.sort(key=lambda pair: pair[0])
    near = [pair for pair in fitting if pair[0] <= fitting[0][0] * _NEAR]
    chosen = min(near, key=lambda pair: (pair[1].bits, pair[0]))
    return OracleChoice(chosen[1], _reasons(chosen, fitting, limit))


def total_variance(oracle: FrequencyOracle, people: int | None) -> Fraction:
    """Return n times the variance at share 0, the floor of a pool included.

    The floor is that of people who all have one value, which is the worst.

    >>> float(total_variance(Hadamard(epsilon=1, values=9), None)).__round__(3)
    4.683
    """
    noise = oracle.variance(0).low
    return noise + people * oracle.floor() if people and isinstance(oracle, Hashing) else noise


def _candidates(epsilon: Fraction, values: int, people: int | None) -> list[FrequencyOracle]:
    oracles: list[FrequencyOracle] = [
        Direct(epsilon=epsilon, values=values),
        Hadamard(epsilon=epsilon, values=values),
    ]
    if values <= 1 << 20:
        oracles.append(Unary(epsilon=epsilon, values=values))
    if values <= _MOST_SUBSET:
        subset = Subset(epsilon=epsilon, values=values)
        if subset.size > 1:  # one value is direct response
            oracles.append(subset)
    if people:
        pools = (Hashing(epsilon=epsilon, values=values, pool=pool) for pool in _POOLS)
        small = (pool for pool in pools if people * pool.floor() <= _SMALL * pool.variance(0).low)
        oracles += [pool for pool in (next(small, None),) if pool is not None]
    return oracles


def _reasons(
    chosen: tuple[Fraction, FrequencyOracle],
    fitting: list[tuple[Fraction, FrequencyOracle]],
    limit: int,
) -> tuple[str, ...]:
    variance, oracle = chosen
    best = "least variance" if chosen == fitting[0] else "shortest within 1 % of the least variance"
    first = (
        f"{best} of all that fit into {_bytes(limit)}: "
        f"{float(variance):.4g} / people at share 0, in {_bytes(oracle.report_bytes)}"
    )
    others = [
        f"{other.name} {float(spread):.4g} in {_bytes(other.report_bytes)}"
        for spread, other in fitting
        if other is not oracle
    ]
    return (first, f"next: {', '.join(others)}") if others else (first,)


def _bytes(count: int) -> str:
    return f"{count} byte" if count == 1 else f"{count} bytes"
