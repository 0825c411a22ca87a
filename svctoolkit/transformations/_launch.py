"""Start the interpreter of a worker, or of the template that workers are forked from."""

from __future__ import annotations

import functools
import importlib.util
import os
import socket
import subprocess
import sys
from collections.abc import Collection

import msgspec

from svctoolkit.errors import TransformationError
from svctoolkit.interrupts import interrupts_blocked
from svctoolkit.json_codec import encode
from svctoolkit.transformations._channel import Words

_MAIN = os.path.join(os.path.dirname(__file__), "worker", "main.py")
_WINDOWS = sys.platform == "win32"
_PACKAGES = {
    "javascript": {
        "py_mini_racer": "mini-racer",
        "tree_sitter": "tree-sitter",
        "tree_sitter_javascript": "tree-sitter-javascript",
    },
    "python": {"msgspec": "msgspec"},
}


def can_fork(language: str, without: Collection[str] = ()) -> bool:
    """Whether a worker forks a child for each call."""
    return language == "python" and hasattr(os, "fork") and "fork" not in without


class WorkerConfig(msgspec.Struct):
    """What a worker must know, however it is started: `memory` in bytes, `forks` as in `can_fork`."""

    memory: int
    forks: bool
    without: list[str]
    shared: bool = _WINDOWS  # whether its socket is shared the Windows way, over stdin


class _ProcessConfig(msgspec.Struct):
    """What a new process must know; a template has no `worker`."""

    language: str
    template: bool
    channel: int
    parent: int
    engine: str
    packages: list[str]
    worker: WorkerConfig | None


def worker_config(language: str, memory: int, without: Collection[str]) -> WorkerConfig:
    """Return the configuration of a worker; `memory` in MB."""
    return WorkerConfig(memory << 20, can_fork(language, without), sorted(without))


def launch(language: str, theirs: socket.socket, words: Words, worker: WorkerConfig | None) -> subprocess.Popen[bytes]:
    """Start the process of a worker, or a template, with its end of a socket pair. Its stderr goes to `words`.

    It ends with the thread that calls this, if the kernel supports that. Raises `OSError`, and `TransformationError` if
    a package is missing.
    """
    engine, packages = package_folders(language)
    config = _ProcessConfig(language, worker is None, theirs.fileno(), os.getpid(), engine, packages, worker)
    with interrupts_blocked():  # the process is in a new session only once it has started
        process = subprocess.Popen(
            # Isolated, without site packages: nothing of the user's environment is imported before the locks.
            [sys.executable, "-I", "-S", *_bytecode_options(), _MAIN, encode(config).decode()],
            stdin=subprocess.PIPE if _WINDOWS else subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=words.descriptor,
            # Windows cannot create sockets without SYSTEMROOT; nothing else is passed on.
            env={name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ},
            # Not the project's folder, which could contain modules or secrets.
            cwd=os.path.abspath(os.sep),
            # Ctrl-C in the terminal must reach the host only, which then ends its workers.
            start_new_session=True,
            pass_fds=() if _WINDOWS else (theirs.fileno(),),
        )
    if process.stdin is not None:
        process.stdin.write(theirs.share(process.pid).hex().encode() + b"\n")  # type: ignore[attr-defined]
        process.stdin.close()
    return process


def _bytecode_options() -> list[str]:
    """Return the options that let a worker find and keep bytecode like this process; it ignores the environment."""
    options = ["-B"] if sys.dont_write_bytecode else []
    return [*options, *(("-X", f"pycache_prefix={sys.pycache_prefix}") if sys.pycache_prefix else ())]


@functools.cache
def package_folders(language: str) -> tuple[str, list[str]]:
    """Return the folder of V8's library, and those of the packages that a worker imports, without importing them."""
    folders = {}
    for module, package in _PACKAGES.get(language, {}).items():
        spec = importlib.util.find_spec(module)
        if spec is None or not spec.submodule_search_locations:
            text = f"{language} transformations need the package {package}: pip install {package}"
            raise TransformationError(text, kind="sandbox")
        folders[module] = next(iter(spec.submodule_search_locations))
    engine = folders.pop("py_mini_racer", "")
    return engine, sorted({os.path.dirname(folder) for folder in folders.values()})
