"""One server and one browser for all tests of a module."""

import pytest
from playwright.sync_api import sync_playwright

from tests.servers.chromium import OPTIONS, chromium
from tests.web.served import PASSWORD, served


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The address of a server, and its counter."""
    with served(tmp_path_factory.mktemp("site")) as running:
        yield running


@pytest.fixture(scope="module")
def browser():
    """A real browser."""
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=str(chromium()), args=list(OPTIONS))
        yield started
        started.close()


class Visit:
    """One person at a browser, whose pages must break no rule of their content security policy."""

    def __init__(self, browser, address, **options):
        self.context = browser.new_context(base_url=address, **options)
        self.context.set_default_timeout(90_000)
        self.page = self.context.new_page()
        self.complaints = []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))

    def _heard(self, message):
        if message.type == "error" and "status of 4" not in message.text:
            self.complaints.append(message.text)

    def log_in(self, name):
        self.page.goto("/login")
        self.page.fill("#name", name)
        self.page.fill("#password", PASSWORD)
        self.page.click("button.main")
        return self

    def close(self):
        self.context.close()
        assert not self.complaints


@pytest.fixture
def visit(browser):
    """Begin visits; all of them end without a complaint of the browser."""
    begun = []

    def begin(address, name=None, **options):
        begun.append(Visit(browser, address, **options))
        return begun[-1] if name is None else begun[-1].log_in(name)

    yield begin
    for each in begun:
        each.close()
