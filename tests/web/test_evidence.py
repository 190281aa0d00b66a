"""The audit view: intervals that cover, an index that is current, and audits that are refused."""

import json
import math
import runpy
import sys

import pytest

from discreet.errors import WrongKind
from discreet.theorems import theorems
from discreet.web.evidence.audit_facts import audit_picture, audited_promises
from discreet.web.evidence.audit_run import AuditRun
from discreet.web.evidence.bill_of_materials import bill_of_materials, components
from discreet.web.evidence.proof_index import INDEX, proof_index
from tests.house.pages import ROOT
from tests.web.served import HOSTILE, LINE


def interval(hits, n, delta=0.0):
    line = {**LINE, "hits": list(hits), "n": n, "delta": delta, "estimate": 1.0}
    return audited_promises({"lines": [line]})[0].interval


def shown(p, q, delta):
    """What chances of an event and of its complement show of epsilon, written anew."""
    ratios = [(p - delta) / q, (1 - q - delta) / (1 - p)]
    return math.log(max(1.0, *ratios))


def law(p, n):
    return [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


@pytest.mark.parametrize(("p", "q", "delta"), [(0.7, 0.3, 0.0), (0.5, 0.4, 0.05), (0.95, 0.6, 0.0)])
def test_intervals_miss_with_one_in_a_thousand_at_most(p, q, delta):
    n, missed = 24, 0.0
    truth = shown(p, q, delta)
    for one, chance in enumerate(law(p, n)):
        for other, too in enumerate(law(q, n)):
            low, high = interval((one, other), n, delta)
            if not low <= truth <= high:
                missed += chance * too
    assert missed <= 1e-3


def test_intervals_narrow_with_answers_and_break_with_a_broken_claim():
    wide, narrow = interval((70, 30), 100), interval((7000, 3000), 10_000)
    assert narrow[1] - narrow[0] < (wide[1] - wide[0]) / 5
    assert interval((100, 0), 100)[1] == math.inf
    assert interval((9000, 1000), 10_000)[0] > LINE["claimed"]  # all of it above the line


def test_a_report_without_counts_keeps_its_bound():
    exact = audited_promises({"lines": [{**LINE, "n": 0, "hits": [0, 0], "estimate": 0.98}]})[0]
    assert exact.interval == (0.97, 0.98)
    for odd in ({"hits": "x"}, {"n": -1}, {"hits": [5, 99]}, {"delta": "no"}, {"n": 10**12}):
        line = {**LINE, "hits": [5, 4], "n": 10, **odd}
        assert audited_promises({"lines": [line]})[0].interval == (0.97, 0.97)


def test_the_picture_has_a_dot_an_interval_and_the_line():
    lines = [{**LINE, "hits": [700, 300], "n": 1000, "estimate": 0.85, "name": HOSTILE}]
    picture = audit_picture(audited_promises({"lines": lines}))
    svg = picture.svg(styled=False)
    assert "y = x" in svg
    assert svg.count("<circle") == 2  # one mechanism, and the legend
    assert "with 99.9 %" in picture.description
    assert HOSTILE not in svg


def test_the_proof_index_is_current_and_whole():
    made = runpy.run_path(str(ROOT / "docs" / "write_proof_index.py"))["index"]()
    assert INDEX.read_text(encoding="utf-8") == made, "run: python docs/write_proof_index.py"
    proofs = proof_index()
    assert {each.theorem.key for each in proofs} == set(theorems())
    assert all(each.tests for each in proofs)
    assert proofs[0].modules[0].startswith("discreet.")
    for each in proofs[:20]:
        for test in each.tests:
            path, _, name = test.partition("::")
            assert f"def {name.rpartition('::')[2]}(" in (ROOT / path).read_text(encoding="utf-8")


def test_the_bill_names_every_package_once():
    bill = bill_of_materials()
    urls = [each["purl"] for each in bill["components"]]
    assert len(urls) == len(set(urls)) == len(components()) - 1
    assert any(url.startswith("pkg:pypi/fastapi@") for url in urls)
    assert json.loads(json.dumps(bill)) == bill


@pytest.mark.parametrize("text", ["", "[1]", '{"lines": ["x"]}', "[" * 100_000, "\x00"])
def test_what_is_no_report_is_refused_and_not_taken_for_nothing(tmp_path, text):
    run = AuditRun(tmp_path / "audit")
    assert run.report(tmp_path / "none.json") is None
    (tmp_path / "site.json").write_text(text)
    with pytest.raises(WrongKind, match="cannot be read"):
        run.report(tmp_path / "site.json")


def ended(run):
    """Begin an audit, wait for its end, and return what is wrong with it."""
    assert run.problem == ""
    run.begin()
    run._process.wait(240)
    assert run.seconds is None
    said = run.problem
    run.stop()
    assert run.problem == ""
    return said


def test_an_audit_that_ends_without_a_report_says_why(tmp_path, monkeypatch):
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho 'refused: {HOSTILE.replace(chr(39), '')}' >&2\nexit 3\n")
    program.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(program))
    assert ended(AuditRun(tmp_path / "audit")).startswith("refused: <img")
    program.write_text("#!/bin/sh\nexit 3\n")
    assert ended(AuditRun(tmp_path / "audit")) == "It said nothing."
    program.write_text(f"#!/bin/sh\necho '{{}}' > {tmp_path}/audit/audit.json\nexit 6\n")
    assert ended(AuditRun(tmp_path / "audit")) == ""  # it has found something, and says so


@pytest.mark.slow
def test_a_real_audit_without_room_for_its_report_says_so(tmp_path):
    (tmp_path / "audit" / "unfinished.jsonl").mkdir(parents=True)
    assert ended(AuditRun(tmp_path / "audit")) not in {"", "It said nothing."}


def test_an_audit_without_a_place_is_refused(tmp_path):
    (tmp_path / "audit").write_text("a file")
    with pytest.raises(WrongKind, match="cannot write its report"):
        AuditRun(tmp_path / "audit").begin()
