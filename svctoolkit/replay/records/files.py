"""Open event files as streams that report their position and any damage."""

from __future__ import annotations

import gzip
import os
import sys
import zlib
from pathlib import Path
from typing import Any, BinaryIO

from svctoolkit.errors import ConfigError
from svctoolkit.replay.records.remote import Place
from svctoolkit.replay.records.warehouse import is_escaped

COMPRESSED = (".gz", ".zst")
STDIN = "-"
_STEP = 1 << 18
_OF_NULS = {"x0x0": "UTF-16LE", "0x0x": "UTF-16BE", "x000": "UTF-32LE", "000x": "UTF-32BE"}


def needs(package: str, what: str, extra: str = "replay") -> ConfigError:
    """Return the error for a package that is not installed."""
    return ConfigError(f"{what} requires the package {package}: pip install 'svctoolkit[{extra}]'")


class InputFile:
    """An open input file. `damage` says why reading ended before the end of the file.

    `share` is the share of the file that has been read (0 to 1), if it is not read as a stream.
    """

    def __init__(self, path: Place, *, stream: bool = True) -> None:
        self.path, self.name, self.damage = path, str(path), ""
        self.share = 0.0
        self._has_started = False
        self._raw: BinaryIO | None = None
        self._stream: Any = None
        if str(path) == STDIN:
            self.name = "standard input"
            self._stream = self._raw = _standard_input()
        elif stream:
            try:
                self._raw = path.open("rb")
            except OSError as error:
                raise ConfigError(f"cannot read it: {error.strerror}", where=self.name) from error
            self._stream = self._decompress(self._raw)
            if self._stream is not self._raw and not path.stat().st_size:
                self.damage = "the file is damaged: it is empty, and a compressed file never is"

    def _decompress(self, raw: BinaryIO) -> Any:
        if self.name.lower().endswith(".gz"):
            return gzip.GzipFile(fileobj=raw)
        if self.name.lower().endswith(".zst"):
            try:
                import pyarrow as pa
            except ImportError:
                raise needs("pyarrow", f"{self.name}: zstd") from None
            return pa.CompressedInputStream(raw, "zstd")
        return raw

    def read(self, size: int) -> bytes:
        """Return the next `size` bytes, fewer at the end. Damage ends the file; the bytes before it are returned."""
        data = bytearray()
        starts = not self._has_started
        self._has_started = True
        while len(data) < size and not self.damage:
            try:
                # In small steps, so that what was read before the damage is not lost with it: all of it with `read1`.
                wanted = min(_STEP, size - len(data))
                gzipped = isinstance(self._stream, gzip.GzipFile)
                step = self._stream.read1(wanted) if gzipped else self._stream.read(wanted)
            except (OSError, EOFError, zlib.error) as error:
                self.damage = f"the file is damaged from here on: {error}"
                break
            if not step:
                break
            data += step
        if starts and (encoding := _wide_encoding(data)):
            self.damage = f"the file is {encoding}, not UTF-8. Convert it, for example: iconv -f {encoding} -t UTF-8"
            return b""
        return bytes(data)

    def position(self) -> int:
        """Return the number of bytes of the file that have been read; 0 if unknown."""
        try:
            return self._raw.tell() if self._raw is not None else int(self.share * self.path.stat().st_size)
        except (OSError, ValueError):
            return 0

    def close(self) -> None:
        if self._raw is not None and self._raw is not getattr(sys.stdin, "buffer", None):
            self._raw.close()


def _wide_encoding(start: bytes | bytearray) -> str:
    """Return the encoding of a file that begins so, if it has two or four bytes per character; otherwise empty."""
    if start[:4] in (b"\xff\xfe\0\0", b"\0\0\xfe\xff"):
        return "UTF-32"
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "UTF-16"
    # Without a byte-order mark: JSON and CSV begin with ASCII, whose other bytes are NUL.
    return _OF_NULS.get("".join("0" if byte == 0 else "x" for byte in start[:4]), "")


def _standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise ConfigError("is closed", where="standard input")
    return sys.stdin.buffer


def walk(path: Path) -> list[Path]:
    """Return the files below a folder, sorted by path.

    Names that start with `.` or `_` are skipped, except for warehouse tables (`_groups.parquet`).
    """
    paths: list[Path] = []
    for folder, folders, files in os.walk(path):
        # In place: `os.walk` then skips the others.
        folders[:] = [name for name in folders if _is_read(name)]
        paths += (Path(folder) / name for name in files if _is_read(name))
    return sorted(paths, key=lambda file: file.parts)


def _is_read(name: str) -> bool:
    return not name.startswith((".", "_")) or is_escaped(name)
