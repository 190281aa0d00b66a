"""Settings of all tests: the same examples on every machine, however slow it is."""

from hypothesis import settings

settings.register_profile("fixed", deadline=None, derandomize=True)
settings.load_profile("fixed")
