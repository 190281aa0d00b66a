"""All attacks on our own releases, in their quick form: each finds nothing.

Noise and times are real.  Where chance decides, an attack states its rate of false alarms; all of
them together stay below 1e-4.
"""

from dataclasses import replace

import pytest

from discreet_audit.cases import CASES
from discreet_audit.findings import Finding
from discreet_audit.implementation import ATTACKS, claimed, drift
from discreet_audit.suite import all_rows

SOME = [case for at, case in enumerate(CASES) if at % 4 == 0 or "Keys" in case.name]


def made(attack):
    """Make an attack; of the audits of A7 some, as all of them are tests of their own.

    So are the exact losses of A17 in ``tests/attacks/test_suite.py``, and its draws in
    ``tests/mechanisms/test_contract.py``; both choices of keys are among those that stay.
    """
    if attack.code == "A7":
        return claimed.attack(quick=True, rows=all_rows()[:40:5])
    if attack.code == "A17":
        drifted = drift.attack(quick=True, cases=SOME)
        return replace(drifted, code=attack.code, title=attack.title)
    return attack(quick=True)


@pytest.mark.theorem("permuted-ranks")
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.code)
def test_an_attack_finds_nothing(attack):
    found = made(attack)
    assert found.passed, str(found)
    assert (found.code, found.title) == (attack.code, attack.title)
    assert found.numbers
    assert found.not_covered
    assert found.numbers.get("false_alarm_rate", 0) < 1e-4
    assert found.to_json()["measured"] == found.measured


def test_codes_are_those_of_the_list():
    assert [attack.code for attack in ATTACKS] == [f"A{number}" for number in range(1, 27)]


def test_a_finding_says_when_it_is_bad():
    finding = Finding(
        code="A1",
        title="t",
        claimed="c",
        measured="m",
        passed=False,
        numbers={"x": float("inf")},
        not_covered="n",
    )
    assert str(finding) == "A1 t: VIOLATED (m)"
    assert finding.to_json()["numbers"] == {"x": "inf"}
