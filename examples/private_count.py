"""Count the patients over sixty, privately, with nothing but the noise room.

Run it with ``python examples/private_count.py``; every run prints another answer.
"""

from fractions import Fraction

import discreet as dp

AGES = (34, 71, 65, 48, 62, 80, 59, 67, 22, 90, 61, 45, 77, 53, 68, 30)

# One person more or less moves a count by at most 1, so noise of scale 1/epsilon costs epsilon.
EPSILON = Fraction(1, 2)
SENSITIVITY = 1


def main() -> None:
    """Print one private answer with its price and its error."""
    count = sum(age > 60 for age in AGES)
    noise = dp.noise.DiscreteLaplace(scale=SENSITIVITY / EPSILON)
    answer = count + int(noise.sample(1)[0])
    margin = noise.quantile("0.975")  # exact, and symmetric: 95 % of the noise is within it
    print(f"patients over sixty: {answer} ± {margin} (95 %), at the price epsilon = {EPSILON}")


if __name__ == "__main__":
    main()
