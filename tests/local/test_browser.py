"""The browser client: the laws and the bytes of the Python client, by enumeration in Node."""

import json
import subprocess
from fractions import Fraction
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from discreet.local import Direct, Domain, Form, Hadamard, Subset, Unary
from tests.servers.node import node

SCRIPT = resources.files("discreet.local") / "browser" / "discreet-local.js"
LAWS = Path(__file__).with_name("browser_laws.mjs")
NAMES = ["flu", "größe \u2028", 'a "quoted" one\x7f', 17, "Ω"]
DEPTH = 16  # bits of a list of words; longer lists stay unexplored
RANDOMIZERS = [
    Direct(epsilon=1, values=2),
    Direct(epsilon="1/2", values=5),
    Direct(epsilon="0.3", values=3),
    Hadamard(epsilon=1, values=3),
    Hadamard(epsilon=2, values=5),
    Unary(epsilon=1, values=2),
    Unary(epsilon=1, values=3, coding="symmetric"),
    Unary(epsilon="0.7", values=3),
    Subset(epsilon=1, values=4, size=2),
    Subset(epsilon=1, values=5, size=3),
    Subset(epsilon="5/2", values=5, size=1),
]


def form_of(randomizer):
    return Form(Domain(NAMES[: randomizer.values]), randomizer)


def in_node(jobs, script=SCRIPT):
    """Run jobs in one process."""
    done = subprocess.run(
        [str(node()), str(LAWS), str(script)],
        input=json.dumps(jobs).encode(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def law_job(randomizer, code, depth=DEPTH):
    document = json.loads(form_of(randomizer).serialize())
    return {"kind": "law", "form": document, "value": NAMES[code], "depth": depth}


def packed_law(randomizer, code):
    """Return the law of the Python client over whole reports."""
    layout, law = form_of(randomizer).layout, {}
    for outcome, chance in randomizer.reference_pmf(code).items():
        if isinstance(outcome, bytes):
            reports = np.frombuffer(outcome, np.uint8).reshape(1, -1)
        else:
            reports = np.array([outcome], randomizer.run_each(np.array([0])).dtype)
        law[layout.encode(randomizer.pack(reports)).hex()] = chance
    return law


def agrees(answer, law):
    """Say whether an enumerated law can be that one: the rest is not yet explored."""
    one = Fraction(1 << answer["scale"])
    left = int(answer["left"]) / one
    mass = {report: int(weight) / one for report, weight in answer["mass"].items()}
    if not set(mass) <= set(law):
        return False
    return all(
        mass.get(report, 0) <= chance.high and chance.low <= mass.get(report, 0) + left
        for report, chance in law.items()
    )


@pytest.fixture(scope="module")
def laws():
    """All laws, from one process."""
    cases = [(randomizer, code) for randomizer in RANDOMIZERS for code in range(randomizer.values)]
    answers = in_node([law_job(*case) for case in cases])
    return list(zip(cases, answers, strict=True))


def test_the_laws_and_the_bytes_are_those_of_python(laws):
    for (randomizer, code), answer in laws:
        law = packed_law(randomizer, code)
        assert agrees(answer, law), (randomizer, code)
        assert int(answer["left"]) < 1 << (answer["scale"] - 6)  # almost all is explored
        likely = {report for report, chance in law.items() if chance.low > Fraction(1, 64)}
        assert likely <= set(answer["mass"])


@pytest.mark.parametrize("change", ["2n * top, bottom", "top, 2n * bottom"], ids=["less", "more"])
def test_a_client_with_more_or_less_noise_is_noticed(change, tmp_path):
    text = SCRIPT.read_text(encoding="utf-8")
    mutant = tmp_path / "mutant.js"
    start = "  const epsilon = fraction(String(randomizer.epsilon));"
    assert text.count(start) == 1
    given = "  const [top, bottom] = fraction(String(randomizer.epsilon));"
    changed = f"{given}\n  const epsilon = [{change}];"
    mutant.write_text(text.replace(start, changed), encoding="utf-8")
    answers = in_node([law_job(randomizer, 1, depth=12) for randomizer in RANDOMIZERS], mutant)
    for randomizer, answer in zip(RANDOMIZERS, answers, strict=True):
        assert not agrees(answer, packed_law(randomizer, 1)), randomizer


def test_what_is_drawn_does_not_depend_on_the_value():
    jobs = [
        {
            "kind": "widths",
            "form": json.loads(form_of(randomizer).serialize()),
            "values": NAMES[: randomizer.values],
            "seed": seed,
        }
        for randomizer in RANDOMIZERS
        for seed in (1, 2, 3)
    ]
    for lists in in_node(jobs):
        assert lists[0]
        assert all(widths == lists[0] for widths in lists)


def test_reports_of_the_system_s_randomness_are_collected():
    """At a false alarm rate below 1e-6: six standard deviations, and a normal law of 3000 coins."""
    wide = Subset(epsilon=4, values=200, size=3)  # names, not bits
    forms = [form_of(RANDOMIZERS[1]), form_of(RANDOMIZERS[9])]
    forms.append(Form(Domain(range(200)), wide))
    values = ["flu", "flu", 0]
    jobs = [
        {"kind": "reports", "form": json.loads(form.serialize()), "value": value, "count": 3000}
        for form, value in zip(forms, values, strict=True)
    ]
    for form, stream in zip(forms, in_node(jobs), strict=True):
        collector = form.collector()
        collector.add_many(bytes.fromhex(stream))
        assert (collector.reports, collector.refused.total) == (3000, 0)
        supports = form.randomizer.supports(collector.tally)
        p, q = (float(chance) for chance in form.randomizer.exact_chances())
        for code, count in enumerate(supports):
            chance = p if code == 0 else q
            assert abs(count - 3000 * chance) < 6 * (3000 * chance * (1 - chance)) ** 0.5 + 1


def test_numbers_fall_into_the_bins_of_python():
    domain = Domain.bins(low="-0.5", high=2, count=7)
    form = Form(domain, Direct(epsilon=100, values=7))  # tells the truth but for e**-98
    values = [-0.5, -0.1, 0, 0.1, 1e-7, 0.57142857142857, 1.9999, 2, "1.25", "5/4"]
    job = {"kind": "refusals", "form": json.loads(form.serialize()), "values": values}
    expected = [domain.code(value) for value in values]
    assert [int(report[-2:], 16) for report in in_node([job])[0]] == expected


def test_what_is_refused_is_not_quoted():
    plain = json.loads(form_of(RANDOMIZERS[1]).serialize())
    bins = json.loads(Form(Domain.bins(low=0, high=1, count=2), RANDOMIZERS[0]).serialize())
    with_other = Form(Domain(["a", "b"], other="rest"), RANDOMIZERS[2])
    outside = ["secret", None, True, 3.5, "17", {}]
    outside_bins = ["secret", "", None, -0.1, 1.1, "1e9999", True, "NaN"]
    jobs = [
        {"kind": "refusals", "form": plain, "values": outside},
        {"kind": "refusals", "form": bins, "values": outside_bins},
        {"kind": "refusals", "form": json.loads(with_other.serialize()), "values": outside},
    ]
    refused, refused_bins, others = in_node(jobs)
    words = "RangeError: the value is outside the domain of the form"
    assert refused == [words] * len(outside)
    assert refused_bins == [words] * len(outside_bins)
    assert all(len(report) == 2 * with_other.layout.report_bytes for report in others)


NO_FORMS = [
    {"format": 2},
    {"kind": "another"},
    {"randomizer": {"name": "constructor", "epsilon": "1", "values": 2}},
    {"randomizer": {"name": "direct", "epsilon": "0", "values": 2}},
    {"randomizer": {"name": "direct", "epsilon": "101", "values": 2}},
    {"randomizer": {"name": "direct", "epsilon": "1", "values": 3}},
    {"randomizer": {"name": "unary", "epsilon": "1", "values": 2, "coding": "other"}},
    {"randomizer": {"name": "subset", "epsilon": "1", "values": 2, "size": 2}},
    {"domain": {"categories": ["one"], "other": None}},
    {"domain": {"categories": ["one", "one"], "other": None}},
    {"domain": {"categories": ["one", 1.5], "other": None}},
    {"domain": {"bins": 2, "low": "1", "high": "0"}},
    {"domain": None},
    {"randomizer": None},
]


def test_forms_that_are_none():
    document = json.loads(form_of(RANDOMIZERS[0]).serialize())
    jobs = [
        {"kind": "refusals", "form": {**document, **change}, "values": []} for change in NO_FORMS
    ]
    jobs.append({"kind": "refusals", "form": None, "values": []})
    assert set(in_node(jobs)) == {"TypeError: this is no form that this client knows"}
