"""Which addresses a live delivery may reach.

A destination's URL comes from a configuration, so anyone who can edit it could make the server send requests into its
own network. Each name is resolved once, every address is checked, and the connection goes to the checked address.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias

from svctoolkit.delivery._failures import failure
from svctoolkit.delivery._url import host as canonical
from svctoolkit.errors import ConfigError, DeliveryError, Forbidden

Address: TypeAlias = IPv4Address | IPv6Address
#: Host name and port -> addresses as strings. Raises `OSError` (`socket.gaierror`).
Resolver: TypeAlias = Callable[[str, int], Sequence[str]]

#: Where clouds serve credentials to any process on the instance (from the providers' documentation).
METADATA_ADDRESSES = frozenset(
    map(
        ip_address,
        (
            "169.254.169.254",  # AWS, Azure, Google, DigitalOcean, Hetzner, OpenStack, Oracle
            "169.254.170.2",  # AWS ECS tasks
            "169.254.170.23",  # AWS EKS pods
            "fd00:ec2::23",
            "fd00:ec2::254",  # AWS over IPv6
            "fd20:ce::254",  # Google over IPv6
            "168.63.129.16",  # Azure's host
            "100.100.100.200",  # Alibaba
            "169.254.0.23",  # Tencent
            "192.0.0.192",  # Oracle, first generation
        ),
    )
)
METADATA_NAMES = frozenset(
    {"metadata.google.internal", "metadata.goog", "metadata.tencentyun.com", "instance-data.ec2.internal"}
)
_NAT64 = tuple(map(IPv6Network, ("64:ff9b::/96", "64:ff9b:1::/48")))
_IPV4_COMPATIBLE = IPv6Network("::/96")


def resolve(host: str, port: int) -> list[str]:
    """Return the addresses from the operating system's resolver, in its order."""
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


class NetworkPolicy:
    """Which addresses may be reached. Cloud metadata addresses are always refused, even if `allow` lists them.

    If `private_allowed` is false, so is everything that is not public - loopback, private, link-local, unspecified,
    multicast, carrier-grade NAT, and IPv6 addresses that embed such an IPv4 address - unless `allow` lists its host
    name, address or network (`crm.internal`, `10.0.0.5`, `10.0.0.0/8`).

    Raises `ConfigError` for an entry of `allow` that is not one of these.
    """

    def __init__(
        self, allow: Sequence[str] = (), private_allowed: bool = True, *, resolver: Resolver = resolve
    ) -> None:
        self._private_allowed, self._resolver = private_allowed, resolver
        self._hosts: set[str] = set()
        self._networks: list[IPv4Network | IPv6Network] = []
        for entry in allow:
            self._allow(entry)

    def _allow(self, entry: str) -> None:
        try:
            if "/" in entry:
                self._networks.append(ip_network(entry))
                return
            name = canonical(entry).removesuffix(".")
        except (ValueError, DeliveryError) as error:
            form = "a host name, an address or a network such as 10.0.0.0/8, without scheme and port"
            raise ConfigError(f"delivery.allow: {entry!r} must be {form}") from error
        address = _literal(name)
        if address is None:
            self._hosts.add(name)
        else:
            self._networks.append(ip_network(_without_mapping(address)))

    def check(self, host: str, port: int) -> list[str]:
        """Return the addresses of `host` that may be reached, in the resolver's order. The name is resolved once.

        Raises `Forbidden` if none is allowed, and `DeliveryError` (ENOTFOUND, EAI_AGAIN) if the name has no address.
        """
        name = canonical(host).removesuffix(".")
        if not 1 <= port <= 65535:
            raise Forbidden(f"port {port} of {name} is not valid: ports are 1 to 65535")
        if name in METADATA_NAMES:
            raise Forbidden(f"{name} is a cloud's metadata service, which the network policy always refuses")
        literal = _literal(name)
        addresses = [literal] if literal else self._resolve(name, port)
        refusals = {address: self._refusal(name, address) for address in addresses}
        reachable = [str(address) for address, reason in refusals.items() if not reason]
        if not reachable:
            address, reason = next(iter(refusals.items()))
            known_as = name if literal else f"{name} ({address})"
            raise Forbidden(f"{known_as} is {reason}")
        return reachable

    def _resolve(self, name: str, port: int) -> list[Address]:
        try:
            addresses = self._resolver(name, port)
        except UnicodeError:
            addresses = []  # the name has an empty label or one longer than 63 characters
        except OSError as error:
            code = "EAI_AGAIN" if error.errno == socket.EAI_AGAIN else "ENOTFOUND"
            raise failure(code, f"no address was found for {name}") from error
        if not addresses:
            raise failure("ENOTFOUND", f"no address was found for {name}")
        return [ip_address(text) for text in addresses]

    def _refusal(self, name: str, address: Address) -> str:
        """Return why the address may not be reached, or an empty string."""
        forms = list(_forms(_without_mapping(address)))
        if any(form in METADATA_ADDRESSES for form in forms):
            return "a cloud metadata address, which the network policy always refuses"
        if self._private_allowed or self._is_listed(name, _without_mapping(address)):
            return ""
        kind = next(filter(None, map(_kind, forms)), "")
        return kind and f"{kind} address, which the network policy refuses here; delivery.allow can list it"

    def _is_listed(self, name: str, address: Address) -> bool:
        return name in self._hosts or any(address in network for network in self._networks)


def _literal(name: str) -> Address | None:
    try:
        return ip_address(name)
    except ValueError:
        return None


def _without_mapping(address: Address) -> Address:
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


def _forms(address: Address) -> Iterator[Address]:
    """Yield the address, and the IPv4 addresses that a router or tunnel would map it to. NAT64 is only a spelling."""
    if isinstance(address, IPv4Address):
        yield address
        return
    low = IPv4Address(int(address) & 0xFFFFFFFF)
    if any(address in network for network in _NAT64):
        yield low
        return
    # Without a zone, so that it equals a listed one. Python treats all of 6to4 as private from 3.13 on.
    yield address.sixtofour or IPv6Address(int(address))
    if address in _IPV4_COMPATIBLE or (int(address) >> 32) & 0xFDFFFFFF == 0x5EFE:  # the latter is ISATAP, RFC 5214
        yield low
    if address.teredo is not None:
        yield from address.teredo


def _kind(address: Address) -> str:
    if address.is_unspecified:
        return "the unspecified"
    if address.is_loopback:
        return "a loopback"
    if address.is_link_local:
        return "a link-local"
    if address.is_multicast:
        return "a multicast"
    site_local = isinstance(address, IPv6Address) and address.is_site_local
    if address.is_private or site_local:
        return "a private"
    return "a reserved" if address.is_reserved or not address.is_global else ""
