"""JSON answers to requests that are not valid HTTP, like those to all other errors."""

from __future__ import annotations

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from svctoolkit.json_codec import encode
from svctoolkit.server.web.hardening import SAFE_HEADERS


class Protocol(H11Protocol):
    """uvicorn's protocol, with a JSON answer to a request that is not valid HTTP."""

    def send_400_response(self, msg: str) -> None:
        body = encode({"message": msg})
        headers = [("content-type", "application/json"), ("content-length", str(len(body))), ("connection", "close")]
        headers += SAFE_HEADERS.items()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):  # else an answer is already being sent
            self.transport.write(self.conn.send(h11.Response(status_code=400, headers=headers, reason=b"Bad Request")))
            self.transport.write(self.conn.send(h11.Data(data=body)))
            self.transport.write(self.conn.send(h11.EndOfMessage()))
        self.transport.close()
