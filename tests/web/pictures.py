"""Screenshots of the workbench: all of them into ``out``, some of them for the guide."""

from pathlib import Path

from PIL import Image

OUT = Path(__file__).parents[2] / "out" / "workbench"


def picture(page, name, **options):
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
