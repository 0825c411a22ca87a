"""Calls of one workspace share a memory bound: the one that uses most fails, the others go on."""

from __future__ import annotations

import contextlib
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from svctoolkit import transformations
from svctoolkit.errors import TransformationError
from svctoolkit.transformations import Limits, Pool
from svctoolkit.transformations._memory import SharedMemory, resident_bytes

MB = 1 << 20


def test_the_call_that_uses_most_fails_and_others_go_on() -> None:
    """Only calls of the same workspace count, without what their processes used before."""
    used = {1: 300 * MB, 2: 250 * MB, 3: 900 * MB}
    memory = SharedMemory(used.__getitem__)

    memory.check("shop", 1, 128, 20 * MB)
    memory.check("other", 3, 128, 0)  # alone in its workspace: it has its own limit
    memory.check("shop", 2, 128, 20 * MB)  # together 510 MB of 512
    used[2] += 20 * MB
    memory.check("shop", 2, 128, 20 * MB)  # too much, but another one uses more
    with pytest.raises(
        TransformationError, match=r"shared memory limit of 512 MB exceeded: 2 calls .* 280 MB"
    ) as caught:
        memory.check("shop", 1, 128, 20 * MB)
    memory.leave("shop", 1)
    memory.check("shop", 2, 128, 20 * MB)

    assert caught.value.kind == "memory"


def test_macos_reports_memory_through_libproc() -> None:
    """The resident size is the second number of `proc_taskinfo`; a process that is not visible has none."""

    def proc_pidinfo(process: int, flavor: int, _arg: object, info: Any, size: int) -> int:
        if (process, flavor, size) != (42, 4, 96):
            return 0
        info._obj[0], info._obj[1] = 7 * MB, 5 * MB
        return 96

    system = SimpleNamespace(proc_pidinfo=proc_pidinfo)

    assert resident_bytes(42, "darwin", system) == 5 * MB
    assert resident_bytes(43, "darwin", system) == 0


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is read from /proc")
@pytest.mark.parametrize("language", ["python", "javascript"])
def test_calls_that_hold_memory_together_are_ended(language: str) -> None:
    """Each of six is within its limit, but together they are not; afterwards the next call is fine."""
    code = {
        "python": "def transformEvent(e, m):\n    x = b'x' * (e['size'] << 20)\n    while x: pass\n    return {}",
        "javascript": "export function transformEvent(e) {\n  const x = new Uint8Array(e.size << 20).fill(1);\n"
        "  while (x.length) ;\n  return {};\n}",
    }[language]
    size = {"python": 14, "javascript": 40}[language]  # typed arrays are outside V8's heap
    pool = Pool(language, 8)
    loaded = transformations.load(code, language, limits=Limits(time=8.0, memory=16), scope="shop", workers=pool)
    with contextlib.ExitStack() as started:  # six workers, so that the calls begin together
        for _ in range(6):
            started.enter_context(pool.worker(loaded.program))
    with ThreadPoolExecutor(6) as threads:
        outputs = [o for r in threads.map(lambda _: loaded.run([{"size": size}], [{}]), range(6)) for o in r]
    after = loaded.run([{"size": 0}], [{}])
    pool.close()

    messages = [str(output.error.message) for output in outputs if output.error]
    assert len(messages) == 6
    assert any("shared memory limit of 64 MB exceeded" in message for message in messages), messages
    assert after[0].events == ({},)
