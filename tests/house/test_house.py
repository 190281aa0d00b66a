"""The figures of the house are those on its page, and none is above its limit."""

import subprocess
import sys

from tests.house.pages import ROOT


def test_the_page_about_the_house_is_up_to_date():
    made = subprocess.run(
        [sys.executable, "docs/write_house.py", "--print"],
        cwd=ROOT,
        capture_output=True,
        check=False,
        text=True,
    )
    assert made.returncode == 0, made.stderr
    page = (ROOT / "docs/development/house.md").read_text(encoding="utf-8")
    assert page == made.stdout, "run python docs/write_house.py"
