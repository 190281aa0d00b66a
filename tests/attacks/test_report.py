"""The report: its three forms say the same, it says how hard it looked, and it can be filed."""

import html
import json
import math
import re
import subprocess

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from discreet.errors import WrongKind
from discreet_audit.report import check_receipt, document, form, headline, page, provenance
from discreet_audit.report.verdicts import blind, shown, unseen
from discreet_audit.suite import Line
from tests.attacks.test_suite import MADE, finding, measured, report
from tests.house.pages import ROOT


def line(name="a row", *, broken=False, part="mechanisms", **changes):
    return Line(part=part, name=name, broken=broken, measured=measured(**changes))


LINES = (
    line("fine", hits=(5000, 1839)),
    line("just", hits=(5000, 2500)),
    line("coarse", hits=(5000, 3400)),
    line("nothing at all", hits=(5000, 5000)),
    line("too few", hits=(5, 2), n=10),
    line("a law", lower=0.6, n=0, level=0.0),
    line("coarse, its law", lower=0.4, n=0, level=0.0),
    line("wrong", lower=1.2),
    line("twin", broken=True, lower=math.inf),
    line("missed twin", broken=True, lower=0.2),
)
WORDS = [
    "kept",
    "kept",
    *["no evidence"] * 3,
    "kept",
    "no evidence",
    "VIOLATED",
    "caught",
    "MISSED",
]


def test_rows_without_power_say_so():
    assert [each.verdict for each in LINES] == WORDS
    names = [each.name for each in blind(report(lines=LINES))]
    assert names == ["coarse", "nothing at all", "too few"]
    assert [each.to_json()["verdict"] for each in LINES] == WORDS


def test_what_a_row_shows_is_a_factor_rounded_up():
    factors = [each.shows for each in LINES[:3]]
    assert [shown(each) for each in LINES[:3]] == [
        f"× {math.ceil(100 * factor) / 100:.2f}" for factor in factors
    ]
    assert [shown(each) for each in LINES[3:7]] == ["no noise", "nothing", "× 1.67", "× 2.50"]
    assert shown(line("little", hits=(500_000, 499_000), n=10**6)) == "× 100 and more"
    assert shown(LINES[8]) == ""


def test_rows_without_power_are_named():
    said = unseen(report(lines=LINES))
    assert said.startswith("3 of 6 sampled rows could not have shown a mistake of a factor two")
    assert said.endswith("nothing at all (no noise), too few (nothing).")
    assert "its law × 2.50), nothing" in said
    assert unseen(report(lines=LINES[:1])).startswith("All 1 sampled rows would have shown")
    assert unseen(report(lines=())).startswith("No mechanism")


def test_the_headline_says_quick_and_how_much_could_not_have_been_seen():
    said = headline(report(lines=LINES))
    assert said.startswith("Quick audit: 7 of 8 promises not refuted")
    assert said.endswith("3 of 6 sampled rows could not have shown a mistake of a factor two.")
    assert headline(report(lines=LINES, long=True)).startswith("Long audit: ")
    assert "sampled" not in headline(report(lines=LINES[5:6]))


def cells(row):
    return [html.unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)]


def test_page_document_and_data_say_the_same():
    found = report(lines=LINES, findings=(finding(), finding(code="A2", passed=False)))
    data = form(found, MADE)
    text, markdown = (write(found, MADE, data["receipt"]) for write in (page, document))
    rows = [cells(row) for row in re.findall(r"<tr.*?</tr>", text)]
    for each in data["lines"]:
        shown = next(row for row in rows if len(row) == 8 and row[0] == each["name"])
        assert shown[5:7] == [each["shows"], each["verdict"]]
        told = " | ".join(shown[:7]).replace("|  |", "|  |")
        assert f"| {told} |" in markdown
        assert shown[7] == each["event"]
        assert each["event"].replace("|", "\\|") in markdown
    for each in data["findings"]:
        shown = next(row for row in rows if row and row[0] == each["code"])
        assert shown[2:4] == [each["claimed"], each["measured"]]
        assert (shown[4] == "withstood") == each["passed"]
        assert f"| {' | '.join(shown[:5])} |" in markdown
    for words in (data["headline"], *data["not_covered"], data["receipt"], MADE.reproduce):
        assert words in html.unescape(text)
        assert words in markdown
    for paragraph in data["explanation"].split("\n\n"):
        assert paragraph.replace("*", "") in re.sub("</?em>", "", text)
        assert paragraph in markdown
    for words in ("discreet 1.0", "commit c0ffee", "2026-01-02 03:04 UTC", "Linux x86_64", "1e-06"):
        assert words in text
        assert words in markdown
    assert data["made"] == MADE.to_json()


def test_captions_come_before_their_pictures():
    text = page(report(lines=LINES), MADE, "")
    for figure in re.findall(r"<figure>.*?</figure>", text, re.DOTALL):
        assert figure.index("<figcaption>") < figure.index("<svg")
    assert text.count("<figure>") == 3


def test_a_report_names_the_commit_that_ran():
    made = provenance(report())
    head = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "HEAD"],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
    )
    if head.returncode == 0:
        assert made.commit is not None
        assert made.commit.startswith(head.stdout.strip())
    assert "--quick" in made.reproduce
    assert "--long" in provenance(report(long=True)).reproduce


# --- receipts -----------------------------------------------------------------------------------


@pytest.fixture
def key(tmp_path):
    secret = Ed25519PrivateKey.generate()
    path = tmp_path / "key.pem"
    path.write_bytes(secret.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return path, secret.public_key().public_bytes_raw().hex()


def read_back(data):
    return json.loads(json.dumps(data, indent=1, ensure_ascii=False))


def test_a_receipt_is_that_of_the_content():
    data = read_back(form(report(lines=LINES), MADE))
    assert re.fullmatch(r"discreet:10:[0-9a-f]{64}", data["receipt"])
    assert check_receipt(data) == data["receipt"]
    assert form(report(lines=LINES[:1]), MADE)["receipt"] != data["receipt"]


@pytest.mark.parametrize("change", ["headline", "lower", "verdict", "gone", "receipt"])
def test_whatever_is_changed_is_noticed(change):
    data = read_back(form(report(lines=LINES), MADE))
    match change:
        case "headline":
            data["headline"] = data["headline"].replace("3 of 6", "0 of 6")
        case "lower" | "verdict":
            data["lines"][2][change] = {"lower": 0.95, "verdict": "kept"}[change]
        case "gone":
            del data["lines"][7]
        case "receipt":
            data["receipt"] = data["receipt"][:-1] + "x"
    with pytest.raises(WrongKind):
        check_receipt(data)


def test_a_signature_says_who_made_it(key):
    path, public = key
    data = read_back(form(report(), MADE, path))
    assert check_receipt(data) == check_receipt(data, signed_by=public)
    for wrong in ({"signature": "00" * 64}, {"signature": "?"}, {"signed_by": "11" * 32}):
        with pytest.raises(WrongKind):
            check_receipt({**data, **wrong}, signed_by=public)
    with pytest.raises(WrongKind):
        check_receipt(data, signed_by="22" * 32)
    unsigned = {name: value for name, value in data.items() if name != "signature"}
    with pytest.raises(WrongKind):
        check_receipt(unsigned, signed_by=public)


def test_what_is_no_key_and_no_report_is_refused(tmp_path):
    (tmp_path / "key.pem").write_text("a secret", encoding="utf-8")
    for path in (tmp_path / "key.pem", tmp_path / "nowhere"):
        with pytest.raises(WrongKind):
            form(report(), MADE, path)
    for wrong in (None, [], {"lines": []}):
        with pytest.raises(WrongKind):
            check_receipt(wrong)
