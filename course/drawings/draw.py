"""Draw the pictures of the gallery: ``python docs/gallery/draw.py [FOLDER]``.

Every number comes from discreet itself.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from itertools import product
from pathlib import Path

from draw_attacks import auditing, reconstruction
from draw_composition import COMPOSITION
from draw_counters import counters
from draw_course import COURSE
from draw_hitters import HITTERS
from draw_local import LOCAL
from draw_posteriors import POSTERIORS
from draw_synthetic import SYNTHETIC
from draw_training import TRAINING

from discreet.charts import Axis, Chart
from discreet.explain import Guesses
from discreet.explain.pictures.catch_curve import points_above
from discreet.loss import Approximate, GaussianDP, Pure, gaussian_sigma, laplace_scale
from discreet.loss.moments import group_delta
from discreet.mechanisms import Exponential, Laplace
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.sparse_vector import AboveThreshold
from discreet.noise import DiscreteGaussian, DiscreteLaplace
from discreet_course.counting import points
from discreet_course.permute_and_flip import PermuteAndFlip

HERE = Path(__file__).parents[2] / "docs" / "gallery" / "pictures"


def staircase(heights: dict[int, float]) -> list[tuple[float, float]]:
    """Return the outline of a law on integers."""
    return [(k + side, height) for k, height in heights.items() for side in (-0.5, 0.5)]


def two_worlds() -> Chart:
    """Laplace noise on neighboring counts: one law stays in the band of the other."""
    law, growth, shown = DiscreteLaplace(scale=2), math.exp(0.5), range(90, 112)
    here = {k: law.pmf(k - 100) for k in shown}
    there = {k: law.pmf(k - 101) for k in shown}
    chart = Chart(
        title="A count of 100, and of 101: neither law leaves the band (ε = 1/2)",
        x=Axis(label="published count", low=89.5, high=111.5, ticks=range(90, 112, 5)),
        y=Axis(label="chance", low=0, high=0.45, ticks=(0, 0.1, 0.2, 0.3, 0.4)),
    )
    low, high = ({k: p * f for k, p in here.items()} for f in (1 / growth, growth))
    chart.band(staircase(low), staircase(high), color=0, label="times or over e^ε")
    chart.line(staircase(here), color=0, label="without you: 100")
    chart.line(staircase(there), color=1, label="with you: 101", dashed=True)
    return chart


def beliefs() -> Chart:
    """What an observer can believe afterwards, by what they believed before."""
    chart = Chart(
        title="What one ε-private answer can do to a belief",
        x=Axis(label="belief before", low=0, high=1, ticks=(0, 0.2, 0.4, 0.6, 0.8, 1)),
        y=Axis(label="largest belief after", low=0, high=1, ticks=(0, 0.2, 0.4, 0.6, 0.8, 1)),
    )
    priors = [k / 100 for k in range(101)]
    for color, epsilon in enumerate((0.1, 1, 3, 8)):
        odds = math.exp(Pure(epsilon=epsilon).epsilon(delta=0))
        curve = [(p, odds * p / (1 - p + odds * p)) for p in priors]
        chart.line(curve, color=color, label=f"ε = {epsilon}")
    return chart


def loss_variable() -> Chart:
    """How often the privacy loss is above a value, for noises of one standard deviation."""
    chart = Chart(
        title="Privacy loss at the same standard deviation, 2.8",
        x=Axis(label="t", low=-1, high=1.5, ticks=(-1, -0.5, 0, 0.5, 1, 1.5)),
        y=Axis(
            label="chance that the loss is above t", low=0, high=1, ticks=(0, 0.25, 0.5, 0.75, 1)
        ),
    )
    law = DiscreteLaplace(scale=2)
    top = law.survival(-1)  # outputs at 0 and above lose +1/2, all others -1/2
    steps = [(-1, 1), (-0.5, 1), (-0.5, top), (0.5, top), (0.5, 0), (1.5, 0)]
    chart.line(steps, color=0, label="Laplace, scale 2: never above 1/2")
    gaussian = DiscreteGaussian(variance=8)  # noise z loses (2 z + 1) / 16
    losses = [
        ((2 * z + 1) / 16, gaussian.survival(z), gaussian.survival(z - 1)) for z in range(-8, 12)
    ]
    normal = [(t, chance) for t, after, before in losses for chance in (before, after)]
    chart.line(normal, color=1, label="Gaussian: sometimes")
    return chart


def laplace_noise() -> Chart:
    """The law of the noise, for three scales."""
    chart = Chart(
        title="Laplace noise: scale = sensitivity / ε",
        x=Axis(label="noise", low=-15.5, high=15.5, ticks=range(-15, 16, 5)),
        y=Axis(label="chance", low=0, high=0.5, ticks=(0, 0.1, 0.2, 0.3, 0.4, 0.5)),
    )
    for color, scale in enumerate((1, 2, 5)):
        law = DiscreteLaplace(scale=scale)
        outline = staircase({k: law.pmf(k) for k in range(-15, 16)})
        chart.line(outline, color=color, label=f"scale {scale} (ε = 1/{scale})")
    return chart


def cost_of_privacy() -> Chart:
    """Root mean squared error of an estimated share, by sample size."""
    chart = Chart(
        title="Estimating a share p = 0.3 with ε = 0.1",
        x=Axis(label="people", low=10, high=1e6, ticks=(10, 100, 1e3, 1e4, 1e5, 1e6), log=True),
        y=Axis(
            label="root mean squared error",
            low=1e-5,
            high=2,
            ticks=(1e-4, 0.001, 0.01, 0.1, 1),
            log=True,
        ),
    )
    noise = float(DiscreteLaplace(scale=10).moments().variance.high)
    people = [10 ** (k / 10) for k in range(10, 61)]
    sampling = [(n, math.sqrt(0.21 / n)) for n in people]
    privacy = [(n, math.sqrt(noise) / n) for n in people]
    both = [(n, math.hypot(a, b)) for (n, a), (_, b) in zip(sampling, privacy, strict=True)]
    chart.line(sampling, color=0, label="sampling", dashed=True)
    chart.line(privacy, color=1, label="privacy", dashed=True)
    chart.line(both, color=2, label="both")
    return chart


def response_matrix() -> Chart:
    """Randomized response among five colors, as a matrix."""
    colors = ("red", "blue", "green", "black", "white")
    coin = RandomizedResponse(epsilon=1, categories=colors)
    chart = Chart(
        title="Randomized response among five colors (ε = 1)",
        x=Axis(label="answer", low=-0.5, high=4.5, ticks=range(5), names=colors),
        y=Axis(label="truth", low=4.5, high=-0.5, ticks=range(5), names=colors),
    )
    for i, truth in enumerate(colors):
        law = coin.reference_pmf(truth)
        for j, answer in enumerate(colors):
            chance = law[answer].nearest()
            chart.cell(j, i, chance, f"{chance:.3f}")
    return chart


def selection_error() -> Chart:
    """How far below the best a selected candidate is, by the number of candidates."""
    chart = Chart(
        title="Selecting one of k candidates (ε = 1, 95 % sure)",
        x=Axis(
            label="candidates k", low=2, high=1e6, ticks=(10, 100, 1e3, 1e4, 1e5, 1e6), log=True
        ),
        y=Axis(label="score below the best, at most", low=0, high=36, ticks=range(0, 37, 6)),
    )
    sizes = sorted({round(2 * 500_000 ** (k / 60)) for k in range(61)})
    for color, kind in enumerate((Exponential, PermuteAndFlip)):
        name = ("exponential mechanism", "permute-and-flip")[color]
        errors = [(k, kind(candidates=k, scale=2).error(confidence=0.95)) for k in sizes]
        chart.line(errors, color=color, label=name)
    return chart


def gaussian_sigmas() -> Chart:
    """The least Gaussian noise against the classical formula."""
    chart = Chart(
        title="Gaussian noise for one count (δ = 10⁻⁶)",
        x=Axis(label="ε", low=0.1, high=20, ticks=(0.1, 0.3, 1, 3, 10, 20), log=True),
        y=Axis(label="standard deviation", low=0.2, high=60, ticks=(0.3, 1, 3, 10, 30), log=True),
    )
    epsilons = [Fraction(round(10 ** (k / 20 + 1)), 100) for k in range(47)]
    least = [(float(e), float(gaussian_sigma(epsilon=e, delta="1e-6"))) for e in epsilons]
    constant = math.sqrt(2 * math.log(1.25e6))
    classical = [(float(e), constant / float(e)) for e in epsilons]
    chart.line([p for p in classical if p[0] <= 1], color=1, label="classical, proved")
    chart.line(
        [p for p in classical if p[0] >= 1], color=1, label="classical, not proved", dashed=True
    )
    chart.line(least, color=0, label="least that will do")
    return chart


def delta_curves() -> Chart:
    """Three notions as curves."""
    chart = Chart(
        title="A privacy loss is a curve",
        x=Axis(label="ε", low=0, high=3, ticks=(0, 1, 2, 3)),
        y=Axis(label="δ", low=1e-8, high=1, ticks=(1, 1e-2, 1e-4, 1e-6, 1e-8), log=True),
    )
    grid = [Fraction(k, 50) for k in range(151)]
    losses = {
        "(1, 10⁻⁶)-DP": Approximate(epsilon=1, delta="1e-6"),
        "1-DP": Pure(epsilon=1),
        "Gaussian, σ = 2": GaussianDP(mu="0.5"),
    }
    for color, (name, loss) in enumerate(losses.items()):
        reached = [(float(e), loss.delta(epsilon=e)) for e in grid]
        curve = [point for point in reached if point[1] >= 1e-8]  # 0 is on no such axis
        chart.line(curve, color=color, label=name, dashed=color == 1)
    return chart


def composition() -> Chart:
    """Error of each of n counts when all of them together cost (1, 10^-6)."""
    chart = Chart(
        title="Noise on each of n counts, for (1, 10⁻⁶) in all",
        x=Axis(label="counts n", low=1, high=1e4, ticks=(1, 10, 100, 1e3, 1e4), log=True),
        y=Axis(label="standard deviation", low=1, high=2e4, ticks=(1, 10, 100, 1e3, 1e4), log=True),
    )
    sizes = sorted({round(10 ** (k / 10)) for k in range(41)})
    one = float(gaussian_sigma(epsilon=1, delta="1e-6"))
    pure = [(n, math.sqrt(2) * float(laplace_scale(epsilon=1, count=n))) for n in sizes]
    gauss = [(n, one * math.sqrt(n)) for n in sizes]  # mu squared adds up
    chart.line(pure, color=1, label="Laplace, pure: grows like n")
    chart.line(gauss, color=0, label="Gaussian: grows like √n")
    return chart


def group_deltas() -> Chart:
    """Delta of a group: the simple bound and the tight one."""
    chart = Chart(
        title="δ of a group, where one person has (1, 10⁻⁶)",
        x=Axis(label="people in the group", low=1, high=10, ticks=range(1, 11)),
        y=Axis(label="δ", low=1e-6, high=1, ticks=(1e-6, 1e-4, 1e-2, 1), log=True),
    )
    sizes = range(1, 11)
    loose = [(k, k * math.exp(k) * 1e-6) for k in sizes]
    tight = [(k, float(group_delta(epsilon=1, delta="1e-6", size=k))) for k in sizes]
    chart.line(loose, color=1, label="k e^(kε) δ")
    chart.line(tight, color=0, label="tight: δ (e^(kε) − 1)/(e^ε − 1)")
    return chart


def ten_rows() -> Chart:
    """The histogram of ten rows, with the error of one noise vector and of eight queries."""
    cube = [*product((0, 1), repeat=3)]
    rows = ["000", "101", "010", "101", "000", "001", "110", "000", "010", "101"]
    counts = points(cube).answers([tuple(map(int, row)) for row in rows])
    bars = [(at, int(count)) for at, count in enumerate(counts)]
    chart = Chart(
        title="Ten rows, ε = 1: all eight answers are within the bars, 95 % sure",
        x=Axis(
            label="row",
            low=-0.6,
            high=7.6,
            ticks=range(8),
            names=["".join(map(str, y)) for y in cube],
        ),
        y=Axis(label="count", low=-45, high=45, ticks=range(-40, 41, 20)),
    )
    chart.bars(bars, width=0.8, color=0, label="true count")
    for color, scale in ((2, 1), (1, 8)):
        reach = int(Laplace(scale=scale).error(confidence=0.95, coordinates=8))
        side = 0.15 if color == 1 else -0.15
        for at, count in bars:
            chart.whisker(at + side, count - reach, count + reach, color=color)
        label = "one histogram" if scale == 1 else "eight queries"
        chart.line([(9, 0)] * 2, color=color, label=label)
    return chart


def sparse_vector() -> Chart:
    """The exact loss of AboveThreshold by the number of belows, against paying for each."""
    plan = AboveThreshold(threshold=0, epsilon=1)
    chart = Chart(
        title="What a run costs, by the number of answers “below”",
        x=Axis(label="answers “below”, then one “above”", low=0, high=20, ticks=range(0, 21, 5)),
        y=Axis(label="loss", low=0, high=3, ticks=(0, 1, 2, 3)),
    )
    exact = []
    for belows in range(21):
        outcome = (False,) * belows + (True,)
        here = plan.reference_pmf((0,) * belows + (1,))[outcome].nearest()
        there = plan.reference_pmf((1,) * belows + (0,))[outcome].nearest()
        exact.append((belows, math.log(here / there)))
    rate = float(1 / plan.query_noise.scale)
    naive = [(n, rate * (n + 1)) for n in range(12)]
    chart.line(naive, color=1, label="paid one by one")
    chart.line([(0, 1), (20, 1)], color=2, label="the promise, ε = 1", dashed=True)
    chart.line(exact, color=0, label="the exact loss of a run")
    return chart


def catch_rates() -> Chart:
    """What the best alarm catches, by its false alarms, for three losses."""
    ticks = (0, 0.25, 0.5, 0.75, 1)
    chart = Chart(
        title="The best alarm: how many it catches, by its false alarms",
        x=Axis(label="false alarms", low=0, high=1, ticks=ticks),
        y=Axis(label="caught, at most", low=0, high=1, ticks=ticks),
    )
    alarms = [Fraction(k, 1000) for k in (1, 5, 10, 20, 50, 100, 200, 300, 400, 500, 600, 800, 950)]
    for color, epsilon in enumerate(("0.1", "1", "4")):
        guesses = Guesses(Pure(epsilon=epsilon))
        caught = [(float(alarm), guesses.caught(alarm)) for alarm in alarms]
        chart.line(list(points_above(caught)), color=color, label=f"ε = {epsilon}")
    chart.line([(0, 0), (1, 1)], color=3, label="perfect privacy", dashed=True)
    return chart


def not_hidden() -> Chart:
    """A belief about a smoker before a study, after it, and after it with the smoker inside."""
    epsilons = [Fraction(k, 100) for k in (1, 2, 5, 10, 20, 50, 100, 200)]
    chart = Chart(
        title="What a study says about a smoker who is not in it, and who is",
        x=Axis(label="epsilon", low=0.01, high=2, ticks=(0.01, 0.1, 1), log=True),
        y=Axis(label="belief", low=0, high=0.6, ticks=(0, 0.15, 0.3, 0.45, 0.6)),
    )
    inside = [(float(e), Guesses(Pure(epsilon=e)).posterior("0.15")) for e in epsilons]
    chart.line([(0.01, 0.05), (2, 0.05)], color=2, label="before")
    chart.line([(0.01, 0.15), (2, 0.15)], color=1, label="after, not in it", dashed=True)
    chart.line(inside, color=0, label="after, in it, at most")
    return chart


PICTURES = {
    "two-worlds": two_worlds,
    "beliefs": beliefs,
    "loss-variable": loss_variable,
    "laplace-noise": laplace_noise,
    "cost-of-privacy": cost_of_privacy,
    "response-matrix": response_matrix,
    "selection-error": selection_error,
    "gaussian-sigmas": gaussian_sigmas,
    "delta-curves": delta_curves,
    "composition": composition,
    "group-deltas": group_deltas,
    "ten-rows": ten_rows,
    "sparse-vector": sparse_vector,
    "counters": counters,
    "reconstruction": reconstruction,
    "auditing": auditing,
    "catch-rates": catch_rates,
    "not-hidden": not_hidden,
    **COMPOSITION,
    **COURSE,
    **HITTERS,
    **LOCAL,
    **POSTERIORS,
    **SYNTHETIC,
    **TRAINING,
}


def draw(folder: Path) -> None:
    """Write every picture into a folder."""
    for name, make in PICTURES.items():
        (folder / f"{name}.svg").write_text(make().svg(), encoding="utf-8")


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
