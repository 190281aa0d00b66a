"""Random losses for the laws of composition."""

from fractions import Fraction

from hypothesis import strategies as st

from discreet.loss import Approximate, GaussianDP, Profile, Pure, RenyiDP, ZeroConcentrated
from discreet.loss.pure_pairs import LaplacePair

TENTHS = st.integers(1, 12).map(lambda k: Fraction(k, 10))
TARGETS = st.integers(0, 30).map(lambda k: Fraction(k, 10))

pure = st.builds(Pure, epsilon=TENTHS)
approximate = st.builds(
    Approximate, epsilon=TENTHS, delta=st.sampled_from([Fraction(0), Fraction(1, 10**6)])
)
gaussian = st.builds(GaussianDP, mu=TENTHS)
concentrated = st.builds(ZeroConcentrated, rho=TENTHS.map(lambda t: t / 4))
laplace = TENTHS.map(lambda t: Profile.of(LaplacePair(t)))

known = st.one_of(pure, approximate, gaussian, laplace)
"""Losses whose dominating pair is known."""

renyi = TENTHS.map(
    lambda t: RenyiDP(orders=(2, 4, 8, 16), values=tuple(a * t / 4 for a in (2, 4, 8, 16)))
)

any_loss = st.one_of(known, concentrated, renyi)
