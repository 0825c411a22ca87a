"""Programs of users pass mypy --strict, with the specification's names and with those of other SDKs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
from svctoolkit import sdk
from svctoolkit.sdk import ServiceClient
from svctoolkit.sdk.compat import rudder, segment

client = ServiceClient(application_name="shop")
client.initialize(writeKey="K", configuration={"flushQueueSize": 30}, options={"integrations": {"All": True}})
client.identify(userId="u-1", traits={"plan": "plus"}, timestamp=1.0)
client.group("g-1", groupTraits={"name": "Acme"})
client.group(groupId="g-1", groupTraits={"name": "Acme"}, options={"externalIds": {"crm": 7}})
client.screen(screenName="Basket", property={"items": 2})
client.screen("Basket", property={"items": 2}, user_id="u-1")
client.alias(newId="u-2")
client.optOut(False)
sdk.group(groupId="g-1")
reached: bool = client.explain("track", "Order")[0].reached
taken, message = rudder.track("u-1", "Order Completed", {"revenue": 10})
assert segment.default_client is None or segment.default_client.queue.qsize() >= 0
client.group(groupId=7)  # wrong
client.alias(userId="u")  # wrong
client.track("x", nonsense=1)  # wrong
rudder.track(nonsense=1)  # wrong
segment.identify("u-1", traits=[1])  # wrong
"""


@pytest.mark.slow
def test_the_specified_names_pass_mypy_and_mistakes_do_not(tmp_path: Path):
    """Each marked line is an error, and no other line is."""
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    # In the repository, with its settings: what mypy knows of the package is kept there from run to run.
    output = subprocess.run(
        [sys.executable, "-m", "mypy", str(program)],
        env={**os.environ, "MYPYPATH": "."},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
    ).stdout

    wrong = [number for number, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith("# wrong")]
    assert sorted({int(number) for number in re.findall(r"program\.py:(\d+): error", output)}) == wrong
    assert not re.search(r"^(?!.*program\.py:|Found)", output.strip(), re.MULTILINE), output
