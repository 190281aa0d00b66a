"""Answers about the clinic of the planning tests, on tables of known size."""

from functools import cache

from discreet.engines.engine import HashOrder
from discreet.release.answer import answer
from tests.noise.laws import stream
from tests.plan.clinic import TYPES, WARDS, planned
from tests.reference.engine import Reference

WARD = "ABC"
CITIES = "xy"


@cache
def tables(people=60):
    """Return visits of so many people: person p has three, in wards and cities by turns."""
    visits = [
        {
            "visit": 3 * person + k,
            "patient": person,
            "ward": WARD[(person + k) % 3],
            "city": CITIES[person % 2] if person else "only one",
            "sex": "fm"[person % 2],
            "height": 1.5,
            "born": 1980,
            "day": None,
            "cost": float((7 * person + k) % 100),
            "age": (11 * person) % 100,
            "stay": (person + k) % 12 - 2,
            "note": 1.0,
            "paid": True,
        }
        for person in range(people)
        for k in range(3)
    ]
    return {"visits": visits, "drugs": [], "bills": [], "wards": WARDS}


def raw_of(plan, found=None):
    engine = Reference(found or tables(), TYPES)
    return engine.run(plan.request, order=HashOrder(salt=1, portable=True))


@cache
def plan_of(sql, **price):
    return planned(sql, **price)


def asked(sql, *, label="asked", found=None, **price):
    """Plan and answer a question, with noise from a stream that can be repeated."""
    plan = plan_of(sql, **price)
    return answer(plan, raw_of(plan, found), entropy=stream(label))
