"""Long replays in a notebook, with a real kernel that is interrupted as the stop button does."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from jupyter_client.manager import KernelManager, start_new_kernel

from svctoolkit.interrupts import uninterrupted

pytestmark = pytest.mark.slow

SETUP = """
import json
from svctoolkit import Workspace
from svctoolkit.replay import compare, replay

CODE = {
    "javascript": "export function transformEvent(event) { event.properties.seen = event.messageId; return event }",
    "python": "def transformEvent(event, _):\\n  event['properties']['seen'] = event['messageId']\\n  return event",
}

def shop(language):
    workspace = Workspace("shop")
    workspace.transformation("clean", language=language, code=CODE[language])
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://h.example"}, transformation="clean")
    return workspace

def seen(result):
    frame = result.frame()
    outputs = frame[frame.stage == "dest_transform"].output
    return [json.loads(text)["body"]["JSON"]["properties"]["seen"] for text in outputs]

events = [{"type": "track", "event": "Paid", "messageId": f"m{n}", "properties": {}} for n in range(300_000)]
"""
FACTS = """
ids = seen(result)
print(json.dumps({
    "complete": result.complete, "events": result.events, "counts": dict(result.counts["hook"]), "ids": len(ids),
    "in_order": ids == [f"m{n}" for n in range(len(ids))], "once": len(set(ids)) == len(ids), "said": repr(result),
    "next": seen(replay(events[5:8], shop("javascript"), progress=False)),
}))
"""
_SOME = 30_000  # events, so that more than one part is complete: a part that was interrupted is not in the result
Messages = list[dict[str, Any]]


class Kernel:
    """Runs cells, and returns the messages that a notebook would show."""

    def __init__(self, manager: KernelManager, client: Any) -> None:
        self._manager, self._client = manager, client

    def run(self, cell: str, hook: Callable[[dict[str, Any]], None] = lambda _: None) -> Messages:
        """The messages; `hook` is called with each as it arrives."""
        messages: Messages = []

        def keep(message: dict[str, Any]) -> None:
            messages.append(message)
            hook(message)

        self._client.execute_interactive(cell, output_hook=keep, timeout=120)
        errors = [message["content"]["evalue"] for message in messages if message["msg_type"] == "error"]
        assert errors == []
        return messages

    def interrupt_at(self, events: int) -> Callable[[dict[str, Any]], None]:
        """A hook that interrupts the kernel once, when its progress tells so many events."""
        interrupted: list[None] = []

        def hook(message: dict[str, Any]) -> None:
            if not interrupted and is_progress(message):
                told = re.search(r"([\d,]+) events", message["content"]["data"]["text/plain"])
                if told and int(told[1].replace(",", "")) >= events:
                    interrupted.append(None)
                    self._manager.interrupt_kernel()

        return hook

    def facts(self) -> dict[str, Any]:
        """What the next cell finds in `result`."""
        texts = [m["content"]["text"] for m in self.run(FACTS) if m["msg_type"] == "stream"]
        facts: dict[str, Any] = json.loads("".join(texts))
        return facts


def is_progress(message: dict[str, Any]) -> bool:
    return message["msg_type"] in ("display_data", "update_display_data") and "events" in str(
        message["content"]["data"].get("text/plain")
    )


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    manager, client = start_new_kernel(kernel_name="python3")
    made = Kernel(manager, client)
    made.run(SETUP)
    yield made
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.mark.parametrize("options", ["shop('javascript')", "shop('python')", "shop('javascript'), workers=2"])
def test_an_interrupted_cell_has_a_partial_result(kernel: Kernel, options: str) -> None:
    """It says so, also in its progress; numbers and rows belong to the same events; the next cell runs."""
    shown = kernel.run(f"result = replay(events, {options})\nresult", kernel.interrupt_at(_SOME))
    facts = kernel.facts()

    assert not facts["complete"]
    assert 0 < facts["events"] < 300_000
    assert facts["counts"] == {"delivered": facts["events"]}
    assert facts["ids"] == facts["events"]
    assert facts["once"]
    assert facts["in_order"] or "workers" in options  # the results of two processes may have gaps
    assert "interrupted: the results cover only a part of the events" in facts["said"]
    assert facts["next"] == ["m5", "m6", "m7"]

    last = [message for message in shown if is_progress(message)][-1]["content"]["data"]
    assert last["text/plain"].endswith("interrupted")
    assert 'value="1' not in last["text/html"]
    (result,) = [message for message in shown if message["msg_type"] == "execute_result"]
    assert "interrupted" in result["content"]["data"]["text/html"]


CLUSTER = """
import dask.bag
from distributed import Client, LocalCluster

cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
client = Client(cluster)
workers = sorted(client.nthreads())
bag = dask.bag.from_sequence(events[:50_000], npartitions=25)
"""
CLUSTER_FACTS = """
print(json.dumps({"same_workers": sorted(client.nthreads()) == workers}))
"""


@pytest.mark.parametrize(
    "options",
    [
        "events, shop('javascript'), scheduler=cluster",
        "events, shop('javascript'), scheduler=client",
        "bag, shop('javascript'), scheduler=client",
        "bag, shop('javascript')",
    ],
)
def test_workers_survive_the_interrupt_of_a_cell(kernel: Kernel, options: str) -> None:
    """They are interrupted, too, but keep running with their rows and accept work from the next cell."""
    pytest.importorskip("distributed")
    kernel.run(CLUSTER)
    try:
        kernel.run(f"result = replay({options})\nresult", kernel.interrupt_at(1))
        facts = kernel.facts()
        (said,) = [m["content"]["text"] for m in kernel.run(CLUSTER_FACTS) if m["msg_type"] == "stream"]
    finally:
        kernel.run("client.close(); cluster.close()")

    assert json.loads(said) == {"same_workers": True}
    assert not facts["complete"]
    assert 0 < facts["events"] < (50_000 if "bag" in options else 300_000)
    assert facts["counts"] == {"delivered": facts["events"]}
    assert facts["ids"] == facts["events"]
    assert facts["once"]


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C raises `KeyboardInterrupt` even where a shell started the tests in the background and ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_waits_until_results_are_added_up() -> None:
    """It takes effect at the end of the block."""
    steps: list[str] = []

    def add() -> None:
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            steps.append("done")

    with pytest.raises(KeyboardInterrupt):
        add()

    assert steps == ["done"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
