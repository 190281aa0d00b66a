"""Broken twins of the certified functions: one edit each, and each must be caught.

A twin is the source of ``discreet.certified`` with one line changed, so it stays a twin when the
source moves on; an edit that no longer applies fails.
"""

from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from discreet import certified


class Twin(NamedTuple):
    function: str  # whose check must fail
    fault: str
    old: str
    new: str

    def __str__(self):
        return f"{self.function}: {self.fault}"


TWINS = [
    Twin("exp_neg", "truncations are not counted", "error = 2 * error + 2", "error = 0"),
    Twin("exp_neg", "squaring does not double", "error = 2 * error + 2", "error = error + 2"),
    Twin("exp_neg", "no room below", "return max(0, (total - error)", "return max(0, (total)"),
    Twin("exp_neg", "no room above", "((total + error) >> drop) + 1", "total >> drop"),
    Twin("exp_neg", "one square too few", "in range(halvings):", "in range(halvings - 1):"),
    Twin("exp_neg", "factorials are off by one", "// terms\n", "// (terms + 1)\n"),
    Twin("exp_neg", "signs are swapped", "+= -term if terms & 1 else term", "+= term"),
    Twin("exp_neg", "zero comes too soon", "if whole > bits + 8:", "if 2 * whole > bits:"),
    Twin("exp_neg", "too few guard bits", "bits + 32 + 2 * halvings", "bits + 2"),
    Twin("log", "the lower end is rounded up", "return low >> drop", "return -(-low >> drop)"),
    Twin(
        "log",
        "the upper end is rounded down",
        "low >> drop, -(-high >> drop)",
        "low >> drop, high >> drop",
    ),
    Twin(
        "log",
        "ends are crossed",
        "low + power * high_two, high + power",
        "low + power * low_two, high + power",
    ),
    Twin("log", "errors stay uncounted", "2 * (total + 2 * index + 2)", "2 * total"),
    Twin(
        "log",
        "one halving is forgotten",
        "power, bottom = power + 1, bottom << 1",
        "bottom = bottom << 1",
    ),
    Twin("log", "too few guard bits", "bits + 16 + abs(power)", "bits + 1 + abs(power)"),
    Twin(
        "sqrt",
        "the remainder is ignored",
        "(rest != 0 or root * root != square)",
        "(root * root != square)",
    ),
    Twin(
        "sqrt", "the root is taken as exact", "(rest != 0 or root * root != square)", "(rest != 0)"
    ),
    Twin("sqrt", "a unit too much", "(rest != 0 or root * root != square)", "1"),
    Twin("sqrt", "the scale is not squared", "x.numerator << (2 * bits)", "x.numerator << bits"),
    Twin(
        "pi",
        "the upper end is rounded down",
        "-(-(16 * high - 4 * low_small) >> drop)",
        "(16 * high - 4 * low_small) >> drop",
    ),
    Twin(
        "pi",
        "the lower end is rounded up",
        "(16 * low - 4 * high_small) >> drop,",
        "-(-(16 * low - 4 * high_small) >> drop),",
    ),
    Twin("pi", "a wrong constant", "_atan_inverse(239, scale)", "_atan_inverse(240, scale)"),
    Twin("pi", "too few guard bits", "scale = bits + 16\n", "scale = bits\n"),
    Twin(
        "_twice_atanh",
        "truncations are not counted",
        "2 * (total + 2 * index + 2)",
        "2 * total + 2",
    ),
    Twin("_twice_atanh", "no room above", "2 * (total + 2 * index + 2)", "2 * total"),
    Twin(
        "_twice_atanh",
        "odd numbers are off by one",
        "total += power // (2 * index + 1)",
        "total += power // (2 * index + 2)",
    ),
    Twin("_twice_atanh", "the sign is lost", "else (-high, -low)", "else (low, high)"),
    Twin("_twice_atanh", "ends are crossed", "else (-high, -low)", "else (-low, -low)"),
    Twin("_atan_inverse", "no room below", "return total - 2 * index - 2,", "return total,"),
    Twin("_atan_inverse", "no room above", "total + 2 * index + 2\n\n", "total\n\n"),
    Twin("_atan_inverse", "signs do not alternate", "+= -term if index & 1 else term", "+= term"),
    Twin("_log_two", "a wrong multiple", "return 2 * low + low_small", "return low + low_small"),
    Twin(
        "_log_two", "the upper end is the lower one", "2 * high + high_small", "2 * low + low_small"
    ),
]


def twin(broken: Twin) -> ModuleType:
    """Return the certified functions with one edit."""
    path = Path(certified.__file__)
    source = path.read_text(encoding="utf-8")
    if source.count(broken.old) != 1:
        message = f"the edit of {broken} no longer applies to the source"
        raise LookupError(message)
    module = ModuleType("certified_twin")
    code = compile(source.replace(broken.old, broken.new), str(path), "exec")
    exec(code, module.__dict__)  # noqa: S102  our own source, edited above
    return module
