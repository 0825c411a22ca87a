"""Forward the events of a store to another data plane, each batch after the one before it, from a position on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from svctoolkit.server.batches import Batch, batches, by_source
from svctoolkit.server.forwarding.position import Position
from svctoolkit.server.forwarding.reader import Reader
from svctoolkit.server.forwarding.sender import Part, Sender

_WINDOW = 10_000  # events


def planned(reader: Reader, position: Position, sources: Collection[str], size: int) -> Iterator[Batch]:
    """Yield the batches of at most `size` events that are to be sent, from the position on.

    The events of a source keep their order. Those of different sources may overtake each other, but not by more than
    one batch of each.
    """
    after = {source: position.of(source).seq for source in sources}
    window = max(size, min(size * len(after), _WINDOW))
    return batches(by_source(reader.events(after), window), max_events=size)


def forward(
    reader: Reader,
    position: Position,
    sources: Collection[str],
    size: int,
    sender: Sender,
    settled: Callable[[Part], object] = lambda _: None,
) -> None:
    """Send these batches. `settled` is called with each part of one, before the position after it is saved.

    It ends early if the sender is stopped; a process that is killed repeats at most the batch that was under way.
    Raises `ForwardStopped` if the receiver accepts nothing more, `ConfigError` if the position cannot be saved, and
    `StoreError`.
    """
    position.save()  # a file that cannot be written is an error before anything is sent
    for batch in planned(reader, position, sources, size):
        for part in sender.send(batch):
            settled(part)
            position.advance(part.events, refused=bool(part.reason))
        if sender.is_stopped():
            return
