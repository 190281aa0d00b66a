"""Pictures that move, driven in a real browser: sliders, keys, and numbers of the library."""

import math
import re

import pytest
from playwright.sync_api import sync_playwright

from discreet.continual import BinaryTreeCounter
from discreet.loss import Approximate, laplace_scale
from discreet.mechanisms import AboveThreshold, Laplace
from discreet_course.gallery_pages import MOVING, moving_page
from tests.servers.chromium import OPTIONS, chromium


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page that `discreet learn --pictures` writes, without any network."""
    path = tmp_path_factory.mktemp("moving") / "moving.html"
    path.write_text(moving_page(), encoding="utf-8")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(chromium()), args=list(OPTIONS))
        context = browser.new_context(offline=True)
        shown = context.new_page()
        faults = []
        shown.on("pageerror", lambda error: faults.append(str(error)))
        shown.goto(path.as_uri())
        yield shown
        browser.close()
        assert not faults


def figure(page, name):
    return page.locator(f'figure[data-picture="{name}"]')


def words(page, name):
    return figure(page, name).locator(".moving-words").text_content()


def set_slider(page, name, label, value):
    slider = figure(page, name).get_by_label(label, exact=True)
    slider.evaluate("(it, v) => { it.value = v; it.dispatchEvent(new Event('input')) }", value)


def test_every_picture_is_drawn(page):
    for name in MOVING:
        assert figure(page, name).locator("svg > *").count() > 0
        assert words(page, name)


def test_sliders_of_two_worlds_tell_what_the_library_computes(page):
    for epsilon, delta, distance in (("2", "0.1", 3), ("0.5", "0", 1)):
        for label, value in (("ε", epsilon), ("δ", delta), ("Δ", str(distance))):
            set_slider(page, "two-worlds", label, value)
        told = words(page, "two-worlds")
        scale = float(laplace_scale(epsilon=epsilon, delta=delta, distance=distance))
        missed = Approximate(epsilon=epsilon, delta=delta).tradeoff(false_alarm="0.01")
        assert f"scale {scale:.4f}" in told
        assert f"δ area {float(delta):.4f}" in told
        assert f"at most {100 * (1 - missed):.2f} of 100" in told


def test_keys_move_a_slider_and_press_a_button(page):
    slider = figure(page, "binary-tree").get_by_label("day", exact=True)
    slider.focus()
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    price = BinaryTreeCounter(length=7, noise=Laplace(scale=10)).loss().epsilon(delta=0)
    assert words(page, "binary-tree") == (
        f"Day 7: the sum adds 3 noisy blocks. So far the tree costs {price:.1f}; "
        "noise on every sum would cost 0.7."
    )
    figure(page, "binary-tree").get_by_role("button", name="next day").focus()
    page.keyboard.press("Enter")
    assert words(page, "binary-tree").startswith("Day 8: the sum adds 1 noisy block.")


def test_a_run_goes_on_count_by_count_and_halts(page):
    run = figure(page, "sparse-run")
    following = run.get_by_role("button", name="next count")
    assert words(page, "sparse-run").startswith("Count 1: 88 − 1 = 87, noisy threshold 101: ⊥")
    for _ in range(5):
        following.click()
    told = words(page, "sparse-run")
    assert "Count 6: 103 − 1 = 102, noisy threshold 101: ⊤, above, and the run halts" in told
    assert "One by one 1.50 so far" in told
    plan, outcome = AboveThreshold(threshold=0, epsilon=1), (False,) * 5 + (True,)
    here = plan.reference_pmf((0,) * 5 + (1,))[outcome].nearest()
    there = plan.reference_pmf((1,) * 5 + (0,))[outcome].nearest()
    assert f"loses {math.log(here / there):.4f}, and was charged 1" in told
    assert following.is_disabled()
    signs = [text for text in run.locator("svg text").all_text_contents() if text in "⊥⊤"]
    assert signs == ["⊥"] * 5 + ["⊤"]


def test_another_run_is_wrong_by_noise_and_starts_again(page):
    run = figure(page, "sparse-run")
    for _ in range(2):
        run.get_by_role("button", name="another run").click()
    for _ in range(2):
        run.get_by_role("button", name="next count").click()
    assert "97 + 5 = 102, noisy threshold 98: ⊤" in words(page, "sparse-run")
    run.get_by_role("button", name="start again").click()
    assert words(page, "sparse-run").startswith("Count 1:")
    assert run.get_by_role("button", name="next count").is_enabled()


def test_the_slider_of_people(page):
    assert "0.000136 central, 0.000652 shuffled, 0.00960 local" in words(page, "three-models")
    set_slider(page, "three-models", "people", "0")
    assert words(page, "three-models").startswith("100 people")


def test_locks_hold_in_the_budget_game(page):
    game = figure(page, "budget-game")
    game.get_by_label("lock: How many patients", exact=True).check()
    set_slider(page, "budget-game", "How many in ward 7", "0.5")
    lines = game.locator("svg text").all_text_contents()
    shares = [float(re.search(r"ε (\d\.\d+)", line)[1]) for line in lines]
    assert shares == [0.25, 0.5, 0.125, 0.125]
    assert words(page, "budget-game").startswith("Together 1.000.")


def test_noise_stops_the_attack(page):
    set_slider(page, "attack-noise", "noise in roots of n", "0.5")
    set_slider(page, "attack-noise", "error of each subset", "1")
    told = words(page, "attack-noise")
    assert "at least 6 bits are right" in told
    assert "finds 69.1 %" in told


def test_in_print_the_controls_are_gone_and_a_still_remains(page):
    page.emulate_media(media="print")
    assert not figure(page, "two-worlds").locator(".moving-controls").is_visible()
    assert figure(page, "two-worlds").locator("svg").is_visible()
    page.emulate_media(media="screen")
