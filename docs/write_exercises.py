"""Write the exercises of each gallery page below it: ``python docs/write_exercises.py``."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from discreet_course import Exercise, exercises

GALLERY = Path(__file__).resolve().parent / "gallery"
HEAD = "## Exercises"
_SECTION = re.compile(rf"^{HEAD}\n.*?(?=^\*\*Sources\.\*\*|\Z)", re.DOTALL | re.MULTILINE)


def section(page: str) -> str:
    """Return what a page says about its exercises."""
    found = exercises(page)
    first = found[0].key
    told = (
        f'`discreet_course.check("{first}", answer)` judges an answer by exact probabilities '
        f'and explains a mistake; `discreet_course.solution("{first}")` has the solution.'
    )
    words = [HEAD, textwrap.fill(told, 118), *(_asked(exercise) for exercise in found)]
    return "\n\n".join(words) + "\n"


def _asked(exercise: Exercise) -> str:
    asked = exercise.question.replace("**", "\\*\\*")
    return textwrap.fill(f"**{exercise.key}.** {asked}", 118, break_on_hyphens=False)


def written(text: str, page: str) -> str:
    """Return a page with its exercises, above its sources."""
    bare = _SECTION.sub("", text).rstrip("\n")
    body, mark, sources = bare.partition("\n**Sources.**")
    end = f"\n{mark[1:]}{sources}\n" if mark else ""
    return f"{body.rstrip()}\n\n{section(page)}{end}"


def main() -> None:
    """Write all pages that have exercises."""
    for path in sorted(GALLERY.glob("*.md")):
        if exercises(path.stem):
            text = path.read_text(encoding="utf-8")
            path.write_text(written(text, path.stem), encoding="utf-8")


if __name__ == "__main__":
    main()
