"""The network policy decides which addresses a live delivery may reach, and it reaches no others."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svctoolkit.delivery import HttpRequest, Sender
from svctoolkit.delivery.live import LiveTransport, transport_for
from svctoolkit.delivery.policy import METADATA_ADDRESSES, NetworkPolicy, resolve
from svctoolkit.errors import ConfigError, DeliveryError, Forbidden

PUBLIC = "93.184.215.14"


class Names:
    """A resolver: each look-up of a name gets the next answer, the last one repeatedly. Counts the look-ups."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def strict(*allow: str, resolver: Names | None = None) -> NetworkPolicy:
    return NetworkPolicy(allow, private_allowed=False, resolver=resolver or Names([PUBLIC]))


@pytest.mark.parametrize("address", sorted(map(str, METADATA_ADDRESSES)))
def test_metadata_addresses_are_always_blocked(address: str) -> None:
    """No setting allows a cloud metadata address: neither private_allowed nor an entry of allow."""
    policy = NetworkPolicy([address, "0.0.0.0/0", "::/0"], private_allowed=True)

    with pytest.raises(Forbidden, match="cloud metadata"):
        policy.check(address, 80)


@pytest.mark.parametrize(
    "spelling",
    [
        "2852039166",
        "0xa9fea9fe",
        "0xa9.0xfe.0xa9.0xfe",
        "0251.0376.0251.0376",
        "169.254.43518",
        "169.254.169.254.",
        "::ffff:169.254.169.254",
        "[::ffff:a9fe:a9fe]",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::a9fe:a9fe",
        "2002:a9fe:a9fe::1",
        "::a9fe:a9fe",
        "fe80::5efe:169.254.169.254",
        "FD00:EC2:0::254",
        "metadata.google.internal",
        "METADATA.Google.Internal.",
        "metadata。google。internal",
        "１６９.254.169.254",
    ],
)
def test_metadata_addresses_are_blocked_in_any_spelling(spelling: str) -> None:
    """Of the address or of a name."""
    policy = NetworkPolicy(["metadata.google.internal"], resolver=Names([PUBLIC]))

    with pytest.raises(Forbidden, match="metadata"):
        policy.check(spelling, 80)


def test_names_of_metadata_addresses_are_blocked() -> None:
    """A name that resolves to one is blocked, and the text has the address."""
    policy = NetworkPolicy(resolver=Names(["169.254.169.254"]))

    with pytest.raises(Forbidden, match=r"innocent\.example \(169\.254\.169\.254\)"):
        policy.check("innocent.example", 80)


PRIVATE = [
    ("127.0.0.1", "loopback"),
    ("127.255.0.3", "loopback"),
    ("2130706433", "loopback"),
    ("0x7f.1", "loopback"),
    ("017700000001", "loopback"),
    ("127.1", "loopback"),
    ("127.0.0.1.", "loopback"),
    ("::1", "loopback"),
    ("[::ffff:127.0.0.1]", "loopback"),
    ("64:ff9b::7f00:1", "loopback"),
    ("2002:7f00:1::", "loopback"),
    ("0.0.0.0", "unspecified"),
    ("0", "unspecified"),
    ("::", "unspecified"),
    ("10.1.2.3", "private"),
    ("172.16.0.1", "private"),
    ("192.168.1.1", "private"),
    ("fd12::1", "private"),
    ("fec0::1", "private"),
    ("::ffff:10.0.0.1", "private"),
    ("64:ff9b::a00:1", "private"),
    ("64:ff9b:1::a00:1", "private"),
    ("2002:a00:1::", "private"),
    ("169.254.1.1", "link-local"),
    ("fe80::1", "link-local"),
    ("100.64.0.1", "reserved"),
    ("240.0.0.1", "private|reserved"),
    ("255.255.255.255", "private|reserved"),
    ("224.0.0.1", "multicast"),
    ("ff02::1", "multicast"),
]


@pytest.mark.parametrize(("host", "kind"), PRIVATE)
def test_private_addresses_are_blocked_off_loopback(host: str, kind: str) -> None:
    """With private_allowed off, the text says why an address is not public."""
    with pytest.raises(Forbidden, match=f"is an? ({kind}) address|is the ({kind}) address"):
        strict().check(host, 443)


@pytest.mark.parametrize("host", [host for host, _ in PRIVATE])
def test_private_addresses_are_allowed_on_loopback(host: str) -> None:
    """With private_allowed on, a test bench can reach local servers."""
    assert NetworkPolicy().check(host, 443)


@pytest.mark.parametrize("host", [PUBLIC, "8.8.8.8", "2606:2800:21f:cb07::1", "64:ff9b::808:808", "::ffff:8.8.8.8"])
def test_public_addresses_are_allowed(host: str) -> None:
    """Also in their NAT64 and IPv4-mapped forms."""
    assert len(strict().check(host, 443)) == 1


@pytest.mark.parametrize(
    ("entry", "host"),
    [
        ("10.0.0.5", "10.0.0.5"),
        ("10.0.0.0/8", "10.200.0.1"),
        ("10.0.0.5", "::ffff:10.0.0.5"),
        ("fd12::/16", "[fd12::9]"),
        ("::1", "[::1]"),
        ("[::1]", "::1"),
        ("CRM.internal", "crm.internal."),
        ("127.0.0.1", "0x7f.1"),
    ],
)
def test_allow_permits_its_entries(entry: str, host: str) -> None:
    """A host, address or network, in any spelling."""
    names = Names(["192.168.7.7"])

    assert strict(entry, resolver=names).check(host, 80)


def test_allow_permits_nothing_else() -> None:
    """Neither a neighbour nor another name for the same address."""
    policy = strict("10.0.0.5", "crm.internal", resolver=Names(["192.168.7.7"]))

    for host in ("10.0.0.6", "other.internal", "192.168.7.7", "crm.internal.evil.example"):
        with pytest.raises(Forbidden):
            policy.check(host, 80)


@pytest.mark.parametrize("entry", ["10.0.0.5/8", "10.0.0.0/33", "http://crm.internal", "crm.internal:80", "a b", ""])
def test_a_bad_entry_of_allow_is_a_clear_error(entry: str) -> None:
    """A value that is not a host, address or network is rejected when the policy is created, and quoted."""
    with pytest.raises(ConfigError, match=r"delivery\.allow: .* must be a host name, an address or a network"):
        NetworkPolicy([entry])


def test_only_the_permitted_addresses_of_a_name_are_used() -> None:
    """Of a public and a private address, the public one remains."""
    policy = strict(resolver=Names(["127.0.0.1", PUBLIC, "::1"]))

    assert policy.check("mixed.example", 80) == [PUBLIC]


@pytest.mark.parametrize("port", [0, -1, 65536])
def test_invalid_ports_are_rejected(port: int) -> None:
    """A port outside 1 to 65535."""
    with pytest.raises(Forbidden, match="ports are 1 to 65535"):
        NetworkPolicy().check("127.0.0.1", port)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (socket.gaierror(socket.EAI_NONAME, "unknown"), "ENOTFOUND"),
        (socket.gaierror(socket.EAI_AGAIN, "try again"), "EAI_AGAIN"),
        (UnicodeError("label too long"), "ENOTFOUND"),
    ],
)
def test_a_failed_look_up_is_reported(error: Exception, code: str) -> None:
    """With RudderStack's error code and the host."""

    def fails(host: str, port: int) -> Sequence[str]:
        raise error

    with pytest.raises(DeliveryError, match=r"no address was found for gone\.example") as caught:
        NetworkPolicy(resolver=fails).check("gone.example", 80)

    assert caught.value.code == code


def test_the_system_resolver_is_the_default() -> None:
    """It resolves localhost."""
    assert {"127.0.0.1", "::1"} & set(resolve("localhost", 80))


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_every_spelling_has_the_same_verdict(number: int) -> None:
    """Decimal, hexadecimal, octal, mapped and NAT64 spellings of an IPv4 address."""
    policy = NetworkPolicy(private_allowed=False)
    plain = socket.inet_ntoa(number.to_bytes(4, "big"))
    low = f"{number >> 16:x}:{number & 0xFFFF:x}"

    def passes(host: str) -> bool:
        try:
            return bool(policy.check(host, 80))
        except Forbidden:
            return False

    assert {passes(h) for h in (str(number), hex(number), f"0{number:o}", f"::ffff:{low}", f"64:ff9b::{low}")} == {
        passes(plain)
    }


# The same through the transport: the address of the connection.


@contextmanager
def listener(answer: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") -> Iterator[tuple[int, list[bytes]]]:
    """A server on 127.0.0.1 that answers each connection once and closes it: its port, and the requests."""
    seen: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def run() -> None:
            while True:
                connection, _ = server.accept()
                with connection:
                    data = connection.recv(65536)
                    if not data:
                        return
                    seen.append(data)
                    connection.sendall(answer)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield server.getsockname()[1], seen
        finally:
            socket.create_connection(server.getsockname()).close()
            thread.join(60)


def ask(transport: LiveTransport, url: str) -> int:
    try:
        return transport(HttpRequest("GET", url), timeout=5).status
    finally:
        transport.close()


def test_the_checked_address_is_the_one_connected_to() -> None:
    """The name is resolved once, the connection uses that address, and the Host header keeps the name."""
    names = Names(["127.0.0.1"], ["192.0.2.1"])
    with listener() as (port, seen):
        status = ask(LiveTransport(NetworkPolicy(resolver=names)), f"http://hook.example:{port}/in")

    assert status == 200
    assert names.asked == ["hook.example"]
    assert f"Host: hook.example:{port}\r\n".encode() in seen[0]


def test_rebinding_to_loopback_is_blocked() -> None:
    """A name that was public at one look-up and is loopback at the next is blocked at the next connection."""
    names = Names([PUBLIC], ["127.0.0.1"])
    policy = strict(resolver=names)
    with listener() as (port, seen):
        first = policy.check("rebind.example", port)
        with pytest.raises(Forbidden, match="loopback"):
            ask(LiveTransport(policy), f"http://rebind.example:{port}/")

    assert first == [PUBLIC]
    assert seen == []


def test_a_redirect_is_checked_like_a_request() -> None:
    """An allowed destination cannot redirect to a blocked one."""
    moved = b"HTTP/1.1 302 Found\r\nLocation: http://inner.example/\r\nContent-Length: 0\r\n\r\n"
    policy = strict("hook.example", resolver=Names(["127.0.0.1"]))
    with listener(moved) as (port, seen), pytest.raises(Forbidden, match=r"inner\.example \(127\.0\.0\.1\)"):
        ask(LiveTransport(policy), f"http://hook.example:{port}/")

    assert len(seen) == 1


def test_a_blocked_request_gets_an_answer() -> None:
    """The sender reports it as status 400 with the reason; it raises nothing."""
    transport = LiveTransport(strict())

    delivered = Sender(transport).send({"endpoint": "http://user:pw@127.0.0.1:8080/token", "body": {}})
    transport.close()

    assert delivered.status == 400
    assert isinstance(delivered.error, Forbidden)
    assert "127.0.0.1 is a loopback address" in delivered.response["error"]["message"]
    assert "token" not in delivered.response["error"]["message"]
    assert "pw" not in delivered.response["error"]["message"]


def test_the_next_address_is_tried_after_a_failure() -> None:
    """When the first address of a name refuses the connection."""
    with listener() as (port, _):
        policy = NetworkPolicy(resolver=Names(["127.0.0.2", "127.0.0.1"]))

        assert ask(LiveTransport(policy), f"http://two.example:{port}/") == 200


def test_a_hanging_look_up_ends_with_the_timeout() -> None:
    """The timeout includes the look-up, which has none itself."""
    release = threading.Event()

    def hangs(host: str, port: int) -> Sequence[str]:
        release.wait(60)
        return [PUBLIC]

    transport = LiveTransport(NetworkPolicy(resolver=hangs))
    with pytest.raises(DeliveryError, match=r"did not respond completely within 0\.05 s") as caught:
        transport(HttpRequest("GET", "http://slow.example/"), timeout=0.05)
    release.set()
    transport.close()

    assert caught.value.code == "ECONNABORTED"


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy would connect for us and bypass the policy, so HTTP_PROXY is ignored."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with listener() as (port, _):
        assert ask(LiveTransport(), f"http://127.0.0.1:{port}/") == 200


def test_equal_arguments_share_a_transport() -> None:
    """`transport_for` returns the same transport for the same arguments, and another one for others."""
    here = transport_for(("10.0.0.5",))

    assert here is transport_for(("10.0.0.5",))
    assert here is not transport_for(("10.0.0.5",), loopback=False)


def test_the_shared_transport_off_loopback_blocks_loopback() -> None:
    """`loopback=False` is the policy of a server that other machines can reach."""
    with pytest.raises(Forbidden):
        transport_for((), loopback=False)(HttpRequest("GET", "http://127.0.0.1:9/"), timeout=5)
