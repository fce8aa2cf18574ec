"""Public addresses of the network, and a context in which no other is reached."""

import ipaddress
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
# `is_global` is true for these, in some versions of Python at least
_REFUSED = (
    ipaddress.ip_network("168.63.129.16/32"),  # Azure's platform, from inside a machine of its own
    ipaddress.ip_network("192.88.99.0/24"),  # relays of 6to4
    ipaddress.ip_network("::/96"),  # IPv4 inside IPv6, in its oldest form
    ipaddress.ip_network("64:ff9b:1::/48"),  # NAT64 of a private network
    ipaddress.ip_network("fec0::/10"),  # private networks of one site
)


class NotPublic(Exception):
    """Something leads to an address that is not public. The text says what, and where."""


def is_public(address: str) -> bool:
    """Test whether an IP address is public; an IPv4 address inside an IPv6 one decides for it."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        if ip in _NAT64:
            ip = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        else:
            ip = ip.ipv4_mapped or ip.sixtofour or ip
    is_refused = any(ip in network for network in _REFUSED)
    return ip.is_global and not ip.is_multicast and not is_refused


@contextmanager
def only_public() -> Iterator[None]:
    """Within it, this thread resolves no name that leads to an address that is not public.

    Raises NotPublic at its end where something asked for one, whatever the caller made of the
    error.
    The proxies of the environment are where the site goes out, and may be reached.
    """
    refused: list[str] = []
    token = _refused.set(refused)
    try:
        yield
    finally:
        _refused.reset(token)
    if refused:
        raise NotPublic(refused[0])


def _resolve_judged(host: Any, *arguments: Any, **options: Any) -> Any:
    """socket.getaddrinfo, which urllib3, smtplib and socket.create_connection call."""
    infos = _resolve(host, *arguments, **options)
    refused = _refused.get()
    if refused is None or host in {urlsplit(proxy).hostname for proxy in getproxies().values()}:
        return infos
    for info in infos:
        if not is_public(str(info[4][0])):
            refused.append(f"{host} leads to {info[4][0]}, which is not a public address.")
            raise OSError(refused[-1])
    return infos


_refused: ContextVar[list[str] | None] = ContextVar("_refused", default=None)
_resolve = socket.getaddrinfo
socket.getaddrinfo = _resolve_judged
