"""Generated pages are what their scripts write."""

import inspect
import re
import runpy

import pytest

import discreet
from discreet.errors import BadPolicy
from discreet.plan.policy.policy import POLICY_KEYS, read_policy
from tests.house.pages import ROOT

KEYS = runpy.run_path(str(ROOT / "docs" / "write_policy.py"))["KEYS"]
ABOVE = {
    "": "",
    "budget": "[budget]\nepsilon = 1\n",
    "tables.NAME.columns.NAME": '[tables.NAME.columns.NAME]\ntype = "integer"\n',
}
BESIDE = {"relation": 'unit = "id"\n'}


@pytest.mark.parametrize(
    ("script", "page"), [("write_backends", "backends"), ("write_policy", "reference/policy")]
)
def test_a_page_is_up_to_date(script, page):
    made = runpy.run_path(str(ROOT / "docs" / f"{script}.py"))["page"]()
    assert (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8") == made


def test_the_command_line_reference_is_up_to_date():
    made = runpy.run_path(str(ROOT / "docs" / "write_reference.py"))["command_line"]()
    assert (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8") == made


def test_every_public_room_has_a_page_of_the_python_reference():
    """The pages themselves are made from docstrings when the documentation is built."""
    folder = ROOT / "docs" / "reference" / "python"
    described = set(
        re.findall(
            r"automodule:: discreet\.(\w+)",
            "".join(page.read_text(encoding="utf-8") for page in folder.glob("*.md")),
        )
    )
    rooms = {name for name in discreet.__all__ if inspect.ismodule(getattr(discreet, name))}
    assert rooms - described <= {"service", "theorems"}  # a server, and its list of proofs
    front = (folder / "front-door.md").read_text(encoding="utf-8")
    called = {name for name in discreet.__all__ if inspect.isfunction(getattr(discreet, name))}
    assert called == set(re.findall(r"autofunction:: discreet\.(\w+)", front))


def below(header, line=""):
    """Return a small policy with a line under a header."""
    return "format = 1\n" + ABOVE.get(header, f"[{header}]\n") + line


@pytest.mark.parametrize("header", POLICY_KEYS)
def test_every_key_of_a_policy_that_is_read_is_described(header):
    described = KEYS[header]
    with pytest.raises(BadPolicy) as refused:
        read_policy(below(header, "zzzzzz = 1"))
    assert refused.value.do == f"use {', '.join(described)}."  # what the code itself accepts
    assert all(sentence.endswith(".") for _, _, sentence in described.values())


@pytest.mark.parametrize(
    ("header", "key", "value"),
    [
        (header, key, found.group(1))
        for header, keys in KEYS.items()
        for key, (_, without, _) in keys.items()
        if (found := re.fullmatch(r"`(.+?)`(?:,? .*)?", without))
    ],
)
def test_writing_what_holds_without_a_key_changes_nothing(header, key, value):
    beside = BESIDE.get(key, "")
    written = read_policy(below(header, f"{beside}{key} = {value}"))
    assert written == read_policy(below(header, beside))
