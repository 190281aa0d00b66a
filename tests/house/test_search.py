"""A reader who searches for a term of the field lands on a page about it."""

import re

import pytest

from tests.house.pages import ROOT

TERMS = [
    "DP-SGD",
    "zCDP",
    "partition selection",
    "contribution bounding",
    "clipping",
    "privacy unit",
    "group privacy",
    "PLD",
    "sparse vector",
    "exponential mechanism",
    "AIM",
    "MST",
    "DualQuery",
    "randomized response",
    "heavy hitters",
    "shuffle",
    "RDP",
    "sensitivity",
    "composition",
    "confidence interval",
]
PAGES = {
    str(path.relative_to(ROOT / "docs")): path.read_text(encoding="utf-8")
    for path in (ROOT / "docs").rglob("*.md")
}
GLOSSARY = re.findall(r"^\| (.+?) \| (.+?) \|", PAGES["guide/glossary.md"], re.MULTILINE)


def has(term, text):
    return re.search(rf"\b{re.escape(term)}", text, re.IGNORECASE) is not None


@pytest.mark.parametrize("term", TERMS)
def test_a_term_of_the_field_has_a_row_in_the_glossary_and_a_page_that_uses_it(term):
    assert any(has(term, word) or has(term, here) for word, here in GLOSSARY)
    assert sum(has(term, text) for name, text in PAGES.items() if "glossary" not in name) >= 1
