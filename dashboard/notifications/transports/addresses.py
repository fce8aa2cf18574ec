"""Which addresses a channel may reach: public ones, unless the site allows others.

Of a webhook a name is resolved once, each of its addresses is checked, and the connection goes to
the checked address itself: a name server that answers differently the second time (DNS rebinding)
gains nothing. Apprise's services connect by themselves, and some follow redirects: while one
sends, `public_only` judges every name and address that its thread resolves.
"""

import ipaddress
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from dashboard.notifications.transports.message import NotSent

ALLOW = "ALLOW_PRIVATE_WEBHOOKS"
WHAT_TO_DO = f"are refused unless the site is started with {ALLOW}=true."
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
# `is_global` is true for these, in some versions of Python at least
_REFUSED = (
    ipaddress.ip_network("168.63.129.16/32"),  # Azure's platform, from inside a machine of its own
    ipaddress.ip_network("192.88.99.0/24"),  # relays of 6to4
    ipaddress.ip_network("::/96"),  # IPv4 inside IPv6, in its oldest form
    ipaddress.ip_network("64:ff9b:1::/48"),  # NAT64 of a private network
    ipaddress.ip_network("fec0::/10"),  # private networks of one site
)


def checked_address(host: str, port: int, *, allow_private: bool) -> str:
    """The address to connect to.

    Raises NotSent: for a name that does not resolve (temporary), or that leads to an address of a
    private network, of this machine or of a cloud's metadata service (permanent).
    """
    try:
        infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        raise NotSent(f"The name {host} could not be resolved: {error}.") from None
    addresses = [str(info[4][0]) for info in infos]
    if not allow_private:
        for address in addresses:
            _require_public(host, address)
    return addresses[0]


def require_not_private(host: str) -> None:
    """Raises NotSent where it is certain, without a name server, that the host is not public: it
    is an address itself, in any notation, or this machine's own name.
    """
    is_own = host == "localhost" or host.endswith(".localhost")
    try:
        infos = socket.getaddrinfo(
            "127.0.0.1" if is_own else host, None, flags=socket.AI_NUMERICHOST
        )
    except (socket.gaierror, UnicodeError):
        return  # a name
    _require_public(host, str(infos[0][4][0]))


def _require_public(host: str, address: str) -> None:
    if not is_public(address):
        raise NotSent(
            f"{host} leads to {address}, which is not a public address. Webhooks into private "
            f"networks {WHAT_TO_DO}",
            permanent=True,
        )


def is_public(address: str) -> bool:
    """Whether an IP address is public; an IPv4 address inside an IPv6 one decides for it."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        if ip in _NAT64:
            ip = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        else:
            ip = ip.ipv4_mapped or ip.sixtofour or ip
    is_refused = any(ip in network for network in _REFUSED)
    return ip.is_global and not ip.is_multicast and not is_refused


@contextmanager
def public_only() -> Iterator[None]:
    """Within it, this thread resolves no name that leads to an address that is not public.

    Raises NotSent at its end where something asked for one, whatever the caller made of the error.
    The proxies of the environment are where the site goes out, and may be reached.
    """
    refused: list[str] = []
    token = _refused.set(refused)
    try:
        yield
    finally:
        _refused.reset(token)
    if refused:
        raise NotSent(f"{refused[0]} Services in private networks {WHAT_TO_DO}", permanent=True)


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
