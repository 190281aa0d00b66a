import pytest

from tests.service import served


@pytest.fixture(scope="session")
def clinic_server(tmp_path_factory):
    """One server for all tests that change nothing that others see."""
    with served.serving(tmp_path_factory.mktemp("site")) as server:
        yield server
