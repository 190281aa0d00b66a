"""Broken twins of mechanisms: one face is wrong, and the contract must see it."""

from collections.abc import Mapping

from discreet.mechanisms import Mechanism


class Twin(Mechanism):
    """A mechanism, some of whose faces are taken from elsewhere."""

    def __init__(self, mechanism, **faces):
        self.mechanism = mechanism
        self.faces = faces

    def _face(self, name):
        return self.faces.get(name) or getattr(self.mechanism, name)

    def loss(self, *, distance=1):
        return self._face("loss")(distance=distance)

    def error(self, *, confidence):
        return self._face("error")(confidence=confidence)

    def run(self, value, *, entropy):
        return self._face("run")(value, entropy=entropy)

    def reference_pmf(self, value):
        return self._face("reference_pmf")(value)


def half_the_noise_in_the_sampler(case):
    return Twin(case.mechanism, run=case.twin.run)


def half_the_noise(case):
    return Twin(case.mechanism, run=case.twin.run, reference_pmf=case.twin.reference_pmf)


def forgotten_sign(case):
    def run(value, *, entropy):
        return value + abs(case.mechanism.run(value, entropy=entropy) - value)

    return Twin(case.mechanism, run=run)


def wrong_sensitivity(case):
    return Twin(
        case.mechanism, loss=lambda *, distance=1: case.mechanism.loss(distance=distance // 2)
    )


def error_off_by(case, units):
    def error(*, confidence):
        return case.mechanism.error(confidence=confidence) + units

    return Twin(case.mechanism, error=error)


def shifted_law(case):
    """A reference law that is off by one outcome."""

    def reference_pmf(value):
        law = case.mechanism.reference_pmf(value)
        if not isinstance(law, Mapping):
            return lambda outcome: law(outcome + 1)
        places = list(law)
        return dict(zip(places[1:] + places[:1], law.values(), strict=True))

    return Twin(case.mechanism, reference_pmf=reference_pmf)
