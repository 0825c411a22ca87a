"""Pictures of the explorers in JupyterLab, in the light theme and in the dark one.

`python -m tests.notebooks.screenshots [DIR]` writes NAME-light.png and NAME-dark.png, by default to notebooks/images.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.notebooks import gallery
from tests.notebooks.browser import Jupyter, jupyter
from tests.notebooks.visits import VISITS

IMAGES = Path(__file__).parent.parent.parent / "notebooks" / "images"
_TALL = {"width": 1120, "height": 2400}  # the whole explorer, so that nothing is cut off


def shoot(servers: Jupyter, name: str, theme: str, to: Path) -> Path:
    """The picture of an explorer after a visit."""
    picture = to / f"{name.replace('_', '-')}-{theme}.png"
    with servers.lab(name, to, theme=theme, viewport=_TALL) as sheet:
        VISITS[name](sheet.explorer)
        sheet.settle()
        sheet.page.mouse.move(0, 0)
        sheet.explorer.screenshot(path=picture)
    return picture


def main(to: Path) -> None:
    """Write all of them, and say where they are."""
    to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "notebooks").mkdir()
        with jupyter(gallery.written(folder / "notebooks"), folder / "state") as servers:
            for name in VISITS:
                for theme in ("light", "dark"):
                    made = shoot(servers, name, theme, to)
                    print(f"{made} {made.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)
