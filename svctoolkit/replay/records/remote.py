"""Remote files, opened by fsspec with a URL (`s3://`, `gs://`, `abfs://`, `https://`, `memory://`), and globs.

Credentials come from the usual places of the file system: the environment, its own configuration files.
"""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from svctoolkit.errors import ConfigError
from svctoolkit.url_secrets import mask_url

#: A local or remote file: both can be opened, and have a size.
Place: TypeAlias = "Path | RemoteFile"


@dataclass(frozen=True, slots=True)
class _Stat:
    st_size: int
    st_mtime_ns: int


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file on another file system. `str()` returns its URL without secrets."""

    files: Any
    path: str
    url: str

    @property
    def name(self) -> str:
        """The last step of the path, without a query."""
        return self.path.rpartition("/")[2].partition("?")[0]

    def open(self, mode: str) -> BinaryIO:
        """Open the file as a stream of bytes. Raises `OSError`."""
        try:
            stream: BinaryIO = self.files.open(self.path, mode)
        except OSError:
            raise
        except Exception as error:  # each file system has its own errors
            raise OSError(0, mask_url(f"{type(error).__name__}: {error}")) from error
        return stream

    def stat(self) -> _Stat:
        """Return the size (0 if unknown), and a number that changes with the content."""
        info = self.files.info(self.path)
        stamp = next(
            (info[name] for name in ("ETag", "etag", "mtime", "LastModified", "created") if info.get(name)), ""
        )
        text = stamp.isoformat() if isinstance(stamp, datetime) else str(stamp)
        digest = int.from_bytes(blake2b(text.encode(), digest_size=7).digest())
        return _Stat(int(info.get("size") or 0), digest)

    def __str__(self) -> str:
        return mask_url(self.url)


def is_url(text: str) -> bool:
    """Return whether this text is a URL of a file."""
    return "://" in text


def remote_files(url: str) -> list[RemoteFile]:
    """Return the files for a URL (one file, the matches of a glob, or all files in a folder), sorted by path.

    Raises `ConfigError` if no file matches, if the URL cannot be reached, or if its package is not installed.
    """
    shown = mask_url(url)
    try:
        import fsspec
    except ImportError:
        raise ConfigError("a URL requires the package fsspec: pip install 'svctoolkit[replay]'", where=shown) from None
    try:
        scheme = url.partition("://")[0]
        files, path = _open_s3(url) if scheme == "s3" and find_spec("s3fs") is None else fsspec.core.url_to_fs(url)
        if glob.has_magic(path) and scheme not in ("http", "https"):
            paths = sorted(files.glob(path))
        elif scheme not in ("http", "https") and files.isdir(path):
            paths = sorted(files.find(path))
        else:
            paths = [path] if files.exists(path) else []
        found = [
            RemoteFile(files, str(item), str(files.unstrip_protocol(item))) for item in paths if not files.isdir(item)
        ]
    except ImportError as error:
        raise ConfigError(f"requires another package: {error}", where=shown) from None
    except ConfigError:
        raise
    except Exception as error:
        raise ConfigError(mask_url(f"cannot be reached: {type(error).__name__}: {error}"), where=shown) from error
    if not found:
        raise ConfigError("no such file", where=shown)
    return found


# Any: fsspec's file system
def _open_s3(url: str) -> tuple[Any, str]:
    """Return S3 through pyarrow, if the package s3fs is not installed.

    pyarrow finds credentials and region like AWS's own tools; `AWS_ENDPOINT_URL` is for other servers with an S3 API.
    """
    from fsspec.implementations.arrow import ArrowFSWrapper
    from pyarrow.fs import S3FileSystem

    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
    scheme, _, host = endpoint.rpartition("://")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    settings = {"endpoint_override": host, "scheme": scheme or "https"} if host else {}
    return ArrowFSWrapper(S3FileSystem(region=region, **settings)), url.removeprefix("s3://")


def local_glob(text: str) -> list[Path]:
    """Return the local files that match a glob (`**` is any number of folders), sorted by path.

    Raises `ConfigError` if none match.
    """
    paths = sorted(Path(path) for path in glob.iglob(text, recursive=True) if os.path.isfile(path))
    if not paths:
        raise ConfigError("no file matches", where=text)
    return paths
