"""The `$operators` of expectations. To add one, add a file: `regex.py` is `$regex`, and its `matcher` is a `Matcher`.

The file may be in this folder or in any folder below it.

Other packages add matchers with an entry point in the group `svctoolkit.matchers`.
"""

from __future__ import annotations

from svctoolkit.expect.matchers._contract import MISSING, Matcher
from svctoolkit.registry import Registry

MATCHERS: Registry[Matcher] = Registry(
    Matcher, package=__name__, group="svctoolkit.matchers", attribute="matcher", rooms=True
)

__all__ = ["MATCHERS", "MISSING", "Matcher"]
