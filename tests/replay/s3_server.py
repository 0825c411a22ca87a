"""A server with the part of S3 that a reader needs: listings, sizes, ranges; only signed requests are answered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from threading import Thread
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from tests.http_server import HttpServer

KEY = "AKIATEST"


@contextmanager
def s3_server(objects: dict[str, bytes]) -> Iterator[str]:
    """The address of a server with these objects, by `bucket/key`. Requests not signed by `KEY` are refused."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer()

        def do_HEAD(self) -> None:
            self._answer()

        def _answer(self) -> None:
            if f"Credential={KEY}/" not in self.headers.get("Authorization", ""):
                return self._send(403, b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>")
            url = urlsplit(self.path)
            name, query = unquote(url.path).strip("/"), parse_qs(url.query, keep_blank_values=True)
            if "list-type" in query:
                return self._send(
                    200, listing(objects, name, query.get("prefix", [""])[0], query.get("delimiter", [""])[0])
                )
            if name not in objects:
                is_bucket = any(key.startswith(f"{name}/") for key in objects) and "/" not in name
                return self._send(200 if is_bucket else 404, b"")
            data, status = objects[name], 200
            if span := self.headers.get("Range"):
                first, _, last = span.removeprefix("bytes=").partition("-")
                data, status = data[int(first) : int(last or len(data)) + 1], 206
            return self._send(status, data)

        def _send(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Last-Modified", "Thu, 15 Jan 2026 10:00:00 GMT")
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Silent."""

    server = HttpServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def listing(objects: dict[str, bytes], bucket: str, prefix: str, delimiter: str) -> bytes:
    """The answer of ListObjectsV2."""
    contents, folders = [], set()
    for name in sorted(objects):
        key = name.removeprefix(f"{bucket}/")
        if key == name or not key.startswith(prefix):
            continue
        head, found, _ = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
        if found:
            folders.add(f"{prefix}{head}{delimiter}")
        else:
            contents.append(
                f"<Contents><Key>{escape(key)}</Key><LastModified>2026-01-15T10:00:00.000Z</LastModified>"
                f"<ETag>&quot;{len(objects[name])}&quot;</ETag><Size>{len(objects[name])}</Size></Contents>"
            )
    common = "".join(f"<CommonPrefixes><Prefix>{escape(f)}</Prefix></CommonPrefixes>" for f in sorted(folders))
    return (
        '<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        f"<Name>{bucket}</Name><Prefix>{escape(prefix)}</Prefix><IsTruncated>false</IsTruncated>"
        f"<KeyCount>{len(contents) + len(folders)}</KeyCount>{''.join(contents)}{common}</ListBucketResult>"
    ).encode()
