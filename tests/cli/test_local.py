"""``discreet local``: a form, a plan, reports and estimates, and how each ends."""

import json
import os
import subprocess
import sys

import pytest

from discreet.local import Collector, Direct, Domain, Form, NumberRange
from tests.cli.test_commands import answered, run
from tests.cli.test_output import LOST, run_redirected

FORM = ("local", "form", "--categories=flu,cold,none", "--epsilon=1")


@pytest.fixture
def survey(tmp_path):
    """A folder with a form."""
    (tmp_path / "form.json").write_bytes(answered(tmp_path, *FORM).stdout_bytes)
    return tmp_path


def form_in(folder):
    return Form.deserialize((folder / "form.json").read_text())


def test_a_form_is_written_and_explained(tmp_path):
    done = answered(tmp_path, *FORM)
    form = Form.deserialize(done.stdout)
    assert form == Form.of(Domain(["flu", "cold", "none"]), epsilon=1)
    assert "least variance" in done.stderr
    told = json.loads(answered(tmp_path, *FORM, "--json").stdout)
    assert (told["kind"], told["digest"]) == ("form", form.digest)
    assert Form.deserialize(json.dumps(told["form"])) == form


def test_forms_of_every_domain(tmp_path):
    (tmp_path / "towns.txt").write_text("Ulm\nBonn, am Rhein\nKöln\n", encoding="utf-8")
    begin = ("local", "form", "--epsilon=0.5")
    towns = answered(tmp_path, *begin, "--categories-from=towns.txt", "--other=else").stdout
    assert Form.deserialize(towns).domain == Domain(["Ulm", "Bonn, am Rhein", "Köln"], other="else")
    twice = answered(tmp_path, *begin, "--categories=a, b", "--categories=c").stdout
    assert Form.deserialize(twice).domain == Domain(["a", "b", "c"])
    bins = answered(tmp_path, *begin, "--bins=-1:1:200", "--wire=2").stdout
    assert Form.deserialize(bins).domain == Domain.bins(low=-1, high=1, count=200)
    assert Form.deserialize(bins).layout.payload_bytes <= 2


@pytest.mark.parametrize(
    "wrong",
    [
        ["--epsilon=1"],
        ["--epsilon=1", "--categories=a"],
        ["--epsilon=1", "--categories=a,a"],
        ["--epsilon=0", "--categories=a,b"],
        ["--epsilon=-1", "--categories=a,b"],
        ["--epsilon=much", "--categories=a,b"],
        ["--categories=a,b"],
        ["--epsilon=1", "--categories=a,b", "--bins=0:1:2"],
        ["--epsilon=1", "--bins=0:1"],
        ["--epsilon=1", "--bins=0:1:x"],
        ["--epsilon=1", "--bins=1:0:5"],
        ["--epsilon=1", "--bins=0:1:5", "--other=x"],
        ["--epsilon=1", "--number=0:1", "--other=x"],
        ["--epsilon=1", "--number=0"],
        ["--epsilon=1", "--number=1:0"],
        ["--epsilon=1", "--number=a:b"],
        ["--epsilon=1", "--categories-from=nothing.txt"],
        ["--epsilon=1", "--categories=a,b", "--wire=0"],
    ],
    ids=" ".join,
)
def test_forms_that_cannot_be_made(tmp_path, wrong):
    done = run(tmp_path, "local", "form", *wrong)
    assert done.exit_code == 2
    assert not done.stdout
    assert "Traceback" not in done.stderr


def test_a_plan(survey):
    text = answered(survey, "local", "plan", "form.json", "--people=1000").stdout
    assert "epsilon 0.1824 at delta 1e-06" in text
    more = ("--people=1000", "--confidence=0.99", "--json")
    told = json.loads(answered(survey, "local", "plan", "form.json", *more).stdout)
    assert told["half_widths"]["rare"] > 0.09
    assert (told["kind"], told["confidence"]) == ("local plan", "99/100")
    for wrong in ("--people=1", "--people=0", "--people=x"):
        assert run(survey, "local", "plan", "form.json", wrong).exit_code == 2


def test_reports_are_bytes_and_are_collected(survey):
    form = form_in(survey)
    report = answered(survey, "local", "report", "form.json", "flu").stdout_bytes
    assert len(report) == form.layout.report_bytes
    (survey / "one").write_bytes(report)
    values = "flu\ncold\r\nnone\n" * 2000
    stream = run(survey, "local", "report", "form.json", "-", stdin=values)
    (survey / "many").write_bytes(stream.stdout_bytes)
    (survey / "junk").write_bytes(b"not a report")
    files = ("one", "many", "junk")
    text = answered(survey, "local", "collect", "form.json", *files).stdout
    assert "6001 reports, 1 refused (1 unreadable)" in text
    told = json.loads(
        answered(
            survey,
            *("local", "collect", "form.json", *files, "--json", "--hostile=10"),
            *("--consistent=simplex", "--target=reported", "--bars=all", "--confidence=0.9999999"),
        ).stdout
    )
    assert (told["reports"], told["refused"]["unreadable"]) == (6001, 1)
    assert [row["value"] for row in told["rows"]] == ["flu", "cold", "none"]
    assert all(row["low"] <= 1 / 3 <= row["high"] for row in told["rows"])
    assert sum(row["share"] for row in told["rows"]) == pytest.approx(1)
    assert (told["hostile"], told["target"], told["bars"]) == (10, "reported", "all")


def test_a_report_as_json(survey):
    told = json.loads(answered(survey, "local", "report", "form.json", "cold", "--json").stdout)
    collector = form_in(survey).collector()
    collector.add(bytes.fromhex(told["report"]))
    assert collector.reports == 1


def test_integers_are_read_as_the_form_spells_them(tmp_path):
    domain = Domain([1, 2, "3", -4])
    form = Form(domain, Direct(epsilon=100, values=4))
    (tmp_path / "form.json").write_text(form.serialize())
    for value, code in (("1", 0), ("2", 1), ("3", 2), ("-4", 3)):
        report = answered(tmp_path, "local", "report", "form.json", "--", value).stdout_bytes
        assert report[-1] == code


def test_the_mean_of_a_number(tmp_path):
    begin = ("local", "form", "--number=0:120", "--epsilon=4")
    (tmp_path / "form.json").write_bytes(answered(tmp_path, *begin).stdout_bytes)
    assert form_in(tmp_path).domain == NumberRange(low=0, high=120)
    planned = answered(tmp_path, "local", "plan", "form.json", "--people=2000").stdout
    assert "mean, at worst          ± 0.94 (95 %)" in planned
    reports = run(tmp_path, "local", "report", "form.json", "-", stdin="20\n35.5\n" * 1000)
    (tmp_path / "reports").write_bytes(reports.stdout_bytes)
    collect = ("local", "collect", "form.json", "reports", "--confidence=0.9999999")
    told = json.loads(answered(tmp_path, *collect, "--json").stdout)
    assert told["low"] < 27.75 < told["high"] < told["low"] + 30
    assert "2000 reports, 0 refused" in answered(tmp_path, *collect).stdout
    assert run(tmp_path, "local", "report", "form.json", "121").exit_code == 2
    for wrong in ("--hostile=2001", "--bars=all", "--consistent=simplex"):
        assert run(tmp_path, *collect, wrong).exit_code == 2


@pytest.mark.parametrize("json_too", [[], ["--json"]])
def test_a_value_outside_is_refused_and_not_quoted(survey, json_too):
    for given, stdin in (("measles", ""), ("-", "flu\nmeasles\n")):
        done = run(survey, "local", "report", "form.json", given, *json_too, stdin=stdin)
        assert done.exit_code == 2
        assert "outside the domain" in done.stderr
        assert "measles" not in done.output


def test_collectors_are_saved_and_merged(survey):
    for name, values in (("monday", "flu\n" * 30), ("tuesday", "cold\n" * 20)):
        stream = run(survey, "local", "report", "form.json", "-", stdin=values).stdout_bytes
        (survey / "reports").write_bytes(stream)
        answered(survey, "local", "collect", "form.json", "reports", f"--save={name}")
    text = answered(survey, "local", "collect", "form.json", "monday", "tuesday").stdout
    assert "50 reports, 0 refused" in text
    saved = Collector.deserialize((survey / "monday").read_bytes(), form=form_in(survey))
    assert saved.reports == 30
    damaged = (survey / "monday").read_bytes()[:-1]
    (survey / "damaged").write_bytes(damaged)
    assert run(survey, "local", "collect", "form.json", "damaged").exit_code == 2


def test_reports_come_from_stdin_too(survey):
    stream = form_in(survey).client().batch(["flu"] * 10)
    done = run(survey, "local", "collect", "form.json", "-", stdin=stream)
    assert done.exit_code == 0, done.stderr
    assert "10 reports" in done.stdout


@pytest.mark.parametrize(
    "wrong",
    [
        ["report", "nothing.json", "flu"],
        ["report", "binary", "flu"],
        ["report", "other.json", "flu"],
        ["plan", "other.json", "--people=10"],
        ["collect", "form.json", "nothing"],
        ["collect", "form.json", "."],
        ["collect", "form.json", "binary"],
        ["collect", "form.json", "reports", "--confidence=2"],
        ["collect", "form.json", "reports", "--consistent=pretty"],
        ["collect", "form.json", "reports", "--consistent=tree"],
        ["collect", "form.json", "reports", "--target=all"],
        ["collect", "form.json", "reports", "--bars=none"],
        ["collect", "form.json", "reports", "--hostile=11"],
        ["collect", "form.json", "reports", "--hostile=-1"],
        ["collect", "form.json", "reports", "--save=no/such/folder"],
        ["collect", "form.json"],
    ],
    ids=" ".join,
)
def test_what_cannot_be_done_is_told(survey, wrong):
    (survey / "other.json").write_text("{}")
    (survey / "binary").write_bytes(b"\xff\xfe\0")
    (survey / "reports").write_bytes(form_in(survey).client().batch(["flu"] * 10))
    done = run(survey, "local", *wrong)
    assert done.exit_code == 2, done.output
    assert not done.stdout
    assert "Traceback" not in done.stderr


def test_a_report_that_is_lost_is_told(survey):
    done = run_redirected(survey, ">&-", "local", "report", "form.json", "flu")
    assert done.returncode == 1
    assert done.stderr.count(LOST) == 1
    assert b"reporting again costs the epsilon again" in done.stderr
    assert b"costs nothing" not in done.stderr
    assert b"Traceback" not in done.stderr


def test_whoever_leaves_early_hears_no_word(survey):
    (survey / "answers").write_text("flu\n" * 200_000)
    program = f"{sys.executable} -m discreet.cli local report form.json - < answers | head -c 5"
    done = subprocess.run(
        ["/bin/sh", "-c", program], cwd=survey, capture_output=True, check=False, env=os.environ
    )
    assert len(done.stdout) == 5
    assert done.stderr == b""


def test_files_without_a_report_are_told(survey):
    done = run(survey, "local", "collect", "form.json", "form.json")
    assert done.exit_code == 2
    assert "there is nothing to estimate from: 0 reports, 1 refused (1 unreadable)" in done.stderr
