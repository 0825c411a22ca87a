"""A Testcontainers module: a data plane in a container, for tests whose application runs in containers, too.

It needs Docker, the image of `.github/container`, and `pip install 'svctoolkit[testcontainers]'`. Tests that have
Python and the application in one process need none of that: use `DataPlane`, or the pytest fixture `data_plane`.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json

try:
    from testcontainers.core.container import DockerContainer
    from testcontainers.core.wait_strategies import HttpWaitStrategy
except ImportError:
    raise ConfigError("containers need Testcontainers: pip install 'svctoolkit[testcontainers]'") from None

__all__ = ["DataPlaneContainer"]

PORT = 8091


class DataPlaneContainer(DockerContainer):
    """A data plane for the workspace in a folder, ready when `start` returns; a context manager.

        with DataPlaneContainer("shop") as plane:
            run_application(data_plane_url=plane.url, write_key="web")
            plane.expect({"delivered": {"hook": [{"body": {"event": "Order Completed"}}]}}, received=1)

    `folder` has a `workspace.yaml` and is mounted read-only. Containers of one network reach the data plane as
    `http://plane:8091`, see `with_network`. The container runs without root's rights on a read-only file system, and
    keeps events in memory. Raises `ConfigError` if the folder has no `workspace.yaml`.
    """

    def __init__(self, folder: Path | str, image: str = "svctoolkit") -> None:
        workspace = Path(folder).absolute() / "workspace.yaml"
        if not workspace.is_file():
            raise ConfigError(f"{workspace} is missing: give the folder of a project")
        super().__init__(image)
        self.token = secrets.token_urlsafe(24)
        self.with_exposed_ports(PORT)
        self.with_env("SVCTOOLKIT_TOKEN", self.token)
        self.with_volume_mapping(str(workspace.parent), "/shop", "ro")
        self.with_command(["--workspace", "workspace.yaml"])
        self.with_network_aliases("plane")
        self.with_tmpfs_mount("/tmp")  # noqa: S108 - the only place for temporary files: the rest is read-only
        self.with_kwargs(read_only=True, cap_drop=["ALL"], security_opt=["no-new-privileges"])
        self.waiting_for(HttpWaitStrategy(PORT, "/ready"))

    @property
    def url(self) -> str:
        """The address of the data plane for programs on this machine, such as `http://localhost:49153`."""
        return f"http://{self.get_container_host_ip()}:{self.get_exposed_port(PORT)}"

    def expect(self, expected: Mapping[str, Json], *, received: int = 1, timeout: float = 30.0) -> Self:
        """Wait until `received` events are processed, and compare as `expect:` of a suite does.

        Raises `AssertionError` with all differences and their causes, also if the events have not arrived after
        `timeout` seconds. Raises `ConfigError` for an expectation with mistakes.
        """
        import httpx

        answer = httpx.post(
            f"{self.url}/inspect/expect",
            json={"expect": dict(expected), "received": received, "timeout": timeout},
            headers={"Authorization": f"Bearer {self.token}"},
            timeout=timeout + 30,
        )
        if answer.status_code == 409:
            raise AssertionError(answer.json()["message"])
        if answer.status_code != 200:
            raise ConfigError(f"the data plane answers {answer.status_code}: {answer.text[:500]}")
        return self
