"""RudderStack's standard libraries for transformations in JavaScript: `import { sha256 } from "@rs/hash/v1"`.

Each file `NAME.vN.js` here is a library that code imports as `@rs/NAME/vN`. They are independent implementations of
RudderStack's: `hash` and `localizeAppleDeviceModel` return the same for every string, `encrypt` the same format, and
`userAgentParser` the same names for common browsers, systems and devices.
"""

from __future__ import annotations

import os
import re
from functools import cache

PREFIX = "@rs/"
_FOLDER = os.path.dirname(__file__)
_IMPORT = re.compile(r"""['"](@rs/[^'"\s]+)['"]""")


@cache
def names() -> tuple[str, ...]:
    """Return the names that code can import: `@rs/hash/v1` and others."""
    files = sorted(name for name in os.listdir(_FOLDER) if name.endswith(".js"))
    return tuple(f"{PREFIX}{name.removesuffix('.js').replace('.', '/')}" for name in files)


def imported(code: str) -> dict[str, str]:
    """Return the code of the standard libraries that `code` may import, by name. Unknown names are skipped."""
    return {name: _text(name) for name in _IMPORT.findall(code) if name in names()}


@cache
def _text(name: str) -> str:
    with open(os.path.join(_FOLDER, f"{name.removeprefix(PREFIX).replace('/', '.')}.js"), encoding="utf-8") as file:
        return file.read()
