"""The standard libraries of the service, for transformations in JavaScript: `import { sha256 } from "@rs/hash/v1"`.

Each file here is one, `NAME.vN.js`, which code imports as `@rs/NAME/vN`. They are written anew from what the service's
give: `hash` and `localizeAppleDeviceModel` give the same for every text, `encrypt` the same format, and
`userAgentParser` the same names for the browsers, systems and devices that are usual.
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
    """What code can import: `@rs/hash/v1` and others."""
    return tuple(f"{PREFIX}{file.stem.replace('.', '/')}" for file in sorted(_FOLDER.glob("*.js")))


def imported(code: str) -> dict[str, str]:
    """The code of the standard libraries that `code` may import, by their names. Names that nobody knows have none."""
    return {name: _text(name) for name in _IMPORT.findall(code) if name in names()}


@cache
def _text(name: str) -> str:
    return (_FOLDER / f"{name.removeprefix(PREFIX).replace('/', '.')}.js").read_text("utf-8")
