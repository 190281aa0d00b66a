"""Three public data sets as their files are, and small twins of them with the same quirks.

They are those of the R packages survival (nafld2), dslabs (movielens) and nycflights13 (flights),
as pandas writes them: a column of row numbers, whole floats where a column has gaps, quotes and
commas in titles, times that end in Z.
"""

import csv
from random import Random

ROWS = 3000
TESTS = {"chol": (2, 213), "hdl": (2, 213), "sbp": (80, 220), "dbp": (50, 120), "smoke": (0, 1)}
TITLES = ("Dangerous Minds", "Deer Hunter, The", '"Great Performances" Cats', "11'09\"01", "Dumbo")
GENRES = ("Drama", "Comedy", "Comedy|Romance", "Animation|Children|Drama|Musical")
FLIGHTS = (
    "year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,"
    "flight,tailnum,origin,dest,air_time,distance,hour,minute,time_hour"
)


def nafld2(draw):
    """Laboratory tests: most patients have few, some have very many, and one value is a slip."""
    for row in range(ROWS):
        patient = int(draw.expovariate(1 / 60)) + 1
        test = draw.choices((*TESTS, "fib4"), (40, 40, 8, 8, 3, 1))[0]
        value = 2.67 + draw.random() * 24 if test == "fib4" else draw.randint(*TESTS[test])
        yield patient, draw.randint(-7651, 7187), test, 13682.0 if row == 99 else float(value)


def movielens(draw):
    """Ratings: everybody has several, one film is without a year, one without title and genre."""
    for _ in range(ROWS):
        user, film = int(draw.expovariate(1 / 30)) + 1, min(int(draw.expovariate(1 / 8)), 40)
        title, genres = ("", "") if film == 30 else (f"{TITLES[film % 5]} {film}", GENRES[film % 4])
        year = "" if film in {7, 30} else float(1930 + film * 2)
        stamp = draw.randint(789652009, 1476640644)
        yield film, title, year, genres, user, draw.randint(1, 10) / 2, stamp


def flights(draw):
    """Departures: planes fly often, some flights are cancelled, and some of those have none."""
    for _ in range(ROWS):
        month, day, hour = draw.randint(1, 12), draw.randint(1, 28), draw.randint(5, 23)
        late, gone = int(draw.expovariate(1 / 25)) - 12, draw.random() > 0.03
        plane = f"N{100 + int(draw.expovariate(1 / 40))}AA" if gone or draw.random() > 0.3 else ""
        begin, flown = float(hour * 100), draw.randint(30, 600)
        yield (
            *(2013, month, day, begin if gone else "", hour * 100, float(late) if gone else ""),
            *(begin if gone else "", hour * 100, late - 5.0 if gone else ""),
            *(draw.choice(("UA", "B6", "EV", "DL", "OO")), draw.randint(1, 6000), plane),
            *(draw.choice(("EWR", "JFK", "LGA")), draw.choice(("IAH", "MIA", "BQN", "ATL"))),
            *(float(flown) if gone else "", flown * 7, hour, 0),
            f"2013-{month:02}-{day:02}T{hour:02}:00:00Z",
        )


SOURCES = {
    "nafld2": ("survival", nafld2, "id,days,test,value"),
    "movielens": ("dslabs", movielens, "movieId,title,year,genres,userId,rating,timestamp"),
    "flights": ("nycflights13", flights, FLIGHTS),
}


def write_twin(name, folder):
    """Write a small table with the columns and quirks of the real one, the same every time."""
    _, rows, columns = SOURCES[name]
    with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["rownames", *columns.split(",")])
        writer.writerows([number + 1, *row] for number, row in enumerate(rows(Random(18))))  # noqa: S311


def read(path):
    """Read a file with what Python brings: numbers where all cells are, None where one is empty."""
    with path.open(newline="", encoding="utf-8") as file:
        names, *rows = csv.reader(file)
    columns = {}
    for name, cells in zip(names, zip(*rows, strict=True), strict=True):
        try:
            columns[name] = [float(cell) if cell else None for cell in cells]
        except ValueError:
            columns[name] = [cell or None for cell in cells]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
