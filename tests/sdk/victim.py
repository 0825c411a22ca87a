"""Forks children that track events as fast as they can, and kills each with SIGKILL at a random moment.

Arguments: data directory, URL, file for the numbers of the calls that returned, number of kills, seed.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time

from svctoolkit.sdk import ServiceClient


def _track_for_ever(directory: str, url: str, returned: str, first: int) -> None:
    log = os.open(returned, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    client = ServiceClient(
        data_directory=directory, data_plane_url=url, db_threshold_count=1_000_000, track_lifecycle_events=False
    )
    client.initialize("2RdemoWriteKey")
    number = first
    while True:
        client.track(f"event {number}", {"text": "x" * (number % 700)})
        os.write(log, f"{number}\n".encode())
        number += 1
        if number % 50 == 0:
            time.sleep(0.002)


def main(directory: str, url: str, returned: str, kills: int, seed: int) -> None:
    choose = random.Random(seed)
    for kill in range(kills):
        child = os.fork()
        if child == 0:
            try:
                _track_for_ever(directory, url, returned, kill * 1_000_000)
            finally:
                os._exit(1)
        size = os.path.getsize(returned) if os.path.exists(returned) else 0
        give_up = time.monotonic() + (5.0 if choose.random() < 0.8 else 0.0)  # some are killed during startup
        while time.monotonic() < give_up and (not os.path.exists(returned) or os.path.getsize(returned) == size):
            time.sleep(0.002)
        time.sleep(choose.uniform(0.005, 0.15))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), "the child ended by itself"


if __name__ == "__main__":
    main(*sys.argv[1:4], *map(int, sys.argv[4:]))  # type: ignore[arg-type]
