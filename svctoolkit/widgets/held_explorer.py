"""What simulated destinations hold: one person at all of them side by side, or everything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.json_types import Json
from svctoolkit.server import DataPlane
from svctoolkit.server.inspect.held import HeldPerson
from svctoolkit.server.inspect.held._display import held_everywhere, person_blocks
from svctoolkit.widgets._base import controls

if TYPE_CHECKING:
    import pandas as pd


class HeldExplorer(controls.Explorer):
    """What every simulated destination of `plane` holds about one person: profiles side by side, and their history.

    >>> HeldExplorer(plane, "ada@shop.example")  # doctest: +SKIP

    `person` is the value of any id at any destination, or an e-mail address; empty shows all tables. A profile's time
    line has each request with the vendor's rules, and the profile before and after it; merged profiles are a picture.
    `run` is the run whose state is shown. It follows the data plane, and repaints at most once per second. `found` is
    the person that is shown.
    """

    def __init__(self, plane: DataPlane, person: str = "", *, run: str = "") -> None:
        self._plane, self._run = plane, run
        self._view = plane.of_run(run) if run else plane
        self.found: HeldPerson | None = None
        self._painter = controls.Painter(self._paint, fail=self._fail, per_second=1.0)
        self._person = controls.text("Person", person, placeholder="user id, anonymous id, e-mail, any id of a vendor")
        self._person.observe(lambda _: self._painter.poke(), "value")
        show = controls.button("Show", self._painter.poke, icon="search", primary=True)
        self._page = controls.html()
        unwatch = plane.watch(self._change)
        super().__init__(
            [controls.card("Held by simulated destinations", controls.bar(self._person, show), self._page)],
            closing=[unwatch, self._painter.close],
        )
        self._painter.poke()

    def show(self, person: str) -> None:
        """Show this person, like the field."""
        self._person.value = person

    def wait(self, timeout: float = 30.0) -> bool:
        """Wait until all changes are painted; False after `timeout` seconds."""
        return self._painter.wait(timeout)

    @property
    def events(self) -> list[dict[str, Json]]:
        """The newest received events with this user, name or message id. Secrets are masked."""
        found = self._plane.newest(text=self._person.value.strip()) if self._person.value.strip() else []
        return [record["event"] for arrival in found for record in self._plane.about(arrival.seq)["events"]]

    def frame(self) -> pd.DataFrame:
        """Return a row for each member of the person's profiles; without any, the events."""
        return self.found.frame() if self.found and any(self.found.values()) else super().frame()

    def static(self) -> Html:
        """The person, or all tables."""
        return display.page(*self._blocks())

    def __repr__(self) -> str:
        return f"<HeldExplorer: {self.found or self._person.value or 'everybody'}>"

    def _change(self, kind: str, _: Sequence[Mapping[str, Any]]) -> None:
        if kind == "delivery":
            self._painter.poke()

    def _paint(self) -> None:
        self._page.value = self.static()

    def _blocks(self) -> list[Html]:
        person = self._person.value.strip()
        self.found = self._view.person(person) if person else None
        self._select(**({"person": person} if person else {}))
        if self.found is not None:
            return person_blocks(self.found)
        keys = [destination.key for destination in self._plane.simulated_destinations()]
        return held_everywhere({key: self._view.held(key) for key in keys}, self._view.lost)

    def _fail(self, message: Html) -> None:
        self._page.value = display.page(message)
