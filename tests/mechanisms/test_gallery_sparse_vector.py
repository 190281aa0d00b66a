"""The gallery's page on the sparse vector technique prints what it says, block by block."""

import re

import pytest

from tests.house.pages import ROOT

PAGE = ROOT / "docs" / "gallery" / "sparse-vector.md"
SHOWN = re.findall(
    r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$",
    PAGE.read_text("utf-8"),
    re.DOTALL | re.MULTILINE,
)


def test_every_block_is_checked():
    assert len(SHOWN) == PAGE.read_text("utf-8").count("```python") == 7


@pytest.mark.parametrize(("code", "printed"), SHOWN, ids=range(len(SHOWN)))
def test_every_block_stands_alone_and_prints_what_is_shown(code, printed, capsys):
    exec(compile(code, PAGE.name, "exec"), {"__name__": "page"})  # noqa: S102
    assert capsys.readouterr().out == printed
