"""`svctoolkit mutate --runner pytest`: does a test fail when the project is changed in memory?

pytest collects the tests once, in this process. Every run is a fork of it, so it costs no import, and changes nothing
for the next one: first all tests without a change, which shows what each of them uses; then, for each change, the tests
that use what it changes, until one fails.
"""

from __future__ import annotations

from svctoolkit.pytest_plugin.mutation.tests import Tests, with_tests

__all__ = ["Tests", "with_tests"]
