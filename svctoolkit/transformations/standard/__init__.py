"""RudderStack's standard libraries for transformations in JavaScript: `import { sha256 } from "@rs/hash/v1"`.

Each file `NAME.vN.js` here is a library that code imports as `@rs/NAME/vN`. They are independent implementations of
RudderStack's: `hash` and `localizeAppleDeviceModel` return the same for every string, `encrypt` the same format, and
`userAgentParser` the same names for common browsers, systems and devices.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

PREFIX = "@rs/"
_FOLDER = Path(__file__).parent
_IMPORT = re.compile(r"""['"](@rs/[^'"\s]+)['"]""")


@cache
def names() -> tuple[str, ...]:
    """Return the names that code can import: `@rs/hash/v1` and others."""
    return tuple(f"{PREFIX}{file.stem.replace('.', '/')}" for file in sorted(_FOLDER.glob("*.js")))


def imported(code: str) -> dict[str, str]:
    """Return the code of the standard libraries that `code` may import, by name. Unknown names are skipped."""
    return {name: _text(name) for name in _IMPORT.findall(code) if name in names()}


@cache
def _text(name: str) -> str:
    return (_FOLDER / f"{name.removeprefix(PREFIX).replace('/', '.')}.js").read_text("utf-8")
