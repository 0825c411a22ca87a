"""Screenshots of the explorers in JupyterLab, in the light and the dark theme.

`python -m tests.notebooks.screenshots [DIR]` writes NAME-light.png and NAME-dark.png, by default to notebooks/images.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Locator, expect

from tests.notebooks import gallery
from tests.notebooks.browser import Jupyter, jupyter
from tests.notebooks.visits import sender

IMAGES = Path(__file__).parent.parent.parent / "notebooks" / "images"
_TALL = {"width": 1120, "height": 3600}  # the whole explorer, so that nothing is cut off


def live_events(page: Locator) -> None:
    """Some seconds of traffic, with one event selected."""
    send = sender(page)
    for name in ("Signed Up", "Product Viewed", "Product Added", "Order Completed", "Product Viewed") * 3:
        send(name)
        page.page.wait_for_timeout(400)
    events = page.get_by_role("grid", name="Newest events").get_by_role("row")
    expect(events).to_have_count(15)  # its head, and 14 of 15 in view
    events.filter(has_text="failed").click()
    expect(page.get_by_text("the destination answered 400: no such list")).to_be_visible()


def sdk_playground(page: Locator) -> None:
    """Calls that wait in the queue."""
    expect(page.get_by_text("2 delivered")).to_be_visible()
    page.get_by_label("Offline").check()
    for call in ("identify", "track", "screen"):
        page.get_by_role("button", name=call).click()
    expect(page.get_by_text("3 waiting")).to_be_visible()
    page.locator("summary").filter(has_text="Order Completed").click()


def destination_explorer(page: Locator) -> None:
    """A run, its payload, and the destination of one event field."""
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("list", name="stages").first).to_contain_text("HTTP 200")
    page.get_by_title("goes to body.JSON.properties.revenue").locator("visible=true").first.click()
    expect(page.get_by_text("Note: running")).to_have_count(0)


def transformation_editor(page: Locator) -> None:
    """Code, and its result for an event."""
    expect(page.get_by_text("order completed").locator("visible=true").first).to_be_visible()


def replay_explorer(page: Locator) -> None:
    """A group caused by a setting, and how far the fields of one of its events went."""
    page.get_by_role("grid", name="Groups").get_by_role("row").filter(has_text="trackAnonymous").click()
    page.get_by_title("comes from properties.products.0.price").locator("visible=true").first.click()


def compare_explorer(page: Locator) -> None:
    """The difference of one event, and the source of one of its fields."""
    page.get_by_title("comes from userId").locator("visible=true").first.click()


def suite_explorer(page: Locator) -> None:
    """A run with a failure."""
    page.get_by_role("button", name="Run all").click()
    expect(page.get_by_text("orders.suite.yaml:11:67")).to_be_visible()


POSES: dict[str, Callable[[Locator], None]] = {
    "destination_explorer": destination_explorer,
    "compare_explorer": compare_explorer,
    "live_events": live_events,
    "replay_explorer": replay_explorer,
    "sdk_playground": sdk_playground,
    "suite_explorer": suite_explorer,
    "transformation_editor": transformation_editor,
}


def shoot(servers: Jupyter, name: str, theme: str, to: Path) -> Path:
    """The screenshot of an explorer in its pose."""
    picture = to / f"{name.replace('_', '-')}-{theme}.png"
    with servers.lab(name, to, theme=theme, viewport=_TALL) as sheet:
        POSES[name](sheet.explorer)
        sheet.settle()
        sheet.page.mouse.move(0, 0)
        sheet.explorer.screenshot(path=picture)
    return picture


def main(to: Path) -> None:
    """Write all of them, and print where they are."""
    to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "notebooks").mkdir()
        with jupyter(gallery.written(folder / "notebooks"), folder / "state") as servers:
            for name in POSES:
                for theme in ("light", "dark"):
                    made = shoot(servers, name, theme, to)
                    print(f"{made} {made.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)
