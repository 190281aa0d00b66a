"""Screenshots of the workbench: some of them for the guide; all of them, where that is asked for.

They show people what the tests saw, and no test compares them.  A browser without a graphics card
takes longer to draw a long page than axe takes to read it, so that ``PICTURES=1 ./run test
tests/web`` takes all of them into ``out``, and a plain run those for the guide.
"""

import os
from pathlib import Path

from PIL import Image

OUT = Path(__file__).parents[2] / "out" / "workbench"


ALL = bool(os.environ.get("PICTURES"))


def picture(page, name, **options):
    """Take a picture of the whole page, if all are wanted."""
    if not ALL:
        return
    OUT.mkdir(parents=True, exist_ok=True)
    # the caret stays: to hide it, the driver would put a style into the page
    page.screenshot(path=OUT / f"{name}.png", full_page=True, caret="initial", **options)


def guide(page, name):
    """Take a picture for the guide: small, in few colors."""
    (OUT / "guide").mkdir(parents=True, exist_ok=True)
    path = OUT / "guide" / f"workbench-{name}.png"
    page.screenshot(path=path, caret="initial")
    with Image.open(path) as taken:
        taken.convert("RGB").quantize(64).save(path, optimize=True)
    assert path.stat().st_size < 100_000
