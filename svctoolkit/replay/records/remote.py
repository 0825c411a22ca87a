"""Files elsewhere: what fsspec opens by URL (`s3://`, `gs://`, `abfs://`, `https://`, `memory://`), and globs.

Credentials come from where the file system looks for them: the environment, its own configuration files.
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

#: A file here or elsewhere: both can be opened, and say their size.
Place: TypeAlias = "Path | RemoteFile"


@dataclass(frozen=True, slots=True)
class _Stat:
    st_size: int
    st_mtime_ns: int


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file of another file system. `str` of it is its URL, without what is secret in that."""

    files: Any
    path: str
    url: str

    @property
    def name(self) -> str:
        """The last step of its path, without a query."""
        return self.path.rpartition("/")[2].partition("?")[0]

    def open(self, mode: str) -> BinaryIO:
        """The file as a stream of bytes. Raises `OSError`."""
        try:
            stream: BinaryIO = self.files.open(self.path, mode)
        except OSError:
            raise
        except Exception as error:  # each file system has errors of its own
            raise OSError(0, mask_url(f"{type(error).__name__}: {error}")) from error
        return stream

    def stat(self) -> _Stat:
        """Its size (0 where that is unknown), and a number that changes with its content."""
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
    """Whether this names a file by a URL."""
    return "://" in text


def remote_files(url: str) -> list[RemoteFile]:
    """The files that a URL names: one, those that fit a glob, or all below a folder, in the order of their paths.

    Raises `ConfigError` where there is none, it cannot be reached, or its package is not installed.
    """
    shown = mask_url(url)
    try:
        import fsspec
    except ImportError:
        raise ConfigError("a URL needs the package fsspec: pip install 'svctoolkit[replay]'", where=shown) from None
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
        raise ConfigError(f"needs another package: {error}", where=shown) from None
    except ConfigError:
        raise
    except Exception as error:
        raise ConfigError(mask_url(f"cannot be reached: {type(error).__name__}: {error}"), where=shown) from error
    if not found:
        raise ConfigError("there is no such file", where=shown)
    return found


# Any: fsspec's file system
def _open_s3(url: str) -> tuple[Any, str]:
    """S3 by pyarrow, where the package s3fs is not installed.

    It looks for credentials and the region where AWS's own tools do; `AWS_ENDPOINT_URL` is for other servers that
    speak S3.
    """
    from fsspec.implementations.arrow import ArrowFSWrapper
    from pyarrow.fs import S3FileSystem

    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
    scheme, _, host = endpoint.rpartition("://")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    settings = {"endpoint_override": host, "scheme": scheme or "https"} if host else {}
    return ArrowFSWrapper(S3FileSystem(region=region, **settings)), url.removeprefix("s3://")


def local_glob(text: str) -> list[Path]:
    """The files here that fit a glob (`**` is any number of folders), in the order of their paths.

    Raises `ConfigError` where there is none.
    """
    paths = sorted(Path(path) for path in glob.iglob(text, recursive=True) if os.path.isfile(path))
    if not paths:
        raise ConfigError("no file fits", where=text)
    return paths
