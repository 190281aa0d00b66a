"""``discreet local``: no report before all values are read; no input is overwritten or repeated."""

import json
from pathlib import Path
from unittest import mock

import pytest

from discreet.cli import saved_files
from discreet.local import Collector, Domain, Form
from tests.cli.test_commands import answered, run
from tests.cli.test_local import form_in


@pytest.fixture
def survey(tmp_path):
    """A folder with a form and two files of reports."""
    form = Form.of(Domain(["flu", "cold", "none"]), epsilon=1)
    (tmp_path / "form.json").write_text(form.serialize())
    (tmp_path / "rep").mkdir()
    for name in ("a", "b"):
        (tmp_path / "rep" / name).write_bytes(form.client().batch(["flu"] * 10))
    return tmp_path


@pytest.mark.parametrize("wrong", ["measles", "9" * 5000, b"\xff"], ids=["word", "digits", "bytes"])
@pytest.mark.parametrize("json_too", [[], ["--json"]])
def test_no_report_is_written_if_any_value_is_wrong(survey, wrong, json_too):
    values = b"flu\n" * 5000 + (wrong if isinstance(wrong, bytes) else wrong.encode()) + b"\n"
    done = run(survey, "local", "report", "form.json", "-", *json_too, stdin=values)
    assert done.exit_code == 2, done.stderr
    assert "unexpected" not in done.stderr
    written = [json.loads(line)["kind"] for line in done.stdout.splitlines()]
    assert written == (["error"] if json_too else [])


def test_many_digits_are_a_number_outside_or_an_other_value(tmp_path):
    assert run(tmp_path, "local", "report", "form.json", "1").exit_code == 2
    for domain, code in ((Domain.bins(low=0, high=9, count=3), 2), (Domain(["a"], other="x"), 0)):
        (tmp_path / "form.json").write_text(Form.of(domain, epsilon=1).serialize())
        done = run(tmp_path, "local", "report", "form.json", "9" * 5000)
        assert done.exit_code == code, done.stderr
        assert "unexpected" not in done.stderr


@pytest.mark.parametrize("target", ["form.json", "rep/a", "./rep/../rep/b", "link", "second"])
def test_no_input_is_overwritten(survey, target):
    (survey / "link").symlink_to(survey / "rep" / "a")
    (survey / "second").hardlink_to(survey / "rep" / "b")
    before = {path: path.read_bytes() for path in (survey / "form.json", *survey.glob("rep/*"))}
    done = run(survey, "local", "collect", "form.json", "rep/a", "rep/b", f"--save={target}")
    assert done.exit_code == 2
    assert "is an input" in done.stderr
    assert before == {path: path.read_bytes() for path in before}


def test_reports_are_not_counted_again_by_the_same_command(survey):
    collect = ("local", "collect", "form.json")

    def matched():
        return sorted(str(path.relative_to(survey)) for path in survey.glob("rep/*"))

    first = answered(survey, *collect, *matched(), "--save=rep/all").stdout
    assert "20 reports" in first
    again = run(survey, *collect, *matched(), "--save=rep/all")
    assert again.exit_code == 2
    saved = Collector.deserialize((survey / "rep" / "all").read_bytes(), form=form_in(survey))
    assert saved.reports == 20
    mixed = run(survey, *collect, *matched())
    assert "a report that a collector holds already counts twice" in mixed.stderr
    twice = run(survey, *collect, "rep/a", "rep/../rep/a")
    assert (twice.exit_code, twice.stdout) == (2, "")


def test_a_save_that_fails_leaves_what_was_there(survey):
    collect = ("local", "collect", "form.json", "rep/a", "--save=saved")
    answered(survey, *collect)
    (survey / "saved").chmod(0o600)
    before = (survey / "saved").read_bytes()
    full = OSError(28, "No space left on device")
    with mock.patch.object(saved_files.os, "fsync", side_effect=full):
        done = run(survey, *collect)
    assert (done.exit_code, done.stdout) == (2, "")
    assert (survey / "saved").read_bytes() == before
    answered(survey, "local", "collect", "form.json", "rep/a", "rep/b", "--save=saved")
    assert (survey / "saved").read_bytes() != before
    assert (survey / "saved").stat().st_mode & 0o777 == 0o600
    (survey / "junk").write_bytes(b"no report")
    kept = (survey / "saved").read_bytes()
    assert run(survey, "local", "collect", "form.json", "junk", "--save=saved").exit_code == 2
    assert (survey / "saved").read_bytes() == kept
    names = {path.name for path in survey.iterdir()}
    assert names == {"form.json", "rep", "saved", "junk"}


def test_an_empty_input_is_refused(survey):
    (survey / "empty").touch()
    for files, stdin in ((["rep/a", "empty"], ""), (["rep/a", "-"], "")):
        done = run(survey, "local", "collect", "form.json", *files, stdin=stdin)
        assert (done.exit_code, done.stdout) == (2, "")
        assert "an input is empty" in done.stderr


def test_names_do_nothing_to_a_terminal(tmp_path):
    Path(tmp_path, "values").write_bytes(b"a\x1b[2J\nb\x00\nc\xc2\x9bd\n")
    done = answered(tmp_path, "local", "form", "--categories-from=values", "--epsilon=1")
    assert r"a\x1b[2J, b\x00, c\x9bd" in done.stderr
    shown = str(Form.of(Domain(["a\nloss  epsilon 0", "\u202eb"]), epsilon=1))
    assert r"a\nloss  epsilon 0, \u202eb" in shown
    told = json.loads(done.stdout) | {"why": "because\x1b[2J"}
    assert str(Form.deserialize(json.dumps(told))).isprintable() is False  # lines end
    assert "\x1b" not in str(Form.deserialize(json.dumps(told)))
