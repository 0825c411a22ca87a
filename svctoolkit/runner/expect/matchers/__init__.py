"""The `$operators` of expectations. To add one is to add a file: `regex.py` is `$regex`, its `matcher` is a `Matcher`.

It may stand here or in any of the folders.

Other packages add theirs with an entry point in the group `svctoolkit.matchers`.
"""

from __future__ import annotations

from svctoolkit.registry import Registry
from svctoolkit.runner.expect.matchers._contract import MISSING, Matcher

MATCHERS: Registry[Matcher] = Registry(
    Matcher, package=__name__, group="svctoolkit.matchers", attribute="matcher", rooms=True
)

__all__ = ["MATCHERS", "MISSING", "Matcher"]
